/* Stacks of a profile as runtime/pprof writes them (proto.go, 1.15 to 1.27): each address once, the
 * calls that were inlined into each other as one location. */
#ifndef STACK_LOCATIONS_H
#define STACK_LOCATIONS_H

#include "gort/pclntab.h"
#include "out/samples.h"

struct locations {
	const struct symbols *symbols;
	bool hides_internal;     /* internal/runtime/... is the runtime, too: set it after init */
	struct samples *samples; /* gets locations, lines and functions */
	struct map known;        /* address -> index + 1 of infos */
	struct map runtime;      /* address -> 1: not the runtime's, 2: the runtime's */
	ARRAY(struct location_info) infos;
	ARRAY(va_t) pcs;  /* of the stack at hand */
	ARRAY(u32) stack; /* its locations: what locations_of made */
};

/* A location that is there already. */
struct location_info {
	u32 location;
	u32 pcs; /* how many addresses of a stack it stands for */
};

void locations_init(struct locations *l, const struct symbols *symbols, struct samples *samples);
void locations_fini(struct locations *l);

/* Makes the locations of a stack: l->stack, the innermost first, until the next call. The addresses
 * are inside the calls, as in struct stack; there may be one for each frame, or one for each
 * inlined call too, as at a site (gort/sites.h). wrappers: calls from code that the compiler made
 * stay. The only error is the end of memory. */
struct err *locations_of(struct locations *l, const va_t *pcs, size_t n, bool wrappers) ERR_RESULT;

/* How many calls of the runtime a stack begins with, which a heap profile does not show; 0 when it
 * has no others. */
struct err *locations_runtime_calls(struct locations *l, const va_t *pcs, size_t n,
				    size_t *ret) ERR_RESULT;

#endif
