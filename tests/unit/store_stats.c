/* Robust statistics against examples that were worked by hand. */
#include "store/stats.h"
#include "support/test.h"

#include <math.h>

static void assert_real(double found, double expected)
{
	assert_true(fabs(found - expected) < 1e-9);
}

static void test_median(void **state)
{
	(void)state;
	assert_real(stats_median((double[]){7}, 1), 7);
	assert_real(stats_median((double[]){9, 1, 4}, 3), 4);
	assert_real(stats_median((double[]){9, 1, 4, 5}, 4), 4.5);
	assert_real(stats_median((double[]){-3, -3, 8, 100}, 4), 2.5);
}

static void check_slope(const struct sample *v, size_t n, double expected)
{
	double slope;
	bool known;

	assert_ok(stats_slope(v, n, &known, &slope));
	assert_true(known);
	assert_real(slope, expected);
}

static void test_slope(void **state)
{
	static const struct sample line[] = {{0, 3}, {1, 5}, {2, 7}, {3, 9}};
	/* Slopes by hand: 2, (20-3)/2 = 8.5, 2, 15, 2, -11: in order -11 2 2 2 8.5 15. */
	static const struct sample wild[] = {{0, 3}, {1, 5}, {2, 20}, {3, 9}};
	/* The pair at x = 1 has no slope. */
	static const struct sample twice[] = {{0, 0}, {1, 1}, {1, 3}, {2, 4}};
	static const struct sample same[] = {{5, 1}, {5, 2}};
	double slope;
	bool known;

	(void)state;
	check_slope(line, COUNT_OF(line), 2);
	check_slope(wild, COUNT_OF(wild), 2);
	/* (1-0)/1 = 1, (3-0)/1 = 3, (4-0)/2 = 2, (4-1)/1 = 3, (4-3)/1 = 1: in order 1 1 2 3 3. */
	check_slope(twice, COUNT_OF(twice), 2);
	assert_ok(stats_slope(same, COUNT_OF(same), &known, &slope));
	assert_false(known);
	assert_ok(stats_slope(line, 1, &known, &slope));
	assert_false(known);
}

static void test_grown(void **state)
{
	static const struct sample v[] = {{0, 3}, {1, 5}, {2, 5}, {3, 4}, {4, 9}};

	(void)state;
	assert_int_equal(stats_grown(v, COUNT_OF(v)), 2);
	assert_int_equal(stats_grown(v, 1), 0);
	assert_int_equal(stats_grown(v, 0), 0);
}

TEST_MAIN(TEST(test_median), TEST(test_slope), TEST(test_grown))
