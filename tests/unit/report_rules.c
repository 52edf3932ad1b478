/* Rules of `check`: what they say, and what is refused with its line. */
#include "report/rules.h"
#include "support/test.h"

#include <string.h>

static struct err *parse(const char *text, struct rules *r)
{
	*r = (struct rules){.warmup = 0};
	return rules_parse(text, strlen(text), "rules.yaml", r);
}

static void test_all(void **state)
{
	struct rules r;
	const struct rule *v;

	(void)state;
	assert_ok(parse("warmup: 2\n"
			"rules:\n"
			"- name: live\n"
			"  watch: class:go.heap.live\n"
			"  figure: virtual\n"
			"  max: 2GiB\n"
			"- watch: total\n"
			"  growth: {over: median, by: 100MiB, percent: 10}\n"
			"- name: leak\n"
			"  watch: goroutines:chan receive*\n"
			"  figure: count\n"
			"  trend: {last: 10, per: hour, by: 50, percent: 0.5, grew: 8}\n"
			"- name: fragmented\n"
			"  watch: verdict:fragmentation\n"
			"  max: 1000000\n"
			"allow:\n"
			"- watch: goroutines:*main.pool*\n"
			"  rule: leak\n"
			"  reason: a pool\n"
			"  until: 2027-03-31\n",
			&r));
	v = r.v.v;
	assert_int_equal(r.warmup, 2);
	assert_int_equal(r.v.n, 4);
	assert_string_equal(v[0].name, "live");
	assert_int_equal(v[0].line, 3);
	assert_string_equal(v[0].watch.level, "class");
	assert_string_equal(v[0].watch.key, "go.heap.live");
	assert_int_equal(v[0].figure, FACT_VIRTUAL);
	assert_int_equal(v[0].kind, RULE_MAX);
	assert_int_equal(v[0].by, (u64)2 << 30);
	assert_string_equal(v[1].name, "total");
	assert_null(v[1].watch.level);
	assert_int_equal(v[1].figure, FIGURE_ANY);
	assert_int_equal(v[1].kind, RULE_GROWTH);
	assert_int_equal(v[1].over, OVER_MEDIAN);
	assert_true(v[1].has_by && v[1].has_percent && v[1].percent == 10);
	assert_int_equal(v[2].kind, RULE_TREND);
	assert_true(v[2].per_hour && v[2].percent == 0.5);
	assert_int_equal(v[2].last, 10);
	assert_int_equal(v[2].grew, 8);
	assert_int_equal(v[2].by, 50);
	assert_int_equal(r.allowed.n, 1);
	assert_string_equal(r.allowed.v[0].reason, "a pool");
	/* The first second of April: date -u -d 2027-04-01 +%s. */
	assert_int_equal(r.allowed.v[0].until_ns, (i64)1806537600 * 1000000000);
	rules_fini(&r);
}

static void test_covers(void **state)
{
	struct rules r;

	(void)state;
	assert_ok(parse("rules:\n"
			"- {name: a, watch: 'goroutines:*', max: 5}\n"
			"- {name: b, watch: 'goroutines:*', max: 5}\n"
			"- {name: c, watch: total, max: 5}\n"
			"allow:\n"
			"- {watch: 'goroutines:*pool*', rule: a, reason: x, until: 2027-01-01}\n"
			"- {watch: total, reason: x, until: 2027-01-01}\n",
			&r));
	assert_true(allowance_covers(&r.allowed.v[0], &r.v.v[0], "select: main.pool"));
	assert_false(allowance_covers(&r.allowed.v[0], &r.v.v[0], "select: main.other"));
	assert_false(allowance_covers(&r.allowed.v[0], &r.v.v[1], "select: main.pool"));
	assert_false(allowance_covers(&r.allowed.v[0], &r.v.v[2], ""));
	assert_true(allowance_covers(&r.allowed.v[1], &r.v.v[2], ""));
	rules_fini(&r);
}

