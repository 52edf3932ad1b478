/* The runtime keeps three partial sums (heapStats.stats) that readers and writers rotate; their
 * total, with wrap-around, is right at any instant. ReadMemStats first flushes what each mcache
 * has not reported yet; the same correction is made here from the cached spans. */
#include "gort/mstats.h"

#include "gort/mstats_priv.h"
#include "gort/rtget.h"

#include <string.h>

#define DELTA_COUNT 3
#define MIB ((u64)1 << 20)

struct err *mstats_add(const struct rt *rt, va_t base, enum rt_field f, u64 *sum)
{
	u64 v;

	if (!rt_has(rt, f))
		return NULL;
	TRY(rt_u(rt, base, f, &v));
	*sum += v;
	return NULL;
}

struct err *mstats_add_array(const struct rt *rt, va_t base, enum rt_field f,
			     u64 sums[static GO_MAX_SIZE_CLASSES])
{
	u64 n = rt_has(rt, f) ? MIN(rt->slots[f].count, rt->size_class_count) : 0, v;

	for (u64 i = 0; i < n; i++) {
		if (!image_u64(rt->im, rt_addr(rt, base, f) + 8 * i, &v))
			return err_fault();
		sums[i] += v;
	}
	return NULL;
}

static struct err *add_delta(const struct rt *rt, va_t delta, struct mstats_totals *t)
{
	TRY(mstats_add(rt, delta, RT_DELTA_COMMITTED, &t->committed));
	TRY(mstats_add(rt, delta, RT_DELTA_RELEASED, &t->released));
	TRY(mstats_add(rt, delta, RT_DELTA_IN_HEAP, &t->in_heap));
	TRY(mstats_add(rt, delta, RT_DELTA_IN_STACKS, &t->in_stacks));
	TRY(mstats_add(rt, delta, RT_DELTA_IN_WORK_BUFS, &t->in_work_bufs));
	TRY(mstats_add(rt, delta, RT_DELTA_IN_PTR_SCALAR_BITS, &t->in_ptr_scalar_bits));
	TRY(mstats_add(rt, delta, RT_DELTA_TINY_ALLOC_COUNT, &t->tiny));
	TRY(mstats_add(rt, delta, RT_DELTA_LARGE_ALLOC, &t->large_alloc));
	TRY(mstats_add(rt, delta, RT_DELTA_LARGE_ALLOC_COUNT, &t->large_allocs));
	TRY(mstats_add(rt, delta, RT_DELTA_LARGE_FREE, &t->large_free));
	TRY(mstats_add(rt, delta, RT_DELTA_LARGE_FREE_COUNT, &t->large_frees));
	TRY(mstats_add_array(rt, delta, RT_DELTA_SMALL_ALLOC_COUNT, t->mallocs));
	return mstats_add_array(rt, delta, RT_DELTA_SMALL_FREE_COUNT, t->frees);
}

/* What a cached span has handed out since the mcache took it and has not reported yet. Up to 1.18
 * the whole span was reported when the mcache took it: what it has left is too much. A thread that
 * was stopped in mcache.refill leaves a span here that is swept and reported already. */
static struct err *flush_span(const struct gort *gort, va_t mspan, struct mstats_totals *t)
{
	const struct rt *rt = &gort->rt;
	u8 buf[RT_RECORD_MAX];
	const u8 *rec = mspan ? rt_record(rt, mspan, RT_MSPAN, buf) : NULL;
	const struct span *s =
		rec ? spans_find(&gort->spans, rec_u(rt, rec, RT_MSPAN_START)) : NULL;

	/* emptymspan, which stands for "none", is no span of the heap. */
	if (!s || s->mspan != mspan || s->spanclass / 2u >= rt->size_class_count)
		return NULL;
	if (!rt_has(rt, RT_MSPAN_ALLOC_COUNT_BEFORE_CACHE))
		t->mallocs[s->spanclass / 2] -= s->nelems - s->alloc_count;
	else if (s->sweep != 0)
		t->mallocs[s->spanclass / 2] +=
			s->alloc_count - rec_u(rt, rec, RT_MSPAN_ALLOC_COUNT_BEFORE_CACHE);
	return NULL;
}

