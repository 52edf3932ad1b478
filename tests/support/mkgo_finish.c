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

static void write_arenas(struct mkgo *go)
{
	va_t mheap = mkgo_global(go, RT_G_MHEAP), base, end;

	for (size_t i = 0; i < go->arenas.n; i++)
		map_rest(go, go->arenas.v[i].base);
	write_arena_list(go, go->arenas.v, go->arenas.n, RT_MHEAP_ARENA_LIST);
	write_arena_list(go, go->user_arenas.v, go->user_arenas.n, RT_MHEAP_USER_ARENA_LIST);
	if (!go->arenas.n)
		return;
	/* The rest of the newest one. */
	base = go->arenas.v[go->arenas.n - 1].base;
	end = base + GO_ARENA_BYTES;
	for (size_t i = 0; i < go->chunks.n; i++)
		if (go->chunks.v[i].base >= base && go->chunks.v[i].base < end)
			base = go->chunks.v[i].base + GO_CHUNK_BYTES;
	mkgo_set(go, mheap, RT_MHEAP_CUR_ARENA_BASE, base);
	mkgo_set(go, mheap, RT_MHEAP_CUR_ARENA_END, end);
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
	m->stats_in_heap = m->heap_inuse;
	m->stats_released = m->heap_released;
	m->stats_committed = m->heap_sys + m->stack_inuse + m->work_bufs - m->heap_released;
	m->heap_marked = m->heap_alloc / 2;
	m->memory_limit = INT64_MAX;
	m->mapped_ready = m->sys - m->heap_released;
	m->gc_percent = GC_PERCENT;
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
	for (unsigned c = 1; c < 68; c++) {
		m->total_alloc += (m->class_objects[c] + c) * mkgo_class_bytes(c);
		m->mallocs += m->class_objects[c] + c;
		m->frees += c;
		if (c < MSTATS_BY_SIZE) {
			m->by_size[c].size = mkgo_class_bytes(c);
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

static void write_deltas(struct mkgo *go)
{
	const struct mstats *m = &go->expect;
	u64 unreported[68] = {0}, large = 0, large_bytes = 0, seed = 0x9e3779b97f4a7c15;

	for (size_t i = 0; i < go->spans.n; i++) {
		const struct mkgo_planted *s = &go->spans.v[i];

		if (s->state == SPAN_IN_USE && s->spanclass < 2) {
			large += s->alloc_count;
			large_bytes += s->alloc_count * s->elemsize;
		}
		unreported[s->spanclass / 2] += s->unreported;
	}
	put_total(go, RT_DELTA_COMMITTED, 0, m->stats_committed, &seed);
	put_total(go, RT_DELTA_RELEASED, 0, m->heap_released, &seed);
	put_total(go, RT_DELTA_IN_HEAP, 0, m->heap_inuse, &seed);
	put_total(go, RT_DELTA_IN_STACKS, 0, m->stack_inuse, &seed);
	put_total(go, RT_DELTA_IN_WORK_BUFS, 0, m->work_bufs, &seed);
	put_total(go, RT_DELTA_IN_PTR_SCALAR_BITS, 0, 0, &seed);
	put_total(go, RT_DELTA_TINY_ALLOC_COUNT, 0, TINY_ALLOCS, &seed);
	put_total(go, RT_DELTA_LARGE_ALLOC, 0, large_bytes + LARGE_FREED, &seed);
	put_total(go, RT_DELTA_LARGE_ALLOC_COUNT, 0, large + LARGE_FREES, &seed);
	put_total(go, RT_DELTA_LARGE_FREE, 0, LARGE_FREED, &seed);
	put_total(go, RT_DELTA_LARGE_FREE_COUNT, 0, LARGE_FREES, &seed);
	for (unsigned c = 0; c < 68; c++) {
		put_total(go, RT_DELTA_SMALL_ALLOC_COUNT, c,
			  m->class_objects[c] + c - unreported[c], &seed);
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
	write_deltas(go);
	write_gauges(go, pages_in_use);
	go->finished = true;
}
