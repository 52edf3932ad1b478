/* Which slots of a span are allocated, and what the garbage collector knows of them
 * (runtime/mheap.go, mgcsweep.go, mgcmark_greenteagc.go). */
#ifndef GORT_SLOTS_H
#define GORT_SLOTS_H

#include "gort/arenas.h"
#include "gort/spans.h"

/* What allocated slots are that are not known to be live. */
enum slot_rest {
	REST_FRESH,     /* allocated since the last mark */
	REST_DEAD,      /* not marked, and not swept yet */
	REST_UNDECIDED, /* a mark is under way, or the span is being swept */
};

#define SLOT_WORDS (SPAN_MAX_SLOTS / 64)

struct slots {
	unsigned n; /* slots of the span */
	enum slot_rest rest;
	u64 alloc[SLOT_WORDS]; /* bit i: slot i is allocated */
	u64 live[SLOT_WORDS];  /* subset: marked by the last completed mark, or so far */
};

/* Decodes the slots of an in-use span. False when its bitmaps are not in the core. */
bool slots_read(const struct rt *rt, const struct arenas *arenas, const struct span *s,
		struct slots *ret);

#endif
