#include "cli/cmd_history.h"

#include "base/os.h"
#include "base/units.h"
#include "cli/core_facts.h"
#include "report/diff.h"
#include "report/facts_fill.h"
#include "report/snapshots.h"
#include "report/trend.h"
#include "store/history.h"

#include <stdlib.h>
#include <string.h>

/* What the words of `history` work on. */
struct task {
	struct report *r;
	struct doc *d;
	struct history *h;
	struct history_list list; /* the snapshots that the options leave */
	char *const *args;
	size_t arg_count;
};

static struct doc_value known(struct doc *d, const char *s)
{
	return s ? doc_printf(d, "%s", s) : doc_null();
}

static void add_snapshots(struct task *t)
{
	static const struct doc_column columns[] = {
		{"n", "n"},           {NULL, "taken at"},
		{"time_ns", NULL},    {"resident", "resident"},
		{"virtual", NULL},    {"evidence", "evidence"},
		{"go", "release"},    {"exe", NULL},
		{"build", NULL},      {"process", NULL},
		{"time_from", NULL},  {"partial", "in part"},
		{"path", "snapshot"},
	};
	struct doc *d = t->d;
	struct doc_table *table =
		doc_table(d, "snapshots", "Snapshots", columns, COUNT_OF(columns));
	char time[UNITS_TIME_BUF];
	bool any_partial = false;

	for (size_t i = 0; i < t->list.v.n; i++) {
		const struct facts_head *h = &t->list.v.v[i].head;

		any_partial = any_partial || h->partial;
		doc_row(table, doc_count(i + 1), doc_printf(d, "%s", units_time(h->time_ns, time)),
			doc_delta(h->time_ns), snapshots_figure(h->total[FACT_RESIDENT], true),
			snapshots_figure(h->total[FACT_VIRTUAL], true), known(d, h->evidence),
			known(d, h->go), known(d, h->exe), known(d, h->build), known(d, h->process),
			doc_printf(d, "%s", h->time_from), known(d, h->partial),
			doc_printf(d, "%s", h->path));
	}
	if (!any_partial)
		doc_hide_column(table, 11);
	d->csv_table = table;
}

/* How many different strings the heads of a list have; NULLs are not counted. */
static size_t count_distinct(const struct history_list *list,
			     const char *(*string)(const struct facts_head *))
{
	size_t n = 0;

	for (size_t i = 0; i < list->v.n; i++) {
		const char *s = string(&list->v.v[i].head);
		size_t k = 0;

		while (s && k < i) {
			const char *other = string(&list->v.v[k].head);

			if (other && !strcmp(other, s))
				break;
			k++;
		}
		n += s && k == i;
	}
	return n;
}

static const char *build_of(const struct facts_head *h)
{
	return h->build;
}

/* Snapshots that do not belong together should not be taken for a history. */
static void warn_of_mixture(struct task *t)
{
	size_t programs = count_distinct(&t->list, snapshots_program);
	size_t builds = count_distinct(&t->list, build_of);

	if (programs > 1)
		doc_text(t->d, "They are of %zu programs; --program NAME takes those of one.",
			 programs);
	else if (builds > 1)
		doc_text(t->d, "They are of %zu builds of one program.", builds);
	doc_value(t->d, "programs", doc_count(programs));
	doc_value(t->d, "builds", doc_count(builds));
}

static struct err *do_list(struct task *t)
{
	size_t n = t->list.v.n;
	char first[UNITS_TIME_BUF], last[UNITS_TIME_BUF];

	if (n)
		doc_text(t->d, "%zu snapshot%s, from %s to %s.", n, n == 1 ? "" : "s",
			 units_time(t->list.v.v[0].head.time_ns, first),
			 units_time(t->list.v.v[n - 1].head.time_ns, last));
	else
		doc_text(t->d, "No snapshots.");
	warn_of_mixture(t);
	add_snapshots(t);
	return snapshots_failures(t->d, t->h);
}

/* A snapshot by its number in the list, by path (the last of that name), or "first" or "last". */
static struct err *find_entry(struct task *t, const char *which, const struct history_entry **ret)
{
	size_t n = t->list.v.n, at = n;
	char *end;
	unsigned long long number = strtoull(which, &end, 10);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(t->list.v.v[i].head.path, which))
			at = i;
	if (at == n && !strcmp(which, "first"))
		at = 0;
	if (at == n && !strcmp(which, "last") && n)
		at = n - 1;
	if (at == n && *which && !*end && number >= 1 && number <= n)
		at = number - 1;
	if (at >= n)
		return err_new(ERR_USAGE, "%s has no snapshot '%s'; see spanscope history list",
			       t->r->options.db, which);
	*ret = &t->list.v.v[at];
	return NULL;
}

