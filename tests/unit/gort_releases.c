/* Every built-in layout: a process of that release reads as it was planted, and all invariants
 * hold. */
#include "gort/verify.h"
#include "support/mkgo.h"
#include "support/test.h"

#define MIB ((u64)1 << 20)

#define assert_figure(a, b, name)                                                                  \
	do {                                                                                       \
		if ((a)->name != (b)->name)                                                        \
			fail_msg(#name " is %llu, not %llu", (unsigned long long)(a)->name,        \
				 (unsigned long long)(b)->name);                                   \
	} while (0)

static void assert_walk(const struct mkgo_core *c)
{
	const struct mstats *m = &c->go->expect;
	struct walk w;

	walk_heap(&c->gort, &w);
	assert_figure(&w, m, heap_alloc);
	assert_figure(&w, m, heap_objects);
	assert_figure(&w, m, heap_inuse);
	assert_figure(&w, m, heap_idle);
	assert_figure(&w, m, heap_released);
	assert_figure(&w, m, stack_inuse);
	assert_figure(&w, m, mspan_inuse);
	assert_figure(&w, m, mcache_inuse);
	assert_int_equal(w.workbufs, m->work_bufs);
	assert_int_equal(w.buckhash, m->buckhash_sys);
	assert_int_equal(w.unreadable, 0);
}

static void assert_mstats(const struct mkgo_core *c)
{
	const struct mstats *e = &c->go->expect;
	struct mstats m;

	assert_ok(mstats_read(&c->gort, &m));
	assert_figure(&m, e, heap_alloc);
	assert_figure(&m, e, total_alloc);
	assert_figure(&m, e, mallocs);
	assert_figure(&m, e, frees);
	assert_figure(&m, e, heap_objects);
	assert_figure(&m, e, heap_sys);
	assert_figure(&m, e, heap_idle);
	assert_figure(&m, e, heap_inuse);
	assert_figure(&m, e, heap_released);
	assert_figure(&m, e, stack_inuse);
	assert_figure(&m, e, stack_sys);
	assert_figure(&m, e, mspan_inuse);
	assert_figure(&m, e, mspan_sys);
	assert_figure(&m, e, mcache_inuse);
	assert_figure(&m, e, mcache_sys);
	assert_figure(&m, e, buckhash_sys);
	assert_figure(&m, e, gc_sys);
	assert_figure(&m, e, other_sys);
	assert_figure(&m, e, sys);
	assert_figure(&m, e, next_gc);
	assert_figure(&m, e, last_gc);
	assert_figure(&m, e, num_gc);
	assert_figure(&m, e, num_forced_gc);
	assert_figure(&m, e, pause_total_ns);
	assert_figure(&m, e, enable_gc);
	if (mkgo_has(c->go, RT_DELTA_IN_WORK_BUFS)) /* else counted with others in gc_sys */
		assert_figure(&m, e, work_bufs);
	assert_figure(&m, e, heap_live);
	assert_figure(&m, e, heap_marked);
	assert_figure(&m, e, memory_limit);
	assert_figure(&m, e, mapped_ready);
	assert_figure(&m, e, gc_percent);
	assert_figure(&m, e, stats_committed);
	assert_figure(&m, e, stats_in_heap);
	assert_figure(&m, e, stats_released);
	assert_true(m.gc_cpu_fraction == e->gc_cpu_fraction);
	assert_memory_equal(m.pause_ns, e->pause_ns, sizeof(m.pause_ns));
	assert_memory_equal(m.pause_end, e->pause_end, sizeof(m.pause_end));
	assert_memory_equal(m.by_size, e->by_size, sizeof(m.by_size));
	assert_memory_equal(m.class_objects, e->class_objects, sizeof(m.class_objects));
}

static void assert_all(struct mkgo *go)
{
	struct mkgo_core c;

	mkgo_open(&c, go);
	mkgo_assert_clean(&c);
	assert_walk(&c);
	assert_mstats(&c);
	mkgo_assert_failed(&c, "");
	mkgo_close(&c);
}

/* Before main: one P, one M, no heap. */
static void test_empty(void **state)
{
	(void)state;
	for (const struct mkgo_release *r = mkgo_everywhere; r->minor; r++)
		assert_all(mkgo_new_on(r));
}

static void test_sample(void **state)
{
	(void)state;
	for (const struct mkgo_release *r = mkgo_everywhere; r->minor; r++) {
		struct mkgo *go = mkgo_new_on(r);

		mkgo_sample(go);
		assert_all(go);
	}
}

