#include "report/rules.h"

#include "base/units.h"
#include "ledger/category.h"
#include "report/facts_fill.h"
#include "report/verdicts.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DAY_NS ((i64)24 * 3600 * 1000000000)

struct parser {
	struct rules *r;
	const char *name;
};

static struct err *refuse(const struct parser *p, unsigned line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static struct err *refuse(const struct parser *p, unsigned line, const char *fmt, ...)
{
	va_list ap;
	char why[200];

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	return err_new(ERR_USAGE, "%s:%u: %s", p->name, line, why);
}

/* Refuses members of a map that are none of `known`, a list of words with blanks between. */
static struct err *check_members(const struct parser *p, const struct yaml *map, const char *known)
{
	if (map->kind != YAML_MAP)
		return refuse(p, map->line, "there must be names with values here: %s", known);
	for (const struct yaml *m = map->first; m; m = m->next) {
		const char *at = strstr(known, m->key);
		size_t n = strlen(m->key);

		if (!n || !at || (at > known && at[-1] != ' ') || (at[n] && at[n] != ' '))
			return refuse(p, m->line, "'%s' is not known here; there are: %s", m->key,
				      known);
	}
	return NULL;
}

/* The text of a member; NULL where there is none. */
static struct err *text_of(const struct parser *p, const struct yaml *map, const char *key,
			   const char **ret)
{
	const struct yaml *m = yaml_get(map, key);

	*ret = m ? m->text : NULL;
	if (m && (m->kind != YAML_TEXT || !*m->text))
		return refuse(p, m->line, "'%s' must have a value", key);
	return NULL;
}

static struct err *required(const struct parser *p, const struct yaml *map, const char *key,
			    const char **ret)
{
	TRY(text_of(p, map, key, ret));
	return *ret ? NULL : refuse(p, map->line, "'%s' is missing", key);
}

/* A whole number; *ret stays as it was where there is none. */
static struct err *number_of(const struct parser *p, const struct yaml *map, const char *key,
			     u64 least, u64 most, u64 *ret)
{
	const char *text;
	char *end;

	TRY(text_of(p, map, key, &text));
	if (!text)
		return NULL;
	*ret = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || *ret < least || *ret > most)
		return refuse(p, yaml_get(map, key)->line,
			      "'%s' must be a number from %llu to %llu, not '%s'", key,
			      (unsigned long long)least, (unsigned long long)most, text);
	return NULL;
}

/* A size, or a plain number of things. */
static struct err *amount_of(const struct parser *p, const struct yaml *map, const char *key,
			     bool *has, u64 *ret)
{
	const char *text;
	struct err *err;

	TRY(text_of(p, map, key, &text));
	*has = text != NULL;
	if (!text)
		return NULL;
	err = units_parse_bytes(text, ret);
	if (!err && *ret <= INT64_MAX)
		return NULL;
	err_free(err);
	return refuse(p, yaml_get(map, key)->line,
		      "'%s' must be a size such as 100MiB, or a number, not '%s'", key, text);
}

static struct err *percent_of(const struct parser *p, const struct yaml *map, struct rule *rule)
{
	const char *text;
	char *end;

	TRY(text_of(p, map, "percent", &text));
	rule->has_percent = text != NULL;
	if (!text)
		return NULL;
	rule->percent = strtod(text, &end);
	if (*text < '0' || *text > '9' || *end || !(rule->percent < 1e6))
		return refuse(p, yaml_get(map, "percent")->line,
			      "'percent' must be a number such as 10 or 0.5, not '%s'", text);
	return NULL;
}

/* One of some words, by its index in `words`, which ends with NULL; *ret stays as it was where
 * there is none. */
static struct err *word_of(const struct parser *p, const struct yaml *map, const char *key,
			   const char *const words[], unsigned *ret)
{
	const char *text;

	TRY(text_of(p, map, key, &text));
	for (unsigned i = 0; text && words[i]; i++)
		if (!strcmp(text, words[i])) {
			*ret = i;
			return NULL;
		}
	if (!text)
		return NULL;
	return refuse(p, yaml_get(map, key)->line, "'%s' must be %s, %s%s%s, not '%s'", key,
		      words[0], words[1], words[2] ? " or " : "", words[2] ? words[2] : "", text);
}

static bool is_verdict(const char *key)
{
	const char *name;

	for (size_t i = 0; (name = verdict_name(i)); i++)
		if (!strcmp(name, key))
			return true;
	return false;
}

