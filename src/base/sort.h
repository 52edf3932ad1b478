/* Radix sort of 64-bit keys. */
#ifndef BASE_SORT_H
#define BASE_SORT_H

#include "base/err.h"

/* Sorts ascending; needs n more words for the time of the call (budgeted). */
struct err *sort_u64(u64 *keys, size_t n) ERR_RESULT;

#endif
