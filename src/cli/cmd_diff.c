#include "cli/cmd_diff.h"

#include "cli/core_facts.h"
#include "report/diff.h"

/* One after the other, so that never more than one core is in memory. */
struct err *cmd_diff(struct report *r)
{
	const struct report_options *o = &r->options;
	struct facts a = {.level_count = 0}, b = {.level_count = 0};
	struct err *err;

	if (o->arg_count != 2)
		return err_new(ERR_USAGE, "diff takes two snapshots: spanscope diff A B");
	err = core_facts(r->opts, o->args[0], NULL, NULL, &a);
	if (!err)
		err = core_facts(r->opts, o->args[1], NULL, NULL, &b);
	if (!err)
		err = diff_report(r->doc, &a, &b);
	r->partial = a.head.partial || b.head.partial;
	facts_fini(&a);
	facts_fini(&b);
	return err;
}
