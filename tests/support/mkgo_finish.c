/* The runtime's counters and tables, computed from what was planted. */
#include "support/mkgo_priv.h"
#include "support/test.h"

#include <string.h>

/* What nothing planted decides. */
enum {
	STACKS_SYS = 0x3000,
	GC_MISC_SYS = 0x123450,
	OTHER_SYS = 0x54320,
	TINY_ALLOCS = 1000,
	TINY_UNREPORTED = 7, /* of each mcache */
	LARGE_FREES = 2,
	HEAP_GOAL = 4 << 20,
	GC_PERCENT = 150,
};
#define CLASS_COUNT 68 /* size classes */
#define LARGE_FREED ((u64)5 << 20)

void mkgo_gcphase(struct mkgo *go, u32 phase)
{
	go->gcphase = phase;
	mkgo_put(go, mkgo_global(go, RT_G_GCPHASE), phase, 4);
}

static void write_chunks(struct mkgo *go)
{
	for (size_t i = 0; i < go->chunks.n; i++) {
		const struct mkgo_chunk *c = &go->chunks.v[i];

		for (u64 page = 0; page < GO_CHUNK_PAGES; page++) {
			va_t va = c->base + page * GO_PAGE_BYTES;
			u8 use = c->use[page];

			/* All bits of a fresh table are 0. */
			if (use != MKGO_RELEASED && use != MKGO_RETAINED)
				mkgo_flip(go, RT_PALLOC_DATA_ALLOC, va);
			if (use == MKGO_RELEASED || use == MKGO_PADDING)
				mkgo_flip(go, RT_PALLOC_DATA_SCAVENGED, va);
		}
	}
}

/* Maps the chunks of one range, whose pages' letters stand in them. */
static void map_range(struct mkgo *go, size_t first, size_t last)
{
	va_t lo = go->chunks.v[first].base;
	u64 one = GO_CHUNK_BYTES / MK_PAGE;
	struct mkgo_region *r = mkgo_map(go, lo, (last - first) * GO_CHUNK_BYTES, PF_R | PF_W, '.');

	for (size_t i = first; i < last; i++)
		memcpy(r->letters + (i - first) * one, go->chunks.v[i].letters, one);
}

/* The ranges that have chunks (mheap_.pages.inUse). */
static void write_ranges(struct mkgo *go)
{
	va_t ranges = mkgo_persistent(go, (go->chunks.n + 1) * 16);
	u64 n = 0;

	for (size_t i = 0, end; i < go->chunks.n; i = end) {
		for (end = i + 1; end < go->chunks.n; end++)
			if (go->chunks.v[end].base != go->chunks.v[end - 1].base + GO_CHUNK_BYTES)
				break;
		map_range(go, i, end);
		mkgo_put(go, ranges + 16 * n, go->chunks.v[i].base, 8);
		mkgo_put(go, ranges + 16 * n + 8, go->chunks.v[end - 1].base + GO_CHUNK_BYTES, 8);
		n++;
	}
	mkgo_set_slice(go, mkgo_addr(go, mkgo_global(go, RT_G_MHEAP), RT_MHEAP_IN_USE_RANGES),
		       ranges, n, n + 1);
}

/* Maps what no chunk describes: reserved space, in one piece or in several. */
static void map_rest(struct mkgo *go, va_t arena)
{
	va_t pos = arena, end = arena + GO_ARENA_BYTES;

	for (size_t i = 0; i < go->chunks.n; i++) {
		va_t base = go->chunks.v[i].base;

		if (base < arena || base >= end)
			continue;
		if (base > pos)
			mkgo_map(go, pos, base - pos, 0, 0);
		pos = base + GO_CHUNK_BYTES;
	}
	if (end > pos)
		mkgo_map(go, pos, end - pos, 0, 0);
}

static void write_arena_list(struct mkgo *go, const struct heap_arena *v, size_t n,
			     enum rt_field list)
{
	va_t table;

	if (!mkgo_has(go, list))
		return;
	table = mkgo_persistent(go, (n + 1) * 8);
	for (size_t i = 0; i < n; i++)
		mkgo_put(go, table + 8 * i,
			 (v[i].base - go->rt.dialect.arena_base_offset) / GO_ARENA_BYTES, 8);
	mkgo_set_slice(go, mkgo_addr(go, mkgo_global(go, RT_G_MHEAP), list), table, n, n + 1);
}

