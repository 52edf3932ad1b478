/* Profile buckets: one for each allocation, block or mutex site that was sampled
 * (runtime/mprof.go). A bucket is header, nstk program counters, record. */
#ifndef GORT_BUCKETS_H
#define GORT_BUCKETS_H

#include "gort/rt.h"

struct buckets {
	va_t hash; /* the table, made with the first bucket; 0 before */
	u64 count;
	u64 bytes;                  /* of all buckets */
	ARRAY(struct range) memory; /* where they lie, neighbours joined */
};

/* Walks the memory, block and mutex buckets. Damaged lists are diagnostics. */
struct err *buckets_read(const struct rt *rt, struct buckets *ret) ERR_RESULT;

#endif