static struct err *flush_cache(const struct gort *gort, va_t mcache, struct mstats_totals *t)
{
	const struct rt *rt = &gort->rt;

	for (u64 c = 0; c < rt->slots[RT_MCACHE_ALLOC].count; c++) {
		va_t mspan;

		if (!image_u64(rt->im, rt_addr(rt, mcache, RT_MCACHE_ALLOC) + 8 * c, &mspan))
			return err_fault();
		TRY(flush_span(gort, mspan, t));
	}
	/* In 1.15 it counts what it has swept, too. */
	TRY(mstats_add(rt, mcache, RT_MCACHE_LARGE_FREE, &t->large_free));
	TRY(mstats_add(rt, mcache, RT_MCACHE_LARGE_FREE_COUNT, &t->large_frees));
	TRY(mstats_add_array(rt, mcache, RT_MCACHE_SMALL_FREE_COUNT, t->frees));
	return mstats_add(rt, mcache, RT_MCACHE_TINY_ALLOCS, &t->tiny);
}

/* A cache that is not there makes the counters lag a little, no more. */
static void flush_caches(const struct gort *gort, struct mstats_totals *t)
{
	for (size_t i = 0; i < gort->procs.v.n; i++) {
		va_t mcache = gort->procs.v.v[i].mcache;

		if (mcache)
			diag_err(gort->rt.d, DIAG_STRUCTURE,
				 err_wrap(flush_cache(gort, mcache, t), "the mcache at 0x%llx",
					  (unsigned long long)mcache));
	}
}

struct err *mstats_read_raw(const struct gort *gort, struct mstats_totals *ret)
{
	const struct rt *rt = &gort->rt;
	va_t stats = rt->globals[RT_G_MEMSTATS], deltas = rt_addr(rt, stats, RT_MSTATS_DELTAS);

	*ret = (struct mstats_totals){0};
	if (!rt_has(rt, RT_MSTATS_DELTAS))
		return mstats_read_plain(rt, ret);
	for (u64 i = 0; i < DELTA_COUNT; i++)
		TRY(add_delta(rt, deltas + i * rt_size(rt, RT_MSTATS_DELTA), ret));
	/* Small objects in a common slot (1.16; later one of the sums). */
	return mstats_add(rt, stats, RT_MSTATS_TINYALLOCS, &ret->tiny);
}

static void set_objects(const struct rt *rt, const struct mstats_totals *t, struct mstats *m)
{
	u64 freed = t->large_free;

	m->total_alloc = t->large_alloc;
	m->mallocs = t->large_allocs + t->tiny;
	m->frees = t->large_frees + t->tiny;
	for (u32 i = 0; i < rt->size_class_count; i++) {
		m->total_alloc += t->mallocs[i] * rt->size_class_bytes[i];
		freed += t->frees[i] * rt->size_class_bytes[i];
		m->mallocs += t->mallocs[i];
		m->frees += t->frees[i];
		m->class_objects[i] = t->mallocs[i] - t->frees[i];
		if (i < MSTATS_BY_SIZE) {
			m->by_size[i].size = rt->size_class_bytes[i];
			m->by_size[i].mallocs = t->mallocs[i];
			m->by_size[i].frees = t->frees[i];
		}
	}
	m->heap_alloc = m->total_alloc - freed;
	m->heap_objects = m->mallocs - m->frees;
}

/* What the GC pacer's state holds, for the heap's gauges and the next goal. */
struct pacer {
	u64 in_use, released, free, total_alloc, total_free, mapped_ready;
	u64 memory_limit, percent, live, marked, percent_goal, min_trigger, triggered;
};

