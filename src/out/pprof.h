/* pprof's profile.proto, over protobuf-c: the only file that knows the library. */
#ifndef OUT_PPROF_H
#define OUT_PPROF_H

#include "out/samples.h"

#define PPROF_ID_MAX 128
#define PPROF_CALLS 64
#define PPROF_NAME_MAX 64

/* An address in the executable's code, and the function that has it. */
struct pprof_call {
	u64 at;                        /* bytes from the beginning of the mapping */
	char function[PPROF_NAME_MAX]; /* cut where it is longer */
};

/* What is needed of a heap profile that the user has. */
struct pprof_heap {
	u64 inuse_bytes; /* sum of inuse_space: what -top shows as the total */
	i64 time_ns;     /* when it was taken, Unix time; 0: not said */
	/* Of its first mapping, which is the executable's code. */
	char build_id[PPROF_ID_MAX]; /* "" where it has none: Go links one since 1.24 */
	u64 code_offset;             /* in the file */
	struct pprof_call calls[PPROF_CALLS];
	size_t call_count;
};

/* Reads a heap profile, gzipped or not. ERR_FORMAT when it is none. */
struct err *pprof_read_heap(const char *path, struct pprof_heap *ret) ERR_RESULT;

/* Writes samples as a gzipped profile, the same bytes each time. ERR_OS when it cannot be written,
 * ERR_LIMIT at the end of memory. */
struct err *pprof_write(const struct samples *s, FILE *f) ERR_RESULT;

#endif
