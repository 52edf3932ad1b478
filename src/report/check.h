/* Rules against a set of snapshots: what fires, what holds, and what cannot be told. */
#ifndef REPORT_CHECK_H
#define REPORT_CHECK_H

#include "out/doc.h"
#include "report/rules.h"
#include "store/history.h"

struct check_input {
	const struct rules *rules;
	struct history *h;
	const struct history_list *list; /* the snapshots in order, the warm-up too */
	const struct facts *baseline;    /* NULL: there is none */
	i64 now_ns;                      /* Unix time, for what is allowed until a day */
};

enum check_result { CHECK_FIRED, CHECK_UNKNOWN, CHECK_ALLOWED, CHECK_HOLDS, CHECK_RESULTS };

/* One rule on one row. Of a rule with a pattern, rows on which it holds are one finding, and those
 * of which the same cannot be told. */
struct finding {
	const struct rule *rule;
	const char *key; /* of the row; the pattern where it stands for `rows` of them */
	size_t rows;
	enum check_result result;
	const char *why; /* CHECK_UNKNOWN: a clause */

	enum fact_column figure;
	double value;       /* what was compared with */
	double threshold;   /* what had to be exceeded, of all parts of the condition */
	double from, to;    /* growth: the other figure and the last; trend: the window's ends */
	size_t first, last; /* snapshots that it is about, by index */
	size_t steps, grew; /* trend: from one snapshot to the next */
	const struct allowance *allowance; /* the one that covers it, or covered it */
};

struct findings {
	ARRAY(struct finding) v; /* fired ones first, the largest excess first */
	size_t count[CHECK_RESULTS];
	struct arena arena;
};

/* Applies all rules. ERR_USAGE when a rule names a field of runtime.MemStats that no snapshot has;
 * otherwise fails as the history does. *ret must be zeroed; findings_fini is due in any case. */
struct err *check_run(const struct check_input *in, struct findings *ret) ERR_RESULT;
void findings_fini(struct findings *f);

/* Whether an allowance had ended. */
bool allowance_is_over(const struct check_input *in, const struct allowance *a);

/* Adds the answer and a table of the findings. */
void check_report(struct doc *d, const struct check_input *in, const struct findings *f);

#endif
