/* The findings of `check` in words, and as a table. */
#include "report/check.h"

#include "base/os.h"
#include "base/units.h"
#include "report/trend.h"

#include <math.h>
#include <string.h>

static const char *amount(struct doc *d, const struct finding *f, double v)
{
	char buf[UNITS_BUF];

	if (f->figure == FACT_COUNT)
		return doc_printf(d, "%.*f", v != floor(v) && v < 100 ? 2 : 0, v).string;
	return doc_printf(d, "%s", units_bytes((i64)v, buf)).string;
}

static const char *figure_name(enum fact_column figure)
{
	static const char *const names[FACT_COLUMNS] = {
		[FACT_VIRTUAL] = "virtual", [FACT_RESIDENT] = "resident", [FACT_COUNT] = "count"};

	return names[figure];
}

/* "go.heap.live", "gaps:64", "total": what trend takes too. */
static const char *row_name(struct doc *d, const struct finding *f)
{
	const char *level = f->rule->watch.level;

	if (!level)
		return "total";
	if (!strcmp(level, "class"))
		return doc_printf(d, "%s", f->key).string;
	return doc_printf(d, "%s:%s", level, f->key).string;
}

static const char *path_of(const struct check_input *in, size_t i)
{
	return in->list->v.v[i].head.path;
}

/* What was allowed: the sizes that the rule names, and what they came to. */
static const char *limit_of(struct doc *d, const struct finding *f)
{
	const char *sum = amount(d, f, f->threshold);

	if (!f->rule->has_percent)
		return sum;
	return doc_printf(d, "%s (%g %%)", sum, f->rule->percent).string;
}

static const char *say_max(struct doc *d, const struct check_input *in, const struct finding *f)
{
	return doc_printf(d, "%s in %s; at most %s", amount(d, f, f->value),
			  os_base_name(path_of(in, f->last)), amount(d, f, f->threshold))
		.string;
}

static const char *say_growth(struct doc *d, const struct check_input *in, const struct finding *f)
{
	static const char *const over[] = {[OVER_BASELINE] = "the baseline",
					   [OVER_MEDIAN] = "the median of those before",
					   [OVER_FIRST] = "the first"};

	return doc_printf(d, "%s%s (%s -> %s) over %s in %s; at most %s", f->value >= 0 ? "+" : "",
			  amount(d, f, f->value), amount(d, f, f->from), amount(d, f, f->to),
			  over[f->rule->over], os_base_name(path_of(in, f->last)), limit_of(d, f))
		.string;
}

static const char *say_trend(struct doc *d, const struct check_input *in, const struct finding *f)
{
	const char *least = f->rule->grew ? doc_printf(d, " with %llu steps up",
						       (unsigned long long)f->rule->grew)
						    .string
					  : "";

	return doc_printf(
		       d, "%s%s %s (%s -> %s), up in %zu of %zu steps from %s to %s; at most %s%s",
		       f->value >= 0 ? "+" : "", amount(d, f, f->value),
		       f->rule->per_hour ? "an hour" : "a snapshot", amount(d, f, f->from),
		       amount(d, f, f->to), f->grew, f->steps, os_base_name(path_of(in, f->first)),
		       os_base_name(path_of(in, f->last)), limit_of(d, f), least)
		.string;
}

static const char *say_why(struct doc *d, const struct check_input *in, const struct finding *f)
{
	if (f->result == CHECK_UNKNOWN)
		return doc_printf(d, "%s", f->why).string;
	if (f->rows != 1)
		return f->rows ? doc_printf(d, "on %zu rows", f->rows).string : "on no row";
	switch (f->rule->kind) {
	case RULE_MAX:
		return say_max(d, in, f);
	case RULE_GROWTH:
		return say_growth(d, in, f);
	case RULE_TREND:
		break;
	}
	return say_trend(d, in, f);
}

static const char *say(struct doc *d, const struct check_input *in, const struct finding *f)
{
	const char *why = say_why(d, in, f);

	if (!f->allowance)
		return why;
	return doc_printf(d, "%s; %s until %s: %s", why,
			  f->result == CHECK_ALLOWED ? "allowed" : "it was allowed",
			  f->allowance->until, f->allowance->reason)
		.string;
}

static void add_answer(struct doc *d, const struct check_input *in, const struct findings *f)
{
	size_t n = in->list->v.n, rules = in->rules->v.n;
	const char *of = doc_printf(d, "%zu rule%s on %zu snapshot%s", rules, rules == 1 ? "" : "s",
				    n, n == 1 ? "" : "s")
				 .string;

	if (f->count[CHECK_FIRED] == 1)
		doc_text(d, "One of %s fires: %s %s.", of, row_name(d, &f->v.v[0]),
			 say(d, in, &f->v.v[0]));
	else if (f->count[CHECK_FIRED])
		doc_text(d, "%s: %zu findings, first of all %s %s.", of, f->count[CHECK_FIRED],
			 row_name(d, &f->v.v[0]), say(d, in, &f->v.v[0]));
	else if (f->count[CHECK_UNKNOWN])
		doc_text(d, "No rule fires, but of %s %zu cannot be told: this is no pass.", of,
			 f->count[CHECK_UNKNOWN]);
	else
		doc_text(d, "%s: %s.", of,
			 f->count[CHECK_ALLOWED] ? "all that is too much is allowed"
						 : "nothing is too much");
}

