/* Statistics that a few wild values do not move, over figures of a set of snapshots. */
#ifndef STORE_STATS_H
#define STORE_STATS_H

#include "base/err.h"

struct sample {
	double x, y;
};

/* The middle value, or the mean of the two in the middle. Sorts the values; n must not be 0. */
double stats_median(double *v, size_t n);

/* The same of the y of samples, which stay in order; of none, *ret stays as it was. The only error
 * is the end of memory. */
struct err *stats_median_y(const struct sample *v, size_t n, double *ret) ERR_RESULT;

/* The slope of the line through the samples by Theil and Sen: the median of the slopes between all
 * pairs of different x. *known is false where there is no such pair. Time grows with the square of
 * n. The only error is the end of memory. */
struct err *stats_slope(const struct sample *v, size_t n, bool *known, double *ret) ERR_RESULT;

/* In how many of the n - 1 steps from one sample to the next y has grown. */
size_t stats_grown(const struct sample *v, size_t n);

#endif
