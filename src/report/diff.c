/* Rows of both snapshots side by side. The sentence above them is made in diff_answer.c. */
#include "report/diff.h"

#include "report/diff_priv.h"

#include "base/units.h"
#include "report/facts_fill.h"
#include "report/snapshots.h"

#include <stdlib.h>
#include <string.h>

#define GROWN_SHOWN 8 /* of a level in text; JSON has all */
#define SHRUNK_SHOWN 4
#define LABEL_MAX 60

static bool is_known(u64 v)
{
	return v != FACT_UNKNOWN;
}

/* What two rows are compared by. */
static void set_measure(struct change *c)
{
	static const enum fact_column order[] = {FACT_RESIDENT, FACT_VIRTUAL, FACT_COUNT};

	c->measure = FACT_VIRTUAL;
	for (size_t i = 0; i < COUNT_OF(order); i++)
		if (is_known(c->v[0][order[i]]) && is_known(c->v[1][order[i]])) {
			c->measure = order[i];
			break;
		}
	c->a = c->v[0][c->measure];
	c->b = c->v[1][c->measure];
	c->delta = is_known(c->a) && is_known(c->b) ? (i64)c->b - (i64)c->a : 0;
}

/* A figure of one side; where that has no such row (NULL), of what the other side knows it is 0. */
static u64 figure_of(const struct fact *row, const struct fact *other, int column)
{
	if (row)
		return row->v[column];
	return is_known(other->v[column]) ? 0 : FACT_UNKNOWN;
}

struct change diff_change(const struct fact *a, const struct fact *b)
{
	/* cppcheck-suppress nullPointer ; one of them is there */
	struct change c = {.key = (a ? a : b)->key};

	for (int i = 0; i < FACT_COLUMNS; i++) {
		c.v[0][i] = figure_of(a, b, i);
		c.v[1][i] = figure_of(b, a, i);
	}
	set_measure(&c);
	return c;
}

static int by_growth(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	bool p = x->measure == FACT_COUNT, q = y->measure == FACT_COUNT;

	if (p != q)
		return p ? 1 : -1;
	if (x->delta != y->delta)
		return x->delta > y->delta ? -1 : 1;
	return strcmp(x->key, y->key);
}

struct err *diff_level(const struct facts_level *a, const struct facts_level *b,
		       struct changes *ret)
{
	size_t i = 0, k = 0;

	for (;;) {
		const struct fact *x = i < a->rows.n ? &a->rows.v[i] : NULL;
		const struct fact *y = k < b->rows.n ? &b->rows.v[k] : NULL;
		int order = x && y ? strcmp(x->key, y->key) : x ? -1 : 1;

		if (!x && !y)
			break;
		TRY(array_push(&ret->v, diff_change(order <= 0 ? x : NULL, order >= 0 ? y : NULL)));
		i += order <= 0;
		k += order >= 0;
	}
	if (ret->v.n)
		qsort(ret->v.v, ret->v.n, sizeof(*ret->v.v), by_growth);
	return NULL;
}

void changes_fini(struct changes *c)
{
	array_free(&c->v);
}

const char *diff_label(struct doc *d, const char *key)
{
	size_t keep = LABEL_MAX - 3;

	if (strlen(key) <= LABEL_MAX)
		return doc_printf(d, "%s", key).string;
	while (((u8)key[keep] & 0xc0) == 0x80) /* not within a character */
		keep--;
	return doc_printf(d, "%.*s...", (int)keep, key).string;
}

/* A difference, as large as it is. */
static struct doc_value step(i64 v, bool bytes)
{
	return bytes ? doc_growth(v) : doc_number(v);
}

static struct doc_value delta_figure(u64 a, u64 b)
{
	return is_known(a) && is_known(b) ? doc_delta((i64)b - (i64)a) : doc_null();
}

/* Whether text shows row i: of what grew the first ones, of what shrank the last ones; of rows in
 * bytes, which come first, and of numbers. */
static bool is_shown(const struct changes *c, size_t i)
{
	size_t numbers = array_first(&c->v, e->measure == FACT_COUNT);
	size_t first = i < numbers ? 0 : numbers, end = i < numbers ? numbers : c->v.n;
	i64 delta = c->v.v[i].delta;

	return delta > 0 ? i - first < GROWN_SHOWN : delta < 0 && end - i <= SHRUNK_SHOWN;
}

static const char *measure_name(enum fact_column c)
{
	static const char *const names[] = {"virtual", "resident", "count"};

	return names[c];
}

static struct doc_table *add_rows(struct doc *d, const struct changes *changes)
{
	static const struct doc_column columns[] = {
		{"id", NULL},
		{NULL, ""},
		{"measure", NULL},
		{"a", "A"},
		{"b", "B"},
		{"delta", NULL},
		{NULL, "change"},
		{NULL, "number"},
		{"virtual_a", NULL},
		{"virtual_b", NULL},
		{"virtual_delta", NULL},
		{"resident_a", NULL},
		{"resident_b", NULL},
		{"resident_delta", NULL},
		{"count_a", NULL},
		{"count_b", NULL},
		{"count_delta", NULL},
	};
	struct doc_table *t = doc_new_subtable(d, columns, COUNT_OF(columns));
	bool any_count = false;

