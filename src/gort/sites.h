/* Where the program allocates, as the runtime sampled it: one site for each stack and size of
 * object, which is a memory bucket of runtime/mprof.go (1.15 to 1.27). */
#ifndef GORT_SITES_H
#define GORT_SITES_H

#include "gort/buckets.h"

/* How the process samples its allocations. */
struct sampling {
	u64 rate;   /* MemProfileRate, the mean of bytes between two samples; 0: off */
	u32 cycle;  /* of the profile, which goes on with each GC */
	bool early; /* no GC has published anything yet: all that was counted is shown then */
};

/* ERR_MISSING when the rate cannot be told, ERR_FAULT when it is not in the core. */
struct err *sampling_read(const struct rt *rt, struct sampling *ret) ERR_RESULT;

/* What was sampled at one site, as runtime.MemProfile would say it: not scaled. Of a damaged
 * bucket anything, negative too. */
struct site {
	va_t bucket; /* its address: what an object's special of kind profile points to */
	u64 size;    /* of each object in bytes; 0 up to 1.26 where nothing was published of it */
	i64 alloc_objects, alloc_bytes; /* ever */
	i64 inuse_objects, inuse_bytes; /* of these not freed */

	/* Addresses inside the calls, the innermost first, as in struct stack; but here each call
	 * that was inlined has one of its own, and so has each that it was inlined into. */
	const va_t *pcs; /* during the visit */
	size_t depth;    /* 0 where the stack is not in the core */
};

/* Ends the walk by an error. */
typedef struct err *site_visitor(void *arg, const struct site *site);

/* Visits all sites, the newest first, which is the order of runtime/pprof; needs no memory. Where
 * the list is damaged it ends (buckets_read reports that). Returns the visitor's error. */
struct err *sites_visit(const struct rt *rt, const struct sampling *sampling, site_visitor *visit,
			void *arg) ERR_RESULT;

/* Where goroutines waited for each other: a block or mutex bucket. */
struct contention {
	i64 count, cycles; /* of the CPU's clock */
	const va_t *pcs;   /* as of a site, but since 1.23 inlined calls have none of their own */
	size_t depth;
};

typedef struct err *contention_visitor(void *arg, const struct contention *c);

/* Visits those of BUCKET_BLOCK or BUCKET_MUTEX, the newest first. */
struct err *contentions_visit(const struct rt *rt, enum bucket_type type, contention_visitor *visit,
			      void *arg) ERR_RESULT;

/* Cycles in a second, as the process measured it; 0 where it did not, or that is not known. */
u64 contentions_clock(const struct rt *rt);

/* The share of contentions of mutexes that was sampled, as its inverse; 0 where it is not known. */
u64 contentions_mutex_rate(const struct rt *rt);

/* Objects or bytes, as a profile shows them. */
struct scaled {
	u64 objects, bytes;
};

/* Scales samples by the chance that an object of their mean size was one, as runtime/pprof does
 * (protomem.go scaleHeapSample). With a rate of 0 or 1 they stay what they are. */
struct scaled site_scaled(i64 objects, i64 bytes, u64 rate);

#endif
