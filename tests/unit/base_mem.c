/* The budget of big memory, growable arrays, arenas. */
#include "base/mem.h"

#include "base/arena.h"
#include "base/array.h"
#include "support/test.h"

static void test_charge(void **state)
{
	u64 before = mem_used();

	(void)state;
	mem_set_limit(before + 1000);
	assert_ok(mem_charge(600));
	assert_int_equal(mem_used(), before + 600);
	assert_err(mem_charge(401), ERR_LIMIT, "raise --max-memory");
	assert_int_equal(mem_used(), before + 600);
	assert_ok(mem_charge(400));
	assert_int_equal(mem_used(), before + 1000);
	assert_true(mem_peak() >= before + 1000);
	mem_discharge(1000);
	assert_int_equal(mem_used(), before);
	assert_true(mem_peak() >= before + 1000);
}

static void test_no_limit(void **state)
{
	(void)state;
	mem_set_limit(0);
	assert_ok(mem_charge((u64)1 << 50));
	mem_discharge((u64)1 << 50);
}

static void test_limit_is_named(void **state)
{
	(void)state;
	mem_set_limit((u64)64 << 20);
	assert_err(mem_charge((u64)65 << 20), ERR_LIMIT, "more than 64");
}

static void test_grow(void **state)
{
	u64 before = mem_used();
	u32 *block = NULL;
	size_t cap = 0;

	(void)state;
	assert_ok(mem_grow((void **)&block, &cap, sizeof(*block), 10));
	assert_int_equal(cap, 10);
	assert_ok(mem_grow((void **)&block, &cap, sizeof(*block), 10));
	assert_int_equal(cap, 10);
	assert_ok(mem_grow((void **)&block, &cap, sizeof(*block), 11));
	assert_int_equal(cap, 15); /* by half */
	assert_int_equal(mem_used(), before + 15 * sizeof(*block));
	mem_shrink((void **)&block, &cap, sizeof(*block), 3);
	assert_int_equal(cap, 3);
	assert_int_equal(mem_used(), before + 3 * sizeof(*block));
	mem_release(block, cap, sizeof(*block));
	assert_int_equal(mem_used(), before);
}

/* When it fails nothing has changed. */
static void test_grow_fails(void **state)
{
	u64 before = mem_used();
	u64 *block = NULL;
	size_t cap = 0;

	(void)state;
	assert_ok(mem_grow((void **)&block, &cap, sizeof(*block), 4));
	for (unsigned i = 0; i < 4; i++)
		block[i] = i * 11;
	mem_set_limit(before + 64);
	assert_err(mem_grow((void **)&block, &cap, sizeof(*block), 9), ERR_LIMIT, "");
	assert_int_equal(cap, 4);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(block[i], i * 11);
	assert_int_equal(mem_used(), before + 32);
	assert_ok(mem_grow((void **)&block, &cap, sizeof(*block), 8));
	mem_set_limit(0);
	assert_err(mem_grow((void **)&block, &cap, sizeof(*block), SIZE_MAX / 4), ERR_LIMIT,
		   "too large");
	assert_int_equal(cap, 8);
	mem_release(block, cap, sizeof(*block));
}

static void test_array(void **state)
{
	ARRAY(struct range) ranges = {0};

	(void)state;
	for (u64 i = 0; i < 1000; i++)
		assert_ok(array_push(&ranges, {i, i + 1}));
	assert_int_equal(ranges.n, 1000);
	assert_true(ranges.cap >= 1000 && ranges.cap < 2000);
	for (u64 i = 0; i < 1000; i++) {
		assert_int_equal(ranges.v[i].lo, i);
		assert_int_equal(ranges.v[i].hi, i + 1);
	}
	array_shrink(&ranges);
	assert_int_equal(ranges.cap, 1000);
	assert_ok(array_reserve(&ranges, 500));
	assert_true(ranges.cap >= 1500);
	assert_int_equal(ranges.n, 1000);
	array_free(&ranges);
	assert_null(ranges.v);
	assert_int_equal(ranges.n + ranges.cap, 0);
	array_free(&ranges);
}

