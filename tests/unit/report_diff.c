/* What a comparison and a trend say, on facts made up for it. */
#include "report/diff.h"
#include "report/trend.h"
#include "support/test.h"

#include <string.h>

#define MIB ((u64)1 << 20)

static void add(struct facts *f, const char *level, const char *key, u64 virtual, u64 resident,
		u64 count)
{
	struct facts_level *l;

	assert_ok(facts_add_level(f, level, &l));
	assert_ok(facts_add(f, l, key, virtual, resident, count));
}

static struct facts facts_of(u64 total)
{
	struct facts f = {.head = {.path = "p",
				   .time_from = "file",
				   .evidence = "exact",
				   .total = {2 * total, total, FACT_UNKNOWN}}};

	return f;
}

/* The first line of the comparison; seals and frees both. */
static void assert_answer(struct facts *a, struct facts *b, const char *expected)
{
	struct doc d = {.arena = {NULL, 0}};
	const struct doc_item *first = NULL;

	facts_seal(a);
	facts_seal(b);
	assert_ok(diff_report(&d, a, b));
	facts_fini(a);
	facts_fini(b); /* the doc has copies */
	for (size_t i = 0; i < d.items.n && !first; i++)
		if (d.items.v[i].type == ITEM_TEXT)
			first = &d.items.v[i];
	assert_string_equal(first ? first->text : "", expected);
	doc_fini(&d);
}

static void test_a_leak_is_named_to_the_site(void **state)
{
	struct facts a = facts_of(100 * MIB), b = facts_of(200 * MIB);

	(void)state;
	add(&a, "class", "go.heap.live", 10 * MIB, 10 * MIB, FACT_UNKNOWN);
	add(&b, "class", "go.heap.live", 105 * MIB, 105 * MIB, FACT_UNKNOWN);
	add(&b, "class", "anon", 5 * MIB, 5 * MIB, FACT_UNKNOWN);
	add(&a, "sizeclass", "64", 10 * MIB, 10 * MIB, 1);
	add(&b, "sizeclass", "64", 12 * MIB, 12 * MIB, 1);
	add(&b, "sizeclass", "96 noscan", 93 * MIB, 93 * MIB, 1);
	add(&a, "site", "main.old", MIB, FACT_UNKNOWN, 1);
	add(&b, "site", "main.leak < main.main", 90 * MIB, FACT_UNKNOWN, 1);
	add(&b, "mapping", "go rw-", 90 * MIB, 90 * MIB, 1); /* says nothing of that class */
	assert_answer(&a, &b,
		      "Resident grew by 100 MiB (100 MiB -> 200 MiB): go.heap.live by 95.0 MiB, "
		      "most in size class 96 noscan, allocated at main.leak < main.main.");
}

static void test_noise_is_steady(void **state)
{
	struct facts a = facts_of(100 * MIB), b = facts_of(101 * MIB);

	(void)state;
	add(&a, "class", "go.heap.live", 10 * MIB, 10 * MIB, FACT_UNKNOWN);
	add(&b, "class", "go.heap.live", 11 * MIB, 11 * MIB, FACT_UNKNOWN);
	assert_answer(&a, &b,
		      "Resident is steady (100 MiB -> 101 MiB); no class changed by more than "
		      "noise.");
}

static void test_gaps_where_objects_were(void **state)
{
	struct facts a = facts_of(100 * MIB), b = facts_of(100 * MIB);

	(void)state;
	add(&a, "class", "go.heap.live", 90 * MIB, 90 * MIB, FACT_UNKNOWN);
	add(&b, "class", "go.heap.live", 30 * MIB, 30 * MIB, FACT_UNKNOWN);
	add(&a, "class", "go.heap.free", 0, 0, FACT_UNKNOWN);
	add(&b, "class", "go.heap.free", 60 * MIB, 60 * MIB, FACT_UNKNOWN);
	add(&a, "gaps", "64", 0, FACT_UNKNOWN, 0);
	add(&b, "gaps", "64", 60 * MIB, FACT_UNKNOWN, 9);
	assert_answer(&a, &b,
		      "Resident is steady (100 MiB -> 100 MiB), but go.heap.free grew by 60.0 MiB, "
		      "most between objects of size class 64.");
}

static void test_what_shrank(void **state)
{
	struct facts a = facts_of(100 * MIB), b = facts_of(40 * MIB);

	(void)state;
	add(&a, "class", "anon", 60 * MIB, 60 * MIB, FACT_UNKNOWN);
	add(&b, "class", "go.heap.free", 3 * MIB, 3 * MIB, FACT_UNKNOWN);
	add(&a, "mapping", "anon rw-", 60 * MIB, 60 * MIB, 1);
	add(&b, "mapping", "go rw-", 3 * MIB, 3 * MIB, 1);
	assert_answer(
		&a, &b,
		"Resident shrank by 60.0 MiB (100 MiB -> 40.0 MiB): anon by 60.0 MiB, most in "
		"anon rw-.");
}

