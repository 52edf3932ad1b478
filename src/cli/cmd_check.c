#include "cli/cmd_check.h"

#include "base/os.h"
#include "cli/cmd_batch.h"
#include "cli/core_facts.h"
#include "report/check.h"
#include "report/snapshots.h"

#include <string.h>
#include <time.h>

#define WRITE_BASELINE "write"

struct check {
	struct report *r;
	struct rules rules;
	struct history *h;
	struct history_list list;
	struct facts baseline;
	bool has_baseline;
};

static bool writes_baseline(const struct report_options *o)
{
	return o->baseline && !strcmp(o->baseline, WRITE_BASELINE);
}

static struct err *read_rules(const char *path, struct rules *ret)
{
	struct os_file file = {.path = NULL};
	struct err *err = os_file_open(path, &file);

	if (!err)
		err = rules_parse((const char *)file.data, file.size, path, ret);
	os_file_close(&file);
	return err;
}

/* Analyses the files that were named into the database, or into one for this run. What cannot be
 * analysed is no pass. */
static struct err *analyse(struct check *c)
{
	struct doc unseen = {.arena = {NULL, 0}};
	struct report batch = *c->r;
	struct err *err;

	batch.doc = &unseen;
	err = batch_into(&batch, c->h);
	doc_fini(&unseen);
	c->r->partial = batch.partial;
	return err;
}

/* "" where nothing is known. */
static const char *program_of(const struct history_entry *e)
{
	const char *program = snapshots_program(&e->head);

	return program ? program : "";
}

/* That of the first snapshot of which it is known. */
static const struct history_entry *first_known(const struct history_list *list)
{
	for (size_t i = 0; i < list->v.n; i++)
		if (*program_of(&list->v.v[i]))
			return &list->v.v[i];
	return &list->v.v[0];
}

/* Figures of different programs have nothing to say to each other. */
static struct err *check_programs(const struct check *c)
{
	const struct history_entry *first = first_known(&c->list);

	for (size_t i = 0; i < c->list.v.n; i++) {
		const struct history_entry *e = &c->list.v.v[i];

		if (*program_of(e) && strcmp(program_of(first), program_of(e)) != 0)
			return err_new(
				ERR_USAGE,
				"the snapshots are of different programs: %s is of '%s', %s of "
				"'%s'; --program NAME takes those of one",
				first->head.path, program_of(first), e->head.path, program_of(e));
	}
	return NULL;
}

static struct err *open_set(struct check *c)
{
	const struct report_options *o = &c->r->options;
	const struct history_filter filter = {.order = o->by_name ? HISTORY_BY_NAME
								  : HISTORY_BY_TIME,
					      .program = o->program,
					      .last = o->last};
	enum history_mode mode = writes_baseline(o) ? HISTORY_CHANGE : HISTORY_READ;

	if (o->arg_count)
		mode = HISTORY_CREATE;
	TRY(history_open(o->db ? o->db : "", mode, &c->h));
	if (o->arg_count)
		TRY(analyse(c));
	TRY(history_list(c->h, &filter, &c->list));
	if (!c->list.v.n)
		return err_new(ERR_MISSING, "there is no snapshot to check%s%s",
			       o->db ? " in " : "", o->db ? o->db : "");
	return check_programs(c);
}

/* The last snapshot that was read completely becomes the baseline. */
static struct err *write_baseline(struct check *c)
{
	size_t i = c->list.v.n;
	struct err *err;

	while (i > 0 && c->list.v.v[i - 1].head.partial)
		i--;
	if (!i)
		return err_new(ERR_MISSING,
			       "no snapshot was read completely: none can be the baseline");
	err = history_load(c->h, c->list.v.v[i - 1].id, &c->baseline);
	if (!err)
		err = history_set_baseline(c->h, program_of(&c->list.v.v[i - 1]), &c->baseline);
	if (err)
		return err;
	doc_text(c->r->doc, "%s is the baseline from now on.", c->baseline.head.path);
	doc_value(c->r->doc, "baseline", doc_printf(c->r->doc, "%s", c->baseline.head.path));
	return NULL;
}

static struct err *load_baseline(struct check *c)
{
	const char *path = c->r->options.baseline;

	if (!path)
		return history_baseline(c->h, program_of(first_known(&c->list)), &c->baseline,
					&c->has_baseline);
	c->has_baseline = true;
	return core_facts(c->r->opts, path, NULL, NULL, &c->baseline);
}

static struct err *apply_rules(struct check *c)
{
	struct check_input in = {.rules = &c->rules,
				 .h = c->h,
				 .list = &c->list,
				 .now_ns = (i64)time(NULL) * 1000000000};
	struct findings findings = {.count = {0}};
	struct err *err;

	TRY(load_baseline(c));
	in.baseline = c->has_baseline ? &c->baseline : NULL;
	err = check_run(&in, &findings);
	if (!err) {
		check_report(c->r->doc, &in, &findings);
		c->r->fired = findings.count[CHECK_FIRED] && !c->r->options.exit_zero;
		c->r->partial = c->r->partial ||
				(findings.count[CHECK_UNKNOWN] && !c->r->options.exit_zero);
		err = snapshots_failures(c->r->doc, c->h);
	}
	findings_fini(&findings);
	return err;
}

static struct err *run(struct check *c)
{
	const struct report_options *o = &c->r->options;

	if (!o->arg_count && !o->db)
		return err_new(ERR_USAGE, "check needs snapshots: spanscope check --rules FILE "
					  "PATH..., or --db FILE");
	if (writes_baseline(o) && !o->db)
		return err_new(ERR_USAGE,
			       "check --baseline write needs --db FILE, where it is kept");
	if (!writes_baseline(o) && !o->rules)
		return err_new(ERR_USAGE, "check needs --rules FILE");
	if (!writes_baseline(o))
		TRY(read_rules(o->rules, &c->rules));
	TRY(open_set(c));
	return writes_baseline(o) ? write_baseline(c) : apply_rules(c);
}

struct err *cmd_check(struct report *r)
{
	struct check c = {.r = r};
	struct err *err = run(&c);

	history_list_fini(&c.list);
	history_close(c.h);
	facts_fini(&c.baseline);
	rules_fini(&c.rules);
	return err;
}
