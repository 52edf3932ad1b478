/* Threads that stood inside the runtime's allocator when the core was made.
 *
 * A debugger stops threads anywhere: pages may be taken from the page allocator and not yet be a
 * span, counters be ahead of what they count. Where an invariant does not hold for that reason,
 * the thread that breaks it is in a function of the allocator, which its stack shows. */
#ifndef GORT_INSIDE_H
#define GORT_INSIDE_H

#include "gort/gort.h"

/* What a thread may have left half done. */
enum {
	INSIDE_PAGES = 1,   /* pages, spans, their records, and all that is counted of them */
	INSIDE_OBJECTS = 2, /* slots of spans, and their counts */
	INSIDE_STACKS = 4,  /* stacks between two owners; buffers of the collector */
	INSIDE_BUCKETS = 8, /* a profile bucket, counted and not yet in its list */
};

struct insider {
	u32 tid;
	unsigned what;
	const char *function; /* the innermost one that tells; lives as long as the executable */
};

struct insiders {
	ARRAY(struct insider) v;
	bool unknown; /* no table of functions: nobody can be found */
};

/* Looks at the stacks of all threads that the runtime knows. An error is the end of memory. */
struct err *insiders_find(const struct gort *gort, struct insiders *ret) ERR_RESULT;

/* How many of them may have left something of this kind half done; the first, or NULL. */
size_t insiders_count(const struct insiders *in, unsigned what, const struct insider **first);

#endif
