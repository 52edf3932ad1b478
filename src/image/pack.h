/* Making archives that keep the holes of a core. */
#ifndef IMAGE_PACK_H
#define IMAGE_PACK_H

#include "base/os.h"

struct pack_file {
	const struct os_file *file;
	const char *name; /* in the archive */
	u64 data_bytes;   /* set by pack_write: without the holes */
};

/* ERR_USAGE unless the name ends like an archive that can be made: .tar, .tar.zst, .tar.gz,
 * .tar.xz, .tar.lz4, .tar.bz2. */
struct err *pack_check_name(const char *path) ERR_RESULT;

/* Writes a tar of the files, compressed as its name says, with a list of where each has data (pax
 * sparse files, as GNU tar reads and writes them). It appears under its name when it is complete:
 * a file of that name is an error, unless it is to be replaced. *ret_bytes is its size. Memory: 160
 * bytes for each run of data in a file. */
struct err *pack_write(const char *path, bool replace, struct pack_file *files, size_t n,
		       u64 *ret_bytes) ERR_RESULT;

#endif
