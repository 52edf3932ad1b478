/* Damaged links: lists that run in a circle or off, tables and globals that are not there. What
 * cannot be read is an error or a diagnostic that names it. */
#include "gort/rtget.h"
#include "support/mkgo.h"
#include "support/test.h"

#define NOWHERE 0xdead0000

/* Lists whose last element leads to their first, or somewhere. */
static void test_lists(void **state)
{
	static const struct {
		enum mkgo_part part;
		enum rt_field f;
		const char *circle, *wild;
	} cases[] = {
		{PART_WORKBUF, RT_MSPAN_NEXT, "a list of work buffers runs in a circle",
		 "a list of work buffers"},
		{PART_M, RT_M_ALLLINK, "a list of Ms runs in a circle", "a list of Ms"},
		{PART_FREED_M, RT_M_FREELINK, "a list of Ms runs in a circle", "a list of Ms"},
		{PART_BUCKET, RT_BUCKET_ALLNEXT, "profile buckets are damaged at 0x",
		 "profile buckets are damaged at 0xdead0000"},
		{PART_MODULE, RT_MODULE_NEXT, "the list of modules runs in a circle", NULL},
	};

	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++)
		for (size_t i = 0; i < COUNT_OF(cases); i++)
			for (int wild = 0; wild < 2; wild++) {
				const char *text = wild ? cases[i].wild : cases[i].circle;
				struct mkgo *go;
				struct mkgo_sample s;
				va_t part;

				if (!text)
					continue;
				go = mkgo_new(r->minor, r->patch);
				s = mkgo_sample(go);
				part = mkgo_part(go, &s, cases[i].part);
				mkgo_finish(go);
				mkgo_poke(go, part, cases[i].f, wild ? NOWHERE : part);
				mkgo_assert_finding(go, DIAG_LIST, text);
			}
}

/* Buckets that are none: of no kind, or with more callers than are ever kept. */
static void test_buckets(void **state)
{
	static const struct {
		enum rt_field f;
		u64 value;
	} cases[] = {
		{RT_BUCKET_TYP, 0},
		{RT_BUCKET_TYP, 4},
		{RT_BUCKET_NSTK, 4097},
		{RT_BUCKET_NSTK, UINT64_MAX},
	};

	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++)
		for (size_t i = 0; i < COUNT_OF(cases); i++) {
			struct mkgo *go = mkgo_new(r->minor, r->patch);
			struct mkgo_sample s = mkgo_sample(go);

			mkgo_finish(go);
			mkgo_poke(go, s.bucket, cases[i].f, cases[i].value);
			mkgo_assert_finding(go, DIAG_LIST, "profile buckets are damaged at 0x");
		}
}

/* A list that the ledger walks: the word that leads to its first element, and where in that the
 * next one stands. */
struct list {
	va_t head;
	i64 link;
	const char *text;
};

#define LISTS 8

static void find_lists(const struct mkgo *go, const struct mkgo_sample *s, struct list v[LISTS])
{
	const struct rt *rt = &go->rt;
	const struct slot *slots = rt->slots;
	va_t mheap = mkgo_part(go, s, PART_MHEAP), work = mkgo_part(go, s, PART_WORK);
	va_t mcaches = mkgo_part(go, s, PART_CACHEALLOC);
	va_t finalizers = rt_addr(rt, mheap, RT_MHEAP_SPECIAL_FINALIZER);
	bool queues = mkgo_has(go, RT_WORK_SPAN_SPMCS);
	const struct list lists[LISTS] = {
		{rt->globals[RT_G_PERSISTENT_CHUNKS], 0, "the list of persistent chunks runs"},
		{rt_addr(rt, mcaches, RT_FIXALLOC_LIST), 0, "a list of free elements runs"},
		{rt_addr(rt, finalizers, RT_FIXALLOC_LIST), 0, "a list of free elements runs"},
		{rt_addr(rt, mkgo_part(go, s, PART_GCBITS), RT_GCBITS_ARENAS_PREVIOUS),
		 slots[RT_GCBITS_ARENA_NEXT].offset, "a list of gcBits arenas runs"},
		{rt_addr(rt, s->special, RT_MSPAN_SPECIALS), slots[RT_SPECIAL_NEXT].offset,
		 "the specials of the span at"},
		{rt->globals[RT_G_ALLFIN], slots[RT_FINBLOCK_ALLLINK].offset,
		 "a list of blocks runs"},
		{rt_addr(rt, rt->globals[RT_G_TRACE], RT_TRACE_EMPTY),
		 slots[RT_TRACE_BUF_LINK].offset, "a list of blocks runs"},
		{queues ? rt_addr(rt, work, RT_WORK_SPAN_SPMCS) : 0,
		 slots[RT_SPAN_SPMC_NEXT].offset, "the list of span queues runs"},
	};

	memcpy(v, lists, sizeof(lists));
}

