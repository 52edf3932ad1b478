/* The objects that the heap profile sampled and that are still there: each has a special that leads
 * to the bucket of its site (runtime/mheap.go specialprofile, 1.15 to 1.27). */
#ifndef GORT_SAMPLED_H
#define GORT_SAMPLED_H

#include "gort/gort.h"

struct sampled {
	va_t bucket; /* struct site's */
	const struct span *span;
	const struct slots *slots; /* of the span */
	unsigned slot;
};

/* Ends the walk by an error. */
typedef struct err *sampled_visitor(void *arg, const struct sampled *s);

/* Visits those in slots that are allocated, span by span in order of address. Lists that are
 * damaged end (a diagnostic of claim_go's). Nothing where the release's layout does not tell. */
struct err *sampled_visit(const struct gort *gort, sampled_visitor *visit, void *arg) ERR_RESULT;

#endif
