/* Free pages, with everything that takes part: chunks, caches of Ps, padding; over borders of
 * chunks, arenas and tables. */
#include "support/mkgo.h"
#include "support/test.h"

#define PAGE(n) ((n)*GO_PAGE_BYTES)
#define SPAN(lo, pages) ((struct mkgo_span){.start = (lo), .npages = (pages), .freeindex = 1})

/* "ADDRESS+PAGES free" or "released", a line each. */
static void describe(const struct mkgo_core *c, char text[static 1024])
{
	struct free_walk walk;
	struct free_run run;
	size_t n = 0;

	text[0] = '\0';
	free_walk_begin(&walk, &c->gort.rt, &c->gort.pagealloc, &c->gort.procs, &c->gort.spans);
	while (free_walk_next(&walk, &run))
		n += (size_t)snprintf(text + n, 1024 - n, "%llx+%llu %s\n",
				      (unsigned long long)run.lo,
				      (unsigned long long)((run.hi - run.lo) / GO_PAGE_BYTES),
				      run.released ? "released" : "free");
}

static void check_runs(struct mkgo *go, const char *expected)
{
	char text[1024];
	struct mkgo_core c;

	mkgo_open(&c, go);
	mkgo_assert_clean(&c);
	describe(&c, text);
	assert_string_equal(text, expected);
	mkgo_assert_failed(&c, "");
	mkgo_close(&c);
}

/* Calls plant for each release; what it makes must read as expected. */
static void check_all(void (*plant)(struct mkgo *go), const char *expected)
{
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++) {
		struct mkgo *go = mkgo_new(r->minor, r->patch);

		go->untouched = true; /* nobody looks into the pages */
		plant(go);
		check_runs(go, expected);
	}
}

static void plant_kinds(struct mkgo *go)
{
	mkgo_span(go, SPAN(MKGO_HEAP, 2));
	mkgo_idle(go, MKGO_HEAP + PAGE(2), 3, false);
	mkgo_span(go, SPAN(MKGO_HEAP + PAGE(6), 1));
	mkgo_idle(go, MKGO_HEAP + PAGE(64), 64, false);
	mkgo_idle(go, MKGO_HEAP + PAGE(511), 1, false);
}

static void test_kinds(void **state)
{
	(void)state;
	check_all(plant_kinds, "c000004000+3 free\n"
			       "c00000a000+1 released\n"
			       "c00000e000+57 released\n"
			       "c000080000+64 free\n"
			       "c000100000+383 released\n"
			       "c0003fe000+1 free\n");
}

/* A page that is allocated, but in no span: a thread holds it at this instant, and the runtime has
 * it as free. Unless there are spans that could not be read: it may be in one of them. */
static void test_unowned(void **state)
{
	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++)
		for (int damaged = 0; damaged < 2; damaged++) {
			struct mkgo *go = mkgo_new(r->minor, r->patch);
			char text[1024];
			struct mkgo_core c;
			va_t mspan;

			go->untouched = true;
			mkgo_span(go, SPAN(MKGO_HEAP, 2));
			mkgo_idle(go, MKGO_HEAP + PAGE(2), 3, false);
			mspan = mkgo_span(go, SPAN(MKGO_HEAP + PAGE(5), GO_CHUNK_PAGES - 5));
			mkgo_finish(go);
			mkgo_flip(go, RT_PALLOC_DATA_ALLOC, MKGO_HEAP + PAGE(3));
			if (damaged)
				mkgo_poke(go, mspan, RT_MSPAN_NPAGES, 0);
			mkgo_open(&c, go);
			describe(&c, text);
			assert_string_equal(text, damaged ? "c000004000+1 free\n"
							    "c000008000+1 free\n"
							  : "c000004000+3 free\n");
			if (!damaged)
				mkgo_assert_failed(&c, "pages neither free nor in a span\n");
			mkgo_close(&c);
		}
}

/* A span all of whose pages are free, under the heap's lock, was being freed at that instant: it is
 * gone, but not for verify, as long as no thread explains it. Of two, one is damage. */
