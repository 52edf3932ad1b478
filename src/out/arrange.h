/* What the user wants of a result's table: another order, or only the first rows. */
#ifndef OUT_ARRANGE_H
#define OUT_ARRANGE_H

#include "out/doc.h"

/* Sorts the doc's CSV table by the column with this key, if one is given, and keeps its first `top`
 * rows, if that is not 0; a line of text says how many were left out. Sizes and counts are sorted
 * largest first, strings and addresses ascending, nulls last; equal rows keep their order.
 * A result without a table stays as it is. ERR_USAGE when the table has no such column, ERR_LIMIT
 * when there is no memory for another order. */
struct err *doc_arrange(struct doc *d, const char *sort, u64 top) ERR_RESULT;

#endif
