/* What becomes of a core as facts: each level has what the report of its kind says. */
#include "report/facts_fill.h"
#include "support/mkgo.h"
#include "support/test.h"

#include <string.h>

static const struct binary no_binary = {.file = -1};

static void fill(struct mkgo_core *c, struct ledger *l, struct facts *f)
{
	struct snapshot s = {.bin = &no_binary};
	struct mkgo *go = mkgo_new(26, 0);

	mkgo_sample(go);
	mkgo_finish(go);
	mkgo_open(c, go);
	mkgo_ledger(c, l);
	s.im = &c->core.im;
	s.gort = &c->gort;
	s.ledger = l;
	s.diags = &c->core.d;
	s.version = &c->gort.rt.version;
	assert_ok(facts_fill(&s, "sample", f));
}

static u64 sum(const struct facts *f, const char *level, enum fact_column c)
{
	const struct facts_level *l = facts_level(f, level);
	u64 n = 0;

	assert_non_null(l);
	for (size_t i = 0; i < l->rows.n; i++)
		n += l->rows.v[i].v[c] == FACT_UNKNOWN ? 0 : l->rows.v[i].v[c];
	return n;
}

static void test_levels_sum_to_what_they_are_of(void **state)
{
	struct mkgo_core c;
	struct ledger l;
	struct facts f = {.level_count = 0};
	const struct facts_level *memstats;

	(void)state;
	fill(&c, &l, &f);
	assert_int_equal(f.level_count, levels_count - 1);
	assert_null(facts_level(&f, "site")); /* it keeps no heap profile */
	assert_int_equal(sum(&f, "class", FACT_VIRTUAL), ledger_total(&l).virtual);
	assert_int_equal(sum(&f, "mapping", FACT_VIRTUAL), ledger_total(&l).virtual);
	assert_int_equal(sum(&f, "class", FACT_RESIDENT), f.head.total[FACT_RESIDENT]);
	assert_int_equal(sum(&f, "gaps", FACT_VIRTUAL), ledger_columns(&l, CAT_HEAP_FREE).virtual);
	memstats = facts_level(&f, "memstats");
	assert_int_equal(sum(&f, "sizeclass", FACT_VIRTUAL),
			 facts_row(memstats, "HeapInuse")->v[FACT_VIRTUAL]);
	assert_int_equal(sum(&f, "sizeclass", FACT_COUNT),
			 facts_row(memstats, "HeapObjects")->v[FACT_COUNT]);
	assert_null(facts_row(memstats, "GCCPUFraction"));
	assert_int_equal(sum(&f, "mapping", FACT_COUNT), c.core.im.vmas.n);
	assert_string_equal(f.head.path, "sample");
	assert_string_equal(f.head.arch, "amd64");
	facts_fini(&f);
	ledger_fini(&l);
	mkgo_close(&c);
}

static void test_levels_have_names_of_their_own(void **state)
{
	(void)state;
	for (size_t i = 0; i < levels_count; i++)
		assert_ptr_equal(level_find(levels[i].id), &levels[i]);
	assert_null(level_find("nothing"));
}

TEST_MAIN(TEST(test_levels_sum_to_what_they_are_of), TEST(test_levels_have_names_of_their_own))
