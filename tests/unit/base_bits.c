/* Bit arrays, the radix sort, and the arithmetic of addresses. */
#include "base/bits.h"

#include "base/array.h"
#include "base/sort.h"
#include "support/test.h"

#define WORDS 6
#define BITS (WORDS * 64)

static void test_low(void **state)
{
	(void)state;
	assert_int_equal(bits_low(0), 0);
	assert_int_equal(bits_low(1), 1);
	assert_int_equal(bits_low(63), INT64_MAX);
	assert_int_equal(bits_low(64), UINT64_MAX);
	assert_int_equal(bits_low(1000), UINT64_MAX);
}

static void test_word_is_unaligned(void **state)
{
	u8 bytes[25];

	(void)state;
	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (u8)i;
	assert_int_equal(bits_word(bytes + 1, 0), 0x0807060504030201u);
	assert_int_equal(bits_word(bytes + 1, 2), 0x1817161514131211u);
}

/* Every range against a loop over its bits. */
static void test_count(void **state)
{
	u64 bits[WORDS], seed = 5;

	(void)state;
	for (unsigned w = 0; w < WORDS; w++)
		bits[w] = w == 2 ? UINT64_MAX : w == 3 ? 0 : test_random(&seed);
	for (size_t lo = 0; lo <= BITS; lo++) {
		size_t n = 0;

		assert_int_equal(bits_count(bits, lo, lo), 0);
		assert_int_equal(bits_count(bits, lo, 0), 0);
		for (size_t hi = lo; hi < BITS; hi++) {
			n += bits[hi / 64] >> hi % 64 & 1;
			assert_int_equal(bits_test(bits, hi), bits[hi / 64] >> hi % 64 & 1);
			assert_int_equal(bits_count(bits, lo, hi + 1), n);
		}
	}
}

/* Nothing outside the range is even read. */
static void test_count_reads_no_more(void **state)
{
	u64 *one = xcalloc(1, sizeof(*one));

	(void)state;
	*one = UINT64_MAX;
	assert_int_equal(bits_count(one, 0, 64), 64);
	assert_int_equal(bits_count(one, 63, 64), 1);
	assert_int_equal(bits_count(one, 64, 64), 0);
	free(one);
}

static int by_value(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static void sort_both(u64 *keys, size_t n)
{
	u64 *copy = xcalloc(n, sizeof(*copy));

	memcpy(copy, keys, n * sizeof(*keys));
	qsort(copy, n, sizeof(*copy), by_value);
	assert_ok(sort_u64(keys, n));
	assert_memory_equal(keys, copy, MAX(n, 1) * sizeof(*keys));
	free(copy);
}

static void test_sort(void **state)
{
	static const u64 masks[] = {
		UINT64_MAX, 0xff, 0x7ff, 0xfff, 0xffff0000, (u64)0xff << 56, (u64)1 << 63, 0,
	};
	u64 keys[3000], seed = 9;

	(void)state;
	for (size_t m = 0; m < COUNT_OF(masks); m++)
		for (size_t n = 0; n <= COUNT_OF(keys); n = n < 20 ? n + 1 : n * 3) {
			for (size_t i = 0; i < n; i++)
				keys[i] = test_random(&seed) & masks[m];
			keys[0] = n ? keys[0] : 0;
			sort_both(keys, n);
			sort_both(keys, n); /* sorted already */
			for (size_t i = 0; i < n / 2; i++) {
				u64 swap = keys[i];

				keys[i] = keys[n - 1 - i];
				keys[n - 1 - i] = swap;
			}
			sort_both(keys, n);
		}
}

static void test_sort_over_budget(void **state)
{
	u64 keys[100];

	(void)state;
	for (u64 i = 0; i < 100; i++)
		keys[i] = 100 - i;
	mem_set_limit(mem_used() + 100);
	assert_err(sort_u64(keys, 100), ERR_LIMIT, "");
	for (u64 i = 0; i < 100; i++)
		assert_int_equal(keys[i], 100 - i);
}

static void test_align(void **state)
{
	static const struct {
		u64 x, unit, down, up;
	} cases[] = {
		{0, 4096, 0, 0},
		{1, 4096, 0, 4096},
		{4095, 4096, 0, 4096},
		{4096, 4096, 4096, 4096},
		{4097, 4096, 4096, 8192},
		{7, 1, 7, 7},
		{UINT64_MAX, 4096, UINT64_MAX - 4095, UINT64_MAX - 4095},
		{UINT64_MAX - 4095, 4096, UINT64_MAX - 4095, UINT64_MAX - 4095},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		assert_int_equal(align_down(cases[i].x, cases[i].unit), cases[i].down);
		assert_int_equal(align_up(cases[i].x, cases[i].unit), cases[i].up);
	}
}

static void test_va_plus(void **state)
{
	(void)state;
	assert_int_equal(va_plus(5, 6), 11);
	assert_int_equal(va_plus(UINT64_MAX - 1, 1), UINT64_MAX);
	assert_int_equal(va_plus(UINT64_MAX - 1, 2), UINT64_MAX);
	assert_int_equal(va_plus(UINT64_MAX, UINT64_MAX), UINT64_MAX);
}

TEST_MAIN(TEST(test_low), TEST(test_word_is_unaligned), TEST(test_count),
	  TEST(test_count_reads_no_more), TEST(test_sort), TEST(test_sort_over_budget),
	  TEST(test_align), TEST(test_va_plus))
