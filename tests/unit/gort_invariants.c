/* Each invariant fails when it is broken, and no other: one thing is changed in a process in which
 * all hold. */
#include "gort/rtget.h"
#include "support/mkgo.h"
#include "support/test.h"

#define SELF_MSPAN "mspan_sys pointer\n"
#define SELF_MCACHE "mcache_sys pointer\n"
#define NONSENSE "span records that make no sense\n"
#define OVERLAP "spans that overlap\n"
#define SLOTS "allocated slots = allocCount\n"
#define CLASS "slot size = size class\n"
#define BITMAPS "bitmaps lie in gcBits arenas\n"
#define IN_USE "pageInUse = spans in use\n"
#define SPECIALS "pageSpecials = spans with specials\n"
#define POINTERS "arenas lead from pages to spans\n"
#define PAGES_IN_USE "pagesInUse\n"
#define BOTH "pages both free and in a span\n"
#define NEITHER "pages neither free nor in a span\n"
#define STACKS "stacks by owner = stack spans\n"
#define HEAP_ALLOC "HeapAlloc\n"
#define HEAP_OBJECTS "HeapObjects\n"
#define HEAP_INUSE "HeapInuse\n"
#define HEAP_IDLE "HeapIdle\n"
#define HEAP_RELEASED "HeapReleased\n"
#define STACK_INUSE "StackInuse\n"
#define WORK_BUFS "GC work buffers\n"
#define MSPAN_INUSE "MSpanInuse\n"
#define MCACHE_INUSE "MCacheInuse\n"
#define BUCKHASH "BuckHashSys\n"
#define CLASSES "objects of each size class\n"
#define STATS_HEAP "heapStats inHeap = heapInUse\n"
#define STATS_RELEASED "heapStats released = heapReleased\n"
#define STATS_COMMITTED "heapStats committed = its parts\n"

/* One process for each change; they differ by nothing else. */
static void check(struct mkgo *go, const char *failed)
{
	struct mkgo_core c;

	mkgo_open(&c, go);
	mkgo_assert_failed(&c, failed);
	mkgo_close(&c);
}

