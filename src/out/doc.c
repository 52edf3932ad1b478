#include "out/doc.h"

#include <stdarg.h>

/* A report that does not fit into memory has no smaller one to fall back to: the first failure is
 * kept, and whatever comes after it may be missing. */
static void keep(struct doc *d, struct err *err)
{
	if (d->err)
		err_free(err);
	else
		d->err = err;
}

struct err *doc_take_error(struct doc *d)
{
	struct err *err = d->err;

	d->err = NULL;
	return err;
}

void doc_fini(struct doc *d)
{
	for (struct doc_table *t = d->tables; t; t = t->next) {
		array_free(&t->cells);
		array_free(&t->hidden);
	}
	for (struct doc_object *o = d->objects; o; o = o->next)
		array_free(&o->fields);
	array_free(&d->items);
	err_free(d->err);
	arena_fini(&d->arena);
	*d = (struct doc){0};
}

struct doc_value doc_printf(struct doc *d, const char *fmt, ...)
{
	va_list ap;
	char *s, *copy;

	va_start(ap, fmt);
	s = xvasprintf(fmt, ap);
	va_end(ap);
	copy = arena_strdup(&d->arena, s);
	free(s);
	return doc_string(copy);
}

void doc_text(struct doc *d, const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = xvasprintf(fmt, ap);
	va_end(ap);
	keep(d, array_push(&d->items, {.type = ITEM_TEXT, .text = arena_strdup(&d->arena, s)}));
	free(s);
}

void doc_value(struct doc *d, const char *key, struct doc_value v)
{
	keep(d, array_push(&d->items, {.type = ITEM_VALUE, .value = {key, NULL, v}}));
}

struct doc_object *doc_new_subobject(struct doc *d)
{
	struct doc_object *o = arena_alloc(&d->arena, sizeof(*o));

	*o = (struct doc_object){.doc = d, .next = d->objects};
	d->objects = o;
	return o;
}

struct doc_object *doc_object(struct doc *d, const char *key, const char *title)
{
	struct doc_object *o = doc_new_subobject(d);

	o->key = key;
	o->title = title;
	keep(d, array_push(&d->items, {.type = ITEM_OBJECT, .object = o}));
	return o;
}

void doc_set(struct doc_object *o, const char *key, struct doc_value v)
{
	keep(o->doc, array_push(&o->fields, {key, key, v}));
}

struct doc_table *doc_new_subtable(struct doc *d, const struct doc_column *columns,
				   size_t column_count)
{
	struct doc_table *t = arena_alloc(&d->arena, sizeof(*t));

	*t = (struct doc_table){
		.doc = d, .columns = columns, .column_count = column_count, .next = d->tables};
	d->tables = t;
	return t;
}

struct doc_table *doc_table(struct doc *d, const char *key, const char *title,
			    const struct doc_column *columns, size_t column_count)
{
	struct doc_table *t = doc_new_subtable(d, columns, column_count);

	doc_add_table(d, key, title, t);
	return t;
}

void doc_add_table(struct doc *d, const char *key, const char *title, struct doc_table *t)
{
	t->key = key;
	t->title = title;
	keep(d, array_push(&d->items, {.type = ITEM_TABLE, .table = t}));
}

size_t doc_add_row(struct doc_table *t, const struct doc_value *values, size_t n)
{
	struct err *err = array_reserve(&t->cells, t->column_count);

	if (!err)
		err = array_push(&t->hidden, false);
	if (err) {
		keep(t->doc, err);
		return SIZE_MAX;
	}
	for (size_t i = 0; i < t->column_count; i++)
		t->cells.v[t->cells.n++] = i < n ? values[i] : doc_null();
	return t->hidden.n - 1;
}

void doc_hide(struct doc_table *t, size_t row)
{
	if (row < t->hidden.n)
		t->hidden.v[row] = true;
}

void doc_hide_column(struct doc_table *t, size_t column)
{
	t->hidden_columns |= (u64)1 << column;
}
