/* A result for people: aligned, in units or exact, and harmless to a terminal. */
#include "out/render.h"

#include "support/test.h"

static char *text_of(struct doc *d, bool exact)
{
	const struct render_options o = {.exact_bytes = exact};
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	assert_ok(render_text(d, &o, f));
	assert_int_equal(fclose(f), 0);
	doc_fini(d);
	return text;
}

static void assert_text(struct doc *d, bool exact, const char *expected)
{
	char *text = text_of(d, exact);

	assert_string_equal(text, expected);
	free(text);
}

static const struct doc_column columns[] = {
	{"class", "class"}, {"bytes", "virtual"}, {"count", "n"}, {"hidden", NULL}, {NULL, "note"},
};

static struct doc_table *small_table(struct doc *d)
{
	struct doc_table *t = doc_table(d, "rows", "Title", columns, COUNT_OF(columns));

	doc_row(t, doc_string("go.heap.live"), doc_bytes(1536), doc_count(5), doc_count(1),
		doc_string("first"));
	doc_row(t, doc_string("anon"), doc_bytes((u64)123 << 30), doc_count(12345), doc_null(),
		doc_string("second"));
	return t;
}

/* Names to the left, numbers to the right, no blanks at the end of a line. */
static void test_alignment(void **state)
{
	struct doc d = {0};

	(void)state;
	small_table(&d);
	assert_text(&d, false,
		    "\nTitle\n"
		    "  class          virtual      n  note\n"
		    "  go.heap.live  1.50 KiB      5  first\n"
		    "  anon           123 GiB  12345  second\n");
}

static void test_exact_bytes(void **state)
{
	struct doc d = {0};

	(void)state;
	small_table(&d);
	assert_text(&d, true,
		    "\nTitle\n"
		    "  class              virtual      n  note\n"
		    "  go.heap.live          1536      5  first\n"
		    "  anon          132070244352  12345  second\n");
}

/* The last line of a text, without its indentation and line feed. */
static const char *last_line(char *text)
{
	size_t n = strlen(text);
	char *line;

	assert_true(n > 0 && text[n - 1] == '\n');
	text[n - 1] = '\0';
	line = strrchr(text, '\n');
	assert_non_null(line);
	return line + 1 + strspn(line + 1, " ");
}

static void assert_value(struct doc_value v, bool exact, const char *expected)
{
	static const struct doc_column one[] = {{NULL, "v"}};
	struct doc d = {0};
	char *text;

	doc_row(doc_table(&d, NULL, NULL, one, 1), v);
	text = text_of(&d, exact);
	assert_string_equal(last_line(text), expected);
	free(text);
}

static void test_values(void **state)
{
	static const u64 list[] = {1, 2};
	static const char *const strings[] = {"a"};
	const struct {
		struct doc_value v;
		const char *units, *exact;
	} cases[] = {
		{doc_null(), "-", "-"},
		{doc_string(NULL), "-", "-"},
		{doc_string("text"), "text", "text"},
		{doc_bytes(0), "0 B", "0"},
		{doc_bytes(2048), "2.00 KiB", "2048"},
		{doc_bytes(INT64_MAX), "8.00 EiB", "9223372036854775807"},
		{doc_bytes(UINT64_MAX), "8.00 EiB", "18446744073709551615"},
		{doc_delta(-2048), "-2.00 KiB", "-2048"},
		{doc_count(1234567), "1234567", "1234567"},
		{doc_address(0xc000000000), "c000000000", "c000000000"},
		{doc_flag(true), "yes", "yes"},
		{doc_flag(false), "NO", "NO"},
		{doc_real(0.25), "0.25", "0.25"},
		{doc_list(list, 2), "-", "-"},
		{doc_strings(strings, 1), "-", "-"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		assert_value(cases[i].v, false, cases[i].units);
		assert_value(cases[i].v, true, cases[i].exact);
	}
}

/* What a core says may hold anything; nothing of it may move a cursor. */
static void test_control_characters(void **state)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{"a\x1b[2Jb", "a?[2Jb"},
		{"\r\n\t\x01\x7f", "?????"},
		{"h\xc3\xb6he \xf0\x9f\x90\xb9 \xe2\x82\xac",
		 "h\xc3\xb6he \xf0\x9f\x90\xb9 \xe2\x82\xac"},
		{"a\xc2\x9b[2J", "a??[2J"}, /* CSI in UTF-8 */
		{"a\x9b[2J", "a?[2J"},      /* and in Latin-1 */
		{"cut \xe2\x82", "cut ??"},
		{"\xff\xfe", "??"},
		{"\xc3(", "?("},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct doc d = {0};
		const char *line;
		char *text;

		assert_value(doc_string(cases[i].in), false, cases[i].out);
		doc_text(&d, "a line before");
		doc_text(&d, "%s", cases[i].in);
		text = text_of(&d, false);
		assert_string_equal(last_line(text), cases[i].out);
		free(text);

		doc_set(doc_object(&d, "o", "Title"), "key", doc_string(cases[i].in));
		text = text_of(&d, false);
		line = last_line(text);
		assert_string_equal(line + strlen(line) - strlen(cases[i].out), cases[i].out);
		assert_null(strpbrk(line, "\x1b\r\t\x7f"));
		free(text);
	}
}

