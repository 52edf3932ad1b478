/* The runtime's consistent heap statistics, summed (runtime/mstats.go heapStatsDelta). */
#ifndef GORT_MSTATS_PRIV_H
#define GORT_MSTATS_PRIV_H

#include "gort/mstats.h"

struct mstats_totals {
	u64 in_stacks, in_work_bufs, in_ptr_scalar_bits, committed, released, in_heap;
	u64 tiny, large_alloc, large_allocs, large_free, large_frees;
	u64 mallocs[GO_MAX_SIZE_CLASSES], frees[GO_MAX_SIZE_CLASSES];
};

/* The sums as runtime/metrics reads them: without what the mcaches have not reported yet. */
struct err *mstats_read_raw(const struct gort *gort, struct mstats_totals *ret) ERR_RESULT;

/* The same sums in 1.15, which has no heapStats: from mheap_ and its mcentrals. */
struct err *mstats_read_plain(const struct rt *rt, struct mstats_totals *ret) ERR_RESULT;

/* The heap's gauges and the pacer's figures, which up to 1.18 are plain fields of memstats. */
struct err *mstats_set_plain(const struct rt *rt, const struct mstats_totals *t,
			     struct mstats *m) ERR_RESULT;

/* Adds a counter, or each counter of an array; nothing where the release has no such field. */
struct err *mstats_add(const struct rt *rt, va_t base, enum rt_field f, u64 *sum) ERR_RESULT;
struct err *mstats_add_array(const struct rt *rt, va_t base, enum rt_field f,
			     u64 sums[static GO_MAX_SIZE_CLASSES]) ERR_RESULT;

#endif
