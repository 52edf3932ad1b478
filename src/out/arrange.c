#include "out/arrange.h"

#include <stdlib.h>
#include <string.h>

/* A row while it is sorted. */
struct place {
	const struct doc_value *key;
	size_t row;
};

static int compare_u64(u64 x, u64 y)
{
	return (x > y) - (x < y);
}

/* Two values of one column, neither null, in the order in which they are shown. */
static int compare_values(const struct doc_value *x, const struct doc_value *y)
{
	switch (x->type) {
	case DOC_STRING:
		return strcmp(x->string, y->string);
	case DOC_ADDRESS:
		return compare_u64(x->u, y->u);
	case DOC_BYTES:
	case DOC_COUNT:
		return compare_u64(y->u, x->u);
	case DOC_DELTA:
	case DOC_GROWTH:
	case DOC_NUMBER:
		return (y->i > x->i) - (y->i < x->i);
	case DOC_REAL:
		return (y->real > x->real) - (y->real < x->real);
	case DOC_FLAG:
		return y->flag - x->flag;
	case DOC_NULL:
	case DOC_LIST:
	case DOC_STRINGS:
	case DOC_TABLE:
	case DOC_OBJECT:
		break;
	}
	return 0;
}

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int order = (x->key->type == DOC_NULL) - (y->key->type == DOC_NULL);

	if (!order && x->key->type == y->key->type)
		order = compare_values(x->key, y->key);
	return order ? order : compare_u64(x->row, y->row);
}

static struct err *no_column(const struct doc_table *t, const char *name)
{
	char *keys = xstrdup("");
	struct err *err;

	for (size_t i = 0; i < t->column_count; i++) {
		char *longer;

		if (!t->columns[i].key)
			continue;
		longer = xasprintf("%s%s%s", keys, *keys ? ", " : "", t->columns[i].key);
		free(keys);
		keys = longer;
	}
	err = err_new(ERR_USAGE, "--sort: no column is called '%s'; there are %s", name, keys);
	free(keys);
	return err;
}

/* By its key or, as people read it, by its title. */
static bool find_column(const struct doc_table *t, const char *name, size_t *ret)
{
	for (size_t i = 0; i < t->column_count; i++) {
		const struct doc_column *c = &t->columns[i];

		if ((c->key && !strcmp(c->key, name)) || (c->title && !strcmp(c->title, name))) {
			*ret = i;
			return true;
		}
	}
	return false;
}

/* Moves the rows to where the places say. */
static struct err *move_rows(struct doc_table *t, const struct place *places)
{
	size_t columns = t->column_count, rows = t->hidden.n;
	struct doc_table moved = {0};
	struct err *err = array_reserve(&moved.cells, rows * columns);

	if (!err)
		err = array_reserve(&moved.hidden, rows);
	for (size_t i = 0; i < rows && !err; i++) {
		memcpy(moved.cells.v + i * columns, t->cells.v + places[i].row * columns,
		       columns * sizeof(*moved.cells.v));
		moved.hidden.v[i] = t->hidden.v[places[i].row];
	}
	if (!err) {
		memcpy(t->cells.v, moved.cells.v, rows * columns * sizeof(*moved.cells.v));
		memcpy(t->hidden.v, moved.hidden.v, rows);
	}
	array_free(&moved.cells);
	array_free(&moved.hidden);
	return err;
}

static struct err *sort_rows(struct doc_table *t, size_t column)
{
	ARRAY(struct place) places = {0};
	size_t rows = t->hidden.n;
	struct err *err = array_reserve(&places, rows);

	if (!err && rows) {
		for (size_t i = 0; i < rows; i++)
			places.v[i] = (struct place){&t->cells.v[i * t->column_count + column], i};
		qsort(places.v, rows, sizeof(*places.v), compare_places);
		err = move_rows(t, places.v);
	}
	array_free(&places);
	return err;
}

static void keep_rows(struct doc *d, struct doc_table *t, u64 top)
{
	size_t more = 0;

	if (t->hidden.n <= top)
		return;
	for (size_t i = top; i < t->hidden.n; i++)
		more += !t->hidden.v[i];
	t->hidden.n = top;
	t->cells.n = top * t->column_count;
	if (more)
		doc_text(d, "  ... and %zu more", more);
}

struct err *doc_arrange(struct doc *d, const char *sort, u64 top)
{
	struct doc_table *t = d->csv_table;
	size_t column;

	if (!t)
		return NULL;
	if (sort && !find_column(t, sort, &column))
		return no_column(t, sort);
	if (sort)
		TRY(sort_rows(t, column));
	if (top)
		keep_rows(d, t, top);
	return NULL;
}