static bool is_class(const char *key)
{
	for (int c = 0; c < CAT_COUNT; c++)
		if (!strcmp(category_id((enum category)c), key))
			return true;
	return false;
}

/* Of levels whose keys are known beforehand; a pattern may fit what there will be. */
static bool key_may_be(const struct watch *w)
{
	if (strchr(w->key, '*'))
		return true;
	if (!strcmp(w->level, "class"))
		return is_class(w->key);
	return strcmp(w->level, "verdict") != 0 || is_verdict(w->key);
}

static struct err *list_levels(const struct parser *p, unsigned line, const char *text)
{
	const char *list = "total";

	for (size_t i = 0; i < levels_count; i++)
		list = arena_printf(&p->r->arena, "%s, %s:...", list, levels[i].id);
	return refuse(p, line, "'%s' is nothing to watch; there are: %s", text, list);
}

static struct err *parse_watch(const struct parser *p, const struct yaml *map, struct watch *ret)
{
	const char *text, *colon;
	unsigned line;

	TRY(required(p, map, "watch", &text));
	line = yaml_get(map, "watch")->line;
	*ret = (struct watch){.text = text, .key = ""};
	if (!strcmp(text, "total"))
		return NULL;
	colon = strchr(text, ':');
	if (!colon && is_class(text)) {
		ret->level = "class";
		ret->key = text;
		return NULL;
	}
	if (!colon)
		return list_levels(p, line, text);
	ret->level = arena_strndup(&p->r->arena, text, (size_t)(colon - text));
	ret->key = colon + 1;
	if (!level_find(ret->level))
		return list_levels(p, line, text);
	if (!key_may_be(ret))
		return refuse(p, line, "there is no %s of the name '%s'", ret->level, ret->key);
	return NULL;
}

static struct err *parse_growth(const struct parser *p, const struct yaml *map, struct rule *rule)
{
	static const char *const over[] = {[OVER_BASELINE] = "baseline",
					   [OVER_MEDIAN] = "median",
					   [OVER_FIRST] = "first",
					   NULL};
	unsigned word = OVER_BASELINE;

	TRY(check_members(p, map, "over by percent"));
	TRY(word_of(p, map, "over", over, &word));
	rule->over = (enum rule_over)word;
	TRY(amount_of(p, map, "by", &rule->has_by, &rule->by));
	TRY(percent_of(p, map, rule));
	if (!rule->has_by && !rule->has_percent)
		return refuse(p, map->line, "'growth' needs 'by', 'percent' or both");
	return NULL;
}

static struct err *parse_trend(const struct parser *p, const struct yaml *map, struct rule *rule)
{
	static const char *const per[] = {"snapshot", "hour", NULL};
	unsigned word = 0;

	TRY(check_members(p, map, "last per by percent grew"));
	TRY(word_of(p, map, "per", per, &word));
	rule->per_hour = word == 1;
	TRY(amount_of(p, map, "by", &rule->has_by, &rule->by));
	TRY(percent_of(p, map, rule));
	TRY(number_of(p, map, "last", TREND_SAMPLES_MIN, TREND_SAMPLES_MAX, &rule->last));
	TRY(number_of(p, map, "grew", 1, rule->last ? rule->last - 1 : TREND_SAMPLES_MAX,
		      &rule->grew));
	if (!rule->has_by && !rule->has_percent && !rule->grew)
		return refuse(p, map->line, "'trend' needs one or more of: by percent grew");
	return NULL;
}

static struct err *parse_condition(const struct parser *p, const struct yaml *map,
				   struct rule *rule)
{
	const struct yaml *growth = yaml_get(map, "growth"), *trend = yaml_get(map, "trend");
	int conditions = (yaml_get(map, "max") != NULL) + (growth != NULL) + (trend != NULL);

	if (conditions != 1)
		return refuse(p, map->line, "a rule needs one of: max growth trend; this has %d",
			      conditions);
	if (growth) {
		rule->kind = RULE_GROWTH;
		return parse_growth(p, growth, rule);
	}
	if (trend) {
		rule->kind = RULE_TREND;
		return parse_trend(p, trend, rule);
	}
	rule->kind = RULE_MAX;
	return amount_of(p, map, "max", &rule->has_by, &rule->by);
}

static struct err *parse_rule(const struct parser *p, const struct yaml *map)
{
	static const char *const figures[] = {[FACT_VIRTUAL] = "virtual",
					      [FACT_RESIDENT] = "resident",
					      [FACT_COUNT] = "count",
					      NULL};
	struct rule rule = {.line = map->line, .figure = FIGURE_ANY};

