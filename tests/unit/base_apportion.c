/* Sharing out: the parts sum to the total, and none is a unit off. */
#include "base/apportion.h"

#include "base/types.h"
#include "support/test.h"

#define MAX_PARTS 64

static void check(u64 total, const u64 *weights, size_t n)
{
	u64 parts[MAX_PARTS], left = total;
	unsigned __int128 sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += weights[i];
	assert_ok(apportion(total, weights, n, parts));
	for (size_t i = 0; i < n; i++) {
		assert_true(parts[i] <= left);
		left -= parts[i];
		if (sum && !(sum >> 64)) { /* |part * sum - total * weight| < sum */
			unsigned __int128 exact = (unsigned __int128)total * weights[i];
			unsigned __int128 part = (unsigned __int128)parts[i] * sum;

			assert_true((part > exact ? part - exact : exact - part) < sum);
		}
	}
	assert_int_equal(left, 0);
}

static void test_cases(void **state)
{
	static const struct {
		u64 total, weights[4];
		u64 parts[4];
	} cases[] = {
		{10, {1, 1, 1, 1}, {3, 3, 2, 2}}, /* of equal remainders the first */
		{10, {0, 0, 5, 0}, {0, 0, 10, 0}},
		{10, {0, 0, 0, 0}, {0, 0, 0, 10}}, /* without weights the last */
		{0, {1, 2, 3, 4}, {0, 0, 0, 0}},
		{100, {1, 2, 3, 4}, {10, 20, 30, 40}},
		{3, {49, 49, 2, 0}, {2, 1, 0, 0}},
		{UINT64_MAX, {1, 0, 0, 0}, {UINT64_MAX, 0, 0, 0}},
		{7, {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}, {2, 2, 2, 1}},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		u64 parts[4];

		assert_ok(apportion(cases[i].total, cases[i].weights, 4, parts));
		assert_memory_equal(parts, cases[i].parts, sizeof(parts));
	}
}

static void test_many(void **state)
{
	u64 seed = 4711, weights[MAX_PARTS];

	(void)state;
	for (int round = 0; round < 20000; round++) {
		size_t n = 1 + test_random(&seed) % MAX_PARTS;
		unsigned shift = (unsigned)(test_random(&seed) % 64);
		u64 total = test_random(&seed) >> test_random(&seed) % 64;

		for (size_t i = 0; i < n; i++)
			weights[i] = test_random(&seed) % 4 ? test_random(&seed) >> shift : 0;
		check(total, weights, n);
	}
}

/* The parts may take the place of the weights. */
static void test_in_place(void **state)
{
	u64 v[3] = {5, 3, 2};

	(void)state;
	assert_ok(apportion(101, v, 3, v));
	assert_int_equal(v[0], 51);
	assert_int_equal(v[1], 30);
	assert_int_equal(v[2], 20);
}

TEST_MAIN(TEST(test_cases), TEST(test_many), TEST(test_in_place))
