/* The hash table: what was put in is found, whatever the order. */
#include "base/map.h"
#include "support/test.h"

#define KEYS 20000

static void test_keys(void **state)
{
	struct map m = {.used = 0};
	u64 seed = 7;
	u32 *value;
	bool fresh;

	(void)state;
	for (u32 i = 0; i < KEYS; i++) {
		assert_ok(map_at(&m, test_random(&seed), &value, &fresh));
		assert_true(fresh);
		assert_int_equal(*value, 0);
		*value = i;
	}
	seed = 7;
	for (u32 i = 0; i < KEYS; i++) {
		assert_ok(map_at(&m, test_random(&seed), &value, &fresh));
		assert_false(fresh);
		assert_int_equal(*value, i);
	}
	assert_int_equal(m.used, KEYS);
	map_fini(&m);
}

static void test_limit(void **state)
{
	struct map m = {.used = 0};
	u32 *value;
	bool fresh;
	struct err *err = NULL;

	(void)state;
	mem_set_limit(100000);
	for (u64 key = 1; key < KEYS && !err; key++)
		err = map_at(&m, key, &value, &fresh);
	mem_set_limit(0);
	assert_err(err, ERR_LIMIT, "");
	assert_ok(map_at(&m, 1, &value, &fresh));
	assert_false(fresh);
	map_fini(&m);
}

TEST_MAIN(TEST(test_keys), TEST(test_limit))
