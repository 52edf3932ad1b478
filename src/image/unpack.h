/* Cores that come compressed or in a tar, through libarchive.
 *
 * Nothing is ever written under a name that an archive has: what is unpacked has no name at all,
 * and is gone when the program ends, whatever ends it. */
#ifndef IMAGE_UNPACK_H
#define IMAGE_UNPACK_H

#include "base/array.h"
#include "base/diag.h"
#include "base/os.h"

/* A file that came with the core: an executable or library, or one of a folder NAME.d. */
struct unpacked_file {
	char *name;          /* in the tar */
	bool elf, debug;     /* an executable or a library; what strip took from one */
	struct os_file file; /* its path, for messages, is "ARCHIVE: NAME" */
};

/* What is known of an archive that a core came out of. All zero: there was none. */
struct unpacked {
	char *packing;    /* for people: "gzip", "tar", "tar, zstd" */
	char *member;     /* the core's name in the tar; NULL when a core alone was compressed */
	bool keeps_holes; /* the tar lists where the core has data */
	ARRAY(struct unpacked_file) files;
};

/* Whether the file's first bytes are those of a compressed file or a tar. */
bool unpack_is_packed(const struct os_file *f);

/* Unpacks the core, and what came with it, into files without names in the folder (NULL: /var/tmp),
 * with progress. *core is named like the archive. ERR_FORMAT when there is no core, or two, or
 * nothing can be unpacked; ERR_OS when the disk has no room; ERR_LIMIT when it takes more memory
 * than allowed. Damage behind the beginning of the core is a diagnostic. *ret must be zeroed;
 * unpack_close is due in any case. */
struct err *unpack_core(struct unpacked *ret, const struct os_file *packed, const char *folder,
			struct os_file *core, struct diags *d) ERR_RESULT;
void unpack_close(struct unpacked *u);

/* Bytes of memory that decompressing takes: the window that the file's first bytes ask for. */
u64 unpack_window(const u8 *p, u64 n);

#endif
