/* The parts of the command profile: each fills r->samples with weighted stacks, says the answer in
 * a line of text, and adds what programs want to know besides. */
#ifndef REPORT_PROFILE_H
#define REPORT_PROFILE_H

#include "report/report.h"
#include "stack/locations.h"

struct err *profile_heap(struct report *r) ERR_RESULT;
struct err *profile_memory(struct report *r) ERR_RESULT;
struct err *profile_stacks(struct report *r) ERR_RESULT;
struct err *profile_block(struct report *r) ERR_RESULT;
struct err *profile_mutex(struct report *r) ERR_RESULT;

/* Where the values of a stack's memory stand in a sample, and what it hangs off. */
struct stack_columns {
	int goroutines; /* 1 in the innermost call; -1: not wanted */
	int virtual, resident;
	bool has_root;
	u32 root; /* the outermost location */
};

/* Adds the frames of all goroutines' stacks, and what is unused of them; counts the goroutines. */
struct err *profile_add_stacks(struct report *r, const struct stack_columns *columns,
			       u64 *count) ERR_RESULT;

/* The mappings that have code, as runtime/pprof finds them in /proc/self/maps. Core and result of
 * the report have to outlive the samples. */
struct err *profile_mappings(struct report *r) ERR_RESULT;

/* Says why the profile is empty, which makes the result one in part. */
struct err *profile_none(struct report *r, const char *why) ERR_RESULT;

/* Adds a comment: a line that `go tool pprof -comments` prints. */
struct err *profile_comment(struct report *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3))) ERR_RESULT;

/* runtime.MemStats as one comment: pprof prints each above its tables. */
struct err *profile_memstats(struct report *r) ERR_RESULT;

/* The table of sites: samples whose innermost call of the program is the same are one row, sorted
 * by the values of one type. */
struct err *profile_table(struct report *r, size_t type) ERR_RESULT;

#endif
