#include "report/goroutines.h"

#include "report/common.h"

#include <string.h>

static struct err *add_resident(const struct snapshot *s, struct goroutine_groups *gg)
{
	const struct groups *g = &gg->g;

	TRY(array_reserve(&gg->resident, g->v.n));
	gg->resident.n = g->v.n;
	if (g->v.n)
		memset(gg->resident.v, 0, g->v.n * sizeof(*gg->resident.v));
	for (size_t i = 0; i < g->of.n; i++) {
		const struct goroutine *gr = &s->gort->gs.v.v[i];

		if (g->of.v[i] != NO_GROUP)
			gg->resident.v[g->of.v[i]] +=
				report_resident(s->im, gr->stack.lo, gr->stack.hi);
	}
	return NULL;
}

struct err *goroutine_groups_open(const struct snapshot *s, const struct group_options *o,
				  struct diags *d, struct goroutine_groups *ret)
{
	TRY(unwinder_open(&ret->u, s->gort, d));
	TRY(groups_build(&ret->u, o, &ret->g));
	return add_resident(s, ret);
}

void goroutine_groups_close(struct goroutine_groups *gg)
{
	array_free(&gg->resident);
	groups_fini(&gg->g);
	unwinder_close(&gg->u);
}

const char *group_place(struct doc *d, const struct goroutine_groups *gg, const struct group *group)
{
	return calls_place(d, &gg->u.symbols, gg->g.pcs.v + group->frame, group->frames);
}

const char *group_creation(struct doc *d, const struct goroutine_groups *gg,
			   const struct group *group)
{
	return calls_creation(d, &gg->u.symbols, group_creator(&gg->g, group)->gopc);
}