/* Of the newest arena, what no chunk is in. */
static struct range arena_rest(const struct mkgo *go)
{
	struct range rest = {0, 0};

	if (!go->arenas.n)
		return rest;
	rest.lo = go->arenas.v[go->arenas.n - 1].base;
	rest.hi = rest.lo + GO_ARENA_BYTES;
	for (size_t i = 0; i < go->chunks.n; i++)
		if (go->chunks.v[i].base >= rest.lo && go->chunks.v[i].base < rest.hi)
			rest.lo = go->chunks.v[i].base + GO_CHUNK_BYTES;
	return rest;
}

u64 mkgo_released_rest(const struct mkgo *go)
{
	struct range rest = arena_rest(go);

	return go->rt.dialect.arena_rest_is_released ? rest.hi - rest.lo : 0;
}

static void write_arenas(struct mkgo *go)
{
	va_t mheap = mkgo_global(go, RT_G_MHEAP);

	for (size_t i = 0; i < go->arenas.n; i++)
		map_rest(go, go->arenas.v[i].base);
	write_arena_list(go, go->arenas.v, go->arenas.n, RT_MHEAP_ARENA_LIST);
	write_arena_list(go, go->user_arenas.v, go->user_arenas.n, RT_MHEAP_USER_ARENA_LIST);
	mkgo_set(go, mheap, RT_MHEAP_CUR_ARENA_BASE, arena_rest(go).lo);
	mkgo_set(go, mheap, RT_MHEAP_CUR_ARENA_END, arena_rest(go).hi);
}

/* Sums over spans and pages. */
static void sum_heap(struct mkgo *go, u64 *pages_in_use)
{
	struct mstats *m = &go->expect;

	for (size_t i = 0; i < go->spans.n; i++) {
		const struct mkgo_planted *s = &go->spans.v[i];
		u64 bytes = s->npages * GO_PAGE_BYTES;

		if (s->workbuf) {
			m->work_bufs += bytes;
		} else if (s->state == SPAN_MANUAL) {
			m->stack_inuse += bytes;
		} else {
			*pages_in_use += s->npages;
			m->heap_inuse += bytes;
			m->heap_alloc += s->alloc_count * s->elemsize;
			m->heap_objects += s->alloc_count;
			if (s->spanclass >= 2)
				m->class_objects[s->spanclass / 2] += s->alloc_count;
		}
	}
	for (size_t i = 0; i < go->chunks.n; i++)
		for (size_t page = 0; page < GO_CHUNK_PAGES; page++) {
			enum mkgo_use use = (enum mkgo_use)go->chunks.v[i].use[page];

			if (use != MKGO_SPAN)
				m->heap_idle += GO_PAGE_BYTES;
			if (use == MKGO_RELEASED || use == MKGO_PCACHE_RELEASED ||
			    use == MKGO_PADDING)
				m->heap_released += GO_PAGE_BYTES;
		}
	m->heap_idle += mkgo_released_rest(go);
	m->heap_released += mkgo_released_rest(go);
	m->heap_sys = m->heap_inuse + m->heap_idle;
}

/* What follows from the sums, and what is made up. */
static void expect_sizes(struct mkgo *go)
{
	struct mstats *m = &go->expect;
	u64 mspan = mkgo_size(go, RT_MSPAN), mcache = mkgo_size(go, RT_MCACHE);

	m->mspan_inuse = (go->spans.n + go->spare_mspans + go->parked_mspans) * mspan;
	m->mspan_sys = go->mspan_chunks * (16384 / mspan * mspan);
	m->mcache_inuse = go->mcaches * mcache;
	m->mcache_sys = go->mcache_chunks * (16384 / mcache * mcache);
	m->buckhash_sys = go->buckhash_bytes;
	m->stack_sys = m->stack_inuse + STACKS_SYS;
	m->gc_sys = GC_MISC_SYS + m->work_bufs;
	m->other_sys = OTHER_SYS;
	m->sys = m->heap_sys + m->stack_sys + m->mspan_sys + m->mcache_sys + m->buckhash_sys +
		 m->gc_sys + m->other_sys;
	if (mkgo_has(go, RT_MSTATS_DELTAS)) {
		m->stats_in_heap = m->heap_inuse;
		m->stats_released = m->heap_released;
		m->stats_committed = m->heap_sys + m->stack_inuse + m->work_bufs - m->heap_released;
	}
	m->heap_marked = m->heap_alloc / 2;
	m->memory_limit = INT64_MAX;
	m->heap_live = m->heap_alloc;
	m->mapped_ready = mkgo_has(go, RT_GCC_MAPPED_READY) ? m->sys - m->heap_released : 0;
	m->gc_percent = GC_PERCENT;
	m->has_gc_percent = true;
	m->next_gc = HEAP_GOAL;
	m->last_gc = 0x1234567890abcdef;
	m->num_gc = 21;
	m->num_forced_gc = 3;
	m->pause_total_ns = 987654321;
	m->gc_cpu_fraction = 0.125;
	m->enable_gc = true;
	for (u64 i = 0; i < MSTATS_PAUSES; i++) {
		m->pause_ns[i] = 1000 + i;
		m->pause_end[i] = 1000000 + i;
	}
}

