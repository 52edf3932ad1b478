/* Sharing a number out, to the last unit. */
#ifndef BASE_APPORTION_H
#define BASE_APPORTION_H

#include "base/err.h"

/* Shares total out in proportion to the weights, by largest remainders: parts[i] differs by less
 * than 1 from its exact share, and they sum to total. Of equal remainders the first counts. Without
 * any weight the last one gets all; n is at least 1. parts may be weights. ERR_LIMIT when there is
 * no memory. */
struct err *apportion(u64 total, const u64 *weights, size_t n, u64 *parts) ERR_RESULT;

#endif
