/* The waterfall: from what the Go heap holds to what the kernel counts, step by step. */
#ifndef REPORT_WATERFALL_H
#define REPORT_WATERFALL_H

#include "report/report.h"

struct waterfall_step {
	const char *id;
	const char *title;
	i64 bytes, cumulative;
};

#define WATERFALL_MAX 24

/* Fills the steps; the last cumulative figure is the ledger's resident total, to the byte.
 * Returns their number. */
size_t waterfall_steps(const struct snapshot *s, struct waterfall_step steps[static WATERFALL_MAX]);

#endif