static void test_lists_of_structures(void **state)
{
	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++)
		for (int i = 0; i < LISTS; i++) {
			struct mkgo *go = mkgo_new(r->minor, r->patch);
			struct mkgo_sample s = mkgo_sample(go);
			struct list lists[LISTS];
			va_t first;

			mkgo_finish(go);
			find_lists(go, &s, lists);
			if (!lists[i].head) {
				mkgo_free(go);
				continue;
			}
			first = mkgo_peek_u64(go, lists[i].head);
			assert_int_not_equal(first, 0);
			mkgo_poke_u64(go, first + (u64)lists[i].link, first);
			mkgo_assert_finding(go, DIAG_LIST, lists[i].text);
		}
}

/* What no diagnostic of the reader says, because only the check walks it. */
static void test_lists_of_checks(void **state)
{
	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++)
		for (int i = 0; i < 2; i++) {
			struct mkgo *go = mkgo_new(r->minor, r->patch);
			struct mkgo_sample s = mkgo_sample(go);
			va_t bits = mkgo_part(go, &s, PART_GCBITS), node;
			struct mkgo_core c;

			mkgo_finish(go);
			node = mkgo_peek(go, bits, RT_GCBITS_ARENAS_CURRENT);
			if (i)
				mkgo_poke(go, s.free_stack, RT_MSPAN_NEXT, s.free_stack);
			else
				mkgo_poke(go, node, RT_GCBITS_ARENA_NEXT, node);
			mkgo_open(&c, go);
			mkgo_assert_failed(&c, i ? "stacks by owner = stack spans: unreadable\n"
						 : "bitmaps lie in gcBits arenas: unreadable\n");
			mkgo_close(&c);
		}
}

/* Lists of arenas and of ranges, and the tables of chunks. */
static void test_arenas(void **state)
{
	/* One more than there are, beyond user space, below it, listed twice. */
	static const u64 indexes[] = {(u64)1 << 22, UINT64_MAX, 0, 0x1fffff, 0x203000};

	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++)
		for (size_t i = 0; i < COUNT_OF(indexes) + 1; i++) {
			struct mkgo *go = mkgo_new(r->minor, r->patch);
			struct mkgo_sample s = mkgo_sample(go);
			va_t mheap = mkgo_part(go, &s, PART_MHEAP), list, l2;

			mkgo_finish(go);
			list = mkgo_peek(go, mheap, RT_MHEAP_ARENA_LIST);
			l2 = mkgo_peek(go, mheap, RT_MHEAP_ARENAS);
			if (i < COUNT_OF(indexes))
				mkgo_poke_u64(go, list + 8, indexes[i]);
			else /* the map has no heapArena for it */
				mkgo_poke_u64(go, l2 + 8 * mkgo_peek_u64(go, list + 8), 0);
			if (i == 2 || i == 3) /* here it has */
				mkgo_poke_u64(go, l2 + 8 * indexes[i], l2);
			mkgo_assert_finding(go, DIAG_STRUCTURE,
					    i == 4 ? "the arena at 0xc000000000 is listed twice"
						   : "arena number 1 makes no sense");
		}
}

