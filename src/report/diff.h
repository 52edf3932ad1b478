/* Two snapshots compared: what grew, at every level. */
#ifndef REPORT_DIFF_H
#define REPORT_DIFF_H

#include "out/doc.h"
#include "store/facts.h"

/* One row of a level in both. */
struct change {
	const char *key;
	enum fact_column measure; /* what a, b and delta are */
	u64 a, b;                 /* FACT_UNKNOWN where that side does not know */
	i64 delta;                /* 0 unless both are known */
	u64 v[2][FACT_COLUMNS];   /* all figures of both */
};

struct changes {
	ARRAY(struct change) v;
};

/* Compares a level, which both have: bytes before numbers, what grew most first, what shrank most
 * last. The measure of a row is resident bytes where both sides know them, else virtual ones, else
 * the count. A row that one side has not is 0 there. */
struct err *diff_level(const struct facts_level *a, const struct facts_level *b,
		       struct changes *ret) ERR_RESULT;
void changes_fini(struct changes *c);

/* Adds the answer, both snapshots, and a table for each level. */
struct err *diff_report(struct doc *d, const struct facts *a, const struct facts *b) ERR_RESULT;

/* A row of a level as people read it: long keys are cut. */
const char *diff_label(struct doc *d, const char *key);

#endif
