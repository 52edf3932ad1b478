/* The runtime's consistent heap statistics, summed (runtime/mstats.go heapStatsDelta). */
#ifndef GORT_MSTATS_PRIV_H
#define GORT_MSTATS_PRIV_H

#include "gort/gort.h"

struct mstats_totals {
	u64 in_stacks, in_work_bufs, in_ptr_scalar_bits, committed, released, in_heap;
	u64 tiny, large_alloc, large_allocs, large_free, large_frees;
	u64 mallocs[GO_MAX_SIZE_CLASSES], frees[GO_MAX_SIZE_CLASSES];
};

/* The sums as runtime/metrics reads them: without what the mcaches have not reported yet. */
struct err *mstats_read_raw(const struct gort *gort, struct mstats_totals *ret) ERR_RESULT;

#endif
