/* A process with some of everything:
 *
 *	MKGO_HEAP + 0          small spans, stacks, work buffers
 *	          + 0x200000   pages kept; a page cache of the second P behind them
 *	          + 0x300000   padding
 *	          + 0x3fc000   a large object over the border of two chunks
 *	another arena          a span and nothing else
 *
 * Pages of the heap are holes. */
#include "support/mkgo_priv.h"

#define OTHER_ARENA (MKGO_HEAP + 4 * GO_ARENA_BYTES)

static void plant_spans(struct mkgo *go, struct mkgo_sample *s)
{
	s->swept = mkgo_span(go, (struct mkgo_span){.spanclass = 2 * 5,
						    .freeindex = 9,
						    .alloc = {0x155, 0x8000000000000001}});
	s->unswept = mkgo_span(go, (struct mkgo_span){.spanclass = 2 * 35 + 1,
						      .sweep = -2,
						      .freeindex = 3,
						      .alloc = {0x7ff},
						      .marks = {0x249}});
	s->cached = mkgo_span(go, (struct mkgo_span){.spanclass = 2 * 2 + 1,
						     .sweep = 3,
						     .freeindex = 100,
						     .alloc = {0xff, [7] = 0xff},
						     .p = s->second_p,
						     .reported = 8});
	mkgo_span(go, (struct mkgo_span){.spanclass = 2 * 67,
					 .sweep = 1,
					 .freeindex = 1,
					 .marks = {1},
					 .p = go->p0});
	/* Taken by mcache.refill, but still of the last cycle's count. */
	mkgo_span(go, (struct mkgo_span){.spanclass = 2 * 10, .freeindex = 64, .p = go->p0});
	s->special = mkgo_span(
		go, (struct mkgo_span){.spanclass = 2 * 4 + 1, .freeindex = 5, .specials = true});
	s->large = mkgo_span(go, (struct mkgo_span){.start = MKGO_HEAP + 0x3fc000,
						    .npages = 5,
						    .freeindex = 1,
						    .alloc = {1},
						    .specials = true});
	mkgo_span(go, (struct mkgo_span){.start = OTHER_ARENA, .spanclass = 2 * 8, .freeindex = 3});
	if (mkgo_has(go, RT_HEAP_ARENA_INLINE_MARKS))
		s->inline_marks = mkgo_span(go, (struct mkgo_span){.spanclass = 2 * 6,
								   .sweep = -2,
								   .freeindex = 20,
								   .marks = {0xf0f0f},
								   .inline_marks = true});
}

static void plant_stacks(struct mkgo *go, struct mkgo_sample *s)
{
	struct range stack = mkgo_stack(go, 2048);

	s->stack_pool = go->spans.v[go->spans.n - 1].mspan;
	s->g = mkgo_goroutine(
		go,
		(struct mkgo_g){.status = G_WAITING, .stack = stack, .sched_sp = stack.hi - 600});
	s->dead_g = mkgo_goroutine(
		go, (struct mkgo_g){.status = G_DEAD, .stack = mkgo_stack(go, 4096)});
	mkgo_goroutine(go, (struct mkgo_g){.status = G_DEAD});
	mkgo_goroutine(go, (struct mkgo_g){.status = G_RUNNABLE, .stack = mkgo_stack(go, 65536)});
	s->m = mkgo_m(go, (struct mkgo_m){.tid = 1001,
					  .g0 = mkgo_stack(go, 16384),
					  .gsignal = mkgo_stack(go, 32768)});
	s->freed_m = mkgo_m(go, (struct mkgo_m){.tid = 1002,
						.g0 = mkgo_stack(go, 16384),
						.gsignal = mkgo_stack(go, 32768),
						.freed = true});
	if (mkgo_global(go, RT_G_GCRASH))
		mkgo_gcrash(go, mkgo_stack(go, 16384));
	mkgo_cached_stack(go, go->p0, 8192);
	mkgo_cached_stack(go, go->p0, 8192);
	mkgo_cached_stack(go, s->second_p, 2048);
	s->free_stack = mkgo_free_stack(go, 262144);
	mkgo_workbuf(go, false);
	s->workbuf = mkgo_workbuf(go, true);
	mkgo_workbuf(go, true);
}

struct mkgo_sample mkgo_sample(struct mkgo *go)
{
	struct mkgo_sample s = {.second_p = mkgo_p(go, true)};

	go->untouched = true; /* hundreds of these are written, and nobody looks into the pages */
	mkgo_p(go, false);
	mkgo_free_mcache(go);
	plant_spans(go, &s);
	plant_stacks(go, &s);
	mkgo_dead_mspans(go, 3, false);
	mkgo_dead_mspans(go, 5, true);
	s.retained = MKGO_HEAP + 0x200000;
	mkgo_idle(go, s.retained, 20, false);
	s.cached_page = MKGO_HEAP + 0x280000;
	mkgo_pcache(go, s.second_p, s.cached_page, 0x8000000000000f01, 0xff00);
	s.padding = MKGO_HEAP + 0x300000;
	mkgo_padding(go, s.padding, 3);
	mkgo_bucket(go, MKGO_MEM, 12);
	mkgo_bucket(go, MKGO_BLOCK, 1);
	mkgo_bucket(go, MKGO_MUTEX, 0);
	s.bucket = mkgo_bucket(go, MKGO_MEM, 128);
	s.module = mkgo_module(go, 77, 0);
	mkgo_extras(go);
	return s;
}

va_t mkgo_part(const struct mkgo *go, const struct mkgo_sample *s, enum mkgo_part part)
{
	va_t mheap = mkgo_global(go, RT_G_MHEAP), memstats = mkgo_global(go, RT_G_MEMSTATS);
	const va_t parts[] = {
		[PART_MHEAP] = mheap,
		[PART_SPANALLOC] = mkgo_addr(go, mheap, RT_MHEAP_SPANALLOC),
		[PART_CACHEALLOC] = mkgo_addr(go, mheap, RT_MHEAP_CACHEALLOC),
		[PART_MEMSTATS] = memstats,
		[PART_DELTA] = mkgo_addr(go, memstats, RT_MSTATS_DELTAS),
		[PART_GCC] = mkgo_global(go, RT_G_GC_CONTROLLER),
		[PART_WORK] = mkgo_global(go, RT_G_WORK),
		[PART_GCBITS] = mkgo_global(go, RT_G_GCBITS_ARENAS),
		[PART_SWEPT] = s->swept,
		[PART_UNSWEPT] = s->unswept,
		[PART_CACHED] = s->cached,
		[PART_LARGE] = s->large,
		[PART_SPECIAL] = s->special,
		[PART_POOL] = s->stack_pool,
		[PART_WORKBUF] = s->workbuf,
		[PART_FREE_STACK] = s->free_stack,
		[PART_P0] = go->p0,
		[PART_P1] = s->second_p,
		[PART_G] = s->g,
		[PART_DEAD_G] = s->dead_g,
		[PART_M] = s->m,
		[PART_FREED_M] = s->freed_m,
		[PART_BUCKET] = s->bucket,
		[PART_MODULE] = s->module,
	};

	return parts[part];
}
