/* Guard for walking a linked list of the target, which may be damaged into a cycle.
 *
 * Brent's method: remember one node, move it at powers of two. The walk ends within three times
 * the number of its nodes; no memory is needed. */
#ifndef GORT_LIST_H
#define GORT_LIST_H

#include "base/types.h"

struct list_guard {
	va_t saved;
	u64 steps, power;
};

/* Whether the walk may go on with this node (not 0). False when the list runs in a circle. */
static inline bool list_guard_step(struct list_guard *g, va_t node)
{
	if (node == g->saved)
		return false;
	if (g->steps++ >= g->power) {
		g->saved = node;
		g->power = g->power * 2 + 1;
		g->steps = 0;
	}
	return true;
}

#endif
