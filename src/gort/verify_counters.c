/* Walked figures against the runtime's counters. */
#include "gort/verify_priv.h"

#include "base/bits.h"
#include "gort/rtget.h"

/* Spans that a thread was sweeping at that instant: their slots are counted on neither side, or
 * on both. */
struct sweeping {
	u64 spans, bytes, slots;
	char text[96];
};

static void find_sweeping(const struct gort *gort, struct sweeping *ret)
{
	*ret = (struct sweeping){0};
	for (size_t i = 0; i < gort->spans.v.n; i++) {
		const struct span *s = &gort->spans.v.v[i];

		if (s->state != SPAN_IN_USE || s->sweep != -1)
			continue;
		if (!ret->spans++)
			snprintf(ret->text, sizeof(ret->text), "span 0x%llx was being swept",
				 (unsigned long long)s->start);
		ret->bytes += s->elemsize * s->nelems;
		ret->slots += s->nelems;
	}
}

/* Pages that a thread was adding to the heap at that instant (runtime/mheap.go mheap.grow): taken
 * from curArena and counted as released, one counter after the other, before the page allocator
 * has them. At rest curArena begins where the page allocator's last range in its arenas ends. */
struct growing {
	u64 bytes;
	char text[96];
};

static void find_growing(const struct gort *gort, struct growing *ret)
{
	const va_t base = gort->arenas.reserved.lo;
	va_t from = 0;

	*ret = (struct growing){0};
	for (size_t i = 0; i < gort->arenas.v.n; i++) {
		va_t arena = gort->arenas.v.v[i].base;

		if (arena < base && base <= arenas_end(&gort->arenas, arena))
			from = from ? MIN(from, arena) : arena;
	}
	for (size_t i = 0; from && i < gort->pagealloc.in_use.n; i++)
		if (gort->pagealloc.in_use.v[i].lo < base)
			from = MAX(from, gort->pagealloc.in_use.v[i].hi);
	for (size_t i = 0; from && i < gort->spans.v.n; i++)
		if (from <= gort->spans.v.v[i].start && gort->spans.v.v[i].start < base)
			return; /* not new */
	if (!from || from >= base)
		return;
	ret->bytes = base - from;
	snprintf(ret->text, sizeof(ret->text), "the heap was growing at 0x%llx",
		 (unsigned long long)from);
}

/* Objects of each size class: mallocs minus frees are the allocated slots. */
static struct err *check_classes(const struct gort *gort, const struct mstats *m,
				 const struct sweeping *sweeping, struct verification *v)
{
	u64 walked[GO_MAX_SIZE_CLASSES] = {0};
	struct faults f = {0};

	for (size_t i = 0; i < gort->spans.v.n; i++) {
		const struct span *s = &gort->spans.v.v[i];

		if (s->state == SPAN_IN_USE && s->spanclass / 2u < GO_MAX_SIZE_CLASSES)
			walked[s->spanclass / 2] += s->alloc_count;
	}
	for (u32 c = 1; c < gort->rt.size_class_count; c++)
		if (walked[c] != m->class_objects[c])
			faults_add(&f, "class %u: %llu slots allocated, %llu objects counted", c,
				   (unsigned long long)walked[c],
				   (unsigned long long)m->class_objects[c]);
	return verify_close(v, "objects of each size class", f.count, 0, sweeping->spans,
			    sweeping->spans ? sweeping->text : f.first);
}

static struct err *check_walk(const struct walk *w, const struct mstats *m,
			      const struct sweeping *s, const struct growing *g,
			      struct verification *v)
{
	TRY(verify_close(v, "HeapAlloc", w->heap_alloc, m->heap_alloc, s->bytes, s->text));
	TRY(verify_close(v, "HeapObjects", w->heap_objects, m->heap_objects, s->slots, s->text));
	TRY(verify_equal(v, "HeapInuse", w->heap_inuse, m->heap_inuse, NULL));
	TRY(verify_close(v, "HeapIdle", w->heap_idle, m->heap_idle, g->bytes, g->text));
	TRY(verify_close(v, "HeapReleased", w->heap_released, m->heap_released, g->bytes, g->text));
	TRY(verify_equal(v, "StackInuse", w->stack_inuse, m->stack_inuse, NULL));
	TRY(verify_equal(v, "GC work buffers", w->workbufs, m->work_bufs, NULL));
	TRY(verify_equal(v, "MSpanInuse", w->mspan_inuse, m->mspan_inuse, NULL));
	TRY(verify_equal(v, "MCacheInuse", w->mcache_inuse, m->mcache_inuse, NULL));
	return verify_equal(v, "BuckHashSys", w->buckhash, m->buckhash_sys, NULL);
}

struct err *verify_counters(const struct gort *gort, struct verification *v)
{
	struct sweeping sweeping;
	struct growing growing;
	struct walk walk;
	struct mstats m;
	struct err *err = mstats_read(gort, &m);

	if (err)
		return verify_unreadable(v, "the runtime's counters", err);
	find_sweeping(gort, &sweeping);
	walk_heap(gort, &walk);
	find_growing(gort, &growing);
	TRY(check_walk(&walk, &m, &sweeping, &growing, v));
	TRY(check_classes(gort, &m, &sweeping, v));
	TRY(verify_equal(v, "heapStats inHeap = heapInUse", m.stats_in_heap, m.heap_inuse, NULL));
	TRY(verify_close(v, "heapStats released = heapReleased", m.stats_released, m.heap_released,
			 growing.bytes, growing.text));
	return verify_equal(v, "heapStats committed = its parts", m.stats_committed,
			    m.stats_in_heap + m.stack_inuse + m.work_bufs +
				    (m.heap_idle - m.heap_released),
			    NULL);
}
