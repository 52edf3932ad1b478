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
	if (f.count <= sweeping->spans)
		return verify_close(v, "objects of each size class", f.count, 0, sweeping->spans,
				    sweeping->text, 0);
	return verify_no_faults(v, "objects of each size class", &f, INSIDE_OBJECTS | INSIDE_PAGES);
}

static struct err *check_walk(const struct walk *w, const struct mstats *m,
			      const struct sweeping *s, bool has_work_bufs, struct verification *v)
{
	const struct {
		const char *name;
		u64 walked, counter;
		unsigned inside;
	} figures[] = {
		{"HeapInuse", w->heap_inuse, m->heap_inuse, INSIDE_PAGES},
		{"HeapIdle", w->heap_idle, m->heap_idle, INSIDE_PAGES},
		{"HeapReleased", w->heap_released, m->heap_released, INSIDE_PAGES},
		{"StackInuse", w->stack_inuse, m->stack_inuse, INSIDE_PAGES | INSIDE_STACKS},
		{"MSpanInuse", w->mspan_inuse, m->mspan_inuse, INSIDE_PAGES},
		{"MCacheInuse", w->mcache_inuse, m->mcache_inuse, INSIDE_PAGES},
		{"BuckHashSys", w->buckhash, m->buckhash_sys, INSIDE_BUCKETS},
	};

	TRY(verify_close(v, "HeapAlloc", w->heap_alloc, m->heap_alloc, s->bytes, s->text,
			 INSIDE_OBJECTS | INSIDE_PAGES));
	TRY(verify_close(v, "HeapObjects", w->heap_objects, m->heap_objects, s->slots, s->text,
			 INSIDE_OBJECTS | INSIDE_PAGES));
	for (size_t i = 0; i < COUNT_OF(figures); i++)
		TRY(verify_equal(v, figures[i].name, figures[i].walked, figures[i].counter,
				 figures[i].inside));
	/* In 1.15 they are counted with the rest of GCSys. */
	if (has_work_bufs)
		TRY(verify_equal(v, "GC work buffers", w->workbufs, m->work_bufs,
				 INSIDE_PAGES | INSIDE_STACKS));
	return NULL;
}

/* The gauges are kept twice since 1.16. */
static struct err *check_stats(const struct mstats *m, struct verification *v)
{
	TRY(verify_equal(v, "heapStats inHeap = heapInUse", m->stats_in_heap, m->heap_inuse,
			 INSIDE_PAGES));
	TRY(verify_equal(v, "heapStats released = heapReleased", m->stats_released,
			 m->heap_released, INSIDE_PAGES));
	return verify_equal(v, "heapStats committed = its parts", m->stats_committed,
			    m->stats_in_heap + m->stack_inuse + m->work_bufs +
				    (m->heap_idle - m->heap_released),
			    INSIDE_PAGES);
}

struct err *verify_counters(const struct gort *gort, struct verification *v)
{
	struct sweeping sweeping;
	struct walk walk;
	struct mstats m;
	struct err *err = mstats_read(gort, &m);

	if (err)
		return verify_unreadable(v, "the runtime's counters", err);
	find_sweeping(gort, &sweeping);
	walk_heap(gort, &walk);
	TRY(check_walk(&walk, &m, &sweeping, rt_has(&gort->rt, RT_DELTA_IN_WORK_BUFS), v));
	TRY(check_classes(gort, &m, &sweeping, v));
	return rt_has(&gort->rt, RT_MSTATS_DELTAS) ? check_stats(&m, v) : NULL;
}
