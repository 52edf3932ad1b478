/* RFC 4180: a header line of the JSON keys; empty is null; quotes where a field needs them. */
#include "out/render.h"

#include <string.h>

static void put_string(const char *s, FILE *f)
{
	if (!strpbrk(s, ",\"\r\n")) {
		fputs(s, f);
		return;
	}
	fputc('"', f);
	for (; *s; s++) {
		if (*s == '"')
			fputc('"', f);
		fputc(*s, f);
	}
	fputc('"', f);
}

static void put_value(const struct doc_value *v, FILE *f)
{
	switch (v->type) {
	case DOC_NULL:
	case DOC_LIST:
	case DOC_STRINGS:
	case DOC_TABLE:
	case DOC_OBJECT:
		break;
	case DOC_STRING:
		put_string(v->string, f);
		break;
	case DOC_BYTES:
	case DOC_COUNT:
		fprintf(f, "%llu", (unsigned long long)v->u);
		break;
	case DOC_DELTA:
	case DOC_GROWTH:
	case DOC_NUMBER:
		fprintf(f, "%lld", (long long)v->i);
		break;
	case DOC_ADDRESS:
		fprintf(f, "0x%llx", (unsigned long long)v->u);
		break;
	case DOC_FLAG:
		fputs(v->flag ? "true" : "false", f);
		break;
	case DOC_REAL:
		fprintf(f, "%.17g", v->real);
		break;
	}
}

static bool has_subtable(const struct doc_table *t, size_t column)
{
	return t->hidden.n && t->cells.v[column].type == DOC_TABLE;
}

/* The first object in a column, which has its fields; NULL when the column has none. */
static const struct doc_object *first_object(const struct doc_table *t, size_t column)
{
	for (size_t r = 0; r < t->hidden.n; r++) {
		const struct doc_value *v = &t->cells.v[r * t->column_count + column];

		if (v->type != DOC_NULL)
			return v->type == DOC_OBJECT ? v->object : NULL;
	}
	return NULL;
}

/* An object in a cell is a column for each of its fields: KEY.FIELD. */
static void put_field_names(const char *key, const struct doc_object *o, const char **separator,
			    FILE *f)
{
	for (size_t i = 0; i < o->fields.n; i++) {
		fprintf(f, "%s%s.%s", *separator, key, o->fields.v[i].key);
		*separator = ",";
	}
}

/* As many fields as the first row's object has. */
static void put_fields(const struct doc_object *first, const struct doc_value *v,
		       const char **separator, FILE *f)
{
	for (size_t i = 0; i < first->fields.n; i++) {
		fputs(*separator, f);
		if (v && v->type == DOC_OBJECT && i < v->object->fields.n)
			put_value(&v->object->fields.v[i].value, f);
		*separator = ",";
	}
}

static void put_header(const struct doc_table *t, const char **separator, FILE *f)
{
	for (size_t c = 0; c < t->column_count; c++) {
		if (!t->columns[c].key)
			continue;
		if (has_subtable(t, c)) {
			put_header(t->cells.v[c].table, separator, f);
			continue;
		}
		if (first_object(t, c)) {
			put_field_names(t->columns[c].key, first_object(t, c), separator, f);
			continue;
		}
		fprintf(f, "%s%s", *separator, t->columns[c].key);
		*separator = ",";
	}
}

/* Writes the cells of one row, empty ones for a row that is not there. A nested table follows
 * with a line of its own for each row. */
static void put_row(const struct doc_table *t, size_t row, const char *separator, FILE *f)
{
	for (size_t c = 0; c < t->column_count; c++) {
		const struct doc_value *v =
			row < t->hidden.n ? &t->cells.v[row * t->column_count + c] : NULL;

		if (!t->columns[c].key || has_subtable(t, c))
			continue;
		if (first_object(t, c)) {
			put_fields(first_object(t, c), v, &separator, f);
			continue;
		}
		fputs(separator, f);
		if (v)
			put_value(v, f);
		separator = ",";
	}
}

static void put_table(const struct doc_table *t, FILE *f)
{
	const char *separator = "";
	size_t last = t->column_count - 1; /* a nested table is the last column with a key */

	while (last && !t->columns[last].key)
		last--;
	put_header(t, &separator, f);
	fputc('\n', f);
	for (size_t r = 0; r < t->hidden.n; r++) {
		const struct doc_table *nested = NULL;
		size_t lines = 1; /* a row with nothing nested in it is not lost */

		if (has_subtable(t, last))
			nested = t->cells.v[r * t->column_count + last].table;
		if (nested && nested->hidden.n)
			lines = nested->hidden.n;
		for (size_t n = 0; n < lines; n++) {
			put_row(t, r, "", f);
			if (nested)
				put_row(nested, n, ",", f);
			fputc('\n', f);
		}
	}
}

/* An object becomes name,value lines; lists and tables in it get an index. */
static void put_object(const struct doc_object *o, FILE *f)
{
	fputs("field,value\n", f);
	for (size_t i = 0; i < o->fields.n; i++) {
		const struct doc_field *field = &o->fields.v[i];
		const struct doc_table *t = field->value.table;

		if (field->value.type == DOC_LIST) {
			for (size_t k = 0; k < field->value.list.n; k++)
				fprintf(f, "%s[%zu],%llu\n", field->key, k,
					(unsigned long long)field->value.list.v[k]);
		} else if (field->value.type == DOC_TABLE) {
			for (size_t k = 0; k < t->cells.n; k++) {
				if (!t->columns[k % t->column_count].key)
					continue;
				fprintf(f, "%s[%zu].%s,", field->key, k / t->column_count,
					t->columns[k % t->column_count].key);
				put_value(&t->cells.v[k], f);
				fputc('\n', f);
			}
		} else {
			fprintf(f, "%s,", field->key);
			put_value(&field->value, f);
			fputc('\n', f);
		}
	}
}

struct err *render_csv(const struct doc *d, FILE *f)
{
	if (d->csv_table)
		put_table(d->csv_table, f);
	else if (d->csv_object)
		put_object(d->csv_object, f);
	return ferror(f) ? err_os("the result cannot be written") : NULL;
}
