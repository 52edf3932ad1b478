/* The heap's figures by walking spans, bitmaps and lists; no counter of the runtime enters. */
#ifndef GORT_WALK_H
#define GORT_WALK_H

#include "gort/gort.h"

struct walk {
	u64 heap_alloc, heap_objects; /* allocated slots, in bytes and number */
	u64 heap_inuse;               /* spans in use */
	u64 heap_idle, heap_released; /* free pages; of them released ones */
	u64 stack_inuse, workbufs;    /* manual spans of either kind */
	u64 mspan_inuse, mcache_inuse, buckhash;
	u64 unreadable; /* spans whose bitmaps are not in the core */
};

void walk_heap(const struct gort *gort, struct walk *ret);

#endif