/* A field, with something added to it. */
static void test_fields(void **state)
{
	static const struct {
		enum mkgo_part part;
		enum rt_field f;
		u64 add;
		const char *failed;
	} cases[] = {
		{PART_SPANALLOC, RT_FIXALLOC_STAT, 8, SELF_MSPAN},
		{PART_CACHEALLOC, RT_FIXALLOC_STAT, 8, SELF_MCACHE},
		{PART_SPANALLOC, RT_FIXALLOC_INUSE, 8, MSPAN_INUSE},
		{PART_CACHEALLOC, RT_FIXALLOC_INUSE, 8, MCACHE_INUSE},
		{PART_MHEAP, RT_MHEAP_PAGES_IN_USE, 1, PAGES_IN_USE},
		{PART_GCC, RT_GCC_HEAP_IN_USE, 8192, HEAP_INUSE STATS_HEAP},
		{PART_GCC, RT_GCC_HEAP_RELEASED, 8192, HEAP_IDLE HEAP_RELEASED STATS_RELEASED},
		{PART_GCC, RT_GCC_HEAP_FREE, 8192, HEAP_IDLE STATS_COMMITTED},
		{PART_DELTA, RT_DELTA_COMMITTED, 1, STATS_COMMITTED},
		{PART_DELTA, RT_DELTA_RELEASED, 1, STATS_RELEASED},
		{PART_DELTA, RT_DELTA_IN_HEAP, 1, STATS_HEAP STATS_COMMITTED},
		{PART_DELTA, RT_DELTA_IN_STACKS, 1, STACK_INUSE STATS_COMMITTED},
		{PART_DELTA, RT_DELTA_IN_WORK_BUFS, 1, WORK_BUFS STATS_COMMITTED},
		{PART_DELTA, RT_DELTA_IN_PTR_SCALAR_BITS, 1, WORK_BUFS STATS_COMMITTED},
		{PART_DELTA, RT_DELTA_LARGE_ALLOC, 1, HEAP_ALLOC},
		{PART_DELTA, RT_DELTA_LARGE_FREE, 1, HEAP_ALLOC},
		{PART_DELTA, RT_DELTA_LARGE_ALLOC_COUNT, 1, HEAP_OBJECTS},
		{PART_DELTA, RT_DELTA_LARGE_FREE_COUNT, 1, HEAP_OBJECTS},
		{PART_DELTA, RT_DELTA_TINY_ALLOC_COUNT, 1, ""}, /* in mallocs and in frees */
		{PART_MEMSTATS, RT_MSTATS_BUCKHASH_SYS, 1, BUCKHASH},
		{PART_MEMSTATS, RT_MSTATS_OTHER_SYS, 1, ""}, /* nobody walks that */
		/* A span, and the span behind it in its first page. */
		{PART_SWEPT, RT_MSPAN_NPAGES, 1, OVERLAP POINTERS PAGES_IN_USE HEAP_INUSE},
		{PART_SWEPT, RT_MSPAN_ALLOC_COUNT, 1, SLOTS CLASSES},
		{PART_SWEPT, RT_MSPAN_FREEINDEX, 1, SLOTS HEAP_ALLOC HEAP_OBJECTS},
		{PART_SWEPT, RT_MSPAN_SPANCLASS, 2, CLASS CLASSES},
		{PART_SWEPT, RT_MSPAN_SPANCLASS, 190, CLASS CLASSES}, /* there is no such class */
		{PART_SWEPT, RT_MSPAN_SPANCLASS, 1, ""}, /* noscan, of the same class */
		{PART_SWEPT, RT_MSPAN_ELEMSIZE, (u64)-8, CLASS HEAP_ALLOC},
		{PART_SWEPT, RT_MSPAN_STATE, 1, /* now a manual one */
		 IN_USE PAGES_IN_USE STACKS HEAP_ALLOC HEAP_OBJECTS HEAP_INUSE STACK_INUSE CLASSES},
		{PART_LARGE, RT_MSPAN_NPAGES, 1, POINTERS PAGES_IN_USE BOTH HEAP_INUSE},
		{PART_LARGE, RT_MSPAN_ALLOC_COUNT, (u64)-1, SLOTS},
		{PART_CACHED, RT_MSPAN_ALLOC_COUNT_BEFORE_CACHE, 1,
		 HEAP_ALLOC HEAP_OBJECTS CLASSES},
		{PART_SPECIAL, RT_MSPAN_SPECIALS, 8, ""}, /* whatever it has */
		{PART_POOL, RT_MSPAN_ALLOC_COUNT, 1, STACKS},
		{PART_POOL, RT_MSPAN_NPAGES, (u64)-1, NEITHER STACKS HEAP_IDLE STACK_INUSE},
		{PART_G, RT_G_STACK_HI, (u64)-8, STACKS},
		{PART_P0, RT_P_MSPANCACHE_LEN, 1, MSPAN_INUSE},
		/* One page less in the cache; one page more, which is free anyway. */
		{PART_P1, RT_P_PCACHE_CACHE, (u64)-1, NEITHER},
		{PART_P1, RT_P_PCACHE_CACHE, 2, ""},
		{PART_P1, RT_P_PCACHE_SCAV, 1, HEAP_RELEASED},
		{PART_BUCKET, RT_BUCKET_NSTK, 1, BUCKHASH},
		{PART_MODULE, RT_MODULE_GCDATA_N, 8, BUCKHASH},
	};

	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++)
		for (size_t i = 0; i < COUNT_OF(cases); i++) {
			struct mkgo *go = mkgo_new(r->minor, r->patch);
			struct mkgo_sample s = mkgo_sample(go);
			va_t base;

			if (!mkgo_has(go, cases[i].f)) {
				mkgo_free(go);
				continue;
			}
			mkgo_finish(go);
			base = mkgo_part(go, &s, cases[i].part);
			mkgo_poke(go, base, cases[i].f,
				  mkgo_peek(go, base, cases[i].f) + cases[i].add);
			check(go, cases[i].failed);
		}
}

