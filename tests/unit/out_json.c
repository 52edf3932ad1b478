/* The same result for programs. */
#include "out/render.h"

#include "support/test.h"

static void assert_json(struct doc *d, const char *expected)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	assert_ok(render_json(d, f));
	assert_int_equal(fclose(f), 0);
	assert_string_equal(text, expected);
	free(text);
	doc_fini(d);
}

static void assert_value(struct doc_value v, const char *expected)
{
	struct doc d = {0};
	char wanted[512];

	doc_value(&d, "v", v);
	snprintf(wanted, sizeof(wanted), "{\n \"v\": %s\n}\n", expected);
	assert_json(&d, wanted);
}

static void test_values(void **state)
{
	static const u64 list[] = {1, INT64_MAX};
	static const char *const strings[] = {"a\"b", "\xff"};

	(void)state;
	assert_value(doc_null(), "null");
	assert_value(doc_string(NULL), "null");
	assert_value(doc_string(""), "\"\"");
	assert_value(doc_bytes(0), "0");
	assert_value(doc_bytes((u64)60 << 30), "64424509440");
	assert_value(doc_bytes(INT64_MAX), "9223372036854775807");
	assert_value(doc_delta(INT64_MIN), "-9223372036854775808");
	assert_value(doc_count(7), "7");
	assert_value(doc_address(0), "\"0x0\"");
	assert_value(doc_address(UINT64_MAX), "\"0xffffffffffffffff\"");
	assert_value(doc_flag(true), "true");
	assert_value(doc_flag(false), "false");
	assert_value(doc_real(0.5), "0.5");
	assert_value(doc_real(__builtin_nan("")), "null");
	assert_value(doc_list(list, 2), "[\n  1,\n  9223372036854775807\n ]");
	assert_value(doc_list(NULL, 0), "[]");
	assert_value(doc_strings(strings, 2), "[\n  \"a\\\"b\",\n  \"?\"\n ]");
	assert_value(doc_strings(NULL, 0), "[]");
}

/* Every string is valid, whatever a path in a core holds. */
static void test_strings(void **state)
{
	(void)state;
	assert_value(doc_string("\x1b[2J\"\\\n"), "\"\\u001B[2J\\\"\\\\\\n\"");
	assert_value(doc_string("h\xc3\xb6he"), "\"h\xc3\xb6he\"");
	assert_value(doc_string("h\xc3(he"), "\"h?(he\"");
	assert_value(doc_string("\xed\xbf\xbf"), "\"???\"");
}

static const struct doc_column columns[] = {
	{"id", "class"},
	{"virtual", "virtual"},
	{NULL, "for people"},
	{"evidence", NULL},
};

/* Hidden rows, too: they are hidden from people only. */
static void test_table(void **state)
{
	struct doc d = {0};
	struct doc_table *t = doc_table(&d, "classes", "Classes", columns, 4);

	(void)state;
	doc_row(t, doc_string("anon"), doc_bytes(4096), doc_string("x"), doc_string("exact"));
	doc_hide(t, doc_row(t, doc_string("shm"), doc_bytes(0)));
	doc_table(&d, "empty", "None", columns, 4);
	doc_row(doc_table(&d, NULL, "People", columns, 4), doc_string("y"));
	assert_json(&d, "{\n"
			" \"classes\": [\n"
			"  {\n"
			"   \"id\": \"anon\",\n"
			"   \"virtual\": 4096,\n"
			"   \"evidence\": \"exact\"\n"
			"  },\n"
			"  {\n"
			"   \"id\": \"shm\",\n"
			"   \"virtual\": 0,\n"
			"   \"evidence\": null\n"
			"  }\n"
			" ],\n"
			" \"empty\": []\n"
			"}\n");
}

/* Keys come in the order of the report; text is left out. */
static void test_order_and_nesting(void **state)
{
	struct doc d = {0};
	struct doc_table *sub;
	struct doc_object *o;

	(void)state;
	doc_text(&d, "for people");
	doc_value(&d, "schema", doc_string("spanscope/x/1"));
	o = doc_object(&d, "core", "Core");
	doc_set(o, "truncated", doc_flag(false));
	sub = doc_new_subtable(&d, columns, 1);
	doc_row(sub, doc_string("a"));
	doc_set(o, "list", doc_subtable(sub));
	doc_set(doc_object(&d, NULL, "People"), "k", doc_count(1));
	doc_value(&d, "a", doc_null());
	assert_json(&d, "{\n"
			" \"schema\": \"spanscope/x/1\",\n"
			" \"core\": {\n"
			"  \"truncated\": false,\n"
			"  \"list\": [\n"
			"   {\n"
			"    \"id\": \"a\"\n"
			"   }\n"
			"  ]\n"
			" },\n"
			" \"a\": null\n"
			"}\n");
}

static void test_empty(void **state)
{
	struct doc d = {0};

	(void)state;
	assert_json(&d, "{}\n");
}

TEST_MAIN(TEST(test_values), TEST(test_strings), TEST(test_table), TEST(test_order_and_nesting),
	  TEST(test_empty))
