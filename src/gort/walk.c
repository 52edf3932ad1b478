#include "gort/walk.h"

#include "base/bits.h"
#include "gort/rtget.h"

static void walk_spans(const struct gort *gort, struct walk *w)
{
	struct slots slots;

	for (size_t i = 0; i < gort->spans.v.n; i++) {
		const struct span *s = &gort->spans.v.v[i];

		if (s->state == SPAN_MANUAL) {
			if (s->flags & SPAN_WORKBUF)
				w->workbufs += span_bytes(s);
			else
				w->stack_inuse += span_bytes(s);
			continue;
		}
		w->heap_inuse += span_bytes(s);
		if (slots_read(&gort->rt, &gort->arenas, s, &slots)) {
			u64 n = bits_count(slots.alloc, 0, slots.n);

			w->heap_objects += n;
			w->heap_alloc += n * s->elemsize;
		} else {
			w->unreadable++;
		}
	}
}

static void walk_pages(const struct gort *gort, struct walk *w)
{
	const struct range *rest = &gort->arenas.rest;
	struct free_walk walk;
	struct free_run run;

	w->heap_idle += rest->hi - rest->lo;
	w->heap_released += rest->hi - rest->lo;

	free_walk_begin(&walk, &gort->rt, &gort->pagealloc, &gort->procs, &gort->spans);
	while (free_walk_next(&walk, &run)) {
		w->heap_idle += run.hi - run.lo;
		if (run.released)
			w->heap_released += run.hi - run.lo;
	}
}

static void walk_metadata(const struct gort *gort, struct walk *w)
{
	u64 spans = gort->spans.v.n + gort->spans.parked.n + (gort->spans.freed.npages > 0);

	for (size_t i = 0; i < gort->procs.v.n; i++) {
		spans += gort->procs.v.v[i].spare_mspans;
		if (gort->procs.v.v[i].mcache)
			w->mcache_inuse += rt_size(&gort->rt, RT_MCACHE);
	}
	w->mspan_inuse = spans * rt_size(&gort->rt, RT_MSPAN);
	w->buckhash = gort->buckets.hash ? GO_BUCKHASH_BYTES : 0;
	w->buckhash += gort->buckets.bytes;
	for (size_t i = 0; i < gort->modules.v.n; i++) {
		const struct module *m = &gort->modules.v.v[i];

		w->buckhash += m->gcdata_mask.hi - m->gcdata_mask.lo;
		w->buckhash += m->gcbss_mask.hi - m->gcbss_mask.lo;
	}
}

void walk_heap(const struct gort *gort, struct walk *ret)
{
	*ret = (struct walk){0};
	walk_spans(gort, ret);
	walk_pages(gort, ret);
	walk_metadata(gort, ret);
}
