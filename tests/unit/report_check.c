/* Rules on synthetic series: what fires, by how much, and what cannot be told. */
#include "report/check.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#define HOUR ((i64)3600 * 1000000000)
#define SNAPSHOTS_MAX 40

/* One row of each level, through so many snapshots, one an hour. */
struct series {
	size_t n;
	double live[SNAPSHOTS_MAX]; /* bytes; < 0: the level cannot be read */
	i64 same_time;              /* all snapshots are of this time; 0: one an hour */
	bool no_memstats;
};

static void add_row(struct facts *f, const char *level, const char *key, u64 virtual, u64 resident,
		    u64 count)
{
	struct facts_level *l;

	assert_ok(facts_add_level(f, level, &l));
	assert_ok(facts_add(f, l, key, virtual, resident, count));
}

static struct facts facts_of(const struct series *s, size_t i)
{
	struct facts f = {.level_count = 0};
	u64 live = s->live[i] < 0 ? 0 : (u64)s->live[i];
	char path[48];

	snprintf(path, sizeof(path), "/cores/core.%zu", i);
	f.head = (struct facts_head){.path = facts_string(&f, path),
				     .file_bytes = 1,
				     .inode = i,
				     .time_ns = s->same_time ? s->same_time : (i64)i * HOUR,
				     .time_from = "file",
				     .exe = "/srv/app",
				     .total = {live * 2, live + 1000, FACT_UNKNOWN}};
	if (s->live[i] >= 0) {
		add_row(&f, "class", "go.heap.live", live, live, FACT_UNKNOWN);
		add_row(&f, "goroutines", "select: main.worker", live, FACT_UNKNOWN, live / 100);
		add_row(&f, "goroutines", "running: main.main", 8192, FACT_UNKNOWN, 1);
	}
	if (!s->no_memstats)
		add_row(&f, "memstats", "HeapAlloc", live, FACT_UNKNOWN, FACT_UNKNOWN);
	facts_seal(&f);
	return f;
}

struct run {
	struct rules rules;
	struct history *h;
	struct history_list list;
	struct facts baseline;
	struct findings findings;
	struct check_input in;
};

static void set_up(struct run *r, const char *rules, const struct series *s)
{
	const struct history_filter all = {.last = 0};

	memset(r, 0, sizeof(*r));
	assert_ok(rules_parse(rules, strlen(rules), "rules.yaml", &r->rules));
	assert_ok(history_open("", HISTORY_CREATE, &r->h));
	for (size_t i = 0; i < s->n; i++) {
		struct facts f = facts_of(s, i);

		assert_ok(history_add(r->h, &f));
		facts_fini(&f);
	}
	assert_ok(history_list(r->h, &all, &r->list));
	r->in = (struct check_input){
		.rules = &r->rules, .h = r->h, .list = &r->list, .now_ns = 100 * 24 * HOUR};
}

static void clean_up(struct run *r)
{
	findings_fini(&r->findings);
	facts_fini(&r->baseline);
	history_list_fini(&r->list);
	history_close(r->h);
	rules_fini(&r->rules);
}

static const struct finding *only(struct run *r, const char *rules, const struct series *s)
{
	set_up(r, rules, s);
	assert_ok(check_run(&r->in, &r->findings));
	assert_int_equal(r->findings.v.n, 1);
	return &r->findings.v.v[0];
}

#define RULE(condition) "rules: [{watch: go.heap.live, " condition "}]"

static const struct series up = {.n = 6, .live = {1000, 2000, 3000, 4000, 5000, 6000}};
static const struct series wild = {.n = 7, .live = {1000, 1100, 9000, 1300, 1400, 1500, 1600}};

static void test_max(void **state)
{
	const struct finding *f;
	struct run r;

	(void)state;
	f = only(&r, RULE("max: 8999"), &wild);
	assert_int_equal(f->result, CHECK_FIRED);
	assert_true(f->value == 9000 && f->threshold == 8999);
	assert_int_equal(f->last, 2);
	clean_up(&r);
	f = only(&r, RULE("max: 9000"), &wild);
	assert_int_equal(f->result, CHECK_HOLDS);
	clean_up(&r);
	f = only(&r, "warmup: 3\n" RULE("max: 8999"), &wild);
	assert_int_equal(f->result, CHECK_HOLDS);
	clean_up(&r);
	f = only(&r, "warmup: 7\n" RULE("max: 8999"), &wild);
	assert_int_equal(f->result, CHECK_UNKNOWN);
	clean_up(&r);
}