static void show_level(struct doc *d, const struct level *level, const struct facts_level *l)
{
	static const struct doc_column columns[] = {{"key", NULL},
						    {NULL, ""},
						    {"virtual", "virtual"},
						    {"resident", "resident"},
						    {"count", "number"}};
	struct doc_table *t = doc_table(d, level->plural, level->title, columns, COUNT_OF(columns));
	bool any[FACT_COLUMNS] = {false};

	for (size_t i = 0; i < l->rows.n; i++) {
		const struct fact *row = &l->rows.v[i];
		bool nothing = true;
		size_t at = doc_row(t, doc_printf(d, "%s", row->key),
				    doc_string(diff_label(d, row->key)),
				    snapshots_figure(row->v[FACT_VIRTUAL], true),
				    snapshots_figure(row->v[FACT_RESIDENT], true),
				    snapshots_figure(row->v[FACT_COUNT], false));

		for (int c = 0; c < FACT_COLUMNS; c++) {
			any[c] = any[c] || row->v[c] != FACT_UNKNOWN;
			nothing = nothing && (row->v[c] == FACT_UNKNOWN || !row->v[c]);
		}
		if (nothing)
			doc_hide(t, at);
	}
	for (int c = 0; c < FACT_COLUMNS; c++)
		if (!any[c])
			doc_hide_column(t, 2 + (size_t)c);
}

static struct err *do_show(struct task *t)
{
	const struct history_entry *e;
	struct facts f = {.level_count = 0};
	struct err *err;
	char time[UNITS_TIME_BUF], resident[UNITS_BUF];

	if (t->arg_count != 1)
		return err_new(ERR_USAGE, "history show takes the path or number of a snapshot");
	TRY(find_entry(t, t->args[0], &e));
	err = history_load(t->h, e->id, &f);
	if (!err) {
		u64 bytes = f.head.total[FACT_RESIDENT];

		doc_text(t->d, "%s, %s: %s resident.", f.head.path,
			 units_time(f.head.time_ns, time),
			 bytes == FACT_UNKNOWN ? "it is not known what was"
					       : units_bytes((i64)bytes, resident));
		doc_value(t->d, "path", doc_printf(t->d, "%s", f.head.path));
		doc_value(t->d, "time_ns", doc_delta(f.head.time_ns));
		doc_value(t->d, "virtual", snapshots_figure(f.head.total[FACT_VIRTUAL], true));
		doc_value(t->d, "resident", snapshots_figure(bytes, true));
	}
	for (size_t i = 0; !err && i < levels_count; i++) {
		const struct facts_level *l = facts_level(&f, levels[i].id);

		if (l)
			show_level(t->d, &levels[i], l);
		else
			doc_value(t->d, levels[i].plural, doc_null());
	}
	facts_fini(&f);
	return err;
}

static struct err *do_trend(struct task *t)
{
	struct trend_key key;
	struct history_series s = {.found = false};
	struct err *err;

	if (t->arg_count != 1)
		return err_new(
			ERR_USAGE,
			"history trend takes a class, LEVEL:KEY or 'total'; see spanscope(1)");
	TRY(trend_key_parse(t->d, t->args[0], &key));
	err = history_follow(t->h, &t->list, key.level, key.key, &s);
	if (!err && !s.found)
		err = err_new(ERR_USAGE, "%s: no snapshot has '%s' at level '%s'", t->r->options.db,
			      key.key, key.level ? key.level : "total");
	if (!err) {
		trend_report(t->d, t->args[0], &t->list, &s);
		warn_of_mixture(t);
	}
	history_series_fini(&s);
	return err;
}

static enum history_order order_of(const struct report_options *o)
{
	return o->by_name ? HISTORY_BY_NAME : HISTORY_BY_TIME;
}

/* Removes all but the last ones of those that the other options leave. */
static struct err *do_prune(struct task *t)
{
	const struct report_options *o = &t->r->options;
	const struct history_filter all = {.order = order_of(o), .program = o->program};
	struct history_list list = {.arena = {NULL, 0}};
	size_t keep = t->list.v.n;
	struct err *err;

