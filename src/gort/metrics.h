/* runtime/metrics as the process would have read them (runtime/metrics.go).
 *
 * Reading metrics, unlike ReadMemStats, does not flush the mcaches: their figures lag a little. */
#ifndef GORT_METRICS_H
#define GORT_METRICS_H

#include "gort/gort.h"
#include "gort/mstats.h"

struct metric {
	const char *name;
	u64 value;
};

#define METRICS_MAX 40

/* Fills the metrics that the release has; *n is their number. */
struct err *metrics_read(const struct gort *gort, const struct mstats *m,
			 struct metric ret[static METRICS_MAX], size_t *n) ERR_RESULT;

#endif