static void test_growth(void **state)
{
	static const struct {
		const char *rule;
		enum check_result result;
		double value, threshold;
	} cases[] = {
		{RULE("growth: {over: first, by: 4999}"), CHECK_FIRED, 5000, 4999},
		{RULE("growth: {over: first, by: 5000}"), CHECK_HOLDS, 5000, 5000},
		{RULE("growth: {over: first, percent: 499}"), CHECK_FIRED, 5000, 4990},
		{RULE("growth: {over: first, percent: 500}"), CHECK_HOLDS, 5000, 5000},
		/* Both have to be exceeded. */
		{RULE("growth: {over: first, percent: 10, by: 5000}"), CHECK_HOLDS, 5000, 5000},
		{RULE("growth: {over: first, percent: 10, by: 4000}"), CHECK_FIRED, 5000, 4000},
		/* The median of 1000 to 5000 is 3000. */
		{RULE("growth: {over: median, by: 2999}"), CHECK_FIRED, 3000, 2999},
		{RULE("growth: {over: median, by: 3000}"), CHECK_HOLDS, 3000, 3000},
		{"warmup: 2\n" RULE("growth: {over: first, by: 2999}"), CHECK_FIRED, 3000, 2999},
		{"warmup: 5\n" RULE("growth: {over: first, by: 1}"), CHECK_UNKNOWN, 0, 0},
		{"warmup: 4\n" RULE("growth: {over: median, by: 1}"), CHECK_UNKNOWN, 0, 0},
		{RULE("growth: {by: 1}"), CHECK_UNKNOWN, 0, 0}, /* no baseline */
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct run r;
		const struct finding *f = only(&r, cases[i].rule, &up);

		assert_int_equal(f->result, cases[i].result);
		assert_true(f->value == cases[i].value && f->threshold == cases[i].threshold);
		clean_up(&r);
	}
}

static void test_baseline(void **state)
{
	static const char rules[] =
		"rules:\n"
		"- {name: a, watch: go.heap.live, growth: {by: 2500}}\n"
		"- {name: b, watch: total, figure: resident, growth: {by: 4000}}\n"
		"- {name: c, watch: 'site:main.make', growth: {by: 1}}\n";
	bool found;
	struct run r;

	(void)state;
	set_up(&r, rules, &up);
	assert_ok(history_baseline(r.h, "app", &r.baseline, &found));
	assert_false(found);
	assert_ok(history_load(r.h, r.list.v.v[2].id, &r.baseline));
	assert_ok(history_set_baseline(r.h, "app", &r.baseline));
	facts_fini(&r.baseline);
	r.baseline = (struct facts){.level_count = 0};
	assert_ok(history_remove(r.h, &r.list)); /* it stays */
	assert_ok(history_baseline(r.h, "other", &r.baseline, &found));
	assert_false(found);
	assert_ok(history_baseline(r.h, "app", &r.baseline, &found));
	assert_true(found);
	history_close(r.h);
	history_list_fini(&r.list);
	findings_fini(&r.findings);
	rules_fini(&r.rules);
	{
		struct facts baseline = r.baseline;

		set_up(&r, rules, &up);
		r.baseline = baseline;
	}
	r.in.baseline = &r.baseline;
	assert_ok(check_run(&r.in, &r.findings));
	assert_int_equal(r.findings.count[CHECK_FIRED], 1);
	assert_string_equal(r.findings.v.v[0].rule->name, "a");
	assert_true(r.findings.v.v[0].value == 3000 && r.findings.v.v[0].from == 3000);
	/* Nobody could read the sites. */
	assert_int_equal(r.findings.count[CHECK_UNKNOWN], 1);
	assert_string_equal(r.findings.v.v[1].rule->name, "c");
	assert_int_equal(r.findings.count[CHECK_HOLDS], 1);
	clean_up(&r);
}