static struct err *read_pacer(const struct rt *rt, struct pacer *p)
{
	const struct {
		enum rt_field f;
		u64 *to;
	} fields[] = {
		{RT_GCC_HEAP_IN_USE, &p->in_use},
		{RT_GCC_HEAP_RELEASED, &p->released},
		{RT_GCC_HEAP_FREE, &p->free},
		{RT_GCC_TOTAL_ALLOC, &p->total_alloc},
		{RT_GCC_TOTAL_FREE, &p->total_free},
		{RT_GCC_MAPPED_READY, &p->mapped_ready},
		{RT_GCC_MEMORY_LIMIT, &p->memory_limit},
		{RT_GCC_PERCENT, &p->percent},
		{RT_GCC_HEAP_LIVE, &p->live},
		{RT_GCC_HEAP_MARKED, &p->marked},
		{RT_GCC_PERCENT_HEAP_GOAL, &p->percent_goal},
		{RT_GCC_SWEEP_DIST_MIN_TRIGGER, &p->min_trigger},
		{RT_GCC_TRIGGERED, &p->triggered},
	};

	for (size_t i = 0; i < COUNT_OF(fields); i++)
		TRY(rt_u(rt, rt->globals[RT_G_GC_CONTROLLER], fields[i].f, fields[i].to));
	return NULL;
}

/* runtime/mgcpacer.go memoryLimitHeapGoal. */
static u64 memory_limit_goal(const struct rt *rt, const struct pacer *p)
{
	u64 non_heap = p->mapped_ready - p->free - (p->total_alloc - p->total_free);
	u64 over = p->mapped_ready > p->memory_limit ? p->mapped_ready - p->memory_limit : 0;
	u64 goal, headroom;

	if (non_heap + over >= p->memory_limit)
		return p->marked;
	goal = p->memory_limit - (non_heap + over);
	headroom = MAX(goal / 100 * rt->dialect.headroom_percent, MIB);
	goal = goal < headroom || goal - headroom < headroom ? headroom : goal - headroom;
	return MAX(goal, p->marked);
}

/* runtime/mgcpacer.go heapGoalInternal. */
static u64 heap_goal(const struct rt *rt, const struct pacer *p)
{
	const u64 min_trigger_distance = 64 << 10;
	u64 limit_goal = memory_limit_goal(rt, p), goal;

	if (limit_goal < p->percent_goal)
		return limit_goal;
	goal = MAX(p->percent_goal, p->min_trigger);
	if (p->triggered != UINT64_MAX)
		goal = MAX(goal, p->triggered + min_trigger_distance);
	return goal;
}

/* Gauges and goals that are kept by the pacer. */
static struct err *set_paced(const struct rt *rt, const struct mstats_totals *t, struct mstats *m)
{
	struct pacer p;

	TRY(read_pacer(rt, &p));
	m->heap_inuse = p.in_use;
	m->heap_idle = p.free + p.released;
	m->heap_released = p.released;
	m->heap_sys = m->heap_inuse + m->heap_idle;
	m->stack_inuse = t->in_stacks;
	m->next_gc = heap_goal(rt, &p);
	m->heap_live = p.live;
	m->heap_marked = p.marked;
	m->memory_limit = p.memory_limit;
	m->mapped_ready = p.mapped_ready;
	m->gc_percent = (int32_t)p.percent;
	m->has_gc_percent = true;
	return NULL;
}

/* What was asked of the system for each purpose. */
static struct err *set_sys(const struct rt *rt, struct mstats *m)
{
	va_t stats = rt->globals[RT_G_MEMSTATS], mheap = rt->globals[RT_G_MHEAP];
	u64 stacks_sys;