static struct doc_value real(double v)
{
	return v == floor(v) && fabs(v) < 9e15 ? doc_delta((i64)v) : doc_real(v);
}

static void add_findings(struct doc *d, const struct check_input *in, const struct findings *f)
{
	static const char *const results[CHECK_RESULTS] = {[CHECK_FIRED] = "FIRED",
							   [CHECK_UNKNOWN] = "not told",
							   [CHECK_ALLOWED] = "allowed",
							   [CHECK_HOLDS] = "ok"};
	static const char *const kinds[] = {
		[RULE_MAX] = "max", [RULE_GROWTH] = "growth", [RULE_TREND] = "trend"};
	static const struct doc_column columns[] = {
		{NULL, "result"},     {"result", NULL},  {"name", "rule"}, {"row", "of"},
		{"figure", "figure"}, {"detail", "why"}, {"level", NULL},  {"key", NULL},
		{"kind", NULL},       {"ok", NULL},      {"value", NULL},  {"threshold", NULL},
		{"excess", NULL},     {"from", NULL},    {"to", NULL},     {"per", NULL},
		{"grew", NULL},       {"steps", NULL},   {"rows", NULL},   {"first", NULL},
		{"last", NULL},       {"reason", NULL},  {"until", NULL},  {"line", NULL},
	};
	static const char *const names[CHECK_RESULTS] = {"fired", "unknown", "allowed", "ok"};
	struct doc_table *t = doc_table(d, "checks", "Findings", columns, COUNT_OF(columns));

	for (size_t i = 0; i < f->v.n; i++) {
		const struct finding *x = &f->v.v[i];
		bool one = x->rows == 1 && x->result != CHECK_UNKNOWN;
		bool compared = one && x->rule->kind != RULE_MAX;
		bool trend = one && x->rule->kind == RULE_TREND;
		const struct allowance *a = x->allowance;

		doc_row(t, doc_string(results[x->result]), doc_string(names[x->result]),
			doc_printf(d, "%s", x->rule->name), doc_string(row_name(d, x)),
			one ? doc_string(figure_name(x->figure)) : doc_null(),
			doc_string(say(d, in, x)),
			x->rule->watch.level ? doc_printf(d, "%s", x->rule->watch.level)
					     : doc_null(),
			doc_printf(d, "%s", x->key), doc_string(kinds[x->rule->kind]),
			x->result == CHECK_UNKNOWN ? doc_null()
						   : doc_flag(x->result != CHECK_FIRED),
			one ? real(x->value) : doc_null(), one ? real(x->threshold) : doc_null(),
			one ? real(x->value - x->threshold) : doc_null(),
			compared ? real(x->from) : doc_null(), compared ? real(x->to) : doc_null(),
			trend ? doc_string(x->rule->per_hour ? "hour" : "snapshot") : doc_null(),
			trend ? doc_count(x->grew) : doc_null(),
			trend ? doc_count(x->steps) : doc_null(), doc_count(x->rows),
			one ? doc_printf(d, "%s", path_of(in, x->first)) : doc_null(),
			one ? doc_printf(d, "%s", path_of(in, x->last)) : doc_null(),
			a ? doc_printf(d, "%s", a->reason) : doc_null(),
			a ? doc_printf(d, "%s", a->until) : doc_null(), doc_count(x->rule->line));
	}
	d->csv_table = t;
}

/* What is allowed no longer should not stay in the file. */
static void add_ended(struct doc *d, const struct check_input *in)
{
	static const struct doc_column columns[] = {
		{"line", "line"}, {"watch", "of"}, {"until", "ended"}, {"reason", "reason"}};
	struct doc_table *t =
		doc_table(d, "ended", "Allowances that have ended", columns, COUNT_OF(columns));

	for (size_t i = 0; i < in->rules->allowed.n; i++) {
		const struct allowance *a = &in->rules->allowed.v[i];

		if (allowance_is_over(in, a))
			doc_row(t, doc_count(a->line), doc_printf(d, "%s", a->watch.text),
				doc_printf(d, "%s", a->until), doc_printf(d, "%s", a->reason));
	}
}

/* Snapshots of which something is missing. */
static void add_partial(struct doc *d, const struct check_input *in)
{
	static const struct doc_column columns[] = {{"path", "read in part"},
						    {"partial", "because of"}};
	struct doc_table *t =
		doc_table(d, "partial", "Snapshots read in part", columns, COUNT_OF(columns));

	for (size_t i = 0; i < in->list->v.n; i++) {
		const struct facts_head *h = &in->list->v.v[i].head;

		if (h->partial)
			doc_row(t, doc_printf(d, "%s", h->path), doc_printf(d, "%s", h->partial));
	}
}

void check_report(struct doc *d, const struct check_input *in, const struct findings *f)
{
	static const char *const names[CHECK_RESULTS] = {"fired", "unknown", "allowed", "ok"};

	add_answer(d, in, f);
	doc_value(d, "rules", doc_printf(d, "%s", in->rules->name));
	doc_value(d, "snapshots", doc_count(in->list->v.n));
	doc_value(d, "warmup", doc_count(in->rules->warmup));
	doc_value(d, "baseline",
		  in->baseline ? doc_printf(d, "%s", in->baseline->head.path) : doc_null());
	for (int r = 0; r < CHECK_RESULTS; r++)
		doc_value(d, names[r], doc_count(f->count[r]));
	add_findings(d, in, f);
	add_ended(d, in);
	add_partial(d, in);
}