	for (size_t i = 0; i < changes->v.n; i++) {
		const struct change *c = &changes->v.v[i];
		bool bytes = c->measure != FACT_COUNT, known = is_known(c->a) && is_known(c->b);
		u64 n0 = c->v[0][FACT_COUNT], n1 = c->v[1][FACT_COUNT];
		bool number = bytes && is_known(n0) && is_known(n1);
		struct doc_value v[COUNT_OF(columns)];

		v[0] = doc_printf(d, "%s", c->key);
		v[1] = doc_string(diff_label(d, c->key));
		v[2] = doc_string(measure_name(c->measure));
		v[3] = snapshots_figure(c->a, bytes);
		v[4] = snapshots_figure(c->b, bytes);
		v[5] = known ? doc_delta(c->delta) : doc_null();
		v[6] = known ? step(c->delta, bytes) : doc_null();
		v[7] = number ? step((i64)n1 - (i64)n0, false) : doc_null();
		for (int k = 0; k < FACT_COLUMNS; k++) {
			v[8 + 3 * k] = snapshots_figure(c->v[0][k], k != FACT_COUNT);
			v[9 + 3 * k] = snapshots_figure(c->v[1][k], k != FACT_COUNT);
			v[10 + 3 * k] = delta_figure(c->v[0][k], c->v[1][k]);
		}
		any_count = any_count || number;
		if (!is_shown(changes, doc_add_row(t, v, COUNT_OF(v))))
			doc_hide(t, i);
	}
	if (!any_count)
		doc_hide_column(t, 7);
	return t;
}

/* A copy: the doc outlives the facts. */
static struct doc_value copy(struct doc *d, const char *s)
{
	return s ? doc_printf(d, "%s", s) : doc_null();
}

static void add_head(struct doc *d, const char *key, const struct facts *f)
{
	const struct facts_head *h = &f->head;
	struct doc_object *o = doc_object(d, key, NULL);

	doc_set(o, "path", copy(d, h->path));
	doc_set(o, "time_ns", doc_delta(h->time_ns));
	doc_set(o, "time_from", copy(d, h->time_from));
	doc_set(o, "go", copy(d, h->go));
	doc_set(o, "arch", copy(d, h->arch));
	doc_set(o, "build", copy(d, h->build));
	doc_set(o, "exe", copy(d, h->exe));
	doc_set(o, "process", copy(d, h->process));
	doc_set(o, "evidence", copy(d, h->evidence));
	doc_set(o, "partial", copy(d, h->partial));
	doc_set(o, "virtual", snapshots_figure(h->total[FACT_VIRTUAL], true));
	doc_set(o, "resident", snapshots_figure(h->total[FACT_RESIDENT], true));
}

static void add_heads(struct doc *d, const struct facts *a, const struct facts *b)
{
	static const struct doc_column columns[] = {{NULL, ""},         {NULL, "snapshot"},
						    {NULL, "taken at"}, {NULL, "release"},
						    {NULL, "resident"}, {NULL, "rests on"}};
	const struct facts *both[] = {a, b};
	struct doc_table *t = doc_table(d, NULL, "Snapshots", columns, COUNT_OF(columns));
	char time[UNITS_TIME_BUF];

	for (size_t i = 0; i < COUNT_OF(both); i++) {
		const struct facts_head *h = &both[i]->head;

		doc_row(t, doc_string(i ? "B" : "A"), copy(d, h->path),
			doc_printf(d, "%s", units_time(h->time_ns, time)), copy(d, h->go),
			snapshots_figure(h->total[FACT_RESIDENT], true), copy(d, h->evidence));
	}
	add_head(d, "a", a);
	add_head(d, "b", b);
}

/* One level; null in JSON where one of both does not have it. */
static struct err *add_level(struct doc *d, const struct level *level, const struct facts *a,
			     const struct facts *b)
{
	const struct facts_level *x = facts_level(a, level->id), *y = facts_level(b, level->id);
	struct changes changes = {.v = {NULL, 0, 0}};
	struct err *err;

	if (!x || !y) {
		doc_value(d, level->plural, doc_null());
		return NULL;
	}
	err = diff_level(x, y, &changes);
	if (!err)
		doc_add_table(d, level->plural, level->title, add_rows(d, &changes));
	changes_fini(&changes);
	return err;
}

struct err *diff_report(struct doc *d, const struct facts *a, const struct facts *b)
{
	TRY(diff_answer(d, a, b));
	add_heads(d, a, b);
	for (size_t i = 0; i < levels_count; i++)
		TRY(add_level(d, &levels[i], a, b));
	return NULL;
}