static void check_freed(const struct mkgo_release *r, int spans, bool locked)
{
	bool gone = spans == 1 && locked;
	struct mkgo *go = mkgo_new(r->minor, r->patch);
	struct mkgo_core c;

	go->untouched = true;
	for (int i = 0; i < spans; i++)
		mkgo_span(go, SPAN(MKGO_HEAP + PAGE(2 * i), 2));
	mkgo_span(go, SPAN(MKGO_HEAP + PAGE(2 * spans), 2));
	mkgo_finish(go);
	for (int i = 0; i < 2 * spans; i++)
		mkgo_flip(go, RT_PALLOC_DATA_ALLOC, MKGO_HEAP + PAGE(i));
	mkgo_flip(go, RT_PALLOC_DATA_ALLOC, MKGO_HEAP + PAGE(2 * spans)); /* half of one */
	mkgo_poke(go, go->rt.globals[RT_G_MHEAP], RT_MHEAP_LOCK, locked);
	mkgo_open(&c, go);
	assert_int_equal(c.gort.spans.v.n, spans + !gone);
	assert_int_equal(c.gort.spans.freed.start, gone ? MKGO_HEAP : 0);
	assert_int_equal(c.gort.spans.freed.npages, gone ? 2 : 0);
	if (gone)
		mkgo_assert_failed(&c, "pageInUse = spans in use\n"
				       "pagesInUse\n"
				       "pages both free and in a span\n"
				       "HeapAlloc\n"
				       "HeapObjects\n"
				       "HeapInuse\n"
				       "HeapIdle\n");
	mkgo_close(&c);
}

static void test_freed(void **state)
{
	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++) {
		check_freed(r, 0, true);
		check_freed(r, 1, true);
		check_freed(r, 1, false);
		check_freed(r, 2, true);
	}
}

static void plant_full(struct mkgo *go)
{
	mkgo_span(go, SPAN(MKGO_HEAP, GO_CHUNK_PAGES));
}

static void plant_second_chunk(struct mkgo *go)
{
	mkgo_span(go, SPAN(MKGO_HEAP, 2 * GO_CHUNK_PAGES));
	mkgo_idle(go, MKGO_HEAP + 2 * GO_CHUNK_BYTES, 1, false);
}

static void test_full_chunks(void **state)
{
	(void)state;
	check_all(plant_full, "");
	check_all(plant_second_chunk, "c000800000+1 free\n"
				      "c000802000+511 released\n");
}

/* A run that goes over the border of two chunks is two runs. */
static void plant_border(struct mkgo *go)
{
	mkgo_span(go, SPAN(MKGO_HEAP, 510));
	mkgo_idle(go, MKGO_HEAP + PAGE(510), 5, false);
	mkgo_span(go, SPAN(MKGO_HEAP + PAGE(515), 2 * GO_CHUNK_PAGES - 515));
}

static void test_border(void **state)
{
	(void)state;
	check_all(plant_border, "c0003fc000+2 free\n"
				"c000400000+3 free\n");
}

/* Bits of the cache 0-3 and 63: 1 and 63 are released; scav bits of pages that it does not have
 * mean nothing. Pages 64 to 127 belong to the cache alone, so the others are released. */
static void plant_pcache(struct mkgo *go)
{
	mkgo_span(go, SPAN(MKGO_HEAP, 64));
	mkgo_pcache(go, go->p0, MKGO_HEAP + PAGE(64), 0x800000000000000f, 0x80000000000000f2);
	for (u64 page = 4; page < 63; page++)
		mkgo_span(go, SPAN(MKGO_HEAP + PAGE(64 + page), 1));
	mkgo_span(go, SPAN(MKGO_HEAP + PAGE(128), GO_CHUNK_PAGES - 128));
}

static void test_pcache(void **state)
{
	(void)state;
	check_all(plant_pcache, "c000080000+1 free\n"
				"c000082000+1 released\n"
				"c000084000+2 free\n"
				"c0000fe000+1 released\n");
}

/* Caches of several Ps: at both ends of a chunk, beside kept pages, among them (those have no bit
 * in it, whatever scav says), and an empty one whose other words are of no meaning. */
static void plant_pcaches(struct mkgo *go)
{
	va_t p1 = mkgo_p(go, true), p2 = mkgo_p(go, true), p3 = mkgo_p(go, true);

	mkgo_pcache(go, p1, MKGO_HEAP, UINT64_MAX, 0);
	mkgo_idle(go, MKGO_HEAP + PAGE(64), 6, false);
	mkgo_pcache(go, p3, MKGO_HEAP + PAGE(64), 0x40, UINT64_MAX);
	mkgo_span(go, SPAN(MKGO_HEAP + PAGE(71), GO_CHUNK_PAGES - 64 - 71));
	mkgo_pcache(go, p2, MKGO_HEAP + PAGE(448), UINT64_MAX, UINT64_MAX);
	mkgo_pcache(go, go->p0, MKGO_HEAP + PAGE(64), 0, UINT64_MAX);
	mkgo_p(go, false);
}