/* Objects by class: as many were freed as the class has for its number. */
static void expect_objects(struct mkgo *go)
{
	struct mstats *m = &go->expect;
	u64 large = 0, large_bytes = 0, tiny = TINY_ALLOCS + go->mcaches * TINY_UNREPORTED;

	for (size_t i = 0; i < go->spans.n; i++)
		if (go->spans.v[i].state == SPAN_IN_USE && go->spans.v[i].spanclass < 2) {
			large += go->spans.v[i].alloc_count;
			large_bytes += go->spans.v[i].alloc_count * go->spans.v[i].elemsize;
		}
	m->total_alloc = large_bytes + LARGE_FREED;
	m->mallocs = large + LARGE_FREES + tiny;
	m->frees = LARGE_FREES + tiny;
	for (unsigned c = 1; c <= mkgo_last_own_class(go); c++) {
		m->total_alloc +=
			(m->class_objects[c] + c) * mkgo_class_bytes(mkgo_class_of_own(go, c));
		m->mallocs += m->class_objects[c] + c;
		m->frees += c;
		if (c < MSTATS_BY_SIZE) {
			m->by_size[c].size = mkgo_class_bytes(mkgo_class_of_own(go, c));
			m->by_size[c].mallocs = m->class_objects[c] + c;
			m->by_size[c].frees = c;
		}
	}
}

/* Splits a total among the three partial sums, which are anything, even negative. */
static void put_total(struct mkgo *go, enum rt_field f, u64 index, u64 total, u64 *seed)
{
	va_t stats = mkgo_addr(go, mkgo_global(go, RT_G_MEMSTATS), RT_MSTATS_DELTAS);
	u64 parts[3] = {total + test_random(seed), test_random(seed), 0};

	parts[2] = total - parts[0] - parts[1];
	for (size_t i = 0; i < COUNT_OF(parts) && mkgo_has(go, f); i++)
		mkgo_put(go,
			 mkgo_addr(go, stats + i * mkgo_size(go, RT_MSTATS_DELTA), f) + 8 * index,
			 parts[i], 8);
}

/* What was counted: without what the mcaches have not reported, or with what they have left. */
struct counted {
	u64 large, large_bytes, mallocs[CLASS_COUNT];
};

static struct counted count_objects(const struct mkgo *go)
{
	struct counted n = {0};

	for (unsigned c = 0; c < CLASS_COUNT; c++)
		n.mallocs[c] = go->expect.class_objects[c] + c;
	for (size_t i = 0; i < go->spans.n; i++) {
		const struct mkgo_planted *s = &go->spans.v[i];

		if (s->state == SPAN_IN_USE && s->spanclass < 2) {
			n.large += s->alloc_count;
			n.large_bytes += s->alloc_count * s->elemsize;
		}
		n.mallocs[s->spanclass / 2] -= (u64)(i64)s->unreported;
	}
	return n;
}

