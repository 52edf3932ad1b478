/* A process whose core was cut in front of the runtime's tables: what is left of its heap. */
#include "gort/remains.h"

#include "support/mkgo.h"
#include "support/test.h"

static const unsigned releases[] = {19, 21, 22, 24, 25, 26, 27};

static void test_counters(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(releases); i++) {
		struct mkgo *go = mkgo_new(releases[i], 0);
		struct mkgo_core c;
		struct remains r;

		mkgo_sample(go);
		go->cut = MKGO_RUNTIME;
		assert_err(mkgo_try(&c, go), ERR_FAULT, "the list of arenas");
		assert_true(c.gort.attached);
		assert_ok(remains_read(&c.gort, &r));
		assert_int_equal(r.counters.heap_inuse, go->expect.heap_inuse);
		assert_int_equal(r.counters.heap_idle, go->expect.heap_idle);
		assert_int_equal(r.counters.heap_released, go->expect.heap_released);
		assert_int_equal(r.counters.stack_inuse, go->expect.stack_inuse);
		assert_int_equal(r.counters.sys, go->expect.sys);
		assert_int_equal(r.counters.num_gc, go->expect.num_gc);
		assert_true(r.counters.heap_alloc <= go->expect.heap_alloc);
		assert_true(r.lo >= MKGO_HEAP);
		assert_true(r.hi > r.lo && r.hi < MKGO_RUNTIME);
		mkgo_close(&c);
	}
}

TEST_MAIN(TEST(test_counters))
