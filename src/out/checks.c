/* For continuous integration: a table of checks as JUnit XML, or as lines that GitHub shows beside
 * a change. The table is the one for CSV; it has the columns `name` and `ok` (null: not told), and
 * may have `row`, `detail` and `line`.
 *
 *   JUnit: <testsuites><testsuite><testcase><failure|error>, as Jenkins' and GitLab's readers take
 * it GitHub: "::error title=...,file=...,line=...::message", workflow commands of its runner */
#include "base/text.h"
#include "out/render.h"

#include <string.h>

/* The columns of a table of checks; -1: it has none. */
struct check_columns {
	const struct doc_table *t;
	int name, ok, row, detail, line;
};

static int column_of(const struct doc_table *t, const char *key)
{
	for (size_t c = 0; c < t->column_count; c++)
		if (t->columns[c].key && !strcmp(t->columns[c].key, key))
			return (int)c;
	return -1;
}

static struct check_columns columns_of(const struct doc_table *t)
{
	return (struct check_columns){t,
				      column_of(t, "name"),
				      column_of(t, "ok"),
				      column_of(t, "row"),
				      column_of(t, "detail"),
				      column_of(t, "line")};
}

static const struct doc_value *cell(const struct check_columns *c, size_t row, int column)
{
	static const struct doc_value null = {.type = DOC_NULL};

	return column < 0 ? &null : &c->t->cells.v[row * c->t->column_count + (size_t)column];
}

static const char *string_of(const struct check_columns *c, size_t row, int column)
{
	const struct doc_value *v = cell(c, row, column);

	return v->type == DOC_STRING ? v->string : "";
}

enum told { TOLD_OK, TOLD_BAD, TOLD_NOT, TOLD_COUNT };

static enum told told(const struct check_columns *c, size_t row)
{
	const struct doc_value *v = cell(c, row, c->ok);

	if (v->type != DOC_FLAG)
		return TOLD_NOT;
	return v->flag ? TOLD_OK : TOLD_BAD;
}

/* Text with the characters of `special` written as `escaped` says, in the same order. */
static void put_escaped(const char *s, const char *special, const char *const escaped[], FILE *f)
{
	while (*s) {
		size_t n = text_clean_bytes(s);
		const char *at = n == 1 ? strchr(special, *s) : NULL;

		if (at)
			fputs(escaped[at - special], f);
		else if (n)
			(void)fwrite(s, 1, n, f); /* errors are asked for at the end */
		else
			fputc('?', f);
		s += n ? n : 1;
	}
}

static void put_xml(const char *s, FILE *f)
{
	static const char *const escaped[] = {"&amp;", "&lt;", "&gt;", "&quot;"};

	put_escaped(s, "&<>\"", escaped, f);
}

static void put_case(const struct check_columns *c, size_t row, const char *suite, FILE *f)
{
	static const char *const elements[TOLD_COUNT] = {
		[TOLD_BAD] = "failure", [TOLD_NOT] = "error"};
	enum told t = told(c, row);

	fprintf(f, "    <testcase classname=\"%s\" name=\"", suite);
	put_xml(string_of(c, row, c->name), f);
	if (*string_of(c, row, c->row)) {
		fputs(" [", f);
		put_xml(string_of(c, row, c->row), f);
		fputc(']', f);
	}
	if (t == TOLD_OK) {
		fputs("\"/>\n", f);
		return;
	}
	fprintf(f, "\">\n      <%s type=\"%s\" message=\"", elements[t],
		t == TOLD_BAD ? "fired" : "unknown");
	put_xml(string_of(c, row, c->detail), f);
	fputs("\"/>\n    </testcase>\n", f);
}

struct err *render_junit(const struct doc *d, const char *suite, FILE *f)
{
	struct check_columns c = columns_of(d->csv_table);
	size_t rows = c.t->hidden.n, n[TOLD_COUNT] = {0};

	for (size_t i = 0; i < rows; i++)
		n[told(&c, i)]++;
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", f);
	fprintf(f, "<testsuites tests=\"%zu\" failures=\"%zu\" errors=\"%zu\">\n", rows,
		n[TOLD_BAD], n[TOLD_NOT]);
	fprintf(f, "  <testsuite name=\"%s\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\">\n",
		suite, rows, n[TOLD_BAD], n[TOLD_NOT]);
	for (size_t i = 0; i < rows; i++)
		put_case(&c, i, suite, f);
	fputs("  </testsuite>\n</testsuites>\n", f);
	return NULL;
}

static void put_message(const char *s, FILE *f)
{
	static const char *const escaped[] = {"%25"};

	put_escaped(s, "%", escaped, f);
}

static void put_property(const char *s, FILE *f)
{
	static const char *const escaped[] = {"%25", "%3A", "%2C"};

	put_escaped(s, "%:,", escaped, f);
}

/* The value of a key of the document itself, or "". */
static const char *doc_key(const struct doc *d, const char *key)
{
	for (size_t i = 0; i < d->items.n; i++) {
		const struct doc_item *item = &d->items.v[i];

		if (item->type == ITEM_VALUE && !strcmp(item->value.key, key) &&
		    item->value.value.type == DOC_STRING)
			return item->value.value.string;
	}
	return "";
}

static void put_place(const struct doc *d, const struct check_columns *c, size_t row, FILE *f)
{
	const struct doc_value *line = cell(c, row, c->line);

	if (line->type != DOC_COUNT || !*doc_key(d, "rules"))
		return;
	fputs(",file=", f);
	put_property(doc_key(d, "rules"), f);
	fprintf(f, ",line=%llu", (unsigned long long)line->u);
}

struct err *render_github(const struct doc *d, FILE *f)
{
	struct check_columns c = columns_of(d->csv_table);

	for (size_t i = 0; i < c.t->hidden.n; i++) {
		enum told t = told(&c, i);

		if (t == TOLD_OK)
			continue;
		fprintf(f, "::%s title=", t == TOLD_BAD ? "error" : "warning");
		put_property(string_of(&c, i, c.name), f);
		put_place(d, &c, i, f);
		fputs("::", f);
		put_message(string_of(&c, i, c.row), f);
		fputs(*string_of(&c, i, c.row) ? ": " : "", f);
		put_message(string_of(&c, i, c.detail), f);
		fputc('\n', f);
	}
	for (size_t i = 0; i < d->items.n; i++)
		if (d->items.v[i].type == ITEM_TEXT) { /* the answer */
			fputs("::notice title=spanscope::", f);
			put_message(d->items.v[i].text, f);
			fputc('\n', f);
			break;
		}
	return NULL;
}