/* Of 1.15: a class is split between its two mcentrals, and a free of it is still with an mcache. */
static void write_plain_counts(struct mkgo *go)
{
	va_t mheap = mkgo_global(go, RT_G_MHEAP), stats = mkgo_global(go, RT_G_MEMSTATS);
	va_t p = mkgo_get(go, mkgo_get(go, mkgo_global(go, RT_G_ALLP), 8), 8);
	va_t mcache = mkgo_peek(go, p, RT_P_MCACHE);
	va_t frees = mkgo_addr(go, mheap, RT_MHEAP_SMALL_FREE_COUNT);
	va_t own_frees = mkgo_addr(go, mcache, RT_MCACHE_SMALL_FREE_COUNT);
	u64 stride = mkgo_size(go, RT_MHEAP_CENTRAL_ONE);
	struct counted n = count_objects(go);

	mkgo_set(go, stats, RT_MSTATS_TINYALLOCS, TINY_ALLOCS);
	mkgo_set(go, mheap, RT_MHEAP_LARGE_ALLOC, n.large_bytes + LARGE_FREED);
	mkgo_set(go, mheap, RT_MHEAP_LARGE_ALLOC_COUNT, n.large + LARGE_FREES);
	mkgo_set(go, mheap, RT_MHEAP_LARGE_FREE, LARGE_FREED - 1);
	mkgo_set(go, mheap, RT_MHEAP_LARGE_FREE_COUNT, LARGE_FREES - 1);
	mkgo_set(go, mcache, RT_MCACHE_LARGE_FREE, 1);
	mkgo_set(go, mcache, RT_MCACHE_LARGE_FREE_COUNT, 1);
	for (unsigned c = 1; c <= mkgo_last_own_class(go); c++) {
		mkgo_set(go, mheap + 2 * c * stride, RT_MHEAP_CENTRAL_NMALLOC, n.mallocs[c] - 1);
		mkgo_set(go, mheap + (2 * c + 1) * stride, RT_MHEAP_CENTRAL_NMALLOC, 1);
		mkgo_put(go, frees + (va_t)8 * c, c - 1, 8);
		mkgo_put(go, own_frees + (va_t)8 * c, 1, 8);
	}
}

static void write_deltas(struct mkgo *go)
{
	const struct mstats *m = &go->expect;
	struct counted n = count_objects(go);
	u64 seed = 0x9e3779b97f4a7c15;

	put_total(go, RT_DELTA_COMMITTED, 0, m->stats_committed, &seed);
	put_total(go, RT_DELTA_RELEASED, 0, m->heap_released, &seed);
	put_total(go, RT_DELTA_IN_HEAP, 0, m->heap_inuse, &seed);
	put_total(go, RT_DELTA_IN_STACKS, 0, m->stack_inuse, &seed);
	put_total(go, RT_DELTA_IN_WORK_BUFS, 0, m->work_bufs, &seed);
	put_total(go, RT_DELTA_IN_PTR_SCALAR_BITS, 0, 0, &seed);
	put_total(go, RT_DELTA_TINY_ALLOC_COUNT, 0, TINY_ALLOCS, &seed);
	put_total(go, RT_DELTA_LARGE_ALLOC, 0, n.large_bytes + LARGE_FREED, &seed);
	put_total(go, RT_DELTA_LARGE_ALLOC_COUNT, 0, n.large + LARGE_FREES, &seed);
	put_total(go, RT_DELTA_LARGE_FREE, 0, LARGE_FREED, &seed);
	put_total(go, RT_DELTA_LARGE_FREE_COUNT, 0, LARGE_FREES, &seed);
	/* A counter of its own where it is no part of the sums. */
	mkgo_set(go, mkgo_global(go, RT_G_MEMSTATS), RT_MSTATS_TINYALLOCS, TINY_ALLOCS);
	for (unsigned c = 0; c <= mkgo_last_own_class(go); c++) {
		put_total(go, RT_DELTA_SMALL_ALLOC_COUNT, c, n.mallocs[c], &seed);
		put_total(go, RT_DELTA_SMALL_FREE_COUNT, c, c, &seed);
	}
}

