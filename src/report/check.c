#include "report/check.h"

#include "report/trend.h"
#include "store/stats.h"

#include <stdlib.h>
#include <string.h>

#define HOUR_NS 3600e9

/* What one rule sees of one row. */
struct view {
	const struct check_input *in;
	struct findings *all;
	const struct rule *rule;
	ARRAY(struct sample)
	samples; /* known figures behind the warm-up; x: the snapshot's index */
};

static void cannot_tell(struct view *v, struct finding *f, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void cannot_tell(struct view *v, struct finding *f, const char *fmt, ...)
{
	char why[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	f->result = CHECK_UNKNOWN;
	f->why = arena_strdup(&v->all->arena, why);
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

/* What has to be exceeded where the percentage is of `whole`. */
static double threshold_of(const struct rule *r, double whole)
{
	double by = r->has_by ? (double)r->by : 0;

	return r->has_percent ? larger(by, whole * r->percent / 100) : by;
}

static void judge_max(struct view *v, struct finding *f)
{
	const struct sample *most = &v->samples.v[0];

	for (size_t i = 1; i < v->samples.n; i++)
		if (v->samples.v[i].y > most->y)
			most = &v->samples.v[i];
	f->value = most->y;
	f->threshold = (double)v->rule->by;
	f->first = f->last = (size_t)most->x;
	f->result = f->value > f->threshold ? CHECK_FIRED : CHECK_HOLDS;
}

static void baseline_figure(struct view *v, struct finding *f, double *ret)
{
	const struct facts *b = v->in->baseline;
	const struct facts_level *level;
	const struct fact *row;
	u64 figure;

	if (!b) {
		cannot_tell(v, f, "there is no baseline; see check --baseline in spanscope(1)");
		return;
	}
	level = v->rule->watch.level ? facts_level(b, v->rule->watch.level) : NULL;
	row = level ? facts_row(level, f->key) : NULL;
	if (!v->rule->watch.level)
		figure = b->head.total[f->figure];
	else if (level)
		figure = row ? row->v[f->figure] : 0;
	else
		figure = FACT_UNKNOWN;
	if (figure == FACT_UNKNOWN)
		cannot_tell(v, f, "the baseline does not know it");
	*ret = (double)figure;
}

static struct err *growth_reference(struct view *v, struct finding *f, double *ret)
{
	size_t least = v->rule->over == OVER_MEDIAN ? 3 : 2;

	if (v->rule->over == OVER_BASELINE) {
		baseline_figure(v, f, ret);
		return NULL;
	}
	if (v->samples.n < least) {
		cannot_tell(v, f, "it needs %zu snapshots behind the warm-up, and %zu know it",
			    least, v->samples.n);
		return NULL;
	}
	f->first = (size_t)v->samples.v[0].x;
	if (v->rule->over == OVER_MEDIAN)
		return stats_median_y(v->samples.v, v->samples.n - 1, ret);
	*ret = v->samples.v[0].y;
	return NULL;
}

static struct err *judge_growth(struct view *v, struct finding *f)
{
	const struct sample *last = &v->samples.v[v->samples.n - 1];
	double from = 0;

	f->result = CHECK_HOLDS;
	f->first = f->last = (size_t)last->x;
	if (f->last + 1 != v->in->list->v.n) {
		cannot_tell(v, f, "the last snapshot does not know it");
		return NULL;
	}
	TRY(growth_reference(v, f, &from));
	if (f->result == CHECK_UNKNOWN)
		return NULL;
	f->from = from;
	f->to = last->y;
	f->value = f->to - from;
	f->threshold = threshold_of(v->rule, from);
	if (f->value > f->threshold)
		f->result = CHECK_FIRED;
	return NULL;
}

/* The last samples, by time or by place. */
static void window_of(const struct view *v, size_t n, struct sample *ret)
{
	const struct sample *from = &v->samples.v[v->samples.n - n];
	const struct history_entry *e = v->in->list->v.v;

	for (size_t i = 0; i < n; i++) {
		i64 ns = e[(size_t)from[i].x].head.time_ns - e[(size_t)from[0].x].head.time_ns;

		ret[i] = from[i];
		if (v->rule->per_hour)
			ret[i].x = (double)ns / HOUR_NS;
	}
}

static struct err *judge_window(struct view *v, struct finding *f, const struct sample *w, size_t n,
				double median)
{
	bool known;

	TRY(stats_slope(w, n, &known, &f->value));
	if (!known) {
		cannot_tell(v, f, "all snapshots are of the same time");
		return NULL;
	}
	f->from = w[0].y;
	f->to = w[n - 1].y;
	f->steps = n - 1;
	f->grew = stats_grown(w, n);
	f->threshold = threshold_of(v->rule, median);
	if (f->value > f->threshold && f->grew >= v->rule->grew)
		f->result = CHECK_FIRED;
	return NULL;
}

static struct err *judge_trend(struct view *v, struct finding *f)
{
	size_t n = v->rule->last ? v->rule->last : MIN(v->samples.n, TREND_SAMPLES_MAX);
	struct sample window[TREND_SAMPLES_MAX];
	double median;

	f->result = CHECK_HOLDS;
	if (v->samples.n < MAX(n, TREND_SAMPLES_MIN)) {
		cannot_tell(v, f, "a trend needs %zu snapshots behind the warm-up, and %zu know it",
			    MAX(n, TREND_SAMPLES_MIN), v->samples.n);
		return NULL;
	}
	f->first = (size_t)v->samples.v[v->samples.n - n].x;
	f->last = (size_t)v->samples.v[v->samples.n - 1].x;
	window_of(v, n, window);
	TRY(stats_median_y(window, n, &median));
	return judge_window(v, f, window, n, median);
}

static struct err *take_samples(struct view *v, const struct history_series *s,
				enum fact_column figure)
{
	for (size_t i = v->in->rules->warmup; i < s->v.n; i++) {
		const struct history_point *p = &s->v.v[i];
		/* In no snapshot is there such a row: there is nothing of it. */
		u64 y = s->found || !p->known ? p->v[figure] : 0;

		if (p->known && y != FACT_UNKNOWN)
			TRY(array_push(&v->samples, {(double)i, (double)y}));
	}
	return NULL;
}

static struct err *judge(struct view *v, struct finding *f)
{
	if (!v->samples.n) {
		cannot_tell(v, f, "no snapshot behind the warm-up knows it");
		return NULL;
	}
	switch (v->rule->kind) {
	case RULE_MAX:
		judge_max(v, f);
		break;
	case RULE_GROWTH:
		return judge_growth(v, f);
	case RULE_TREND:
		return judge_trend(v, f);
	}
	return NULL;
}

bool allowance_is_over(const struct check_input *in, const struct allowance *a)
{
	return in->now_ns >= a->until_ns;
}

/* One that still holds, else one that is over. */
static const struct allowance *allowance_for(const struct check_input *in, const struct finding *f)
{
	const struct allowance *over = NULL;

	for (size_t i = 0; i < in->rules->allowed.n; i++) {
		const struct allowance *a = &in->rules->allowed.v[i];

		if (!allowance_covers(a, f->rule, f->key))
			continue;
		if (!allowance_is_over(in, a))
			return a;
		over = a;
	}
	return over;
}

static bool is_pattern(const struct rule *r)
{
	return strchr(r->watch.key, '*') != NULL;
}

static bool same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* Adds a finding, or counts it to one that says the same of another row. */
static struct err *add(struct findings *all, const struct finding *f)
{
	bool plain = f->result == CHECK_HOLDS || f->result == CHECK_UNKNOWN;

	for (size_t i = all->v.n; plain && is_pattern(f->rule) && i-- > 0;) {
		struct finding *other = &all->v.v[i];

		if (other->rule != f->rule)
			break;
		if (other->result == f->result && same(other->why, f->why)) {
			other->key = f->rule->watch.key;
			other->rows++;
			return NULL;
		}
	}
	all->count[f->result]++;
	return array_push(&all->v, *f);
}

/* A name that runtime.MemStats never had is a slip of the pen, which should not pass as "nothing
 * of it". */
static struct err *check_name(const struct view *v, const struct history_series *s)
{
	bool read = false;

	if (s->found || !v->rule->watch.level || strcmp(v->rule->watch.level, "memstats") != 0)
		return NULL;
	for (size_t i = 0; i < s->v.n; i++)
		read = read || s->v.v[i].known;
	return read ? err_new(ERR_USAGE, "%s:%u: there is no memstats of the name '%s'",
			      v->in->rules->name, v->rule->line, v->rule->watch.key)
		    : NULL;
}

static struct err *judge_series(struct view *v, const char *key, const struct history_series *s)
{
	struct finding f = {.rule = v->rule, .rows = 1, .result = CHECK_HOLDS};

	f.key = arena_strdup(&v->all->arena, key);
	f.figure = v->rule->figure == FIGURE_ANY ? trend_measure(s)
						 : (enum fact_column)v->rule->figure;
	v->samples.n = 0;
	TRY(check_name(v, s));
	TRY(take_samples(v, s, f.figure));
	TRY(judge(v, &f));
	if (f.result == CHECK_FIRED) {
		f.allowance = allowance_for(v->in, &f);
		if (f.allowance && !allowance_is_over(v->in, f.allowance))
			f.result = CHECK_ALLOWED;
	}
	return add(v->all, &f);
}

static struct err *judge_key(struct view *v, const char *key)
{
	struct history_series s = {.found = false};
	struct err *err = history_follow(v->in->h, v->in->list, v->rule->watch.level, key, &s);

	if (!err)
		err = judge_series(v, key, &s);
	history_series_fini(&s);
	return err;
}

static struct err *visit_key(void *arg, const char *level, const char *key)
{
	struct view *v = arg;

	(void)level;
	if (!strcmp(key, FACTS_OTHER) || !rules_match(v->rule->watch.key, key))
		return NULL;
	return judge_key(v, key);
}

/* A rule that no row of any snapshot fits holds. */
static struct err *judge_pattern(struct view *v)
{
	size_t before = v->all->v.n;
	struct finding none = {.rule = v->rule, .key = v->rule->watch.key, .result = CHECK_HOLDS};

	TRY(history_keys(v->in->h, v->rule->watch.level, visit_key, v));
	return v->all->v.n == before ? add(v->all, &none) : NULL;
}

static double excess(const struct finding *f)
{
	return f->value - f->threshold;
}

/* By result; fired ones by what is too much, bytes before numbers; the others as in the rules. */
static int by_weight(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;
	bool x_count = x->figure == FACT_COUNT, y_count = y->figure == FACT_COUNT;

	if (x->result != y->result)
		return x->result < y->result ? -1 : 1;
	if (x->result == CHECK_FIRED && x_count != y_count)
		return x_count ? 1 : -1;
	if (x->result == CHECK_FIRED && excess(x) != excess(y))
		return excess(x) > excess(y) ? -1 : 1;
	if (x->rule->line != y->rule->line)
		return x->rule->line < y->rule->line ? -1 : 1;
	return strcmp(x->key, y->key);
}

struct err *check_run(const struct check_input *in, struct findings *ret)
{
	struct err *err = NULL;

	for (size_t i = 0; !err && i < in->rules->v.n; i++) {
		struct view v = {.in = in, .all = ret, .rule = &in->rules->v.v[i]};

		err = is_pattern(v.rule) ? judge_pattern(&v) : judge_key(&v, v.rule->watch.key);
		array_free(&v.samples);
	}
	if (!err && ret->v.n)
		qsort(ret->v.v, ret->v.n, sizeof(*ret->v.v), by_weight);
	return err;
}

void findings_fini(struct findings *f)
{
	array_free(&f->v);
	arena_fini(&f->arena);
}
