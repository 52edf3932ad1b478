/* Profile buckets: one for each allocation, block or mutex site that was sampled
 * (runtime/mprof.go). A bucket is header, nstk program counters, record. */
#ifndef GORT_BUCKETS_H
#define GORT_BUCKETS_H

#include "gort/rt.h"

enum bucket_type { BUCKET_MEM = 1, BUCKET_BLOCK = 2, BUCKET_MUTEX = 3 };

#define BUCKET_DEPTH_MAX 4096 /* calls; debug.profstackdepth is at most 1024 */

struct buckets {
	va_t hash; /* the table, made with the first bucket; 0 before */
	u64 count;
	u64 bytes;                  /* of all buckets */
	ARRAY(struct range) memory; /* where they lie, neighbours joined */
};

/* What `go tool pprof -inuse_space` would show of the process's own heap profile. */
struct heap_profile {
	u64 rate;          /* MemProfileRate; 0: the profile is off */
	u64 inuse_bytes;   /* scaled by the rate as pprof does, summed over the sites */
	u64 inuse_objects; /* likewise */
	u64 sites;         /* buckets with live samples */
};

/* Sums the memory buckets as runtime.MemProfile and runtime/pprof would. */
struct err *heap_profile_read(const struct rt *rt, struct heap_profile *ret) ERR_RESULT;

/* Walks the memory, block and mutex buckets. Damaged lists are diagnostics. */
struct err *buckets_read(const struct rt *rt, struct buckets *ret) ERR_RESULT;

#endif
