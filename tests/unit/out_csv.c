/* RFC 4180 with a header of the JSON keys. */
#include "out/render.h"

#include "support/test.h"

static void assert_csv(struct doc *d, const char *expected)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	assert_ok(render_csv(d, f));
	assert_int_equal(fclose(f), 0);
	assert_string_equal(text, expected);
	free(text);
	doc_fini(d);
}

static void assert_value(struct doc_value v, const char *expected)
{
	static const struct doc_column columns[] = {{"a", "a"}, {"v", "v"}, {"z", "z"}};
	struct doc d = {0};
	struct doc_table *t = doc_table(&d, "rows", "Rows", columns, 3);
	char wanted[128];

	doc_row(t, doc_count(1), v, doc_count(2));
	d.csv_table = t;
	snprintf(wanted, sizeof(wanted), "a,v,z\n1,%s,2\n", expected);
	assert_csv(&d, wanted);
}

static void test_values(void **state)
{
	(void)state;
	assert_value(doc_null(), "");
	assert_value(doc_string(NULL), "");
	assert_value(doc_string(""), "");
	assert_value(doc_string("plain text"), "plain text");
	assert_value(doc_bytes(UINT64_MAX), "18446744073709551615");
	assert_value(doc_count(5), "5");
	assert_value(doc_delta(-5), "-5");
	assert_value(doc_address(0xc000), "0xc000");
	assert_value(doc_flag(true), "true");
	assert_value(doc_flag(false), "false");
	assert_value(doc_real(0.5), "0.5");
}

static void test_quoting(void **state)
{
	(void)state;
	assert_value(doc_string("a,b"), "\"a,b\"");
	assert_value(doc_string("say \"hi\""), "\"say \"\"hi\"\"\"");
	assert_value(doc_string("two\nlines"), "\"two\nlines\"");
	assert_value(doc_string("cr\r"), "\"cr\r\"");
	assert_value(doc_string("\""), "\"\"\"\"");
	assert_value(doc_string("'single'; fine"), "'single'; fine");
}

/* Columns for people are left out, hidden rows are not. */
static void test_table(void **state)
{
	static const struct doc_column columns[] = {
		{NULL, "people"}, {"id", "class"}, {NULL, "more"}, {"n", NULL}, {NULL, "last"}};
	struct doc d = {0};
	struct doc_table *t = doc_table(&d, "rows", "Rows", columns, 5);

	(void)state;
	doc_row(t, doc_string("x"), doc_string("anon"), doc_string("y"), doc_count(1));
	doc_hide(t, doc_row(t, doc_string("x"), doc_string("shm"), doc_string("y"), doc_count(2)));
	d.csv_table = t;
	assert_csv(&d, "id,n\nanon,1\nshm,2\n");
}

static void test_no_rows(void **state)
{
	static const struct doc_column columns[] = {{"id", "class"}, {"n", "n"}};
	struct doc d = {0};

	(void)state;
	d.csv_table = doc_table(&d, "rows", "Rows", columns, 2);
	assert_csv(&d, "id,n\n");
}

static const struct doc_column outer[] = {{"lo", "lo"}, {"file", "file"}, {"classes", NULL}};
static const struct doc_column inner[] = {{"class", "class"}, {NULL, "people"}, {"bytes", "b"}};

/* A nested table's rows repeat the cells of theirs. */
static void test_nested_table(void **state)
{
	struct doc d = {0};
	struct doc_table *t = doc_table(&d, "vmas", "Mappings", outer, 3);

	(void)state;
	for (u64 i = 1; i <= 2; i++) {
		struct doc_table *sub = doc_new_subtable(&d, inner, 3);

		for (u64 k = 0; k < i; k++)
			doc_row(sub, doc_string("anon"), doc_string("x"), doc_bytes(k));
		doc_row(t, doc_address(i), i == 1 ? doc_string("a,b") : doc_null(),
			doc_subtable(sub));
	}
	d.csv_table = t;
	assert_csv(&d, "lo,file,class,bytes\n"
		       "0x1,\"a,b\",anon,0\n"
		       "0x2,,anon,0\n"
		       "0x2,,anon,1\n");
}

/* A row is not lost because nothing is nested in it. */
static void test_empty_nested_table(void **state)
{
	struct doc d = {0};
	struct doc_table *t = doc_table(&d, "vmas", "Mappings", outer, 3), *sub;

	(void)state;
	doc_row(t, doc_address(1), doc_null(), doc_subtable(doc_new_subtable(&d, inner, 3)));
	sub = doc_new_subtable(&d, inner, 3);
	doc_row(sub, doc_string("anon"), doc_null(), doc_bytes(5));
	doc_row(t, doc_address(2), doc_null(), doc_subtable(sub));
	d.csv_table = t;
	assert_csv(&d, "lo,file,class,bytes\n"
		       "0x1,,,\n"
		       "0x2,,anon,5\n");
}

static void test_object(void **state)
{
	static const u64 list[] = {7, 8};
	static const struct doc_column rows[] = {{"size", "size"}, {NULL, "people"}, {"n", "n"}};
	struct doc d = {0};
	struct doc_object *o = doc_object(&d, "memstats", "MemStats");
	struct doc_table *t = doc_new_subtable(&d, rows, 3);

	(void)state;
	doc_row(t, doc_count(8), doc_string("x"), doc_count(3));
	doc_row(t, doc_count(16), doc_string("x"), doc_count(4));
	doc_set(o, "HeapInuse", doc_bytes(4096));
	doc_set(o, "PauseNs", doc_list(list, 2));
	doc_set(o, "BySize", doc_subtable(t));
	doc_set(o, "path", doc_string("a\"b"));
	doc_set(o, "none", doc_null());
	d.csv_object = o;
	assert_csv(&d, "field,value\n"
		       "HeapInuse,4096\n"
		       "PauseNs[0],7\n"
		       "PauseNs[1],8\n"
		       "BySize[0].size,8\n"
		       "BySize[0].n,3\n"
		       "BySize[1].size,16\n"
		       "BySize[1].n,4\n"
		       "path,\"a\"\"b\"\n"
		       "none,\n");
}

static void test_nothing(void **state)
{
	struct doc d = {0};

	(void)state;
	doc_text(&d, "for people");
	assert_csv(&d, "");
}

TEST_MAIN(TEST(test_values), TEST(test_quoting), TEST(test_table), TEST(test_no_rows),
	  TEST(test_nested_table), TEST(test_empty_nested_table), TEST(test_object),
	  TEST(test_nothing))
