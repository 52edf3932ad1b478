/* runtime.MemStats as the process would have read it at the moment of the core, from the
 * runtime's counters (runtime/mstats.go readmemstats_m). */
#ifndef GORT_MSTATS_H
#define GORT_MSTATS_H

#include "gort/gort.h"

#define MSTATS_PAUSES 256
#define MSTATS_BY_SIZE 61 /* runtime.MemStats.BySize has no entry for the largest classes */

struct mstats {
	u64 heap_alloc, total_alloc, mallocs, frees, heap_objects;
	u64 heap_sys, heap_idle, heap_inuse, heap_released;
	u64 stack_inuse, stack_sys;
	u64 mspan_inuse, mspan_sys, mcache_inuse, mcache_sys;
	u64 buckhash_sys, gc_sys, other_sys, sys;
	u64 next_gc, last_gc, num_gc, num_forced_gc;
	u64 pause_total_ns, pause_ns[MSTATS_PAUSES], pause_end[MSTATS_PAUSES];
	double gc_cpu_fraction;
	bool enable_gc;
	struct {
		u64 size, mallocs, frees;
	} by_size[MSTATS_BY_SIZE];

	/* Not in runtime.MemStats, but kept by the runtime in the same place. */
	u64 class_objects[GO_MAX_SIZE_CLASSES];   /* mallocs minus frees, by size class */
	u64 work_bufs;                            /* GC work buffers and pointer bits */
	u64 heap_live, heap_marked, mapped_ready; /* of the pacer; mapped_ready since 1.19 */
	u64 memory_limit;                         /* INT64_MAX where there is none */
	i64 gc_percent;                           /* GOGC; negative: off */
	bool has_gc_percent;                      /* up to 1.16 a variable by itself */
	u64 stats_committed, stats_in_heap, stats_released;
};

struct err *mstats_read(const struct gort *gort, struct mstats *ret) ERR_RESULT;

#endif
