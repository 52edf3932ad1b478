/* Damaged values: what makes no sense is left out with a diagnostic that names it, the rest is
 * read, and nothing runs off. */
#include "gort/mstats.h"
#include "gort/rtget.h"
#include "support/mkgo.h"
#include "support/test.h"

#define NOWHERE 0xdead0000

struct damage {
	enum mkgo_part part;
	enum rt_field f;
	u64 value;
	const char *text;
};

/* Makes each change in a process of its own, in each release. */
static void check_fields(const struct damage *v, size_t n, enum diag_code code)
{
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++)
		for (size_t i = 0; i < n; i++) {
			struct mkgo *go = mkgo_new(r->minor, r->patch);
			struct mkgo_sample s = mkgo_sample(go);

			mkgo_finish(go);
			mkgo_poke(go, mkgo_part(go, &s, v[i].part), v[i].f, v[i].value);
			mkgo_assert_finding(go, code, v[i].text);
		}
}

static void test_spans(void **state)
{
	static const struct damage cases[] = {
		{PART_SWEPT, RT_MSPAN_START, (va_t)1 << 48, "makes no sense"},
		{PART_SWEPT, RT_MSPAN_START, (u64)-8192, "makes no sense"},
		{PART_SWEPT, RT_MSPAN_START, MKGO_HEAP + 0x1000, "makes no sense"},
		{PART_LARGE, RT_MSPAN_START, ((va_t)1 << 48) - 8192, "makes no sense"},
		{PART_SWEPT, RT_MSPAN_NPAGES, 0, "makes no sense"},
		{PART_SWEPT, RT_MSPAN_NPAGES, (u64)1 << 32, "makes no sense"},
		{PART_SWEPT, RT_MSPAN_NPAGES, UINT64_MAX, "makes no sense"},
		{PART_SWEPT, RT_MSPAN_NPAGES, ((u64)1 << 48) / 8192, "makes no sense"},
		{PART_SWEPT, RT_MSPAN_NELEMS, 0, "makes no sense"},
		{PART_SWEPT, RT_MSPAN_NELEMS, 171, "makes no sense"}, /* one more than fit */
		{PART_SWEPT, RT_MSPAN_NELEMS, 0xffff, "makes no sense"},
		{PART_LARGE, RT_MSPAN_NELEMS, UINT64_MAX, "makes no sense"},
		{PART_SWEPT, RT_MSPAN_ELEMSIZE, 0, "makes no sense"},
		{PART_SWEPT, RT_MSPAN_ELEMSIZE, UINT64_MAX, "makes no sense"},
		{PART_SWEPT, RT_MSPAN_ELEMSIZE, (u64)1 << 63, "makes no sense"},
		{PART_SWEPT, RT_MSPAN_STATE, 3, "makes no sense"},
		{PART_SWEPT, RT_MSPAN_STATE, 255, "makes no sense"},
		{PART_POOL, RT_MSPAN_START, UINT64_MAX, "makes no sense"},
		{PART_POOL, RT_MSPAN_NPAGES, 0, "makes no sense"},
	};

	(void)state;
	check_fields(cases, COUNT_OF(cases), DIAG_SPAN);
}

/* More slots than any span has, although they would fit. */
static void test_too_many_slots(void **state)
{
	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++) {
		struct mkgo *go = mkgo_new(r->minor, r->patch);
		va_t mspan = mkgo_span(go, (struct mkgo_span){.spanclass = 3});

		mkgo_finish(go);
		assert_int_equal(mkgo_peek(go, mspan, RT_MSPAN_NELEMS), 1024);
		mkgo_poke(go, mspan, RT_MSPAN_NPAGES, 2);
		mkgo_poke(go, mspan, RT_MSPAN_NELEMS, 1025);
		mkgo_assert_finding(go, DIAG_SPAN, "makes no sense");
	}
}

/* Spans over each other, and one that is as large as the rest of the address space. */
static void test_overlaps(void **state)
{
	static const struct damage cases[] = {
		{PART_SWEPT, RT_MSPAN_START, MKGO_HEAP + 0x2000, "overlaps another"},
		{PART_SWEPT, RT_MSPAN_NPAGES, 3, "overlaps another"},
		{PART_LARGE, RT_MSPAN_NPAGES, 6, "are free, and in the span at 0xc0003fc000"},
		{PART_LARGE, RT_MSPAN_START, MKGO_HEAP + 0x3fa000,
		 "pages at 0xc0003fa000 are free"},
		{PART_SWEPT, RT_MSPAN_NPAGES, 0x78000000, "are free, and in the span at"},
		{PART_POOL, RT_MSPAN_NPAGES, 0x70000000, "are free, and in the span at"},
	};

	(void)state;
	check_fields(cases, COUNT_OF(cases), DIAG_OVERLAP);
}

