#include "base/text.h"
#include "base/units.h"
#include "out/render.h"

#include <string.h>

static const char *growth_text(i64 v, const struct render_options *o, char buf[static RENDER_CELL])
{
	char size[UNITS_BUF];

	if (!v)
		snprintf(buf, RENDER_CELL, "0");
	else if (o->exact_bytes)
		snprintf(buf, RENDER_CELL, "%+lld", (long long)v);
	else
		snprintf(buf, RENDER_CELL, "%s%s", v > 0 ? "+" : "", units_bytes(v, size));
	return buf;
}

const char *render_value(const struct doc_value *v, const struct render_options *o,
			 char buf[static RENDER_CELL])
{
	switch (v->type) {
	case DOC_STRING:
		return v->string;
	case DOC_BYTES:
		if (!o->exact_bytes)
			return units_bytes((i64)MIN(v->u, INT64_MAX), buf);
		snprintf(buf, RENDER_CELL, "%llu", (unsigned long long)v->u);
		return buf;
	case DOC_DELTA:
		if (!o->exact_bytes)
			return units_bytes(v->i, buf);
		snprintf(buf, RENDER_CELL, "%lld", (long long)v->i);
		return buf;
	case DOC_GROWTH:
		return growth_text(v->i, o, buf);
	case DOC_NUMBER:
		snprintf(buf, RENDER_CELL, v->i ? "%+lld" : "%lld", (long long)v->i);
		return buf;
	case DOC_COUNT:
		snprintf(buf, RENDER_CELL, "%llu", (unsigned long long)v->u);
		return buf;
	case DOC_ADDRESS:
		snprintf(buf, RENDER_CELL, "%llx", (unsigned long long)v->u);
		return buf;
	case DOC_REAL:
		snprintf(buf, RENDER_CELL, "%.3g", v->real);
		return buf;
	case DOC_FLAG:
		return v->flag ? "yes" : "NO";
	case DOC_NULL:
	case DOC_LIST:
	case DOC_STRINGS:
	case DOC_TABLE:
	case DOC_OBJECT:
		break;
	}
	return "-";
}

/* Writes a string, each byte that is not clean replaced. */
static void put_clean(const char *s, FILE *f)
{
	while (*s) {
		size_t n = text_clean_bytes(s);

		if (n)
			(void)fwrite(s, 1, n, f); /* errors are asked for at the end */
		else
			fputc('?', f);
		s += n ? n : 1;
	}
}

static bool is_number(const struct doc_value *v)
{
	return v->type != DOC_STRING && v->type != DOC_FLAG;
}

/* Columns that put_clean fills: one a character. */
static size_t text_width(const char *s)
{
	size_t width = 0;

	for (; *s; width++) {
		size_t n = text_clean_bytes(s);

		s += n ? n : 1;
	}
	return width;
}

static void put_padded(const char *s, size_t width, bool right, bool last, FILE *f)
{
	size_t n = text_width(s), pad = width > n ? width - n : 0;

	if (right)
		fprintf(f, "%*s", (int)pad, "");
	put_clean(s, f);
	if (!right && !last)
		fprintf(f, "%*s", (int)pad, "");
}

bool render_is_number(const struct doc_table *t, size_t column)
{
	for (size_t r = 0; r < t->hidden.n; r++) {
		const struct doc_value *v = &t->cells.v[r * t->column_count + column];

		if (v->type != DOC_NULL)
			return is_number(v);
	}
	return false;
}

static size_t column_width(const struct doc_table *t, size_t column, const struct render_options *o)
{
	size_t width = text_width(t->columns[column].title);
	char buf[RENDER_CELL];

	for (size_t r = 0; r < t->hidden.n; r++) {
		size_t n =
			text_width(render_value(&t->cells.v[r * t->column_count + column], o, buf));

		if (!t->hidden.v[r] && n > width)
			width = n;
	}
	return width;
}

#define MAX_COLUMNS 24

