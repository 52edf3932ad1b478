#include "report/trend.h"

#include "base/units.h"
#include "report/facts_fill.h"

#include <string.h>

#define CHART_WIDTH 40
#define NOISE_PERCENT 2

struct err *trend_key_parse(struct doc *d, const char *text, struct trend_key *ret)
{
	const char *colon = strchr(text, ':');

	*ret = (struct trend_key){.level = "class", .key = text};
	if (!strcmp(text, "total"))
		ret->level = NULL;
	if (!colon)
		return NULL;
	ret->level = doc_printf(d, "%.*s", (int)(colon - text), text).string;
	ret->key = colon + 1;
	return level_find(ret->level)
		       ? NULL
		       : err_new(ERR_USAGE, "there is no level '%s'; see spanscope(1), LEVELS",
				 ret->level);
}

enum fact_column trend_measure(const struct history_series *s)
{
	static const enum fact_column order[] = {FACT_RESIDENT, FACT_VIRTUAL, FACT_COUNT};

	for (size_t k = 0; k < COUNT_OF(order); k++) {
		bool all = true, any = false;

		for (size_t i = 0; i < s->v.n; i++) {
			bool known = s->v.v[i].v[order[k]] != FACT_UNKNOWN;

			any = any || known;
			all = all && (known || !s->v.v[i].known);
		}
		if (all && any)
			return order[k];
	}
	return FACT_VIRTUAL;
}

/* Sums for a line through points (x, y). */
struct sums {
	double n, x, y, xx, xy, yy;
};

static void add_point(struct trend *t, struct sums *s, size_t place, u64 value)
{
	double x = (double)place, y = (double)value;

	if (!t->n)
		t->first = t->least = t->most = value;
	else if (value != t->last)
		*(value > t->last ? &t->rises : &t->falls) += 1;
	t->n++;
	t->last = value;
	t->least = MIN(t->least, value);
	t->most = MAX(t->most, value);
	*s = (struct sums){s->n + 1,      s->x + x,      s->y + y,
			   s->xx + x * x, s->xy + x * y, s->yy + y * y};
}

struct trend trend_of(const struct history_series *s, enum fact_column measure)
{
	struct trend t = {.n = 0};
	struct sums sums = {.n = 0};
	double xx, xy, yy;

	for (size_t i = 0; i < s->v.n; i++)
		if (s->v.v[i].v[measure] != FACT_UNKNOWN)
			add_point(&t, &sums, i, s->v.v[i].v[measure]);
	if (t.n < 2)
		return t;
	xx = sums.xx - sums.x * sums.x / sums.n;
	xy = sums.xy - sums.x * sums.y / sums.n;
	yy = sums.yy - sums.y * sums.y / sums.n;
	t.slope = xx > 0 ? xy / xx : 0;
	t.fit = xx > 0 && yy > 0 ? xy * xy / (xx * yy) : 0;
	return t;
}

static const char *amount(struct doc *d, double v, bool bytes)
{
	char buf[UNITS_BUF];

	if (bytes)
		return doc_printf(d, "%s", units_bytes((i64)v, buf)).string;
	return doc_printf(d, "%.*f", v < 10 && v > -10 && v != (double)(i64)v ? 1 : 0, v).string;
}

static void add_answer(struct doc *d, const char *name, const struct trend *t, bool bytes)
{
	double change = (double)t->last - (double)t->first;
	bool steady = (double)(t->most - t->least) * 100 <= NOISE_PERCENT * (double)t->most;

	if (!t->n) {
		doc_text(d, "%s: no snapshot knows it.", name);
		return;
	}
	if (steady || change == 0)
		doc_text(d, "%s %s: %s in the first, %s in the last of %zu snapshots.", name,
			 steady ? "is steady" : "is where it was",
			 amount(d, (double)t->first, bytes), amount(d, (double)t->last, bytes),
			 t->n);
	else
		doc_text(d,
			 "%s %s by %s (%s -> %s) over %zu snapshots, %s%s a snapshot; it rose %zu "
			 "times and fell %zu times.",
			 name, change > 0 ? "grew" : "shrank",
			 amount(d, change < 0 ? -change : change, bytes),
			 amount(d, (double)t->first, bytes), amount(d, (double)t->last, bytes),
			 t->n, t->slope > 0 ? "+" : "", amount(d, t->slope, bytes), t->rises,
			 t->falls);
}

static const char *bar(u64 v, u64 most)
{
	static const char full[] = "########################################";
	size_t n = most ? (size_t)((double)v / (double)most * CHART_WIDTH + 0.5) : 0;

	_Static_assert(sizeof(full) == CHART_WIDTH + 1, "a bar as wide as the chart");
	return full + CHART_WIDTH - MIN(n, CHART_WIDTH);
}

static void add_chart(struct doc *d, const struct history_list *list,
		      const struct history_series *s, enum fact_column measure, u64 most)
{
	static const struct doc_column columns[] = {
		{NULL, "taken at"}, {"time_ns", NULL}, {"value", "value"}, {"virtual", NULL},
		{"resident", NULL}, {"count", NULL},   {NULL, ""},         {"path", "snapshot"}};
	struct doc_table *t = doc_table(d, "points", "Snapshots", columns, COUNT_OF(columns));
	char time[UNITS_TIME_BUF];

	for (size_t i = 0; i < s->v.n; i++) {
		const struct facts_head *h = &list->v.v[i].head;
		const u64 *v = s->v.v[i].v;
		bool known = v[measure] != FACT_UNKNOWN;
		struct doc_value columns_of[FACT_COLUMNS];

		for (int c = 0; c < FACT_COLUMNS; c++)
			columns_of[c] = v[c] == FACT_UNKNOWN ? doc_null()
					: c == FACT_COUNT    ? doc_count(v[c])
							     : doc_bytes(v[c]);
		doc_row(t, doc_printf(d, "%s", units_time(h->time_ns, time)), doc_delta(h->time_ns),
			columns_of[measure], columns_of[FACT_VIRTUAL], columns_of[FACT_RESIDENT],
			columns_of[FACT_COUNT], doc_string(known ? bar(v[measure], most) : "?"),
			doc_printf(d, "%s", h->path));
	}
	d->csv_table = t;
}

void trend_report(struct doc *d, const char *name, const struct history_list *list,
		  const struct history_series *s)
{
	static const char *const names[] = {"virtual", "resident", "count"};
	enum fact_column measure = trend_measure(s);
	struct trend t = trend_of(s, measure);

	add_answer(d, name, &t, measure != FACT_COUNT);
	doc_value(d, "key", doc_printf(d, "%s", name));
	doc_value(d, "measure", doc_string(names[measure]));
	doc_value(d, "known", doc_count(t.n));
	doc_value(d, "slope", t.n > 1 ? doc_real(t.slope) : doc_null());
	doc_value(d, "fit", t.n > 1 ? doc_real(t.fit) : doc_null());
	doc_value(d, "rises", doc_count(t.rises));
	doc_value(d, "falls", doc_count(t.falls));
	add_chart(d, list, s, measure, t.most);
}
