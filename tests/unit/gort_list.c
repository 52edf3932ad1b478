/* Lists of the target end, even where damage has made them a circle. */
#include "gort/list.h"

#include "support/test.h"

/* Walks `tail` nodes into a circle of `length`; the number of steps that were allowed. */
static u64 walk(u64 tail, u64 length)
{
	struct list_guard guard = {0};
	u64 node = 0, steps = 0;

	while (list_guard_step(&guard, 0x1000 + node * 8)) {
		steps++;
		node = node + 1 < tail + length ? node + 1 : tail;
		if (steps > 100 * (tail + length))
			break;
	}
	return steps;
}

/* Every node is seen before the walk is stopped, and it is stopped soon. */
static void test_circles(void **state)
{
	static const u64 sizes[] = {0,  1,  2,  3,  4,  5,   6,   7,   8,   9,    15,  16,
				    17, 31, 32, 33, 63, 100, 127, 128, 129, 1000, 4095};

	(void)state;
	for (size_t t = 0; t < COUNT_OF(sizes); t++)
		for (size_t l = 1; l < COUNT_OF(sizes); l++) {
			u64 tail = sizes[t], length = sizes[l], steps = walk(tail, length);

			if (steps < tail + length || steps > 3 * (tail + length))
				fail_msg("%llu steps for a tail of %llu and a circle of %llu",
					 (unsigned long long)steps, (unsigned long long)tail,
					 (unsigned long long)length);
		}
}

static void test_straight(void **state)
{
	struct list_guard guard = {0};

	(void)state;
	for (u64 i = 1; i <= 100000; i++)
		assert_true(list_guard_step(&guard, i * 16));
}

TEST_MAIN(TEST(test_circles), TEST(test_straight))