static void test_pcaches(void **state)
{
	(void)state;
	check_all(plant_pcaches, "c000000000+70 free\n"
				 "c00008c000+1 released\n"
				 "c000380000+64 released\n");
}

/* Of 1.26: the heap begins with pages that are marked as allocated and scavenged. */
static void plant_padding(struct mkgo *go)
{
	mkgo_padding(go, MKGO_HEAP, 70);
	mkgo_span(go, SPAN(MKGO_HEAP + PAGE(70), 400));
	mkgo_padding(go, MKGO_HEAP + PAGE(470), 1);
	mkgo_idle(go, MKGO_HEAP + PAGE(471), 41, false);
}

static void test_padding(void **state)
{
	(void)state;
	check_all(plant_padding, "c000000000+70 released\n"
				 "c0003ac000+1 released\n"
				 "c0003ae000+41 free\n");
}

/* Chunks 0 and 3 of one arena, and one of an arena that is far off: between them there is no
 * page. */
static void plant_apart(struct mkgo *go)
{
	mkgo_span(go, SPAN(MKGO_HEAP, 511));
	mkgo_span(go, SPAN(MKGO_HEAP + 3 * GO_CHUNK_BYTES, 511));
	mkgo_span(go, SPAN(MKGO_HEAP + 9 * GO_ARENA_BYTES, 510));
}

static void test_apart(void **state)
{
	(void)state;
	check_all(plant_apart, "c0003fe000+1 released\n"
			       "c000ffe000+1 released\n"
			       "c0243fc000+2 released\n");
}

/* Spans over the border of two arenas, and over a whole one. */
static void plant_over_arenas(struct mkgo *go)
{
	va_t third = MKGO_HEAP + 2 * GO_ARENA_BYTES;

	mkgo_span(go, SPAN(MKGO_HEAP + GO_ARENA_BYTES - PAGE(2), 5));
	mkgo_span(go, SPAN(third - PAGE(1), GO_ARENA_BYTES / GO_PAGE_BYTES + 2));
}

static void test_over_arenas(void **state)
{
	(void)state;
	check_all(plant_over_arenas, "c003c00000+510 released\n"
				     "c004006000+509 released\n"
				     "c007c00000+511 released\n"
				     "c00c002000+511 released\n");
}

/* The list of arenas has the order in which they were made. */
static void plant_out_of_order(struct mkgo *go)
{
	mkgo_arena(go, MKGO_HEAP + 2 * GO_ARENA_BYTES);
	mkgo_arena(go, MKGO_HEAP);
	mkgo_arena(go, MKGO_HEAP + GO_ARENA_BYTES);
	mkgo_span(go, SPAN(MKGO_HEAP + GO_ARENA_BYTES, 512));
	mkgo_span(go, SPAN(MKGO_HEAP, 512));
	mkgo_span(go, SPAN(MKGO_HEAP + 2 * GO_ARENA_BYTES, 511));
}

static void test_out_of_order(void **state)
{
	(void)state;
	check_all(plant_out_of_order, "c0083fe000+1 released\n");
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++) {
		struct mkgo *go = mkgo_new(r->minor, r->patch);
		struct mkgo_core c;

		go->untouched = true;
		plant_out_of_order(go);
		mkgo_open(&c, go);
		assert_int_equal(c.gort.arenas.v.n, 3);
		for (size_t i = 0; i < 3; i++)
			assert_int_equal(c.gort.arenas.v.v[i].base, MKGO_HEAP + i * GO_ARENA_BYTES);
		mkgo_close(&c);
	}
}

#define TABLE_BYTES ((u64)32 << 30) /* address space of one table of chunks */

/* The last chunk of one table of chunks, and two of the next. */
static void plant_tables(struct mkgo *go)
{
	va_t border = MKGO_HEAP + TABLE_BYTES;

	mkgo_span(go, SPAN(border - PAGE(1), 2));
	mkgo_span(go, SPAN(border + GO_CHUNK_BYTES, 510));
	assert_int_not_equal(mkgo_chunk_entry(go, border - 1), mkgo_chunk_entry(go, border));
}

static void test_tables(void **state)
{
	(void)state;
	check_all(plant_tables, "c7ffc00000+511 released\n"
				"c800002000+511 released\n"
				"c8007fc000+2 released\n");
}

TEST_MAIN(TEST(test_kinds), TEST(test_unowned), TEST(test_freed), TEST(test_full_chunks),
	  TEST(test_border), TEST(test_pcache), TEST(test_pcaches), TEST(test_padding),
	  TEST(test_apart), TEST(test_over_arenas), TEST(test_out_of_order), TEST(test_tables))
