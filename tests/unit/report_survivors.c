/* What is in two snapshots of one process. */
#include "gort/rtget.h"
#include "report/survivors.h"
#include "support/mkgo.h"
#include "support/test.h"

#include <string.h>

static const struct binary no_binary = {.file = -1};

#define BUCKET ((va_t)0x1234560)
#define OFFSET 16

/* Takes what a sample of a release has; its sampled object lies OFFSET bytes into its span. */
static va_t take(unsigned minor, struct survivors *ret)
{
	struct mkgo *go = mkgo_new(minor, 0);
	struct mkgo_sample sample = mkgo_sample(go);
	struct snapshot s = {.bin = &no_binary};
	struct mkgo_core c;
	va_t special, start;

	mkgo_finish(go);
	start = mkgo_peek(go, sample.special, RT_MSPAN_START);
	/* The first of the two is a finalizer. */
	special = mkgo_peek(go, mkgo_peek(go, sample.special, RT_MSPAN_SPECIALS), RT_SPECIAL_NEXT);
	mkgo_poke_u64(go, special + 8, mkgo_peek_u64(go, special + 8) | OFFSET);
	mkgo_poke_u64(go, special + rt_size(&go->rt, RT_SPECIAL), BUCKET);
	mkgo_open(&c, go);
	s.im = &c.core.im;
	s.gort = &c.gort;
	assert_ok(survivors_take(&s, ret));
	mkgo_close(&c);
	return start + OFFSET;
}

static void test_objects_and_spans_are_taken(void **state)
{
	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++) {
		struct survivors s = {.known = false};
		va_t object;

		if (r->patch)
			continue;
		object = take(r->minor, &s);
		assert_true(s.known && s.spans.n > 3);
		assert_int_equal(s.objects.n, 1);
		assert_int_equal(s.objects.v[0].object, object);
		assert_int_equal(s.objects.v[0].bucket, BUCKET);
		survivors_fini(&s);
	}
}

static void add_span(struct survivors *s, va_t start, u64 pages, enum span_state state, u64 class)
{
	s->known = true;
	assert_ok(array_push(&s->spans, {start, pages << 16 | (u64)state << 8 | class}));
}

static void add_object(struct survivors *s, va_t object, va_t bucket)
{
	assert_ok(array_push(&s->objects, {object, bucket}));
}

/* The numbers of a row: in both, gone, new, and their bytes. */
static void assert_row(const struct doc *d, size_t row, const u64 expected[static 6])
{
	const struct doc_table *t = d->items.v[0].table;

	for (size_t i = 0; i < 6; i++)
		assert_int_equal(t->cells.v[row * t->column_count + 2 + i].u, expected[i]);
}

static void test_what_stayed(void **state)
{
	struct survivors a = {.known = false}, b = {.known = false};
	struct doc d = {.arena = {NULL, 0}};

	(void)state;
	add_span(&a, 0x1000, 1, SPAN_IN_USE, 5);
	add_span(&b, 0x1000, 1, SPAN_IN_USE, 5);
	add_span(&a, 0x2000, 1, SPAN_IN_USE, 5); /* gone */
	add_span(&b, 0x3000, 2, SPAN_IN_USE, 5); /* new */
	add_span(&a, 0x4000, 1, SPAN_IN_USE, 5); /* another one at its place */
	add_span(&b, 0x4000, 1, SPAN_MANUAL, 5);
	add_span(&b, 0x5000, 4, SPAN_MANUAL, 5);
	add_object(&a, 0x1010, 1);
	add_object(&b, 0x1010, 1);
	add_object(&a, 0x1020, 1); /* freed, and taken by another site */
	add_object(&b, 0x1020, 2);
	add_object(&b, 0x1030, 1);
	survivors_report(&d, &a, &b, true);
	assert_row(&d, 0,
		   (const u64[]){1, 2, 1, GO_PAGE_BYTES, 2 * GO_PAGE_BYTES, 2 * GO_PAGE_BYTES});
	assert_row(&d, 1, (const u64[]){0, 0, 2, 0, 0, 5 * GO_PAGE_BYTES});
	assert_row(&d, 2, (const u64[]){1, 1, 2, 0, 0, 0});
	doc_fini(&d);
	survivors_report(&d, &a, &b, false);
	assert_int_equal(d.items.v[0].type, ITEM_VALUE);
	doc_fini(&d);
	survivors_fini(&a);
	survivors_fini(&b);
}

TEST_MAIN(TEST(test_objects_and_spans_are_taken), TEST(test_what_stayed))
