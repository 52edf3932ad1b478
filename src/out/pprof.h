/* pprof's profile.proto, over protobuf-c: the only file that knows the library. */
#ifndef OUT_PPROF_H
#define OUT_PPROF_H

#include "base/err.h"

#define PPROF_ID_MAX 128

/* What is needed of a heap profile that the user has. */
struct pprof_heap {
	u64 inuse_bytes;             /* sum of inuse_space: what -top shows as the total */
	i64 time_ns;                 /* when it was taken, Unix time; 0: not said */
	char build_id[PPROF_ID_MAX]; /* of its first mapping, "" where there is none */
};

/* Reads a heap profile, gzipped or not. ERR_FORMAT when it is none. */
struct err *pprof_read_heap(const char *path, struct pprof_heap *ret) ERR_RESULT;

#endif