/* A field that becomes 0. */
static void test_zeroed(void **state)
{
	static const struct {
		enum mkgo_part part;
		enum rt_field f;
		const char *failed;
	} cases[] = {
		{PART_SPECIAL, RT_MSPAN_SPECIALS, SPECIALS},
		{PART_LARGE, RT_MSPAN_SPECIALS, SPECIALS},
		{PART_WORK, RT_WORK_WBUF_FREE, STACK_INUSE WORK_BUFS},
		{PART_WORK, RT_WORK_WBUF_BUSY, STACK_INUSE WORK_BUFS},
		{PART_SWEPT, RT_MSPAN_STATE, /* dead */
		 IN_USE PAGES_IN_USE NEITHER HEAP_ALLOC HEAP_OBJECTS HEAP_INUSE HEAP_IDLE
			 MSPAN_INUSE CLASSES},
		{PART_SWEPT, RT_MSPAN_NPAGES, /* left out: its pages pass for nothing */
		 NONSENSE IN_USE PAGES_IN_USE NEITHER HEAP_ALLOC HEAP_OBJECTS HEAP_INUSE MSPAN_INUSE
			 CLASSES},
	};

	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++)
		for (size_t i = 0; i < COUNT_OF(cases); i++) {
			struct mkgo *go;
			struct mkgo_sample s;

			if (cases[i].part == PART_WORK && r->minor < 16) /* no counter of them */
				continue;
			go = mkgo_new(r->minor, r->patch);
			s = mkgo_sample(go);
			mkgo_finish(go);
			mkgo_poke(go, mkgo_part(go, &s, cases[i].part), cases[i].f, 0);
			check(go, cases[i].failed);
		}
}

/* A range of chunks that is not listed: its pages are missed. */
static void test_ranges(void **state)
{
	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++) {
		struct mkgo *go = mkgo_new(r->minor, r->patch);
		struct mkgo_sample s = mkgo_sample(go);
		va_t slice =
			rt_addr(&go->rt, mkgo_part(go, &s, PART_MHEAP), RT_MHEAP_IN_USE_RANGES);

		mkgo_finish(go);
		mkgo_poke_u64(go, slice + 8, mkgo_peek_u64(go, slice + 8) - 1);
		check(go, HEAP_IDLE HEAP_RELEASED);
	}
}

/* One bit of a bitmap of pages. */
static void test_pages(void **state)
{
	const va_t free_page = MKGO_HEAP + 0x380000, span_page = MKGO_HEAP + 0x400000;
	const struct {
		enum rt_field bitmap;
		va_t page;
		const char *failed;
	} cases[] = {
		{RT_HEAP_ARENA_PAGE_IN_USE, MKGO_HEAP, IN_USE},
		{RT_HEAP_ARENA_PAGE_IN_USE, free_page, IN_USE},
		{RT_HEAP_ARENA_PAGE_IN_USE, span_page, IN_USE}, /* not its first */
		{RT_HEAP_ARENA_PAGE_SPECIALS, MKGO_HEAP, SPECIALS},
		{RT_HEAP_ARENA_PAGE_SPECIALS, MKGO_HEAP + 0x3fc000, SPECIALS},
		{RT_HEAP_ARENA_PAGE_SPECIALS, free_page, SPECIALS},
		/* A page of a span, at its beginning and behind the border of a chunk. */
		{RT_PALLOC_DATA_ALLOC, MKGO_HEAP, BOTH HEAP_IDLE},
		{RT_PALLOC_DATA_ALLOC, span_page, BOTH HEAP_IDLE},
		{RT_PALLOC_DATA_SCAVENGED, span_page, BOTH HEAP_IDLE HEAP_RELEASED},
		/* One that was kept; in no span it is still free. */
		{RT_PALLOC_DATA_ALLOC, MKGO_HEAP + 0x200000, NEITHER},
		{RT_PALLOC_DATA_SCAVENGED, MKGO_HEAP + 0x200000, HEAP_RELEASED},
		/* One that was given back: it becomes padding. */
		{RT_PALLOC_DATA_ALLOC, free_page, ""},
		{RT_PALLOC_DATA_SCAVENGED, free_page, HEAP_RELEASED},
		/* Padding, and a page in a P's cache. */
		{RT_PALLOC_DATA_SCAVENGED, MKGO_HEAP + 0x300000, NEITHER HEAP_RELEASED},
		{RT_PALLOC_DATA_ALLOC, MKGO_HEAP + 0x280000, ""},
	};

	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++)
		for (size_t i = 0; i < COUNT_OF(cases); i++) {
			struct mkgo *go = mkgo_new(r->minor, r->patch);

			mkgo_sample(go);
			mkgo_finish(go);
			mkgo_flip(go, cases[i].bitmap, cases[i].page);
			check(go, cases[i].failed);
		}
}