static void test_trend(void **state)
{
	static const struct {
		const char *rule;
		const struct series *s;
		enum check_result result;
		double value;
		size_t grew;
	} cases[] = {
		{RULE("trend: {by: 999}"), &up, CHECK_FIRED, 1000, 5},
		{RULE("trend: {by: 1000}"), &up, CHECK_HOLDS, 1000, 5},
		{RULE("trend: {by: 999, per: hour}"), &up, CHECK_FIRED, 1000, 5},
		{RULE("trend: {by: 999, grew: 5}"), &up, CHECK_FIRED, 1000, 5},
		/* 10 % of the median, 3500. */
		{RULE("trend: {percent: 28}"), &up, CHECK_FIRED, 1000, 5},
		{RULE("trend: {percent: 29}"), &up, CHECK_HOLDS, 1000, 5},
		/* By hand: of 21 slopes the middle one is 100, of the line without the wild one. */
		{RULE("trend: {by: 99}"), &wild, CHECK_FIRED, 100, 5},
		{RULE("trend: {by: 99, grew: 6, last: 7}"), &wild, CHECK_HOLDS, 100, 5},
		{RULE("trend: {by: 99, last: 4}"), &wild, CHECK_FIRED, 100, 3},
		{RULE("trend: {by: 99, last: 8}"), &wild, CHECK_UNKNOWN, 0, 0},
		{"warmup: 3\n" RULE("trend: {by: 1}"), &up, CHECK_UNKNOWN, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct run r;
		const struct finding *f = only(&r, cases[i].rule, cases[i].s);

		assert_int_equal(f->result, cases[i].result);
		assert_true(f->value == cases[i].value);
		assert_int_equal(f->grew, cases[i].grew);
		clean_up(&r);
	}
}

static void test_unknown(void **state)
{
	static const struct series gaps = {.n = 6, .live = {1000, -1, 3000, 4000, -1, 6000}};
	static const struct series end = {.n = 3, .live = {1000, 2000, -1}};
	static const struct series at_once = {.n = 4, .live = {1, 2, 3, 4}, .same_time = HOUR};
	const struct finding *f;
	struct run r;

	(void)state;
	f = only(&r, RULE("trend: {by: 999}"), &gaps);
	assert_int_equal(f->result, CHECK_FIRED);
	assert_int_equal(f->steps, 3);
	clean_up(&r);
	f = only(&r, RULE("growth: {over: first, by: 1}"), &end);
	assert_int_equal(f->result, CHECK_UNKNOWN);
	assert_contains(f->why, "the last snapshot does not know it");
	clean_up(&r);
	f = only(&r, RULE("trend: {by: 1, per: hour}"), &at_once);
	assert_int_equal(f->result, CHECK_UNKNOWN);
	assert_contains(f->why, "of the same time");
	clean_up(&r);
}

static void test_pattern(void **state)
{
	const struct finding *f;
	struct run r;

	(void)state;
	set_up(&r, "rules: [{watch: 'goroutines:*', figure: count, trend: {by: 5}}]", &up);
	assert_ok(check_run(&r.in, &r.findings));
	assert_int_equal(r.findings.v.n, 2);
	f = r.findings.v.v;
	assert_int_equal(f[0].result, CHECK_FIRED);
	assert_string_equal(f[0].key, "select: main.worker");
	assert_int_equal(f[1].result, CHECK_HOLDS);
	assert_int_equal(f[1].rows, 1);
	clean_up(&r);
	f = only(&r, "rules: [{watch: 'goroutines:*', max: 1GiB}]", &up);
	assert_int_equal(f->result, CHECK_HOLDS);
	assert_int_equal(f->rows, 2);
	assert_string_equal(f->key, "*");
	clean_up(&r);
	f = only(&r, "rules: [{watch: 'goroutines:*none*', max: 1}]", &up);
	assert_int_equal(f->result, CHECK_HOLDS);
	assert_int_equal(f->rows, 0);
	clean_up(&r);
}

static void test_names(void **state)
{
	static const struct series blind = {.n = 1, .live = {1000}, .no_memstats = true};
	const struct finding *f;
	struct run r;

	(void)state;
	set_up(&r, "rules: [{watch: 'memstats:HeapAllocs', max: 1}]", &up);
	assert_err(check_run(&r.in, &r.findings), ERR_USAGE,
		   "rules.yaml:1: there is no memstats of the name 'HeapAllocs'");
	clean_up(&r);
	f = only(&r, "rules: [{watch: 'memstats:HeapAllocs', max: 1}]", &blind);
	assert_int_equal(f->result, CHECK_UNKNOWN);
	clean_up(&r);
	/* A site that nobody has: there is nothing of it. */
	f = only(&r, "rules: [{watch: 'goroutines:select: main.gone', max: 1}]", &up);
	assert_int_equal(f->result, CHECK_HOLDS);
	clean_up(&r);
}

static void test_allowed(void **state)
{
#define ALLOW(day) "allow: [{watch: go.heap.live, reason: why not, until: " day "}]"
	const struct finding *f;
	struct run r;

	(void)state; /* now is 1970-04-11 */
	f = only(&r, RULE("max: 1") "\n" ALLOW("1970-04-11"), &up);
	assert_int_equal(f->result, CHECK_ALLOWED);
	assert_string_equal(f->allowance->reason, "why not");
	clean_up(&r);
	f = only(&r, RULE("max: 1") "\n" ALLOW("1970-04-10"), &up);
	assert_int_equal(f->result, CHECK_FIRED);
	assert_true(allowance_is_over(&r.in, f->allowance));
	clean_up(&r);
	f = only(&r, RULE("max: 1GiB") "\n" ALLOW("1970-04-11"), &up);
	assert_int_equal(f->result, CHECK_HOLDS);
	clean_up(&r);
#undef ALLOW
}

static void test_order(void **state)
{
	struct run r;
	const struct finding *f;

	(void)state;
	set_up(&r,
	       "rules:\n"
	       "- {name: count, watch: 'goroutines:select*', figure: count, max: 1}\n"
	       "- {name: little, watch: go.heap.live, max: 5000}\n"
	       "- {name: holds, watch: go.heap.live, max: 6000}\n"
	       "- {name: much, watch: go.heap.live, max: 100}\n"
	       "- {name: unknown, watch: go.heap.live, growth: {by: 1}}\n",
	       &up);
	assert_ok(check_run(&r.in, &r.findings));
	f = r.findings.v.v;
	assert_int_equal(r.findings.v.n, 5);
	assert_string_equal(f[0].rule->name, "much");
	assert_string_equal(f[1].rule->name, "little");
	assert_string_equal(f[2].rule->name, "count");
	assert_string_equal(f[3].rule->name, "unknown");
	assert_string_equal(f[4].rule->name, "holds");
	clean_up(&r);
}

/* ---- the rules that come with the program */

static char *ready_rules(void)
{
	FILE *f = fopen("src/rules/soak.yaml", "re");
	char *text = calloc(1, 1 << 16);

	assert_non_null(f);
	assert_non_null(text);
	assert_true(fread(text, 1, (1 << 16) - 1, f) > 0);
	fclose(f);
	return text;
}

/* xorshift64*: the same series on every machine. */
static double noise(u64 *seed)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return (double)(*seed * 2685821657736338717u >> 11) / (double)((u64)1 << 53) * 2 - 1;
}

