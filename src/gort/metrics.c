#include "gort/metrics.h"

#include "gort/mstats_priv.h"
#include "gort/rtget.h"

/* Metrics being collected. */
struct list {
	struct metric *v;
	size_t n;
};

static void add(struct list *l, const char *name, u64 value)
{
	if (l->n < METRICS_MAX)
		l->v[l->n++] = (struct metric){name, value};
}

/* Bytes and numbers of all allocations and frees, as far as they were reported. */
struct flow {
	u64 alloc_bytes, alloc_objects, free_bytes, free_objects;
};

static struct flow sum_flow(const struct rt *rt, const struct mstats_totals *t)
{
	struct flow f = {t->large_alloc, t->large_allocs, t->large_free, t->large_frees};

	for (u32 c = 0; c < rt->size_class_count; c++) {
		f.alloc_bytes += t->mallocs[c] * rt->size_class_bytes[c];
		f.alloc_objects += t->mallocs[c];
		f.free_bytes += t->frees[c] * rt->size_class_bytes[c];
		f.free_objects += t->frees[c];
	}
	return f;
}

static void add_memory(struct list *l, const struct mstats_totals *t, const struct flow *f,
		       const struct mstats *m)
{
	u64 objects = f->alloc_bytes - f->free_bytes;
	u64 work = t->in_work_bufs + t->in_ptr_scalar_bits;
	u64 stacks_sys = m->stack_sys - m->stack_inuse;
	u64 gc_misc = m->gc_sys - m->work_bufs;

	add(l, "/memory/classes/heap/free:bytes", t->committed - t->in_heap - t->in_stacks - work);
	add(l, "/memory/classes/heap/objects:bytes", objects);
	add(l, "/memory/classes/heap/released:bytes", t->released);
	add(l, "/memory/classes/heap/stacks:bytes", t->in_stacks);
	add(l, "/memory/classes/heap/unused:bytes", t->in_heap - objects);
	add(l, "/memory/classes/metadata/mcache/free:bytes", m->mcache_sys - m->mcache_inuse);
	add(l, "/memory/classes/metadata/mcache/inuse:bytes", m->mcache_inuse);
	add(l, "/memory/classes/metadata/mspan/free:bytes", m->mspan_sys - m->mspan_inuse);
	add(l, "/memory/classes/metadata/mspan/inuse:bytes", m->mspan_inuse);
	add(l, "/memory/classes/metadata/other:bytes", work + gc_misc);
	add(l, "/memory/classes/os-stacks:bytes", stacks_sys);
	add(l, "/memory/classes/other:bytes", m->other_sys);
	add(l, "/memory/classes/profiling/buckets:bytes", m->buckhash_sys);
	add(l, "/memory/classes/total:bytes",
	    t->committed + t->released + stacks_sys + m->mspan_sys + m->mcache_sys +
		    m->buckhash_sys + gc_misc + m->other_sys);
}

static void add_heap(struct list *l, const struct rt *rt, const struct mstats_totals *t,
		     const struct flow *f, const struct mstats *m)
{
	bool flow = rt->dialect.has_flow_metrics;

	add(l, "/gc/cycles/automatic:gc-cycles", m->num_gc - m->num_forced_gc);
	add(l, "/gc/cycles/forced:gc-cycles", m->num_forced_gc);
	add(l, "/gc/cycles/total:gc-cycles", m->num_gc);
	if (flow) {
		add(l, "/gc/heap/allocs:bytes", f->alloc_bytes);
		add(l, "/gc/heap/allocs:objects", f->alloc_objects);
		add(l, "/gc/heap/frees:bytes", f->free_bytes);
		add(l, "/gc/heap/frees:objects", f->free_objects);
	}
	add(l, "/gc/heap/goal:bytes", m->next_gc);
	add(l, "/gc/heap/objects:objects", f->alloc_objects - f->free_objects);
	if (flow)
		add(l, "/gc/heap/tiny/allocs:objects", t->tiny);
}

/* Goroutines that are neither dead nor, before 1.26, the runtime's own. */
static struct err *add_goroutines(const struct gort *gort, struct list *l)
{
	const struct rt *rt = &gort->rt;
	va_t sched = rt->globals[RT_G_SCHED];
	u64 idle, more = 0, system, n = gort->gs.v.n;

	TRY(rt_u(rt, sched, RT_SCHED_GFREE_N, &idle));
	if (rt_has(rt, RT_SCHED_GFREE_NO_STACK_N))
		TRY(rt_u(rt, sched, RT_SCHED_GFREE_NO_STACK_N, &more));
	TRY(rt_u(rt, sched, RT_SCHED_NGSYS, &system));
	n -= MIN(n, idle + more);
	for (size_t i = 0; i < gort->procs.v.n; i++) {
		TRY(rt_u(rt, gort->procs.v.v[i].p, RT_P_GFREE_N, &idle));
		n -= MIN(n, idle);
	}
	if (!rt->dialect.metric_counts_system_goroutines)
		n -= MIN(n, system);
	if (rt->dialect.has_gomaxprocs_metric)
		add(l, "/sched/gomaxprocs:threads", gort->procs.v.n);
	add(l, "/sched/goroutines:goroutines", n);
	return NULL;
}

/* Settings and results of the pacer, published since 1.21. */
static void add_pacer(struct list *l, const struct mstats *m)
{
	/* "off" is -1, and read as a 64-bit unsigned number. */
	add(l, "/gc/gogc:percent", (u64)m->gc_percent);
	add(l, "/gc/gomemlimit:bytes", m->memory_limit);
	add(l, "/gc/heap/live:bytes", m->heap_marked);
}

struct err *metrics_read(const struct gort *gort, const struct mstats *m,
			 struct metric ret[static METRICS_MAX], size_t *n)
{
	struct list l = {ret, 0};
	struct mstats_totals t;
	struct flow f;

	*n = 0;
	if (!gort->rt.dialect.has_metrics)
		return NULL;
	TRY(mstats_read_raw(gort, &t));
	f = sum_flow(&gort->rt, &t);
	add_heap(&l, &gort->rt, &t, &f, m);
	if (gort->rt.dialect.has_pacer_metrics)
		add_pacer(&l, m);
	add_memory(&l, &t, &f, m);
	TRY(add_goroutines(gort, &l));
	*n = l.n;
	return NULL;
}
