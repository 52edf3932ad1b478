/* Free pages of the heap: the page allocator's bitmaps with the Ps' page caches laid over them
 * (runtime/mpagealloc.go, mpallocbits.go, mpagecache.go). */
#ifndef GORT_PAGEALLOC_H
#define GORT_PAGEALLOC_H

#include "gort/arenas.h"
#include "gort/procs.h"

struct pagealloc {
	ARRAY(struct range) in_use; /* address ranges that have chunks, ascending */
};

/* Ranges that reach beyond the arenas are cut, with a diagnostic. */
struct err *pagealloc_read(const struct rt *rt, const struct arenas *arenas,
			   struct pagealloc *ret) ERR_RESULT;

/* Free pages of one kind, within one chunk. */
struct free_run {
	va_t lo, hi;
	bool released;
};

/* A walk over all free runs by ascending address. */
struct free_walk {
	const struct rt *rt;
	const struct pagealloc *pa;
	const struct procs *procs;
	const struct spans *spans;
	size_t range, span;
	va_t chunk; /* next chunk to load */
	va_t base;  /* of the loaded one */
	unsigned page;
	bool loaded;
	u64 free[GO_CHUNK_PAGES / 64], released[GO_CHUNK_PAGES / 64];
};

/* With spans, the pages that are allocated but in no span count as free, as the runtime has them:
 * a thread was stopped while it gave them to a span, or while it released them. */
void free_walk_begin(struct free_walk *w, const struct rt *rt, const struct pagealloc *pa,
		     const struct procs *procs, const struct spans *spans);
bool free_walk_next(struct free_walk *w, struct free_run *ret);

/* Moves the span that a thread was freeing at this instant out of spans->v: all its pages are free
 * and counted so, and its record is about to die (runtime/mheap.go freeSpanLocked). The heap's lock
 * is held meanwhile, so that there is one at most: without it, or of more, none is moved, for they
 * are damage. */
void spans_drop_freed(const struct rt *rt, const struct pagealloc *pa, const struct procs *procs,
		      struct spans *spans);

#endif
