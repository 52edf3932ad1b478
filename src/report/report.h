/* The reports: each fills a doc from what was read; none prints. */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "gort/gort.h"
#include "image/binary.h"
#include "ledger/ledger.h"
#include "out/doc.h"

/* One analysed core. Parts that could not be read are NULL. */
struct snapshot {
	const struct image *im;
	const struct binary *bin;
	const struct gort *gort;
	const struct ledger *ledger;
	const struct diags *diags;
	const struct go_version *version; /* known even where the heap is not read */
};

struct report_options {
	bool by_vma; /* ledger: a row a mapping */
};

/* Each adds its items. */
struct err *report_overview(struct doc *d, const struct snapshot *s) ERR_RESULT;
struct err *report_ledger(struct doc *d, const struct snapshot *s,
			  const struct report_options *o) ERR_RESULT;
struct err *report_vmas(struct doc *d, const struct snapshot *s) ERR_RESULT;
struct err *report_memstats(struct doc *d, const struct snapshot *s) ERR_RESULT;

/* Items that every report ends with: the findings that limit it. */
void report_diagnostics(struct doc *d, const struct snapshot *s);

#endif
