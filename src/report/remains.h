/* The overview's part on a heap whose tables are lost. */
#ifndef REPORT_REMAINS_H
#define REPORT_REMAINS_H

#include "gort/remains.h"
#include "report/report.h"

/* Adds the counters, and where the heap is and how much of it the core has. */
void report_remains(struct doc *d, const struct snapshot *s, const struct remains *r);

#endif