/* A character takes a column, however many bytes it has. */
static void test_width_of_utf8(void **state)
{
	static const struct doc_column two[] = {{"a", "a"}, {"b", "b"}};
	struct doc d = {0};
	struct doc_table *t = doc_table(&d, NULL, NULL, two, 2);

	(void)state;
	doc_row(t, doc_string("\xe2\x82\xac\xe2\x82\xac"), doc_string("x"));
	doc_row(t, doc_string("abcd"), doc_string("y"));
	doc_row(t, doc_string("\x1b\xff"), doc_string("z"));
	assert_text(&d, false,
		    "  a     b\n"
		    "  \xe2\x82\xac\xe2\x82\xac    x\n"
		    "  abcd  y\n"
		    "  ??    z\n");
}

static void test_hidden_rows(void **state)
{
	struct doc d = {0};
	struct doc_table *t = doc_table(&d, "rows", "Title", columns, 2), *none;

	(void)state;
	doc_row(t, doc_string("shown"), doc_bytes(1));
	doc_hide(t, doc_row(t, doc_string("a hidden one, and wide"), doc_bytes(2)));
	none = doc_table(&d, "none", "All hidden", columns, 2);
	doc_hide(none, doc_row(none, doc_string("x"), doc_bytes(2)));
	doc_table(&d, "empty", "Empty", columns, 2);
	assert_text(&d, false,
		    "\nTitle\n"
		    "  class  virtual\n"
		    "  shown      1 B\n");
}

/* What has no title is for programs; what has a title only is for people. */
static void test_what_is_shown(void **state)
{
	struct doc d = {0};
	struct doc_object *o;

	(void)state;
	doc_text(&d, "%d lines", 2);
	doc_value(&d, "schema", doc_string("spanscope/x/1"));
	doc_set(doc_object(&d, "silent", NULL), "k", doc_count(1));
	doc_row(doc_table(&d, "silent", NULL, columns, 1), doc_string("x"));
	o = doc_object(&d, "spoken", "Spoken");
	doc_set(o, "HeapInuse", doc_bytes(4096));
	doc_set(o, "BySize", doc_list(NULL, 0));
	doc_set(o, "names", doc_strings(NULL, 0));
	doc_set(o, "rows", doc_subtable(doc_new_subtable(&d, columns, 1)));
	doc_set(o, "n", doc_count(7));
	assert_text(&d, false,
		    "2 lines\n"
		    "\nSpoken\n"
		    "  HeapInuse          4.00 KiB\n"
		    "  n                         7\n");
}

static void test_nested_table(void **state)
{
	static const struct doc_column outer[] = {{"vma", "mapping"}, {"classes", NULL}};
	static const struct doc_column inner[] = {{"class", "class"}, {"bytes", "bytes"}};
	struct doc d = {0};
	struct doc_table *t = doc_table(&d, "vmas", "By mapping", outer, 2);

	(void)state;
	for (u64 i = 1; i <= 2; i++) {
		struct doc_table *sub = doc_new_subtable(&d, inner, 2);

		doc_row(sub, doc_string("anon"), doc_bytes(i));
		doc_row(t, doc_address(i << 12), doc_subtable(sub));
	}
	assert_text(&d, false,
		    "\nBy mapping\n"
		    "  mapping\n"
		    "     1000\n"
		    "    class  bytes\n"
		    "    anon     1 B\n"
		    "     2000\n"
		    "    class  bytes\n"
		    "    anon     2 B\n");
}

/* Rows may be shorter than the table; the strings of the doc are its own. */
static void test_doc(void **state)
{
	struct doc d = {0};
	struct doc_table *t = doc_table(&d, "rows", "T", columns, 3);
	char name[] = "go.stack.used";
	struct doc_value v = doc_printf(&d, "%s", name);

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	assert_int_equal(doc_row(t, v), 0);
	assert_int_equal(doc_row(t, doc_string("a")), 1);
	assert_int_equal(t->cells.n, 6);
	assert_int_equal(t->cells.v[5].type, DOC_NULL);
	assert_string_equal(t->cells.v[0].string, "go.stack.used");
	doc_fini(&d);
	assert_int_equal(d.items.n, 0);
}

static void test_write_fails(void **state)
{
	const struct render_options o = {0};
	FILE *f = fopen("/dev/full", "we");
	struct doc d = {0};

	(void)state;
	if (!f)
		skip();
	setvbuf(f, NULL, _IONBF, 0);
	doc_text(&d, "too much");
	assert_err(render_text(&d, &o, f), ERR_OS, "cannot be written");
	fclose(f);
	doc_fini(&d);
}

TEST_MAIN(TEST(test_alignment), TEST(test_exact_bytes), TEST(test_values),
	  TEST(test_control_characters), TEST(test_width_of_utf8), TEST(test_hidden_rows),
	  TEST(test_what_is_shown), TEST(test_nested_table), TEST(test_doc), TEST(test_write_fails))