static void test_ranges(void **state)
{
	/* Empty, nearly so, everywhere; beyond its arena, and before it. */
	static const va_t ranges[][2] = {
		{MKGO_HEAP, MKGO_HEAP},
		{MKGO_HEAP + 1, MKGO_HEAP - 1},
		{0, UINT64_MAX},
		{MKGO_HEAP, (va_t)1 << 48},
		{MKGO_HEAP, MKGO_HEAP + GO_ARENA_BYTES + 1},
		{MKGO_HEAP - GO_CHUNK_BYTES, MKGO_HEAP + 2 * GO_CHUNK_BYTES},
	};

	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++)
		for (size_t i = 0; i < COUNT_OF(ranges) + 3; i++) {
			struct mkgo *go = mkgo_new(r->minor, r->patch);
			struct mkgo_sample s = mkgo_sample(go);
			va_t mheap = mkgo_part(go, &s, PART_MHEAP), list, table;
			const char *text = "the bitmap of the chunk at 0xc000000000 is not";

			mkgo_finish(go);
			list = mkgo_peek(go, mheap, RT_MHEAP_IN_USE_RANGES);
			table = mkgo_chunk_entry(go, MKGO_HEAP);
			if (i < COUNT_OF(ranges)) {
				mkgo_poke_u64(go, list, ranges[i][0]);
				mkgo_poke_u64(go, list + 8, ranges[i][1]);
				text = "the heap's address range 0x";
			} else if (i == COUNT_OF(ranges)) { /* the second begins in the first */
				mkgo_poke_u64(go, list + 16, MKGO_HEAP + GO_CHUNK_BYTES);
				text = "the heap's address range 0xc000400000-";
			} else {
				mkgo_poke_u64(go, table, i & 1 ? NOWHERE : 0);
			}
			mkgo_assert_finding(go, DIAG_STRUCTURE, text);
		}
}

/* Slices of mheap_ without which there is no heap. */
static void test_slices(void **state)
{
	static const struct {
		enum rt_field slice;
		u64 offset, value;
		enum err_code code;
		const char *text;
	} cases[] = {
		{RT_MHEAP_ALLSPANS, 0, NOWHERE, ERR_FAULT, "the spans: the table of"},
		{RT_MHEAP_ALLSPANS, 8, UINT64_MAX, ERR_FORMAT, "the spans: slice at"},
		{RT_MHEAP_ALLSPANS, 8, 8193, ERR_FORMAT, "has length 8193, capacity 8192"},
		{RT_MHEAP_ALLSPANS, 16, UINT64_MAX, ERR_FORMAT, "the spans: slice at"},
		{RT_MHEAP_ARENA_LIST, 0, NOWHERE, ERR_FAULT, "the list of arenas"},
		{RT_MHEAP_ARENA_LIST, 8, (u64)1 << 61, ERR_FORMAT, "the list of arenas: slice at"},
		{RT_MHEAP_IN_USE_RANGES, 0, NOWHERE, ERR_FAULT, "the page allocator"},
		{RT_MHEAP_IN_USE_RANGES, 16, (u64)1 << 60, ERR_FORMAT, "the page allocator: slice"},
	};

	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++)
		for (size_t i = 0; i < COUNT_OF(cases); i++) {
			struct mkgo *go = mkgo_new(r->minor, r->patch);
			va_t slice = rt_addr(&go->rt, go->rt.globals[RT_G_MHEAP], cases[i].slice);

			mkgo_sample(go);
			mkgo_finish(go);
			mkgo_poke_u64(go, slice + cases[i].offset, cases[i].value);
			mkgo_assert_error(go, cases[i].code, cases[i].text);
		}
}

/* A table that is as long as it says, but not in the core to its end; and one of as many spans as
 * could be, which nobody wrote. */
