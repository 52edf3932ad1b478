/* Goroutines, as far as they hold memory (runtime/runtime2.go). */
#ifndef GORT_GS_H
#define GORT_GS_H

#include "gort/ms.h"

/* Statuses without the scan bit (runtime2.go _Gidle ... _Gdeadextra). */
enum {
	G_IDLE = 0,
	G_RUNNABLE = 1,
	G_RUNNING = 2,
	G_SYSCALL = 3,
	G_WAITING = 4,
	G_DEAD = 6,
	G_COPYSTACK = 8,
	G_PREEMPTED = 9,
	G_LEAKED = 10,
	G_DEADEXTRA = 11,
};

struct goroutine {
	va_t g;
	u64 goid;
	struct range stack; /* empty for a dead one without a stack */
	va_t sp;            /* bytes from here up are in use; within the stack */
	u16 status;
};

struct goroutines {
	ARRAY(struct goroutine) v;
};

struct err *goroutines_read(const struct rt *rt, const struct machines *ms,
			    struct goroutines *ret) ERR_RESULT;

static inline bool goroutine_is_dead(const struct goroutine *g)
{
	return g->status == G_DEAD || g->status == G_DEADEXTRA || g->status == G_IDLE;
}

#endif