/* A bit of one page that stands at another: there are as many as should be. */
static void test_moved_bits(void **state)
{
	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++)
		for (int i = 0; i < 2; i++) {
			struct mkgo *go = mkgo_new(r->minor, r->patch);
			enum rt_field bits =
				i ? RT_HEAP_ARENA_PAGE_SPECIALS : RT_HEAP_ARENA_PAGE_IN_USE;

			mkgo_sample(go);
			mkgo_finish(go);
			mkgo_flip(go, bits, MKGO_HEAP + 0x3fc000); /* of the large object */
			mkgo_flip(go, bits, MKGO_HEAP + (i ? 0 : 0x380000));
			check(go, i ? SPECIALS : IN_USE);
		}
}

/* The arena's pointer of a first page, of one behind the border of a chunk, of a stack's, and of a
 * free one, where it may be anything. */
static void test_pointers(void **state)
{
	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++)
		for (int i = 0; i < 4; i++) {
			struct mkgo *go = mkgo_new(r->minor, r->patch);
			struct mkgo_sample s = mkgo_sample(go);
			const va_t pages[] = {MKGO_HEAP, MKGO_HEAP + 0x404000,
					      mkgo_peek(go, s.stack_pool, RT_MSPAN_START) + 0x2000,
					      MKGO_HEAP + 0x300000};

			mkgo_finish(go);
			mkgo_poke_u64(go, mkgo_arena_entry(go, pages[i]), s.unswept);
			check(go, i < 3 ? POINTERS : "");
		}
}

static void test_bitmaps(void **state)
{
	static const enum rt_field fields[] = {RT_MSPAN_ALLOC_BITS, RT_MSPAN_MARK_BITS};

	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++)
		for (size_t i = 0; i < COUNT_OF(fields); i++) {
			struct mkgo *go = mkgo_new(r->minor, r->patch);
			struct mkgo_sample s = mkgo_sample(go);
			va_t elsewhere = mkgo_persistent(go, 16), arenas;

			mkgo_finish(go);
			mkgo_poke_u64(go, elsewhere, 1);
			mkgo_poke(go, s.large, fields[i], elsewhere);
			check(go, BITMAPS);
			/* The arena of this kind of bitmaps is not on its list. */
			go = mkgo_new(r->minor, r->patch);
			mkgo_sample(go);
			mkgo_finish(go);
			arenas = go->rt.globals[RT_G_GCBITS_ARENAS];
			mkgo_poke(go, arenas, i ? RT_GCBITS_ARENAS_NEXT : RT_GCBITS_ARENAS_CURRENT,
				  0);
			check(go, BITMAPS);
		}
}

/* A bit of allocBits behind freeindex; a bit that is set anyway; a count of one class. */
static void test_objects(void **state)
{
	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++)
		for (int i = 0; i < 5 && r->minor > 15; i++) {
			struct mkgo *go = mkgo_new(r->minor, r->patch);
			struct mkgo_sample s = mkgo_sample(go);
			va_t bits = mkgo_peek(go, s.swept, RT_MSPAN_ALLOC_BITS);
			va_t delta =
				mkgo_part(go, &s, PART_DELTA) + go->rt.slots[RT_MSTATS_DELTA].size;
			va_t mallocs = rt_addr(&go->rt, delta, RT_DELTA_SMALL_ALLOC_COUNT) + 8 * 20;
			va_t frees = rt_addr(&go->rt, delta, RT_DELTA_SMALL_FREE_COUNT) + 8 * 20;

			mkgo_finish(go);
			if (i == 0)
				mkgo_poke_u64(go, bits, mkgo_peek_u64(go, bits) | 0x400);
			if (i == 1)
				mkgo_poke_u64(go, bits, mkgo_peek_u64(go, bits) & ~(u64)0x100);
			if (i == 2)
				mkgo_poke_u64(go, mallocs, mkgo_peek_u64(go, mallocs) + 1);
			if (i == 3 || i == 4)
				mkgo_poke_u64(go, frees, mkgo_peek_u64(go, frees) + 1);
			if (i == 4) /* freed by one more, allocated by one more */
				mkgo_poke_u64(go, mallocs, mkgo_peek_u64(go, mallocs) + 1);
			check(go, i == 0   ? SLOTS HEAP_ALLOC HEAP_OBJECTS
				  : i == 1 ? ""
				  : i < 4  ? HEAP_ALLOC HEAP_OBJECTS CLASSES
					   : "");
		}
}