static void test_short_table(void **state)
{
	static const u64 lengths[] = {8192, (u64)1 << 29};

	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++)
		for (size_t i = 0; i < COUNT_OF(lengths); i++) {
			struct mkgo *go = mkgo_new(r->minor, r->patch);
			va_t slice =
				rt_addr(&go->rt, go->rt.globals[RT_G_MHEAP], RT_MHEAP_ALLSPANS);

			mkgo_sample(go);
			mkgo_finish(go);
			mkgo_poke_u64(go, slice, mkgo_peek_u64(go, slice) + 8);
			mkgo_poke_u64(go, slice + 8, lengths[i]);
			mkgo_poke_u64(go, slice + 16, lengths[i]);
			mkgo_assert_error(go, ERR_FAULT, "is not in the core");
		}
}

static void test_self(void **state)
{
	static const struct {
		enum mkgo_part part;
		enum rt_field f;
		const char *text;
	} cases[] = {
		{PART_SPANALLOC, RT_FIXALLOC_ARG, "does not point to itself"},
		{PART_SPANALLOC, RT_FIXALLOC_SIZE, "mspan and mcache have"},
		{PART_CACHEALLOC, RT_FIXALLOC_SIZE, "mspan and mcache have"},
	};

	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++)
		for (size_t i = 0; i < COUNT_OF(cases); i++) {
			struct mkgo *go = mkgo_new(r->minor, r->patch);
			struct mkgo_sample s = mkgo_sample(go);
			va_t part = mkgo_part(go, &s, cases[i].part);

			mkgo_finish(go);
			mkgo_poke(go, part, cases[i].f, mkgo_peek(go, part, cases[i].f) + 8);
			mkgo_assert_error(go, ERR_FORMAT, cases[i].text);
		}
}

static void test_size_classes(void **state)
{
	/* Class 20 has 320 bytes, 19 has 288, the last one, 67, has 32768. */
	static const struct {
		unsigned size_class;
		u64 bytes;
	} cases[] = {{20, 0}, {20, 288}, {20, 321}, {20, 0xffff}, {1, 0}, {67, 32760}, {67, 0}};

	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++)
		for (size_t i = 0; i < COUNT_OF(cases); i++) {
			struct mkgo *go = mkgo_new(r->minor, r->patch);
			va_t entry = go->rt.globals[RT_G_SIZE_CLASSES] +
				     2 * mkgo_own_class(go, cases[i].size_class);

			mkgo_finish(go);
			mkgo_poke_u64(go, entry,
				      (mkgo_peek_u64(go, entry) & ~(u64)0xffff) | cases[i].bytes);
			mkgo_assert_error(go, ERR_FORMAT, "the table of size classes is damaged");
		}
}

/* Globals that lead out of the core. */
static void test_no_globals(void **state)
{
	static const struct {
		enum rt_global global;
		enum err_code code;
		const char *text;
	} cases[] = {
		{RT_G_MHEAP, ERR_FAULT, "the runtime's heap"},
		{RT_G_GCPHASE, ERR_FAULT, "the runtime's state"},
		{RT_G_SIZE_CLASSES, ERR_FORMAT, "the table of size classes is damaged"},
		{RT_G_ALLP, ERR_FAULT, "the Ps: allp"},
	};

	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++)
		for (size_t i = 0; i < COUNT_OF(cases); i++) {
			struct mkgo *go = mkgo_new(r->minor, r->patch);

			mkgo_sample(go);
			mkgo_finish(go);
			go->rt.globals[cases[i].global] = NOWHERE;
			mkgo_assert_error(go, cases[i].code, cases[i].text);
		}
}

TEST_MAIN(TEST(test_lists), TEST(test_buckets), TEST(test_lists_of_structures),
	  TEST(test_lists_of_checks), TEST(test_arenas), TEST(test_ranges), TEST(test_slices),
	  TEST(test_short_table), TEST(test_self), TEST(test_size_classes), TEST(test_no_globals))
