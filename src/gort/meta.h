/* Where the runtime's own structures lie (runtime/malloc.go, mfixalloc.go, mpagealloc_64bit.go,
 * mheap.go gcBits arenas). */
#ifndef GORT_META_H
#define GORT_META_H

#include "gort/gort.h"

enum meta_kind {
	META_PERSISTENT, /* a persistentalloc chunk: everything else is cut out of it */
	META_MSPAN,
	META_MCACHE,
	META_HEAPARENA, /* heapArena structures and the map that finds them */
	META_GCBITS,    /* mark and allocation bitmaps; up to 1.21 the heap bitmap */
	META_PAGEALLOC, /* chunks, summaries, scavenge index */
	META_BUCKET,    /* what BuckHashSys counts */
	META_RESERVED,  /* address space of summaries and indexes without access */
	META_ALLSPANS,
	META_GCWORK,  /* queues of the marker, outside the heap */
	META_SPECIAL, /* specials of objects, finalizer and cleanup blocks */
	META_TRACE,   /* execution trace buffers */
};

struct meta_range {
	struct range range;
	enum meta_kind kind;
	bool mapped; /* a mapping of its own: the rest of its last page belongs to it */
};

struct meta {
	ARRAY(struct meta_range) v; /* no order; only those of META_PERSISTENT contain others */
	u64 left;                   /* structures that may still be found */
};

struct err *meta_find(const struct gort *gort, struct meta *ret) ERR_RESULT;

#endif