/* The same in loads of one page each: hardly a structure lies in one piece. */
static void test_split(void **state)
{
	(void)state;
	for (const struct mkgo_release *r = mkgo_everywhere; r->minor; r++) {
		struct mkgo *go = mkgo_new_on(r);

		go->split = true;
		mkgo_sample(go);
		assert_all(go);
	}
}

/* Figures that were added up by hand, not by mkgo. */
static void test_figures(void **state)
{
	(void)state;
	for (const struct mkgo_release *r = mkgo_everywhere; r->minor; r++) {
		struct mkgo *go = mkgo_new_on(r);
		struct mkgo_core c;
		struct mstats m;
		/* 15 of an arena's 16 chunks, where they count. */
		u64 rest = r->minor <= 16 ? GO_ARENA_BYTES - GO_CHUNK_BYTES : 0;
		struct walk w;

		/* 7 objects of 48 bytes, 11 of 1408, 3 pages, 100 of 16. */
		mkgo_span(go, (struct mkgo_span){.spanclass = 2 * 5 + 1, .freeindex = 7});
		mkgo_span(go, (struct mkgo_span){.spanclass = 2 * 35, .alloc = {0x7ff}});
		mkgo_span(go, (struct mkgo_span){.npages = 3, .freeindex = 1});
		mkgo_span(go, (struct mkgo_span){.spanclass = 2 * 2 + 1,
						 .freeindex = 100,
						 .sweep = 3,
						 .p = go->p0,
						 .reported = 8});
		mkgo_goroutine(go,
			       (struct mkgo_g){.status = G_WAITING, .stack = mkgo_stack(go, 2048)});
		mkgo_workbuf(go, false);
		mkgo_idle(go, MKGO_HEAP + 0x200000, 10, false);
		mkgo_open(&c, go);
		walk_heap(&c.gort, &w);
		assert_ok(mstats_read(&c.gort, &m));
		assert_int_equal(w.heap_alloc, 42000);
		assert_int_equal(m.heap_alloc, 42000);
		assert_int_equal(w.heap_objects, 119);
		assert_int_equal(m.heap_objects, 119);
		assert_int_equal(w.heap_inuse, 57344);
		assert_int_equal(m.heap_inuse, 57344);
		assert_int_equal(w.stack_inuse, 32768);
		assert_int_equal(m.stack_inuse, 32768);
		assert_int_equal(w.workbufs, 32768);
		assert_int_equal(w.heap_idle, 4071424 + rest);
		assert_int_equal(m.heap_idle, 4071424 + rest);
		assert_int_equal(w.heap_released, 3989504 + rest);
		assert_int_equal(m.heap_released, 3989504 + rest);
		if (r->minor > 15) {
			assert_int_equal(m.work_bufs, 32768);
			assert_int_equal(m.stats_committed, 57344 + 32768 + 32768 + 81920);
		}
		mkgo_close(&c);
	}
}

/* What the pacer's state makes of the next heap goal: with a memory limit that does not bind,
 * that binds, that is exceeded; and after a cycle was triggered. From 1.21 on 3 % of the limit's
 * goal are headroom, before it is 1 MiB. */
static const struct {
	u64 limit, mapped, free, in_heap, marked, percent_goal, min_trigger, triggered;
	u64 goal, old_goal;
} goals[] = {
	{INT64_MAX, 20 * MIB, MIB, MIB, 1, 4 * MIB, 0, UINT64_MAX, 4 * MIB, 4 * MIB},
	{INT64_MAX, 20 * MIB, MIB, MIB, 1, 4 * MIB, 6 * MIB, UINT64_MAX, 6 * MIB, 6 * MIB},
	{INT64_MAX, 20 * MIB, MIB, MIB, 1, 4 * MIB, 0, 8 * MIB, 8454144, 8454144},
	/* 42 MiB are left of 50, minus 1321203 bytes. */
	{50 * MIB, 20 * MIB, 2 * MIB, 10 * MIB, 1, 100 * MIB, 0, 1, 42718989, 41 * MIB},
	{50 * MIB, 20 * MIB, 2 * MIB, 10 * MIB, 45 * MIB, 100 * MIB, 0, 1, 45 * MIB, 45 * MIB},
	/* Half a MiB is left. */
	{50 * MIB, 50 * MIB, MIB / 4, MIB / 4, 7, 100 * MIB, 0, 1, MIB, MIB},
	/* Everything but the heap exceeds the limit. */
	{50 * MIB, 60 * MIB, 2 * MIB, 10 * MIB, 7, 100 * MIB, 0, 1, 7, 7},
};