/* Owners of stacks that are not found any more. */
static void test_stacks(void **state)
{
	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++)
		for (int i = 0; i < 6; i++) {
			struct mkgo *go = mkgo_new(r->minor, r->patch);
			struct mkgo_sample s = mkgo_sample(go);
			const va_t *globals = go->rt.globals;
			va_t mcache = mkgo_peek(go, go->p0, RT_P_MCACHE);
			va_t cached = rt_addr(&go->rt, mcache, RT_MCACHE_STACKCACHE) +
				      2 * go->rt.slots[RT_STACK_FREE_LIST].size;
			/* 32 pages are 2 to the 5th. */
			va_t large =
				rt_addr(&go->rt, globals[RT_G_STACK_LARGE], RT_STACK_LARGE_FIRST) +
				5 * go->rt.slots[RT_STACK_LARGE_LIST].size;

			mkgo_finish(go);
			if (i == 0)
				mkgo_poke(go, cached, RT_STACK_FREE_LIST_SIZE, 8192);
			if (i == 1)
				mkgo_poke_u64(go, large, 0);
			if (i == 2)
				mkgo_poke_u64(go, globals[RT_G_ALLGS] + 8, 3);
			if (i == 3)
				mkgo_poke(go, s.m, RT_M_GSIGNAL, 0);
			if (i == 4)
				mkgo_poke(go, s.freed_m, RT_M_G0, 0);
			if (i == 5 && globals[RT_G_GCRASH])
				mkgo_poke_u64(go, globals[RT_G_GCRASH] + 8, 0x10000);
			check(go, i < 5 || globals[RT_G_GCRASH] ? STACKS : "");
		}
}

/* A span that a thread is sweeping may or may not be counted yet; nothing else may differ. */
static void test_sweeping(void **state)
{
	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++)
		for (unsigned slots = 0; slots < 4 && r->minor > 15; slots++) {
			struct mkgo *go = mkgo_new(r->minor, r->patch);
			va_t delta =
				rt_addr(&go->rt, go->rt.globals[RT_G_MEMSTATS], RT_MSTATS_DELTAS);
			va_t frees = rt_addr(&go->rt, delta, RT_DELTA_SMALL_FREE_COUNT) + 8 * 40;

			/* Three slots of 2688 bytes. */
			mkgo_span(go, (struct mkgo_span){
					      .spanclass = 2 * 40, .sweep = -1, .freeindex = 3});
			mkgo_finish(go);
			mkgo_poke_u64(go, frees, mkgo_peek_u64(go, frees) + slots);
			check(go, "");
			go = mkgo_new(r->minor, r->patch);
			mkgo_span(go, (struct mkgo_span){
					      .spanclass = 2 * 40, .sweep = -1, .freeindex = 3});
			mkgo_finish(go);
			mkgo_poke_u64(go, frees, mkgo_peek_u64(go, frees) + 4);
			check(go, HEAP_ALLOC HEAP_OBJECTS);
		}
}

TEST_MAIN(TEST(test_fields), TEST(test_zeroed), TEST(test_ranges), TEST(test_pages),
	  TEST(test_moved_bits), TEST(test_pointers), TEST(test_bitmaps), TEST(test_objects),
	  TEST(test_stacks), TEST(test_sweeping))