/* How many of 50 series of twelve snapshots make a rule fire; `growth` is that of each snapshot,
 * relative to the first one's figure. Noise is a fifth of it to both sides, and once in a while a
 * peak. */
static int fired_of_50(double growth)
{
	char *rules = ready_rules();
	int fired = 0;

	for (u64 seed = 1; seed <= 50; seed++) {
		struct series s = {.n = 12};
		u64 state = seed * 0x9e3779b97f4a7c15u;
		struct run r;

		for (size_t i = 0; i < s.n; i++)
			s.live[i] = 100e6 * (1 + growth * (double)i + 0.2 * noise(&state) +
					     (noise(&state) > 0.9 ? 1 : 0));
		set_up(&r, rules, &s);
		assert_ok(check_run(&r.in, &r.findings));
		fired += r.findings.count[CHECK_FIRED] > 0;
		clean_up(&r);
	}
	free(rules);
	return fired;
}

static void test_false_alarms(void **state)
{
	(void)state;
	assert_int_equal(fired_of_50(0), 0);
}

static void test_misses(void **state)
{
	(void)state;
	assert_true(fired_of_50(0.3) >= 45);
}

TEST_MAIN(TEST(test_max), TEST(test_growth), TEST(test_baseline), TEST(test_trend),
	  TEST(test_unknown), TEST(test_pattern), TEST(test_names), TEST(test_allowed),
	  TEST(test_order), TEST(test_false_alarms), TEST(test_misses))
