/* What the rules of the verdicts look at, and say. */
#ifndef REPORT_VERDICTS_PRIV_H
#define REPORT_VERDICTS_PRIV_H

#include "report/goroutines.h"
#include "report/verdicts.h"

/* Goroutines that one go statement started, and that have waited for long. */
struct leak {
	u64 bytes, allocated; /* of their stacks: resident, all */
	u64 count, waited_long, waited_most;
	const struct group *largest; /* the most of them in one place; NULL: no leak */
};

/* A snapshot, and what has been found out about it for the rules. */
struct judged {
	const struct snapshot *s;
	struct doc *d;
	struct mstats m;
	u64 total;                                     /* resident */
	const struct goroutine_groups *groups;         /* NULL when stacks are few */
	struct leak leak;                              /* the largest */
	u64 cleared_live, cleared_dead, cleared_fresh; /* see judged_find_cleared */
};

/* A rule's function. */
typedef void judge_fn(const struct judged *f, struct verdict *v);

/* Resident bytes of a class. */
u64 judged_resident(const struct judged *f, enum category c);

/* A size as a string of the doc. */
const char *judged_size(const struct judged *f, u64 bytes);

/* A string of the doc. */
#define SAY(f, ...) (doc_printf((f)->d, __VA_ARGS__).string)

void verdict_evidence(struct verdict *v, const char *key, u64 value);

/* verdicts_heap.c */
judge_fn judge_idle_retained, judge_released_resident, judge_fragmentation, judge_garbage,
	judge_never_written, judge_in_use_absent, judge_memory_limit;

/* Large objects with pointers that were cleared although new, and never written: bytes in live
 * ones, and in those that judge_garbage would count too: found dead, allocated since. */
void judged_find_cleared(struct judged *f);

/* verdicts_goroutines.c */
judge_fn judge_goroutine_stacks, judge_goroutine_leak, judge_dead_goroutines, judge_idle_threads;

/* Finds the leak. The only error is the end of memory. */
struct err *judged_find_leak(struct judged *f) ERR_RESULT;

/* Resident bytes of goroutines' stacks, from which on it is worth to unwind them. */
#define STACKS_LEAST_PERMILLE 50

/* verdicts_pages.c */
judge_fn judge_idle_absent, judge_zero_resident, judge_swapped_heap, judge_cgroup;

/* verdicts_other.c */
judge_fn judge_profile_buckets, judge_old_metadata, judge_anonymous;

#endif
