/* All mspans in use, normalised and sorted by address (runtime/mheap.go). */
#ifndef GORT_SPANS_H
#define GORT_SPANS_H

#include "gort/rt.h"

enum span_state { SPAN_DEAD, SPAN_IN_USE, SPAN_MANUAL }; /* mSpanState */

enum {
	SPAN_WORKBUF =
		1, /* flag: on one of the lists of work buffer spans, or unrolled pointer bits */
	SPAN_SPECIALS = 2, /* flag: has a list of specials */
};

#define SPAN_MAX_SLOTS 1024 /* 8-byte slots in one page; no size class has more */

/* One span in use. There are millions of them. */
struct span {
	va_t start;
	va_t mspan; /* the record in the target */
	va_t alloc_bits, mark_bits;
	u64 elemsize;
	u32 npages;
	u16 nelems, alloc_count, freeindex;
	u8 state;
	u8 spanclass; /* size class * 2 + noscan */
	int8_t sweep; /* sweepgen minus the heap's: -2 unswept ... +3 cached */
	u8 flags;
};

_Static_assert(sizeof(struct span) <= 56, "with the keys that sort it, 72 bytes a span");

struct spans {
	ARRAY(struct span) v;
	ARRAY(struct range) records; /* where the mspans lie, neighbours joined */
	u64 record_count;            /* all mspans, dead ones included */
	u64 bad_count;               /* those that were left out */
	ARRAY(va_t) parked;          /* starts of those kept for freed user arena chunks */
	u64 quarantined_pages;       /* of parked ones that the sweeper has not let go yet */
	struct span freed;           /* see spans_drop_freed; npages is 0 when there is none */
};

/* Reads every span. Spans that make no sense are left out with a diagnostic. ERR_FAULT and
 * ERR_LIMIT when the table of spans is not there. */
struct err *spans_read(const struct rt *rt, struct spans *ret) ERR_RESULT;
void spans_free(struct spans *s);

/* The span that contains va, or NULL. */
const struct span *spans_find(const struct spans *s, va_t va);

static inline u64 span_bytes(const struct span *s)
{
	return (u64)s->npages * GO_PAGE_BYTES;
}

static inline va_t span_end(const struct span *s)
{
	return s->start + span_bytes(s);
}

#endif
