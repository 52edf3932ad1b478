/* Goroutines in groups, with the memory of their stacks: for the report and for the verdicts. */
#ifndef REPORT_GOROUTINES_H
#define REPORT_GOROUTINES_H

#include "report/calls.h"
#include "report/report.h"
#include "stack/groups.h"

/* The groups of a snapshot, and how much of their stacks was resident. */
struct goroutine_groups {
	struct unwinder u;
	struct groups g;
	ARRAY(u64) resident; /* by group */
};

/* Unwinds and groups; d (which may be NULL) takes what is wrong with the function tables. The only
 * error is the end of memory; goroutine_groups_close is due in any case. ret must be zeroed. */
struct err *goroutine_groups_open(const struct snapshot *s, const struct group_options *o,
				  struct diags *d, struct goroutine_groups *ret) ERR_RESULT;
void goroutine_groups_close(struct goroutine_groups *gg);

/* Where a group stands, and where most of it was started: see calls_place and calls_creation. */
const char *group_place(struct doc *d, const struct goroutine_groups *gg,
			const struct group *group);
const char *group_creation(struct doc *d, const struct goroutine_groups *gg,
			   const struct group *group);

#endif
