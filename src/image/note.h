/* The note SPANSCOPE: a sidecar inside the core itself.
 *
 * A second PT_NOTE, the last program header, has notes of this owner. Their types are above those
 * that debuggers give a meaning to without looking at the owner:
 *
 *     0x52450001   JSON for people and other programs: what the note has
 *     0x52450002   page runs: version, known, count, bytes (4 little-endian words of 8 bytes), then
 *                  a gzip file with that many bytes: count runs as in pagerec_pack
 *     0x52450003   a file: its name, NUL, a gzip file with its content; one note a file
 *
 * An ELF core with it stays one that gdb, readelf and delve read: they take the first PT_NOTE, or
 * skip owners that they do not know. */
#ifndef IMAGE_NOTE_H
#define IMAGE_NOTE_H

#include "image/sidecar.h"

#define NOTE_OWNER "SPANSCOPE"

enum {
	NOTE_HEADER = 0x52450001,
	NOTE_PAGES = 0x52450002,
	NOTE_FILE = 0x52450003,
};

/* Takes the files and pages out of the core's notes. ERR_FORMAT says what is damaged. */
struct err *note_read(struct sidecar *sc, const struct image *im) ERR_RESULT;

/* Adds the sidecar to the core as a note, in place: everything is written behind the end of the
 * file and is on the disk before the ELF header is made to point to it, so that a core is whole
 * at any moment. The time of the file stays. ERR_USAGE for a core that has one already, or is cut
 * short: its missing bytes would seem to be there. */
struct err *note_write(const struct sidecar *sc, const struct image *im, u64 *added) ERR_RESULT;

#endif
