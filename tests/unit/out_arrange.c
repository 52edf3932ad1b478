/* Rows of a table in another order, and the first of them. */
#include "out/arrange.h"

#include "out/render.h"
#include "support/test.h"

static const struct doc_column columns[] = {{"name", "n"},    {"size", "bytes"}, {"at", NULL},
					    {"left", "left"}, {"full", NULL},    {"part", NULL}};

/* Four rows; the third is not shown in text, the fourth has nulls. */
static void fill(struct doc *d)
{
	struct doc_table *t = doc_table(d, "rows", "Rows", columns, COUNT_OF(columns));

	doc_row(t, doc_string("b"), doc_bytes(2), doc_address(0x30), doc_delta(-5), doc_flag(false),
		doc_real(0.5));
	doc_row(t, doc_string("c"), doc_bytes(UINT64_MAX), doc_address(0x10), doc_delta(3),
		doc_flag(true), doc_real(0.25));
	doc_hide(t, doc_row(t, doc_string("a"), doc_bytes(2), doc_address(0x20), doc_delta(0),
			    doc_flag(true), doc_real(1)));
	doc_row(t, doc_null(), doc_null(), doc_null(), doc_null(), doc_null(), doc_null());
	d->csv_table = t;
}

static char *names_of(struct doc *d)
{
	static char names[8];
	const struct doc_table *t = d->csv_table;

	for (size_t i = 0; i < t->hidden.n; i++) {
		const struct doc_value *v = &t->cells.v[i * t->column_count];

		names[i] = (char)(v->type == DOC_NULL ? '-' : *v->string);
		assert_int_equal(t->hidden.v[i], names[i] == 'a');
	}
	names[t->hidden.n] = '\0';
	return names;
}

static void assert_order(const char *sort, u64 top, const char *expected)
{
	struct doc d = {0};

	fill(&d);
	assert_ok(doc_arrange(&d, sort, top));
	assert_ok(doc_take_error(&d));
	assert_string_equal(names_of(&d), expected);
	doc_fini(&d);
}

static void test_sort(void **state)
{
	(void)state;
	assert_order(NULL, 0, "bca-");
	assert_order("name", 0, "abc-");
	assert_order("size", 0, "cba-"); /* b stood before a */
	assert_order("bytes", 0, "cba-");
	assert_order("at", 0, "cab-");
	assert_order("left", 0, "cab-");
	assert_order("full", 0, "cab-");
	assert_order("part", 0, "abc-");
}

static void test_top(void **state)
{
	(void)state;
	assert_order(NULL, 1, "b");
	assert_order("name", 2, "ab");
	assert_order("size", 4, "cba-");
	assert_order("size", 100, "cba-");
}

static void test_column_that_is_not_there(void **state)
{
	struct doc d = {0};

	(void)state;
	fill(&d);
	assert_err(doc_arrange(&d, "colour", 0), ERR_USAGE, "'colour'; there are name, size, at");
	doc_fini(&d);
}

static void test_no_table(void **state)
{
	struct doc d = {0};

	(void)state;
	assert_ok(doc_arrange(&d, "size", 1));
	doc_fini(&d);
}

/* People are told of the rows that they would have seen. */
static void test_text(void **state)
{
	const struct render_options options = {.exact_bytes = true};
	struct doc d = {0};
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	(void)state;
	fill(&d);
	assert_ok(doc_arrange(&d, "size", 1));
	assert_ok(render_text(&d, &options, f));
	assert_int_equal(fclose(f), 0);
	assert_string_equal(text, "\nRows\n"
				  "  n                 bytes  left\n"
				  "  c  18446744073709551615     3\n"
				  "  ... and 2 more\n");
	free(text);
	doc_fini(&d);
}

static void test_no_memory(void **state)
{
	struct doc d = {0};

	(void)state;
	fill(&d);
	mem_set_limit(mem_used() + 16);
	assert_err(doc_arrange(&d, "size", 0), ERR_LIMIT, "");
	mem_set_limit(0);
	assert_string_equal(names_of(&d), "bca-");
	doc_fini(&d);
}

TEST_MAIN(TEST(test_sort), TEST(test_top), TEST(test_column_that_is_not_there), TEST(test_no_table),
	  TEST(test_text), TEST(test_no_memory))