static void test_without_residency_it_is_what_is_mapped(void **state)
{
	struct facts a = facts_of(100 * MIB), b = facts_of(200 * MIB);

	(void)state;
	b.head.total[FACT_RESIDENT] = FACT_UNKNOWN;
	add(&a, "class", "anon", 60 * MIB, 60 * MIB, FACT_UNKNOWN);
	add(&b, "class", "anon", 260 * MIB, FACT_UNKNOWN, FACT_UNKNOWN);
	assert_answer(&a, &b,
		      "Mapped memory grew by 200 MiB (200 MiB -> 400 MiB): anon by 200 MiB.");
}

static void test_order_and_measure_of_rows(void **state)
{
	struct facts a = facts_of(1), b = facts_of(1);
	struct changes c = {.v = {NULL, 0, 0}};
	static const char *const order[] = {"grew", "new", "same", "unknown", "shrank", "number"};

	(void)state;
	add(&a, "x", "grew", 1, FACT_UNKNOWN, 1);
	add(&b, "x", "grew", 90, 7, 1);
	add(&b, "x", "new", 80, 8, 1);
	add(&a, "x", "shrank", 5, 5, 5);
	add(&a, "x", "same", 5, 5, 5);
	add(&b, "x", "same", 9, 5, 5);
	add(&a, "x", "unknown", FACT_UNKNOWN, FACT_UNKNOWN, FACT_UNKNOWN);
	add(&b, "x", "unknown", 5, FACT_UNKNOWN, FACT_UNKNOWN);
	add(&b, "x", "number", FACT_UNKNOWN, FACT_UNKNOWN, 100000);
	facts_seal(&a);
	facts_seal(&b);
	assert_ok(diff_level(facts_level(&a, "x"), facts_level(&b, "x"), &c));
	assert_int_equal(c.v.n, COUNT_OF(order));
	for (size_t i = 0; i < c.v.n; i++)
		assert_string_equal(c.v.v[i].key, order[i]);
	assert_int_equal(c.v.v[0].measure, FACT_VIRTUAL);
	assert_int_equal(c.v.v[0].delta, 89);
	assert_int_equal(c.v.v[1].measure, FACT_RESIDENT);
	assert_int_equal(c.v.v[1].a, 0);
	assert_int_equal(c.v.v[3].delta, 0);
	assert_int_equal(c.v.v[4].delta, -5);
	changes_fini(&c);
	facts_fini(&a);
	facts_fini(&b);
}

static void push(struct history_series *s, u64 resident, u64 count)
{
	struct history_point p = {
		.known = true, .listed = true, .v = {FACT_UNKNOWN, resident, count}};

	if (resident == FACT_UNKNOWN && count == FACT_UNKNOWN)
		p.known = p.listed = false;
	assert_ok(array_push(&s->v, p));
}

static void test_a_trend(void **state)
{
	struct history_series s = {.found = true};
	struct trend t;

	(void)state;
	push(&s, 10, 1);
	push(&s, 20, 1);
	push(&s, FACT_UNKNOWN, FACT_UNKNOWN);
	push(&s, 40, 1);
	push(&s, 50, 1);
	assert_int_equal(trend_measure(&s), FACT_RESIDENT);
	t = trend_of(&s, FACT_RESIDENT);
	assert_int_equal(t.n, 4);
	assert_int_equal(t.first, 10);
	assert_int_equal(t.last, 50);
	assert_int_equal(t.rises, 3);
	assert_int_equal(t.falls, 0);
	assert_true(t.slope > 9.999 && t.slope < 10.001);
	assert_true(t.fit > 0.999);
	push(&s, FACT_UNKNOWN, 1); /* one that knows only the number */
	assert_int_equal(trend_measure(&s), FACT_COUNT);
	t = trend_of(&s, FACT_COUNT);
	assert_true(t.slope == 0 && t.n == 5);
	history_series_fini(&s);
}

static void test_keys_of_trends(void **state)
{
	struct doc d = {.arena = {NULL, 0}};
	struct trend_key k;

	(void)state;
	assert_ok(trend_key_parse(&d, "anon", &k));
	assert_string_equal(k.level, "class");
	assert_ok(trend_key_parse(&d, "total", &k));
	assert_null(k.level);
	assert_ok(trend_key_parse(&d, "goroutines:chan receive: main.f", &k));
	assert_string_equal(k.level, "goroutines");
	assert_string_equal(k.key, "chan receive: main.f");
	assert_err(trend_key_parse(&d, "nothing:x", &k), ERR_USAGE, "no level 'nothing'");
	doc_fini(&d);
}

TEST_MAIN(TEST(test_a_leak_is_named_to_the_site), TEST(test_noise_is_steady),
	  TEST(test_gaps_where_objects_were), TEST(test_what_shrank),
	  TEST(test_without_residency_it_is_what_is_mapped), TEST(test_order_and_measure_of_rows),
	  TEST(test_a_trend), TEST(test_keys_of_trends))