/* The same record twice in the table. */
static void test_doubles(void **state)
{
	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++) {
		struct mkgo *go = mkgo_new(r->minor, r->patch);
		struct mkgo_sample s = mkgo_sample(go);
		va_t slice = rt_addr(&go->rt, go->rt.globals[RT_G_MHEAP], RT_MHEAP_ALLSPANS);

		mkgo_finish(go);
		mkgo_poke_u64(go, mkgo_peek_u64(go, slice) + 8, s.swept);
		mkgo_assert_finding(go, DIAG_OVERLAP, "the span at 0xc000000000 overlaps another");
	}
}

/* Bitmaps that are not in the core: the span's slots cannot be told apart. */
static void test_bitmaps(void **state)
{
	static const struct damage cases[] = {
		{PART_SWEPT, RT_MSPAN_ALLOC_BITS, 0, "bitmaps of the span at 0xc000000000"},
		{PART_SWEPT, RT_MSPAN_ALLOC_BITS, UINT64_MAX, "bitmaps of the span"},
		{PART_SWEPT, RT_MSPAN_ALLOC_BITS, (u64)-8, "bitmaps of the span"},
		{PART_UNSWEPT, RT_MSPAN_MARK_BITS, NOWHERE, "bitmaps of the span"},
		{PART_SWEPT, RT_MSPAN_MARK_BITS, NOWHERE, NULL}, /* not needed */
	};

	(void)state;
	check_fields(cases, COUNT_OF(cases), DIAG_STRUCTURE);
}

static void test_structures(void **state)
{
	static const struct damage cases[] = {
		{PART_M, RT_M_ALLLINK, NOWHERE, "M at 0xdead0000"},
		{PART_M, RT_M_G0, NOWHERE, "M at 0x"},
		{PART_FREED_M, RT_M_GSIGNAL, NOWHERE, "M at 0x"},
		{PART_G, RT_G_STACK_HI, 1, "the stack of the g at 0x"},
		{PART_G, RT_G_STACK_HI, UINT64_MAX, "the stack of the g at 0x"},
		{PART_MODULE, RT_MODULE_NEXT, NOWHERE, "module at 0xdead0000"},
		{PART_MODULE, RT_MODULE_ETEXT, 0, NULL},
		{PART_MODULE, RT_MODULE_TEXT, UINT64_MAX, "ends before it begins"},
		{PART_P1, RT_P_MSPANCACHE_LEN, 129, "P number 1: its caches make no sense"},
		{PART_P1, RT_P_PCACHE_BASE, MKGO_HEAP + 8192, "P number 1: its caches"},
		{PART_P1, RT_P_PCACHE_BASE, 0, NULL}, /* no chunk is there */
		{PART_GCBITS, RT_GCBITS_ARENAS_FREE, NOWHERE, "the gcBits arenas"},
		{PART_CACHEALLOC, RT_FIXALLOC_LIST, NOWHERE, "the allocator of mcaches"},
		{PART_MHEAP, RT_MHEAP_ARENAS, 0, "arena number 0 makes no sense"},
		{PART_MHEAP, RT_MHEAP_ARENAS, NOWHERE, "arena number 0 makes no sense"},
	};

	(void)state;
	check_fields(cases, COUNT_OF(cases), DIAG_STRUCTURE);
}

/* Where the next arena would begin: up to 1.16 what is before it counts. */
static void test_arena_rest(void **state)
{
	static const struct {
		enum rt_field f;
		u64 value;
	} cases[] = {{RT_MHEAP_CUR_ARENA_BASE, UINT64_MAX}, {RT_MHEAP_CUR_ARENA_END, 1}};

	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++)
		for (size_t i = 0; i < COUNT_OF(cases); i++) {
			struct mkgo *go = mkgo_new(r->minor, r->patch);

			mkgo_sample(go);
			mkgo_finish(go);
			mkgo_poke(go, go->rt.globals[RT_G_MHEAP], cases[i].f, cases[i].value);
			mkgo_assert_finding(
				go, DIAG_STRUCTURE,
				r->minor <= 16 ? "newest arena (curArena) makes no sense" : NULL);
		}
}