	if (!o->last)
		return err_new(ERR_USAGE, "history prune needs --last N, which it keeps");
	err = history_list(t->h, &all, &list);
	if (!err) {
		list.v.n -= MIN(keep, list.v.n);
		err = history_remove(t->h, &list);
	}
	if (!err) {
		doc_text(t->d, "%zu snapshots removed, %zu kept.", list.v.n, keep);
		doc_value(t->d, "removed", doc_count(list.v.n));
		doc_value(t->d, "kept", doc_count(keep));
	}
	history_list_fini(&list);
	return err;
}

static struct err *import_one(struct task *t, const char *path)
{
	struct facts f = {.level_count = 0};
	struct os_file file = {.path = NULL};
	struct err *err = os_file_open(path, &file);

	if (!err && !file_is_document(&file))
		err = err_new(ERR_FORMAT, "%s: is no document of a snapshot", path);
	os_file_close(&file);
	if (!err)
		err = core_facts(t->r->opts, path, NULL, NULL, &f);
	if (!err)
		err = history_add(t->h, &f);
	facts_fini(&f);
	return err;
}

static struct err *do_import(struct task *t)
{
	if (!t->arg_count)
		return err_new(ERR_USAGE, "history import takes documents that batch made");
	for (size_t i = 0; i < t->arg_count; i++)
		TRY(import_one(t, t->args[i]));
	doc_text(t->d, "%zu documents imported.", t->arg_count);
	doc_value(t->d, "imported", doc_count(t->arg_count));
	return NULL;
}

static struct err *do_merge(struct task *t)
{
	u64 added = 0, seen = 0;

	if (!t->arg_count)
		return err_new(ERR_USAGE, "history merge takes other databases");
	for (size_t i = 0; i < t->arg_count; i++) {
		u64 more, all;

		TRY(history_merge(t->h, t->args[i], &more, &all));
		added += more;
		seen += all;
	}
	doc_text(t->d, "%llu of %llu snapshots added; the others were known.",
		 (unsigned long long)added, (unsigned long long)seen);
	doc_value(t->d, "added", doc_count(added));
	doc_value(t->d, "seen", doc_count(seen));
	return NULL;
}

static const struct word {
	const char *name;
	enum history_mode mode;
	size_t most_args;
	bool table; /* has one, and so CSV */
	struct err *(*run)(struct task *t);
} words[] = {
	{"list", HISTORY_READ, 0, true, do_list},
	{"show", HISTORY_READ, 1, false, do_show},
	{"trend", HISTORY_READ, 1, true, do_trend},
	{"prune", HISTORY_CHANGE, 0, false, do_prune},
	{"import", HISTORY_CREATE, SIZE_MAX, false, do_import},
	{"merge", HISTORY_CREATE, SIZE_MAX, false, do_merge},
};

static const struct word *find_word(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(words); i++)
		if (!strcmp(words[i].name, name))
			return &words[i];
	return NULL;
}

static struct err *run_word(struct task *t, const struct word *word)
{
	const struct report_options *o = &t->r->options;
	const struct history_filter filter = {
		.order = order_of(o), .program = o->program, .last = o->last};

	TRY(history_open(o->db, word->mode, &t->h));
	TRY(history_list(t->h, &filter, &t->list));
	return word->run(t);
}

struct err *cmd_history(struct report *r)
{
	const struct report_options *o = &r->options;
	struct task t = {.r = r, .d = r->doc};
	const struct word *word = o->arg_count ? find_word(o->args[0]) : NULL;
	struct err *err;

	if (!word)
		return err_new(ERR_USAGE,
			       "history takes list, show, trend, prune, import or merge%s%s",
			       o->arg_count ? ", not " : "", o->arg_count ? o->args[0] : "");
	if (!o->db)
		return err_new(ERR_USAGE, "history %s needs --db FILE", word->name);
	t.args = o->args + 1;
	t.arg_count = o->arg_count - 1;
	if (t.arg_count > word->most_args)
		return err_new(ERR_USAGE, "one argument too many: '%s'", t.args[word->most_args]);
	if (r->opts->format == FORMAT_CSV && !word->table)
		return err_new(ERR_USAGE, "history %s has no table for CSV", word->name);
	doc_value(r->doc, "word", doc_string(word->name));
	err = run_word(&t, word);
	history_list_fini(&t.list);
	history_close(t.h);
	return err;
}