static void test_array_over_budget(void **state)
{
	ARRAY(u64) words = {0};

	(void)state;
	mem_set_limit(mem_used() + 100 * sizeof(u64));
	for (u64 i = 0; i < 50; i++)
		assert_ok(array_push(&words, i));
	for (u64 i = 50;; i++) {
		struct err *err = array_push(&words, i);

		if (err) {
			assert_err(err, ERR_LIMIT, "--max-memory");
			break;
		}
		assert_true(words.n <= 100);
	}
	assert_int_equal(words.n, words.cap);
	for (u64 i = 0; i < words.n; i++)
		assert_int_equal(words.v[i], i);
	array_free(&words);
}

static bool all_zero(const u8 *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

/* Blocks are zeroed, aligned, and nobody else's. */
static void test_arena(void **state)
{
	static const size_t sizes[] = {1, 0, 15, 16, 17, 100, 65536, 3, 200000, 1, 65520, 64};
	u8 *blocks[COUNT_OF(sizes) * 20];
	struct arena a = {0};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(blocks); i++) {
		size_t n = sizes[i % COUNT_OF(sizes)];

		blocks[i] = arena_alloc(&a, n);
		assert_int_equal((uintptr_t)blocks[i] % 16, 0);
		assert_true(all_zero(blocks[i], n));
		memset(blocks[i], (int)i + 1, n);
	}
	for (size_t i = 0; i < COUNT_OF(blocks); i++)
		for (size_t k = 0; k < sizes[i % COUNT_OF(sizes)]; k++)
			if (blocks[i][k] != (u8)(i + 1))
				fail_msg("block %zu was overwritten at %zu", i, k);
	arena_fini(&a);
	assert_null(a.head);
	assert_int_equal(a.left, 0);
	arena_fini(&a);
}

/* All blocks but the first are charged, and given back. */
static void test_arena_is_charged(void **state)
{
	const u64 before = mem_used();
	struct arena a = {0};

	(void)state;
	arena_alloc(&a, 1000);
	arena_alloc(&a, 60000);
	assert_int_equal(mem_used(), before);
	arena_alloc(&a, 60000);
	assert_in_range(mem_used(), before + 60000, before + 70000);
	arena_alloc(&a, 1 << 20);
	assert_in_range(mem_used(), before + 60000 + (1 << 20), before + 71000 + (1 << 20));
	arena_fini(&a);
	assert_int_equal(mem_used(), before);
}

/* Blocks for libraries: charged, and refused over the budget. */
static void test_charged_alloc(void **state)
{
	const u64 before = mem_used();
	u8 *p = mem_charged_alloc(1000), *q = mem_charged_alloc(0);

	(void)state;
	assert_true(p && q && (uintptr_t)p % 16 == 0);
	memset(p, 1, 1000);
	assert_in_range(mem_used(), before + 1000, before + 1100);
	mem_set_limit(mem_used() + 1000);
	assert_null(mem_charged_alloc(1000));
	assert_null(mem_charged_alloc(SIZE_MAX - 8));
	mem_set_limit(0);
	mem_charged_free(p);
	mem_charged_free(q);
	mem_charged_free(NULL);
	assert_int_equal(mem_used(), before);
}

static void test_arena_strings(void **state)
{
	struct arena a = {0};

	(void)state;
	assert_string_equal(arena_strdup(&a, "span"), "span");
	assert_string_equal(arena_strdup(&a, ""), "");
	assert_string_equal(arena_strndup(&a, "spanscope", 4), "span");
	assert_string_equal(arena_printf(&a, "%s.%d", "core", 7), "core.7");
	arena_fini(&a);
	assert_string_equal(arena_strdup(&a, "again"), "again");
	arena_fini(&a);
}

static void test_small(void **state)
{
	char *s = xasprintf("%s-%u", "a", 5u), *copy = xstrdup(s), *part = xstrndup(s, 2);
	u8 *zeros = xcalloc(0, 8);

	(void)state;
	assert_string_equal(s, "a-5");
	assert_string_equal(copy, "a-5");
	assert_string_equal(part, "a-");
	assert_non_null(zeros);
	free(s);
	free(copy);
	free(part);
	free(zeros);
}

TEST_MAIN(TEST(test_charge), TEST(test_no_limit), TEST(test_limit_is_named), TEST(test_grow),
	  TEST(test_grow_fails), TEST(test_array), TEST(test_array_over_budget), TEST(test_arena),
	  TEST(test_arena_is_charged), TEST(test_charged_alloc), TEST(test_arena_strings),
	  TEST(test_small))
