/* What could not be read is unknown, never nothing: in the classes, and in the sum over them. */
#include "gort/rtget.h"
#include "ledger/claim.h"
#include "report/facts_fill.h"
#include "report/waterfall.h"
#include "support/mkgo.h"
#include "support/test.h"

#include <string.h>

#define NOWHERE ((va_t)0xdead0000)
#define SHOWN 123456

/* A process whose tables are cut off, and its ledger. */
static void open_cut(struct mkgo_core *c, struct ledger *l, unsigned release)
{
	const struct binary bin = {.file = 0, .header = MKGO_BINARY};
	struct mkgo *go = mkgo_new(release, 0);

	mkgo_sample(go);
	go->cut = MKGO_RUNTIME;
	assert_err(mkgo_try(c, go), ERR_FAULT, "the list of arenas");
	ledger_init(l, &c->core.im, NULL, &c->core.d);
	assert_ok(claim_mappings(l, &bin));
	assert_ok(claim_binary(l, &bin));
	claim_unread(l, &bin);
	assert_ok(ledger_seal(l));
}

static void test_lost_tables(void **state)
{
	struct mkgo_core c;
	struct ledger l;

	(void)state;
	open_cut(&c, &l, 26);
	for (int cat = CAT_HEAP_LIVE; cat <= CAT_META_RESERVED; cat++)
		assert_false(ledger_knows(&l, (enum category)cat));
	assert_false(ledger_knows(&l, CAT_BINARY_PCLNTAB));
	assert_true(ledger_knows(&l, CAT_ANON));
	assert_true(ledger_knows(&l, CAT_UNATTRIBUTED));
	assert_true(ledger_knows(&l, CAT_SHM)); /* there is none, for certain */
	ledger_fini(&l);
	mkgo_close(&c);
}

/* Of a heap that was read, what is unknown is what the lost part alone tells. */
static void test_lost_part(void **state)
{
	static const struct {
		enum rt_global global;
		enum category lost;
	} cases[] = {
		{RT_G_ALLGS, CAT_STACK_USED},
		{RT_G_ALLGS, CAT_STACK_UNUSED},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		for (int broken = 0; broken < 2; broken++) {
			struct mkgo *go = mkgo_new(26, 0);
			struct mkgo_core c;
			struct ledger l;

			mkgo_sample(go);
			mkgo_finish(go);
			if (broken)
				mkgo_poke_u64(go, go->rt.globals[cases[i].global], NOWHERE);
			mkgo_open(&c, go);
			mkgo_ledger(&c, &l);
			assert_int_equal(ledger_knows(&l, cases[i].lost), !broken);
			assert_true(ledger_knows(&l, CAT_STACK_CACHED));
			assert_true(ledger_knows(&l, CAT_HEAP_LIVE));
			ledger_fini(&l);
			mkgo_close(&c);
		}
}

static const struct waterfall_step *find(const struct waterfall_step *steps, size_t n,
					 const char *id)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(steps[i].id, id))
			return &steps[i];
	fail_msg("no step %s", id);
	return NULL;
}

/* The sum has what is known, and ends at the resident total all the same. */
static void test_sum(void **state)
{
	static const char *const unknown[] = {"live_absent",   "fresh",         "free", "stack",
					      "idle_retained", "idle_released", "meta"};
	const struct go_version version = {.text = "go1.26"};
	const u64 shown = SHOWN;

	(void)state;
	for (int with_profile = 0; with_profile < 2; with_profile++) {
		struct waterfall_step steps[WATERFALL_MAX];
		struct mkgo_core c;
		struct ledger l;
		struct snapshot s = {.ledger = &l, .version = &version};
		size_t n;

		open_cut(&c, &l, 26);
		s.im = &c.core.im;
		n = waterfall_steps(&s, with_profile ? &shown : NULL, 0, steps);
		for (size_t i = 0; i < COUNT_OF(unknown); i++)
			assert_true(find(steps, n, unknown[i])->unknown);
		assert_false(find(steps, n, "anon")->unknown);
		assert_int_equal(steps[n - 1].cumulative, ledger_total(&l).state[STATE_RESIDENT]);
		if (with_profile) {
			assert_int_equal(find(steps, n, "pprof")->bytes, SHOWN);
			assert_true(find(steps, n, "pprof")->beside);
			assert_true(find(steps, n, "sampling")->unknown);
		} else {
			assert_true(find(steps, n, "live")->unknown);
		}
		ledger_fini(&l);
		mkgo_close(&c);
	}
}

/* In the rows that snapshots are compared by they are unknown too. */
static void test_facts(void **state)
{
	static const struct binary bin = {.file = 0, .header = MKGO_BINARY};
	static const struct go_version version = {.text = "go1.26"};
	struct mkgo_core c;
	struct ledger l;
	struct facts f = {.level_count = 0};
	const struct facts_level *classes;

	(void)state;
	open_cut(&c, &l, 26);
	assert_ok(facts_fill(&(struct snapshot){.im = &c.core.im,
						.bin = &bin,
						.ledger = &l,
						.diags = &c.core.d,
						.version = &version},
			     "cut", &f));
	classes = facts_level(&f, "class");
	assert_true(facts_row(classes, "go.heap.live")->v[FACT_VIRTUAL] == FACT_UNKNOWN);
	assert_true(facts_row(classes, "go.heap.live")->v[FACT_RESIDENT] == FACT_UNKNOWN);
	assert_true(facts_row(classes, "anon")->v[FACT_VIRTUAL] > 0);
	assert_true(facts_row(classes, "shm")->v[FACT_VIRTUAL] == 0);
	facts_fini(&f);
	ledger_fini(&l);
	mkgo_close(&c);
}

TEST_MAIN(TEST(test_lost_tables), TEST(test_lost_part), TEST(test_sum), TEST(test_facts))
