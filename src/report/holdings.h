/* What allocation sites hold, by the sampled objects that are no garbage: their bytes, and the
 * free slots beside them, which nothing but an object of the same size can use.
 *
 * A sampled object stands for `scale` others of its site and size (gort/sites.h site_scaled). The
 * free bytes of a span are pinned by all of its objects alike, so that the sum over the sampled
 * ones, each times its scale, estimates what a site pins, however few spans the sample sees. */
#ifndef REPORT_HOLDINGS_H
#define REPORT_HOLDINGS_H

#include "base/map.h"
#include "gort/sampled.h"
#include "gort/sites.h"

/* One site in one span class. */
struct holding {
	va_t bucket; /* the site */
	u8 spanclass;
	u64 sampled, live; /* sampled objects that are no garbage; of these found reachable */
	u64 bytes;         /* of objects found reachable, estimated */
	u64 spans, unused; /* spans that have a sampled one, and the free bytes in these */
	u64 pinned;        /* free bytes that its objects pin, estimated */

	double shares;  /* sum of free bytes for each object in the sampled ones' spans */
	va_t last_span; /* the last one that was counted */
	u32 next;       /* of the same site, index + 1 */
};

struct holdings {
	ARRAY(struct holding) v; /* by span class, then bucket */
	u64 spans, unused;       /* that the sample sees: each span once */
	va_t last_span;
	struct map index; /* hash of site and span class, later of the site -> index + 1 */
};

/* Reads them; rate is sampling.rate. The only error is the end of memory, or what sampled_visit
 * has. holdings_fini is due in any case. */
struct err *holdings_read(const struct gort *gort, u64 rate, struct holdings *ret) ERR_RESULT;
void holdings_fini(struct holdings *h);

/* The site's first holding, or NULL; the others follow by next. */
struct err *holdings_of(struct holdings *h, va_t bucket, struct holding **ret) ERR_RESULT;

#endif