static void test_next_gc(void **state)
{
	(void)state;
	for (const struct mkgo_release *r = mkgo_everywhere; r->minor; r++)
		/* Before 1.19 the goal is a figure by itself. */
		for (size_t i = 0; i < COUNT_OF(goals) && r->minor >= 19; i++) {
			struct mkgo *go = mkgo_new_on(r);
			va_t gcc = go->rt.globals[RT_G_GC_CONTROLLER];
			struct mkgo_core c;
			struct mstats m;

			mkgo_finish(go);
			mkgo_poke(go, gcc, RT_GCC_MEMORY_LIMIT, goals[i].limit);
			mkgo_poke(go, gcc, RT_GCC_MAPPED_READY, goals[i].mapped);
			mkgo_poke(go, gcc, RT_GCC_HEAP_FREE, goals[i].free);
			mkgo_poke(go, gcc, RT_GCC_TOTAL_ALLOC, goals[i].in_heap + 100);
			mkgo_poke(go, gcc, RT_GCC_TOTAL_FREE, 100);
			mkgo_poke(go, gcc, RT_GCC_HEAP_MARKED, goals[i].marked);
			mkgo_poke(go, gcc, RT_GCC_PERCENT_HEAP_GOAL, goals[i].percent_goal);
			mkgo_poke(go, gcc, RT_GCC_SWEEP_DIST_MIN_TRIGGER, goals[i].min_trigger);
			mkgo_poke(go, gcc, RT_GCC_TRIGGERED, goals[i].triggered);
			mkgo_open(&c, go);
			assert_ok(mstats_read(&c.gort, &m));
			assert_int_equal(m.next_gc,
					 r->minor >= 21 ? goals[i].goal : goals[i].old_goal);
			mkgo_close(&c);
		}
}

/* A layout that is not the process's own is found out before it is used. */
static void test_wrong_layout(void **state)
{
	static const unsigned pairs[][2] = {{19, 27}, {27, 19}, {19, 21}, {21, 22},
					    {22, 21}, {24, 25}, {25, 26}, {26, 23}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(pairs); i++)
		for (const struct mkgo_release *r = mkgo_everywhere; r->minor; r++) {
			struct go_version other;
			struct mkgo_core c;
			struct gort gort = {.rt = {.im = NULL}};
			char text[32] = "";

			if (r->minor != pairs[i][0])
				continue;
			for (const struct mkgo_release *q = mkgo_releases; q->minor; q++)
				if (q->minor == pairs[i][1])
					snprintf(text, sizeof(text), "go1.%u.%u", q->minor,
						 q->patch);
			assert_true(version_parse(text, &other));
			mkgo_open(&c, mkgo_new_on(r));
			assert_err(gort_open_layout(&gort, &c.core.im, &other, c.go->rt.globals,
						    &c.core.d),
				   ERR_FORMAT, "the runtime's heap: m");
			gort_close(&gort);
			mkgo_close(&c);
		}
}

static void test_no_layout(void **state)
{
	static const struct {
		const char *text;
		enum err_code code;
		const char *part;
	} cases[] = {
		{"go1.26.999", ERR_MISSING, "no layout of go1.26.999 is built in"},
		{"go1.99", ERR_MISSING, "no layout of go1.99"},
		{"go1.10", ERR_UNSUPPORTED, "go1.10: the heap of"},
	};
	struct mkgo_core c;

	(void)state;
	mkgo_open(&c, mkgo_new(mkgo_releases[0].minor, mkgo_releases[0].patch));
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct gort gort = {.rt = {.im = NULL}};
		struct go_version v;

		assert_true(version_parse(cases[i].text, &v));
		assert_err(gort_open_layout(&gort, &c.core.im, &v, c.go->rt.globals, &c.core.d),
			   cases[i].code, cases[i].part);
		gort_close(&gort);
	}
	mkgo_close(&c);
}

TEST_MAIN(TEST(test_empty), TEST(test_sample), TEST(test_split), TEST(test_figures),
	  TEST(test_next_gc), TEST(test_wrong_layout), TEST(test_no_layout))
