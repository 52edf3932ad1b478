#include "cli/cmd_diff.h"

#include "cli/core_facts.h"
#include "report/diff.h"
#include "report/survivors.h"

#include <string.h>

/* What is kept of a snapshot once its core is closed. */
struct side {
	struct facts facts;
	struct survivors survivors;
};

static struct err *take_survivors(void *arg, const struct snapshot *s)
{
	struct side *side = arg;

	return survivors_take(s, &side->survivors);
}

static struct err *read_side(struct report *r, const char *path, struct side *side)
{
	return core_facts(r->opts, path, take_survivors, side, &side->facts);
}

static bool is_same_process(const struct facts_head *a, const struct facts_head *b)
{
	return a->process && b->process && !strcmp(a->process, b->process);
}

static struct err *compare(struct report *r, const struct side *a, const struct side *b)
{
	TRY(diff_report(r->doc, &a->facts, &b->facts));
	survivors_report(r->doc, &a->survivors, &b->survivors,
			 is_same_process(&a->facts.head, &b->facts.head));
	r->partial = a->facts.head.partial || b->facts.head.partial;
	return NULL;
}

static void side_fini(struct side *s)
{
	facts_fini(&s->facts);
	survivors_fini(&s->survivors);
}

/* One after the other, so that never more than one core is in memory. */
struct err *cmd_diff(struct report *r)
{
	const struct report_options *o = &r->options;
	struct side a = {.survivors = {.known = false}}, b = {.survivors = {.known = false}};
	struct err *err;

	if (o->arg_count != 2)
		return err_new(ERR_USAGE, "diff takes two snapshots: spanscope diff A B");
	err = read_side(r, o->args[0], &a);
	if (!err)
		err = read_side(r, o->args[1], &b);
	if (!err)
		err = compare(r, &a, &b);
	side_fini(&a);
	side_fini(&b);
	return err;
}
