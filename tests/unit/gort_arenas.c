/* Chunks of the arena experiment: arenas of their own with a span that no page allocator knows. */
#include "gort/verify.h"
#include "support/mkgo.h"
#include "support/test.h"

#define CHUNK (MKGO_HEAP + 16 * GO_ARENA_BYTES)

/* A process with some heap, of a release that has the experiment; else NULL. */
static struct mkgo *new_go(const struct mkgo_release *r)
{
	struct mkgo *go = mkgo_new(r->minor, r->patch);

	if (!mkgo_has(go, RT_MHEAP_USER_ARENA_READY)) {
		mkgo_free(go);
		return NULL;
	}
	mkgo_sample(go);
	return go;
}

static void check(struct mkgo *go, size_t arenas, size_t parked)
{
	const struct mstats *e = &go->expect;
	struct mkgo_core c;
	struct mstats m;
	struct walk w;

	mkgo_open(&c, go);
	mkgo_assert_clean(&c);
	assert_int_equal(c.gort.arenas.v.n, arenas);
	assert_int_equal(c.gort.spans.parked.n, parked);
	walk_heap(&c.gort, &w);
	assert_ok(mstats_read(&c.gort, &m));
	assert_int_equal(w.heap_alloc, e->heap_alloc);
	assert_int_equal(w.heap_inuse, e->heap_inuse);
	assert_int_equal(w.heap_idle, e->heap_idle);
	assert_int_equal(m.heap_alloc, e->heap_alloc);
	mkgo_assert_failed(&c, "");
	mkgo_close(&c);
}

static void test_used(void **state)
{
	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++) {
		struct mkgo *go = new_go(r);
		u64 before, bytes = GO_ARENA_BYTES - MKGO_USER_ARENA_RESERVE;

		if (!go)
			continue;
		mkgo_user_arena(go, CHUNK + GO_ARENA_BYTES, MKGO_USED);
		mkgo_user_arena(go, CHUNK, MKGO_USED);
		mkgo_finish(go);
		before = go->expect.heap_alloc;
		assert_true(before > 2 * bytes && before < 2 * bytes + (1 << 20));
		check(go, 4, 0);
	}
}

static void test_parked(void **state)
{
	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++) {
		struct mkgo *go = new_go(r);

		if (!go)
			continue;
		mkgo_user_arena(go, CHUNK, MKGO_READY);
		mkgo_user_arena(go, CHUNK + GO_ARENA_BYTES, MKGO_READY);
		mkgo_user_arena(go, CHUNK + 3 * GO_ARENA_BYTES, MKGO_QUARANTINE);
		mkgo_user_arena(go, CHUNK + 4 * GO_ARENA_BYTES, MKGO_USED);
		check(go, 6, 3);
	}
}

/* Three chunks of which the last leads to the second again, which is seen when that has been taken
 * twice; or nowhere. Each arena counts once. */
static void test_damaged_list(void **state)
{
	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++)
		for (int wild = 0; wild < 2; wild++) {
			struct mkgo *go = new_go(r);
			va_t second, last;
			struct mkgo_core c;

			if (!go)
				continue;
			last = mkgo_user_arena(go, CHUNK, MKGO_QUARANTINE);
			second = mkgo_user_arena(go, CHUNK + GO_ARENA_BYTES, MKGO_QUARANTINE);
			mkgo_user_arena(go, CHUNK + 2 * GO_ARENA_BYTES, MKGO_QUARANTINE);
			mkgo_finish(go);
			mkgo_poke(go, last, RT_MSPAN_NEXT, wild ? 0xdead0000 : second);
			mkgo_open(&c, go);
			core_assert_diag(&c.core, DIAG_LIST, 1,
					 "a list of user arena chunks is damaged");
			assert_int_equal(c.gort.arenas.v.n, 5);
			mkgo_close(&c);
		}
}

/* The object part of a used chunk and what is behind it; a freed one is address space again. */
static void test_ledger(void **state)
{
	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++) {
		u64 bytes = GO_ARENA_BYTES - MKGO_USER_ARENA_RESERVE;
		struct mkgo *go = mkgo_new(r->minor, r->patch);
		struct mkgo_core c;
		struct ledger l;

		if (!mkgo_has(go, RT_MHEAP_USER_ARENA_READY)) {
			mkgo_free(go);
			continue;
		}
		mkgo_user_arena(go, CHUNK, MKGO_USED);
		mkgo_user_arena(go, CHUNK + 2 * GO_ARENA_BYTES, MKGO_QUARANTINE);
		mkgo_open(&c, go);
		mkgo_ledger(&c, &l);
		mkgo_assert_clean(&c);
		assert_int_equal(ledger_columns(&l, CAT_HEAP_FRESH).virtual, bytes);
		assert_int_equal(ledger_columns(&l, CAT_HEAP_TAIL).virtual,
				 MKGO_USER_ARENA_RESERVE);
		assert_int_equal(ledger_columns(&l, CAT_ARENA_UNUSED).virtual, GO_ARENA_BYTES);
		assert_int_equal(ledger_columns(&l, CAT_ANON).virtual, 0);
		ledger_fini(&l);
		mkgo_close(&c);
	}
}

TEST_MAIN(TEST(test_used), TEST(test_parked), TEST(test_damaged_list), TEST(test_ledger))