static void test_match(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool fits;
	} cases[] = {
		{"", "", true},
		{"", "a", false},
		{"a", "", false},
		{"a", "a", true},
		{"a", "ab", false},
		{"*", "", true},
		{"*", "any", true},
		{"a*", "a", true},
		{"a*c", "abbc", true},
		{"a*c", "abbcd", false},
		{"*b*b", "abcb", true},
		{"*b*b", "ab", false},
		{"(*T).Do", "(*T).Do", true},
		{"x[1]*", "x[1]y", true},
		{"**", "a", true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_int_equal(rules_match(cases[i].pattern, cases[i].text), cases[i].fits);
}

static void test_refused(void **state)
{
#define R "rules:\n- "
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"", "rules.yaml:1: there is no rule"},
		{"warmup: 1\n", "rules.yaml:1: there is no rule"},
		{"rules: 5\n", "rules.yaml:1: 'rules' must be a list"},
		{"rule:\n- watch: total\n",
		 "rules.yaml:1: 'rule' is not known here; there are: warmup"},
		{R "watch\n", "rules.yaml:2: there must be names with values here"},
		{R "max: 5\n", "rules.yaml:2: 'watch' is missing"},
		{R "watch: heap\n  max: 5\n",
		 "rules.yaml:2: 'heap' is nothing to watch; there are: total, class:"},
		{R "max: 5\n  watch: clas:go.heap.live\n",
		 "rules.yaml:3: 'clas:go.heap.live' is nothing"},
		{R "watch: class:go.heap.lives\n  max: 5\n",
		 "rules.yaml:2: there is no class of the name 'go.heap.lives'"},
		{R "watch: verdict:garbages\n  max: 5\n", "rules.yaml:2: there is no verdict"},
		{R "watch: total\n",
		 "rules.yaml:2: a rule needs one of: max growth trend; this has 0"},
		{R "watch: total\n  max: 5\n  growth: {by: 5}\n", "this has 2"},
		{R "watch: total\n  max: much\n", "rules.yaml:3: 'max' must be a size"},
		{R "watch: total\n  max: 99999999999GiB\n", "rules.yaml:3: 'max' must be a size"},
		{R "watch: total\n  figure: rss\n  max: 5\n",
		 "rules.yaml:3: 'figure' must be virtual, resident or count, not 'rss'"},
		{R "watch: total\n  growth: 5\n",
		 "rules.yaml:3: there must be names with values here: over by percent"},
		{R "watch: total\n  growth: {over: last, by: 5}\n",
		 "'over' must be baseline, median or first"},
		{R "watch: total\n  growth: {over: first}\n",
		 "'growth' needs 'by', 'percent' or both"},
		{R "watch: total\n  growth: {percent: -1}\n", "'percent' must be a number"},
		{R "watch: total\n  growth: {percent: inf}\n", "'percent' must be a number"},
		{R "watch: total\n  trend: {last: 5}\n", "'trend' needs one or more of"},
		{R "watch: total\n  trend: {last: 3, by: 5}\n",
		 "'last' must be a number from 4 to 1000, not '3'"},
		{R "watch: total\n  trend: {last: 8, grew: 8}\n",
		 "'grew' must be a number from 1 to 7"},
		{R "watch: total\n  trend: {per: day, by: 5}\n",
		 "'per' must be snapshot, hour, not 'day'"},
		{R "watch: total\n  max: 5\n- watch: total\n  max: 6\n",
		 "rules.yaml:4: there is a rule 'total' in line 2 already"},
		{R "watch: total\n  max:\n", "rules.yaml:3: 'max' must have a value"},
		{"rules: [{watch: total, max: 5}]\nallow:\n- watch: total\n  until: 2027-01-01\n",
		 "rules.yaml:3: 'reason' is missing"},
		{"rules: [{watch: total, max: 5}]\nallow:\n- watch: total\n  reason: x\n  until: "
		 "2027-02-29\n",
		 "rules.yaml:5: 'until' must be a day"},
		{"rules: [{watch: total, max: 5}]\nallow:\n- watch: total\n  reason: x\n  until: "
		 "soon\n",
		 "rules.yaml:5: 'until' must be a day"},
		{"rules: [{watch: total, max: 5}]\nallow:\n- watch: total\n  reason: x\n  until: "
		 "2027-01-01\n  rule: y\n",
		 "rules.yaml:6: there is no rule 'y'"},
		{"rules: [\n", "rules.yaml:2: "},
	};
#undef R

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct rules r;

		assert_err(parse(cases[i].text, &r), ERR_USAGE, cases[i].message);
		rules_fini(&r);
	}
}

TEST_MAIN(TEST(test_all), TEST(test_covers), TEST(test_match), TEST(test_refused))
