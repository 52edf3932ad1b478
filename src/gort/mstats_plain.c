/* Statistics of the heap as releases up to 1.18 keep them: gauges are plain fields of memstats. In
 * 1.15 objects are counted where they are allocated and freed (runtime/mheap.go, mcentral.go,
 * mcache.go): a span's objects by the mcentral that hands it out, all at once. */
#include "gort/mstats_priv.h"
#include "gort/rtget.h"

/* Two mcentrals a size class: with and without pointers. */
static struct err *add_mcentrals(const struct rt *rt, va_t mheap, struct mstats_totals *t)
{
	u64 n = MIN(rt->slots[RT_MHEAP_CENTRAL].count, 2 * (u64)rt->size_class_count);

	for (u64 i = 0; i < n; i++)
		TRY(mstats_add(rt, mheap + i * rt_size(rt, RT_MHEAP_CENTRAL_ONE),
			       RT_MHEAP_CENTRAL_NMALLOC, &t->mallocs[i / 2]));
	return NULL;
}

struct err *mstats_read_plain(const struct rt *rt, struct mstats_totals *ret)
{
	va_t mheap = rt->globals[RT_G_MHEAP], stats = rt->globals[RT_G_MEMSTATS];

	TRY(mstats_add(rt, stats, RT_MSTATS_TINYALLOCS, &ret->tiny));
	TRY(mstats_add(rt, stats, RT_MSTATS_STACKS_INUSE, &ret->in_stacks));
	TRY(mstats_add(rt, mheap, RT_MHEAP_LARGE_ALLOC, &ret->large_alloc));
	TRY(mstats_add(rt, mheap, RT_MHEAP_LARGE_ALLOC_COUNT, &ret->large_allocs));
	TRY(mstats_add(rt, mheap, RT_MHEAP_LARGE_FREE, &ret->large_free));
	TRY(mstats_add(rt, mheap, RT_MHEAP_LARGE_FREE_COUNT, &ret->large_frees));
	TRY(mstats_add_array(rt, mheap, RT_MHEAP_SMALL_FREE_COUNT, ret->frees));
	return add_mcentrals(rt, mheap, ret);
}

/* The goal is what was marked and GOGC's share of it, unless the least heap decides
 * (runtime/mgc.go gcSetTriggerRatio): GOGC is what gives exactly this goal. */
static void derive_gc_percent(struct mstats *m)
{
	u64 marked = m->heap_marked, percent;

	if (m->next_gc == UINT64_MAX) { /* switched off */
		m->gc_percent = -1;
		m->has_gc_percent = true;
		return;
	}
	if (!marked || m->next_gc < marked || m->next_gc >= GO_MAX_ADDR)
		return;
	percent = ((m->next_gc - marked) * 100 + marked - 1) / marked;
	if (percent > INT32_MAX || marked * percent / 100 != m->next_gc - marked)
		return;
	m->gc_percent = (i64)percent;
	m->has_gc_percent = true;
}

/* GOGC is a variable by itself up to 1.16, and one that only DWARF finds. */
static struct err *read_gc_percent(const struct rt *rt, struct mstats *m)
{
	va_t va = rt->globals[RT_G_GCPERCENT];
	int32_t percent;

	if (rt_has(rt, RT_GCC_PERCENT))
		va = rt_addr(rt, rt->globals[RT_G_GC_CONTROLLER], RT_GCC_PERCENT);
	if (!va) {
		derive_gc_percent(m);
		return NULL;
	}
	TRY(image_read(rt->im, va, &percent, sizeof(percent)));
	m->gc_percent = percent;
	m->has_gc_percent = true;
	return NULL;
}

/* The pacer's figures moved from memstats to gcController in 1.17. */
static struct err *read_pacer(const struct rt *rt, struct mstats *m)
{
	const struct {
		enum rt_field older, newer;
		u64 *to;
	} fields[] = {
		{RT_MSTATS_NEXT_GC, RT_GCC_HEAP_GOAL, &m->next_gc},
		{RT_MSTATS_HEAP_LIVE, RT_GCC_HEAP_LIVE, &m->heap_live},
		{RT_MSTATS_HEAP_MARKED, RT_GCC_HEAP_MARKED, &m->heap_marked},
	};
	va_t stats = rt->globals[RT_G_MEMSTATS], gcc = rt->globals[RT_G_GC_CONTROLLER];

	for (size_t i = 0; i < COUNT_OF(fields); i++)
		if (rt_has(rt, fields[i].older))
			TRY(rt_u(rt, stats, fields[i].older, fields[i].to));
		else
			TRY(rt_u(rt, gcc, fields[i].newer, fields[i].to));
	m->memory_limit = INT64_MAX;
	return read_gc_percent(rt, m);
}

struct err *mstats_set_plain(const struct rt *rt, const struct mstats_totals *t, struct mstats *m)
{
	va_t stats = rt->globals[RT_G_MEMSTATS];

	TRY(rt_u(rt, stats, RT_MSTATS_HEAP_SYS, &m->heap_sys));
	TRY(rt_u(rt, stats, RT_MSTATS_HEAP_INUSE, &m->heap_inuse));
	TRY(rt_u(rt, stats, RT_MSTATS_HEAP_RELEASED, &m->heap_released));
	m->heap_idle = m->heap_sys - m->heap_inuse;
	if (rt_has(rt, RT_MSTATS_HEAP_IDLE))
		TRY(rt_u(rt, stats, RT_MSTATS_HEAP_IDLE, &m->heap_idle));
	m->stack_inuse = t->in_stacks;
	return read_pacer(rt, m);
}
