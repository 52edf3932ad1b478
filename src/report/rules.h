/* The rules of `check`: which figure of a snapshot is watched, and from where on it is too much.
 *
 *     warmup: 2                          # snapshots at the beginning that are left out
 *     rules:
 *       - name: live heap
 *         watch: class:go.heap.live      # LEVEL:KEY of levels.def, * for anything; or total
 *         figure: resident               # virtual, resident or count
 *         max: 2GiB                      # one of three: in any snapshot,
 *         growth: {over: baseline, by: 100MiB, percent: 10}       # in the last one, or
 *         trend: {last: 10, per: hour, by: 5MiB, percent: 1, grew: 8}   # through all of them
 *     allow:
 *       - watch: site:main.warm*         # what may be too much,
 *         rule: live heap                # of this rule, or of any,
 *         reason: fills for an hour      # why, and
 *         until: 2027-03-31              # up to which day, UTC
 *
 * Where a condition has several parts, it holds when all of them do. spanscope(1) has the whole. */
#ifndef REPORT_RULES_H
#define REPORT_RULES_H

#include "base/array.h"
#include "base/yaml.h"
#include "store/facts.h"

#define FIGURE_ANY FACT_COLUMNS /* resident where that is known, else virtual, else the count */
#define TREND_SAMPLES_MIN 4
#define TREND_SAMPLES_MAX 1000

enum rule_kind { RULE_MAX, RULE_GROWTH, RULE_TREND };

enum rule_over { OVER_BASELINE, OVER_MEDIAN, OVER_FIRST };

struct watch {
	const char *text;  /* as it was written */
	const char *level; /* NULL: the total */
	const char *key;   /* with * for any characters */
};

struct rule {
	const char *name;
	unsigned line;
	struct watch watch;
	unsigned figure; /* enum fact_column, or FIGURE_ANY */
	enum rule_kind kind;

	/* max: the figure itself; growth: of the last over another; trend: of a step or an hour */
	bool has_by, has_percent;
	u64 by;
	double percent;
	enum rule_over over; /* growth */
	u64 last;            /* trend: so many snapshots; 0: all, at least TREND_SAMPLES_MIN */
	u64 grew;            /* trend: in so many steps at least; 0: any */
	bool per_hour;       /* trend */
};

/* What is allowed to be too much. */
struct allowance {
	unsigned line;
	struct watch watch;
	const char *rule; /* NULL: any */
	const char *reason;
	i64 until_ns; /* Unix time at which it ends */
	const char *until;
};

struct rules {
	const char *name; /* of the file */
	ARRAY(struct rule) v;
	ARRAY(struct allowance) allowed;
	u64 warmup;
	struct arena arena; /* owns all strings */
};

/* Reads rules from a text, which `name` names in messages. ERR_USAGE with the line of what makes no
 * sense or is not known. *ret must be zeroed; rules_fini is due in any case. */
struct err *rules_parse(const char *text, size_t n, const char *name, struct rules *ret) ERR_RESULT;
void rules_fini(struct rules *r);

/* Whether a text fits a pattern in which * stands for any characters, also for none. */
bool rules_match(const char *pattern, const char *text);

/* Whether an allowance is about this key of this rule; it may have ended. */
bool allowance_covers(const struct allowance *a, const struct rule *r, const char *key);

#endif
