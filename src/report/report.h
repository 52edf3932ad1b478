/* The reports: each fills a doc from what was read; none prints. */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "gort/gort.h"
#include "image/binary.h"
#include "ledger/ledger.h"
#include "out/doc.h"
#include "out/samples.h"

/* One analysed core. Parts that could not be read are NULL. */
struct snapshot {
	const struct image *im;
	const struct binary *bin;
	const struct gort *gort;
	const struct gort
		*remains; /* without gort: only its counters can be read (gort/remains.h) */
	const struct ledger *ledger;
	const struct diags *diags;
	const struct go_version *version; /* known even where the heap is not read */
};

/* What the command profile makes. */
enum profile_kind {
	PROFILE_NONE,
#define KIND(id, name, needs, fill, summary) PROFILE_##id,
#include "report/profiles.def"
#undef KIND
};

/* What the user asked of a report. */
struct report_options {
	const char *heap_profile; /* overview: a profile that the user has; NULL: the core's */
	const char *from;         /* note: the folder; NULL: CORE.d */
	u64 rss;     /* overview: the kernel's figure, at the end of the sum; 0: not known */
	bool by_vma; /* ledger: the classes inside each mapping */
	bool pinned; /* sizeclasses: the sites that keep free slots, instead */

	enum profile_kind profile;
	const char *sample_type; /* profile: which values count; NULL: those that pprof shows */
	u64 top;                 /* profile: rows of the table; 0: not said */

	const char *output; /* pack: the archive to make */
	bool with_exe;      /* pack: the executable too */
	bool force;         /* pack: replace the archive; batch: analyse again */

	/* spans: what to leave out, or the map instead */
	bool map;
	bool filter_class, filter_occupancy;
	unsigned class, occupancy;  /* size class; at most so many percent of the slots in use */
	enum span_state span_state; /* SPAN_DEAD: either */
	va_t address;               /* the span that contains it; 0: any */

	/* Commands that are not about one core: what stands behind them. */
	char *const *args;
	size_t arg_count;

	/* batch, history */
	const char *db, *documents; /* NULL: none */
	const char *program;        /* of history_filter; NULL: all */
	bool by_name;               /* the snapshots in the order of their names */
	unsigned jobs;              /* 0: one a CPU */
	u64 timeout_ns;             /* of one file; 0: none */
	u64 last;                   /* only so many snapshots; 0: all */

	/* check */
	const char *rules;    /* the file with the rules */
	const char *baseline; /* a snapshot or document, or "write"; NULL: the database's */
	bool exit_zero;       /* what fires is no status */

	/* goroutines: what to leave out, and how to show the rest */
	const char *state, *function; /* NULL: any; state as it was written, of spans too */
	u64 waited_least;             /* nanoseconds */
	bool all, labels, system, threads;
};

struct opts;

/* One report being made. */
struct report {
	struct doc *doc;         /* gets the result */
	struct samples *samples; /* gets that of profile */
	const struct snapshot *snapshot;
	struct diags *diags; /* takes what the report itself finds */
	struct report_options options;
	const struct opts *opts; /* all of the command line, for the commands of cli/ */

	/* What the result says of the exit status, beside the diagnostics. */
	bool fired;   /* a check does not hold: 1 */
	bool partial; /* a check could not run: 4 */
	bool nothing; /* none of what was given could be analysed: 3 */
};

/* Each adds its items to the doc. */
struct err *report_overview(struct report *r) ERR_RESULT;
struct err *report_ledger(struct report *r) ERR_RESULT;
struct err *report_vmas(struct report *r) ERR_RESULT;
struct err *report_memstats(struct report *r) ERR_RESULT;
struct err *report_sizeclasses(struct report *r) ERR_RESULT;
struct err *report_spans(struct report *r) ERR_RESULT;
struct err *report_gc(struct report *r) ERR_RESULT;
struct err *report_goroutines(struct report *r) ERR_RESULT;
struct err *report_verify(struct report *r) ERR_RESULT;
struct err *report_profile(struct report *r) ERR_RESULT;
struct err *report_pack(struct report *r) ERR_RESULT;

/* Items that every report ends with: the findings that limit it. */
void report_diagnostics(struct doc *d, const struct snapshot *s);

#endif
