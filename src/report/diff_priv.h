/* What the files of the comparison share. */
#ifndef REPORT_DIFF_PRIV_H
#define REPORT_DIFF_PRIV_H

#include "report/diff.h"

/* Both sides of a row, one of which may be NULL: 0 there. */
struct change diff_change(const struct fact *a, const struct fact *b);

/* Adds the first sentence, and what limits the comparison. */
struct err *diff_answer(struct doc *d, const struct facts *a, const struct facts *b) ERR_RESULT;

#endif
