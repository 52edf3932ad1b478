/* The waterfall: from what the Go heap holds to what the kernel counts, step by step. */
#ifndef REPORT_WATERFALL_H
#define REPORT_WATERFALL_H

#include "report/report.h"

struct waterfall_step {
	const char *id;
	const char *title;
	i64 bytes, cumulative;
	bool unknown; /* none of its classes is known: it has neither */
	bool beside;  /* has no sum: nothing follows that it could be compared with */
};

#define WATERFALL_MAX 24

/* Fills the steps. They begin at *shown, what pprof shows (at the live objects when it is NULL),
 * and end at the ledger's resident total, to the byte, or at the kernel's figure where rss is not
 * 0. Where the live objects are unknown the sum begins behind them. Returns their number. */
size_t waterfall_steps(const struct snapshot *s, const u64 *shown, u64 rss,
		       struct waterfall_step steps[static WATERFALL_MAX]);

#endif
