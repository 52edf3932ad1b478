/* sizeclasses --pinned: which allocation sites keep spans that have free slots. */
#ifndef REPORT_PINNED_H
#define REPORT_PINNED_H

#include "report/report.h"

/* Adds the answer, the table, and what share of it the samples see. */
struct err *report_pinned(struct report *r) ERR_RESULT;

#endif