static void write_gauges(struct mkgo *go, u64 pages_in_use)
{
	const struct mstats *m = &go->expect;
	va_t mheap = mkgo_global(go, RT_G_MHEAP), stats = mkgo_global(go, RT_G_MEMSTATS);
	va_t gcc = mkgo_global(go, RT_G_GC_CONTROLLER);
	u64 fraction;
	const struct {
		va_t base;
		enum rt_field f;
		u64 value;
	} fields[] = {
		{mheap, RT_MHEAP_PAGES_IN_USE, pages_in_use + go->quarantined_pages},
		{mkgo_addr(go, mheap, RT_MHEAP_SPANALLOC), RT_FIXALLOC_INUSE, m->mspan_inuse},
		{mkgo_addr(go, mheap, RT_MHEAP_CACHEALLOC), RT_FIXALLOC_INUSE, m->mcache_inuse},
		{stats, RT_MSTATS_STACKS_SYS, STACKS_SYS},
		{stats, RT_MSTATS_MSPAN_SYS, m->mspan_sys},
		{stats, RT_MSTATS_MCACHE_SYS, m->mcache_sys},
		{stats, RT_MSTATS_BUCKHASH_SYS, m->buckhash_sys},
		{stats, RT_MSTATS_GC_MISC_SYS, GC_MISC_SYS},
		{stats, RT_MSTATS_OTHER_SYS, OTHER_SYS},
		{stats, RT_MSTATS_LAST_GC, m->last_gc},
		{stats, RT_MSTATS_PAUSE_TOTAL, m->pause_total_ns},
		{stats, RT_MSTATS_NUMGC, m->num_gc},
		{stats, RT_MSTATS_NUMFORCEDGC, m->num_forced_gc},
		{stats, RT_MSTATS_ENABLEGC, m->enable_gc},
		{stats, RT_MSTATS_HEAP_SYS, m->heap_sys},
		{stats, RT_MSTATS_HEAP_IDLE, m->heap_idle},
		{stats, RT_MSTATS_HEAP_INUSE, m->heap_inuse},
		{stats, RT_MSTATS_HEAP_RELEASED, m->heap_released},
		{stats, RT_MSTATS_STACKS_INUSE, m->stack_inuse},
		{stats, RT_MSTATS_GC_SYS, m->gc_sys},
		{stats, RT_MSTATS_NEXT_GC, m->next_gc},
		{stats, RT_MSTATS_HEAP_LIVE, m->heap_live},
		{stats, RT_MSTATS_HEAP_MARKED, m->heap_marked},
		{gcc, RT_GCC_HEAP_GOAL, m->next_gc},
		{gcc, RT_GCC_HEAP_LIVE, m->heap_live},
		{gcc, RT_GCC_PERCENT, GC_PERCENT},
		{gcc, RT_GCC_MEMORY_LIMIT, m->memory_limit},
		{gcc, RT_GCC_PERCENT_HEAP_GOAL, HEAP_GOAL},
		{gcc, RT_GCC_TRIGGERED, UINT64_MAX},
		{gcc, RT_GCC_HEAP_MARKED, m->heap_marked},
		{gcc, RT_GCC_HEAP_IN_USE, m->heap_inuse},
		{gcc, RT_GCC_HEAP_RELEASED, m->heap_released},
		{gcc, RT_GCC_HEAP_FREE, m->heap_idle - m->heap_released},
		{gcc, RT_GCC_TOTAL_ALLOC, m->total_alloc},
		{gcc, RT_GCC_TOTAL_FREE, m->total_alloc - m->heap_alloc},
		{gcc, RT_GCC_MAPPED_READY, m->mapped_ready},
	};

	if (mkgo_global(go, RT_G_GCPERCENT))
		mkgo_put(go, mkgo_global(go, RT_G_GCPERCENT), GC_PERCENT, 4);
	for (size_t i = 0; i < COUNT_OF(fields); i++)
		mkgo_set(go, fields[i].base, fields[i].f, fields[i].value);
	memcpy(&fraction, &m->gc_cpu_fraction, sizeof(fraction));
	mkgo_set(go, stats, RT_MSTATS_GC_CPU_FRACTION, fraction);
	for (u64 i = 0; i < MSTATS_PAUSES; i++) {
		mkgo_put(go, mkgo_addr(go, stats, RT_MSTATS_PAUSE_NS) + 8 * i, m->pause_ns[i], 8);
		mkgo_put(go, mkgo_addr(go, stats, RT_MSTATS_PAUSE_END) + 8 * i, m->pause_end[i], 8);
	}
}

void mkgo_finish(struct mkgo *go)
{
	u64 pages_in_use = 0;

	if (go->finished)
		return;
	write_chunks(go);
	write_ranges(go);
	write_arenas(go);
	sum_heap(go, &pages_in_use);
	expect_sizes(go);
	expect_objects(go);
	if (mkgo_has(go, RT_MSTATS_DELTAS))
		write_deltas(go);
	else
		write_plain_counts(go);
	write_gauges(go, pages_in_use);
	go->finished = true;
}
