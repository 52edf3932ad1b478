/* A file in memory whose bytes can be changed while somebody has it mapped.
 *
 * It has a path, holes that lseek tells about, and a size, like any core; it goes with the
 * process. Errors end the program. */
#ifndef SUPPORT_MEMFILE_H
#define SUPPORT_MEMFILE_H

#include "base/types.h"

struct memfile {
	int fd;
	u8 *data; /* mapped shared: what is written here is what others see */
	u64 size;
	char path[40];
};

/* A file with these bytes. */
void memfile_new(struct memfile *m, const void *bytes, size_t n);

/* A copy of a file, holes kept. */
void memfile_copy(struct memfile *m, const char *path);

/* Makes a copy anew whose holes were filled in by reading: a file in memory keeps the zeros. */
void memfile_refresh(struct memfile *m, const char *path);

/* Gives the file other bytes, and its size with them. */
void memfile_set(struct memfile *m, const void *bytes, size_t n);

/* Shortens the file, under whoever has it mapped. */
void memfile_cut(struct memfile *m, u64 size);

void memfile_free(struct memfile *m);

/* A change that can be taken back; a hole becomes one again. */
struct memfile_change {
	u64 off;
	u64 old;
	bool hole;
};

/* Writes the 8 bytes at off, which must lie inside the file. */
struct memfile_change memfile_poke(struct memfile *m, u64 off, u64 word);
void memfile_undo(struct memfile *m, const struct memfile_change *change);

#endif