bool render_shows(const struct doc_table *t, size_t column)
{
	return t->columns[column].title && !(t->hidden_columns >> column & 1);
}

struct table_layout {
	size_t width[MAX_COLUMNS];
	bool number[MAX_COLUMNS];
	size_t last; /* last column that is shown */
};

static void put_line(const struct doc_table *t, const struct table_layout *layout,
		     const struct doc_value *row, const struct render_options *o,
		     const char *indent, FILE *f)
{
	const char *separator = indent;
	char buf[RENDER_CELL];

	for (size_t c = 0; c < t->column_count; c++) {
		const char *s;

		if (!render_shows(t, c))
			continue;
		s = row ? render_value(&row[c], o, buf) : t->columns[c].title;
		fputs(separator, f);
		put_padded(s, layout->width[c], layout->number[c], c == layout->last, f);
		separator = "  ";
	}
	fputc('\n', f);
}

/* Columns may all be without names, which is no line then. */
static bool has_titles(const struct doc_table *t)
{
	for (size_t c = 0; c < t->column_count; c++)
		if (render_shows(t, c) && *t->columns[c].title)
			return true;
	return false;
}

static void put_table(const struct doc_table *t, const struct render_options *o, const char *indent,
		      FILE *f)
{
	struct table_layout layout = {.last = 0};
	size_t shown = 0;

	for (size_t r = 0; r < t->hidden.n; r++)
		shown += !t->hidden.v[r];
	if (!shown || t->column_count > MAX_COLUMNS)
		return;
	for (size_t c = 0; c < t->column_count; c++)
		if (render_shows(t, c)) {
			layout.width[c] = column_width(t, c, o);
			layout.number[c] = render_is_number(t, c);
			layout.last = c;
		}
	if (t->title)
		fprintf(f, "\n%s\n", t->title);
	if (has_titles(t))
		put_line(t, &layout, NULL, o, indent, f);
	for (size_t r = 0; r < t->hidden.n; r++) {
		const struct doc_value *row = &t->cells.v[r * t->column_count];

		if (t->hidden.v[r])
			continue;
		put_line(t, &layout, row, o, indent, f);
		for (size_t c = 0; c < t->column_count; c++)
			if (row[c].type == DOC_TABLE)
				put_table(row[c].table, o, "    ", f);
	}
}

#define VALUE_WIDTH 16

/* An object's lines; lists and nested tables are for programs. */
static void put_object(const struct doc_object *ob, const struct render_options *o, FILE *f)
{
	size_t width = 0;
	char buf[RENDER_CELL];

	for (size_t i = 0; i < ob->fields.n; i++)
		width = MAX(width, text_width(ob->fields.v[i].title));
	fprintf(f, "\n%s\n", ob->title);
	for (size_t i = 0; i < ob->fields.n; i++) {
		const struct doc_field *field = &ob->fields.v[i];

		if (field->value.type == DOC_LIST || field->value.type == DOC_STRINGS ||
		    field->value.type == DOC_TABLE)
			continue;
		fputs("  ", f);
		put_padded(field->title, width, false, false, f);
		fputs("  ", f);
		put_padded(render_value(&field->value, o, buf), VALUE_WIDTH, true, true, f);
		fputc('\n', f);
	}
}

struct err *render_text(const struct doc *d, const struct render_options *o, FILE *f)
{
	for (size_t i = 0; i < d->items.n; i++) {
		const struct doc_item *item = &d->items.v[i];

		if (item->type == ITEM_TEXT) {
			put_clean(item->text, f);
			fputc('\n', f);
		} else if (item->type == ITEM_OBJECT && item->object->title) {
			put_object(item->object, o, f);
		} else if (item->type == ITEM_TABLE && item->table->column_count &&
			   (item->table->title || !item->table->key)) {
			put_table(item->table, o, "  ", f);
		}
	}
	return ferror(f) ? err_os("the result cannot be written") : NULL;
}
