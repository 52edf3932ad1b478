/* Heap arenas: 64 MiB units of address space and their metadata (runtime/mheap.go). */
#ifndef GORT_ARENAS_H
#define GORT_ARENAS_H

#include "gort/spans.h"

struct heap_arena {
	va_t base; /* of the 64 MiB */
	va_t meta; /* its heapArena structure */
};

struct arenas {
	ARRAY(struct heap_arena) v; /* ascending by base */
	va_t l2;                    /* the map from arena index to heapArena */
	struct range rest;          /* of the newest arena, which counts as released; up to 1.16 */
};

struct err *arenas_read(const struct rt *rt, struct arenas *ret) ERR_RESULT;

/* Adds the arenas that spans lie in and no list names: up to 1.24, those of user arena chunks,
 * freed ones too. */
struct err *arenas_add_spans(const struct rt *rt, struct arenas *arenas,
			     const struct spans *spans) ERR_RESULT;

/* The arena that contains va, or NULL. */
const struct heap_arena *arenas_find(const struct arenas *arenas, va_t va);

/* Where the arenas that lie at va and behind it without a gap end; va when it is in none. */
va_t arenas_end(const struct arenas *arenas, va_t va);

/* Whether the span that begins at va keeps its marks inside itself (Green Tea). */
bool arenas_inline_marks(const struct rt *rt, const struct arenas *arenas, va_t va);

#endif
