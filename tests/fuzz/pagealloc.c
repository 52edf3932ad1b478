/* The page allocator's bitmaps, the Ps' page caches and the spans, all of it out of the data.
 *
 * Memory from MEMORY on is the data: an mheap with the slice of address ranges and the table of
 * chunks, then whatever these point to. Before it stand three bytes: Ps, spans, and a shift of
 * the spans. The heap's arenas begin at address 0, so that a chunk's number is a small one. */
#include "fuzz/fuzz.h"

#include "base/mem.h"
#include "gort/pagealloc.h"

#define MEMORY ((va_t)0x100000000)
#define MAX_BYTES ((size_t)256 << 10)
#define MAX_PROCS 4
#define MAX_SPANS 8
#define ARENAS 16

static void set_slot(struct rt *rt, enum rt_field f, i64 offset, u64 size, u64 count)
{
	rt->slots[f] = (struct slot){offset, size, count};
}

static void fill_runtime(struct rt *rt, const struct image *im)
{
	*rt = (struct rt){.im = im};
	for (int f = 0; f < RT_FIELD_COUNT; f++)
		rt->slots[f].offset = -1;
	rt->globals[RT_G_MHEAP] = MEMORY;
	set_slot(rt, RT_MHEAP_IN_USE_RANGES, 0, 24, 1);
	set_slot(rt, RT_MHEAP_CHUNKS, 24, 32, 4);
	set_slot(rt, RT_ADDR_RANGE, 0, sizeof(struct range), 1);
	set_slot(rt, RT_PALLOC_DATA, 0, 128, 1);
	set_slot(rt, RT_PALLOC_DATA_ALLOC, 0, 64, 1);
	set_slot(rt, RT_PALLOC_DATA_SCAVENGED, 64, 64, 1);
}

static size_t fill_procs(struct proc *procs, const u8 **data, size_t *left)
{
	size_t count = fuzz_take(data, left, 1) % (MAX_PROCS + 1);

	for (size_t i = 0; i < count; i++) {
		procs[i] = (struct proc){.cache_base = fuzz_take(data, left, 2) << 19};
		procs[i].cache_free = fuzz_take(data, left, 8);
		procs[i].cache_released = fuzz_take(data, left, 8) & procs[i].cache_free;
	}
	return count;
}

/* Spans ascend, and may overlap. */
static size_t fill_spans(struct span *spans, const u8 **data, size_t *left)
{
	size_t count = fuzz_take(data, left, 1) % (MAX_SPANS + 1);
	va_t at = fuzz_take(data, left, 1) << 20;

	for (size_t i = 0; i < count; i++) {
		at += fuzz_take(data, left, 2) * GO_PAGE_BYTES;
		spans[i] = (struct span){.start = at, .state = SPAN_IN_USE};
		spans[i].npages = (u32)fuzz_take(data, left, 2) + 1;
	}
	return count;
}

/* Whether a run lies in one of the ranges. */
static bool in_ranges(const struct pagealloc *pa, const struct free_run *run)
{
	for (size_t i = 0; i < pa->in_use.n; i++)
		if (pa->in_use.v[i].lo <= run->lo && run->hi <= pa->in_use.v[i].hi)
			return true;
	return false;
}

static void walk(const struct rt *rt, const struct pagealloc *pa, const struct procs *procs,
		 const struct spans *spans)
{
	struct free_walk w;
	struct free_run run;
	va_t end = 0;

	free_walk_begin(&w, rt, pa, procs, spans);
	while (free_walk_next(&w, &run)) {
		assert_always(run.lo < run.hi && run.lo >= end);
		assert_always(in_ranges(pa, &run));
		end = run.hi;
	}
}

void fuzz_one(const u8 *data, size_t n)
{
	struct proc procs[MAX_PROCS];
	struct span spans[MAX_SPANS];
	struct procs all_procs = {{procs, fill_procs(procs, &data, &n), 0}};
	struct spans all_spans = {.v = {spans, fill_spans(spans, &data, &n), 0}};
	struct segment seg = {.lo = MEMORY, .hi = MEMORY + MAX_BYTES, .file_bytes = n};
	struct image im = {.core = {.data = data, .size = n}, .segs = {&seg, 1, 0}};
	struct pagealloc pa = {{0}};
	struct heap_arena heap[ARENAS];
	struct arenas arenas = {.v = {heap, ARENAS, 0}};
	struct rt rt;
	struct err *err;

	if (n > MAX_BYTES)
		return;
	fill_runtime(&rt, &im);
	for (size_t i = 0; i < ARENAS; i++) /* the second half behind a gap */
		heap[i] = (struct heap_arena){.base = (i + i / 8) * GO_ARENA_BYTES};
	err = pagealloc_read(&rt, &arenas, &pa);
	if (!err) {
		walk(&rt, &pa, &all_procs, NULL);
		walk(&rt, &pa, &all_procs, &all_spans);
	}
	err_free(err);
	array_free(&pa.in_use);
	assert_always(mem_used() == 0);
}