	TRY(rt_u(rt, stats, RT_MSTATS_STACKS_SYS, &stacks_sys));
	TRY(rt_u(rt, stats, RT_MSTATS_MSPAN_SYS, &m->mspan_sys));
	TRY(rt_u(rt, stats, RT_MSTATS_MCACHE_SYS, &m->mcache_sys));
	TRY(rt_u(rt, stats, RT_MSTATS_BUCKHASH_SYS, &m->buckhash_sys));
	TRY(rt_u(rt, stats, RT_MSTATS_OTHER_SYS, &m->other_sys));
	TRY(rt_u(rt, rt_addr(rt, mheap, RT_MHEAP_SPANALLOC), RT_FIXALLOC_INUSE, &m->mspan_inuse));
	TRY(rt_u(rt, rt_addr(rt, mheap, RT_MHEAP_CACHEALLOC), RT_FIXALLOC_INUSE, &m->mcache_inuse));
	/* In 1.15 gc_sys has the work buffers too. */
	m->gc_sys = m->work_bufs;
	TRY(mstats_add(rt, stats,
		       rt_has(rt, RT_MSTATS_GC_SYS) ? RT_MSTATS_GC_SYS : RT_MSTATS_GC_MISC_SYS,
		       &m->gc_sys));
	m->stack_sys = m->stack_inuse + stacks_sys;
	m->sys = m->heap_sys + m->stack_sys + m->mspan_sys + m->mcache_sys + m->buckhash_sys +
		 m->gc_sys + m->other_sys;
	return NULL;
}

static struct err *set_gauges(const struct rt *rt, const struct mstats_totals *t, struct mstats *m)
{
	m->work_bufs = t->in_work_bufs + t->in_ptr_scalar_bits;
	m->stats_committed = t->committed;
	m->stats_in_heap = t->in_heap;
	m->stats_released = t->released;
	if (rt_has(rt, RT_GCC_HEAP_IN_USE))
		TRY(set_paced(rt, t, m));
	else
		TRY(mstats_set_plain(rt, t, m));
	return set_sys(rt, m);
}

static struct err *read_cycles(const struct rt *rt, struct mstats *m)
{
	va_t stats = rt->globals[RT_G_MEMSTATS];
	u64 fraction, enabled;

	TRY(rt_u(rt, stats, RT_MSTATS_LAST_GC, &m->last_gc));
	TRY(rt_u(rt, stats, RT_MSTATS_PAUSE_TOTAL, &m->pause_total_ns));
	TRY(rt_u(rt, stats, RT_MSTATS_NUMGC, &m->num_gc));
	TRY(rt_u(rt, stats, RT_MSTATS_NUMFORCEDGC, &m->num_forced_gc));
	TRY(rt_u(rt, stats, RT_MSTATS_GC_CPU_FRACTION, &fraction));
	TRY(rt_u(rt, stats, RT_MSTATS_ENABLEGC, &enabled));
	memcpy(&m->gc_cpu_fraction, &fraction, sizeof(fraction));
	m->enable_gc = enabled != 0;
	TRY(image_read(rt->im, rt_addr(rt, stats, RT_MSTATS_PAUSE_NS), m->pause_ns,
		       MIN(sizeof(m->pause_ns), rt_size(rt, RT_MSTATS_PAUSE_NS))));
	return image_read(rt->im, rt_addr(rt, stats, RT_MSTATS_PAUSE_END), m->pause_end,
			  MIN(sizeof(m->pause_end), rt_size(rt, RT_MSTATS_PAUSE_END)));
}

struct err *mstats_read(const struct gort *gort, struct mstats *ret)
{
	struct mstats_totals t;

	*ret = (struct mstats){0};
	TRY(err_wrap(mstats_read_raw(gort, &t), "the heap's statistics"));
	flush_caches(gort, &t);
	set_objects(&gort->rt, &t, ret);
	TRY(err_wrap(set_gauges(&gort->rt, &t, ret), "the memory statistics"));
	return err_wrap(read_cycles(&gort->rt, ret), "the GC's statistics");
}