/* Words at a distance from a global. */
static const struct {
	enum rt_global global;
	u64 offset, value;
	enum diag_code code;
	const char *text;
} globals[] = {
	{RT_G_ALLGS, 0, NOWHERE, DIAG_STRUCTURE, "the table of 4 goroutines is not in the core"},
	{RT_G_ALLGS, 8, 1 << 20, DIAG_STRUCTURE, "the goroutines: allgs: slice at"},
	{RT_G_ALLGS, 16, UINT64_MAX, DIAG_STRUCTURE, "the goroutines: allgs: slice at"},
	{RT_G_ALLP, 0, NOWHERE, DIAG_STRUCTURE, "P number 0"},
	{RT_G_ALLM, 0, NOWHERE, DIAG_STRUCTURE, "M at 0xdead0000"},
	{RT_G_MBUCKETS, 0, NOWHERE, DIAG_LIST, "profile buckets are damaged at 0xdead0000"},
	{RT_G_BUCKHASH, 0, NOWHERE, DIAG_STRUCTURE, NULL},
	{RT_G_PERSISTENT_CHUNKS, 0, NOWHERE, DIAG_STRUCTURE, "the persistent chunks"},
	{RT_G_GCPHASE, 0, 7, DIAG_STRUCTURE, "gcphase is 7"},
	{RT_G_GCPHASE, 0, UINT32_MAX, DIAG_STRUCTURE, "gcphase is 4294967295"},
};

static void test_globals(void **state)
{
	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++)
		for (size_t i = 0; i < COUNT_OF(globals); i++) {
			struct mkgo *go = mkgo_new(r->minor, r->patch);

			mkgo_sample(go);
			mkgo_finish(go);
			mkgo_poke_u64(go, go->rt.globals[globals[i].global] + globals[i].offset,
				      globals[i].value);
			mkgo_assert_finding(go, globals[i].code, globals[i].text);
		}
}

/* Pointers in tables: of spans, goroutines and Ps. */
static void test_tables(void **state)
{
	static const va_t wild[] = {0, 1, NOWHERE, (u64)-8, UINT64_MAX};

	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++)
		for (size_t i = 0; i < COUNT_OF(wild); i++)
			for (int table = 0; table < 3; table++) {
				struct mkgo *go = mkgo_new(r->minor, r->patch);
				const va_t slices[] = {rt_addr(&go->rt, go->rt.globals[RT_G_MHEAP],
							       RT_MHEAP_ALLSPANS),
						       go->rt.globals[RT_G_ALLGS],
						       go->rt.globals[RT_G_ALLP]};
				static const char *const names[] = {"record", "g"};
				char text[64] = "P number 1";

				mkgo_sample(go);
				mkgo_finish(go);
				mkgo_poke_u64(go, mkgo_peek_u64(go, slices[table]) + 8, wild[i]);
				if (table < 2)
					snprintf(text, sizeof(text),
						 "the %s at 0x%llx is not in the core",
						 names[table], (unsigned long long)wild[i]);
				mkgo_assert_finding(go, table ? DIAG_STRUCTURE : DIAG_SPAN, text);
			}
}

/* An mcache that is nowhere: what it has not reported stays out, and so do the stacks in it. */
static void test_mcache(void **state)
{
	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++) {
		struct mkgo *go = mkgo_new(r->minor, r->patch);
		struct mkgo_sample s = mkgo_sample(go);
		struct mkgo_core c;
		struct mstats m;

		mkgo_finish(go);
		mkgo_poke(go, s.second_p, RT_P_MCACHE, NOWHERE);
		mkgo_open(&c, go);
		assert_ok(mstats_read(&c.gort, &m));
		core_assert_diag(&c.core, DIAG_STRUCTURE, 1, "the mcache at 0xdead0000");
		mkgo_assert_failed(&c, "stacks by owner = stack spans: unreadable\n"
				       "HeapAlloc\n"
				       "HeapObjects\n"
				       "objects of each size class\n");
		mkgo_close(&c);
	}
}

TEST_MAIN(TEST(test_arena_rest), TEST(test_spans), TEST(test_too_many_slots), TEST(test_overlaps),
	  TEST(test_doubles), TEST(test_bitmaps), TEST(test_structures), TEST(test_globals),
	  TEST(test_tables), TEST(test_mcache))
