/* The bytes of a part of an in-use span, by class. */
#ifndef LEDGER_SPAN_SPLIT_H
#define LEDGER_SPAN_SPLIT_H

#include "gort/slots.h"
#include "ledger/category.h"

struct split {
	enum category cat[4]; /* live, the rest of the allocated, free, tail */
	u64 bytes[4];
};

/* Splits [lo, hi), which lies inside the span. A slot that crosses a border counts on each side
 * with the bytes that it has there. */
void span_split(const struct slots *slots, const struct span *span, va_t lo, va_t hi,
		struct split *ret);

#endif
