/* What is left of a heap whose tables are not in the core, as in one that was cut short: the tables
 * lie at the high end of the address space, and so of the file, the runtime's variables at the low.
 */
#ifndef GORT_REMAINS_H
#define GORT_REMAINS_H

#include "gort/mstats.h"

struct remains {
	va_t lo, hi; /* the run of mappings that the newest arena is in; 0: not found */

	/* The runtime's own. Objects that were allocated since a P took its cached spans are
	 * missing: that is counted in the cache. */
	struct mstats counters;
};

/* Reads them of a gort that is attached, whatever else it has. */
struct err *remains_read(const struct gort *gort, struct remains *ret) ERR_RESULT;

#endif