	TRY(check_members(p, map, "name watch figure max growth trend"));
	TRY(parse_watch(p, map, &rule.watch));
	TRY(text_of(p, map, "name", &rule.name));
	if (!rule.name)
		rule.name = rule.watch.text;
	TRY(word_of(p, map, "figure", figures, &rule.figure));
	TRY(parse_condition(p, map, &rule));
	for (size_t i = 0; i < p->r->v.n; i++)
		if (!strcmp(p->r->v.v[i].name, rule.name))
			return refuse(p, map->line, "there is a rule '%s' in line %u already",
				      rule.name, p->r->v.v[i].line);
	return array_push(&p->r->v, rule);
}

/* The end of a day, UTC. */
static bool parse_day(const char *text, i64 *ret)
{
	struct tm tm = {.tm_isdst = 0};
	const char *end = strptime(text, "%Y-%m-%d", &tm);
	struct tm same;
	time_t t;

	if (!end || *end)
		return false;
	same = tm;
	t = timegm(&same); /* which makes March 1st of February 29th */
	if (t == -1 || same.tm_mday != tm.tm_mday)
		return false;
	if (__builtin_mul_overflow((i64)t, (i64)1000000000, ret) ||
	    __builtin_add_overflow(*ret, DAY_NS, ret))
		*ret = INT64_MAX; /* after the year 2262 */
	return true;
}

static bool has_rule(const struct rules *r, const char *name)
{
	for (size_t i = 0; i < r->v.n; i++)
		if (!strcmp(r->v.v[i].name, name))
			return true;
	return false;
}

static struct err *parse_allowance(const struct parser *p, const struct yaml *map)
{
	struct allowance a = {.line = map->line};

	TRY(check_members(p, map, "watch rule reason until"));
	TRY(parse_watch(p, map, &a.watch));
	TRY(text_of(p, map, "rule", &a.rule));
	if (a.rule && !has_rule(p->r, a.rule))
		return refuse(p, yaml_get(map, "rule")->line, "there is no rule '%s'", a.rule);
	TRY(required(p, map, "reason", &a.reason));
	TRY(required(p, map, "until", &a.until));
	if (!parse_day(a.until, &a.until_ns))
		return refuse(p, yaml_get(map, "until")->line,
			      "'until' must be a day such as 2027-03-31, not '%s'", a.until);
	return array_push(&p->r->allowed, a);
}

typedef struct err *element_parser(const struct parser *p, const struct yaml *map);

static struct err *parse_list(const struct parser *p, const struct yaml *list,
			      element_parser *parse)
{
	if (list && list->kind != YAML_LIST)
		return refuse(p, list->line, "'%s' must be a list", list->key);
	for (const struct yaml *m = list ? list->first : NULL; m; m = m->next)
		TRY(parse(p, m));
	return NULL;
}

static struct err *parse_file(const struct parser *p, const struct yaml *root)
{
	if (!root)
		return refuse(p, 1, "there is no rule");
	TRY(check_members(p, root, "warmup rules allow"));
	TRY(number_of(p, root, "warmup", 0, 1000000, &p->r->warmup));
	TRY(parse_list(p, yaml_get(root, "rules"), parse_rule));
	TRY(parse_list(p, yaml_get(root, "allow"), parse_allowance));
	return p->r->v.n ? NULL : refuse(p, root->line, "there is no rule");
}

struct err *rules_parse(const char *text, size_t n, const char *name, struct rules *ret)
{
	struct parser p = {ret, name};
	const struct yaml *root;
	struct err *err = yaml_parse(text, n, name, &ret->arena, &root);

	ret->name = name;
	if (err) {
		err->code = ERR_USAGE;
		return err;
	}
	return parse_file(&p, root);
}

void rules_fini(struct rules *r)
{
	array_free(&r->v);
	array_free(&r->allowed);
	arena_fini(&r->arena);
}

bool rules_match(const char *pattern, const char *text)
{
	const char *star = NULL, *behind = NULL;

	while (*text) {
		if (*pattern == '*') {
			star = pattern++;
			behind = text;
		} else if (*pattern == *text) {
			pattern++;
			text++;
		} else if (star) { /* let the last star take one more */
			pattern = star + 1;
			text = ++behind;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

static bool same_level(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

bool allowance_covers(const struct allowance *a, const struct rule *r, const char *key)
{
	return same_level(a->watch.level, r->watch.level) && rules_match(a->watch.key, key) &&
	       (!a->rule || !strcmp(a->rule, r->name));
}
