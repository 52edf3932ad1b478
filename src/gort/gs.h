/* Goroutines, as far as they hold memory (runtime/runtime2.go). */
#ifndef GORT_GS_H
#define GORT_GS_H

#include "gort/ms.h"
#include "gort/procs.h"

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

/* What more is known of a goroutine; read when it is asked for, since there may be millions. */
struct goroutine_detail {
	struct context saved; /* where it was switched from; fp 0 where that was not kept */
	struct context
		in_syscall; /* where it entered the system call that it is in; sp 0: in none */
	u8 wait_reason;     /* the release's number */
	u64 waitsince;      /* on the runtime's clock: the first GC that saw it wait; 0: none */
	va_t gopc, startpc; /* behind the go statement; the function that it began with */
	u64 parent;         /* goid of its creator; 0 when not known (1.21) */
	va_t labels;        /* of the profiler; 0: none */
	va_t lockedm;       /* the M that it is locked to; 0: none */
};

struct goroutines {
	ARRAY(struct goroutine) v;
};

struct err *goroutines_read(const struct rt *rt, const struct machines *ms,
			    struct goroutines *ret) ERR_RESULT;

/* False when its record is not in the core. */
bool goroutine_detail(const struct rt *rt, const struct goroutine *g, struct goroutine_detail *ret);

/* What its status is called in the runtime's own listings ("chan receive" is a reason instead). */
const char *goroutine_status_name(unsigned status);

enum wait_kind {
	WAIT_UNKNOWN,
	WAIT_BLOCKED, /* for another goroutine */
	WAIT_EVENT,   /* for time or the outside */
	WAIT_RUNTIME, /* for the runtime */
};

/* What a wait reason is called, and its kind; NULL for a number that the release does not have. */
const char *wait_reason_name(const struct rt *rt, u8 reason, enum wait_kind *kind);

/* The latest moment on the runtime's clock that the process wrote down: the core was made then or
 * later. 0 when there is none. */
u64 goroutines_clock(const struct rt *rt, const struct procs *procs);

static inline bool goroutine_is_dead(const struct goroutine *g)
{
	return g->status == G_DEAD || g->status == G_DEADEXTRA || g->status == G_IDLE;
}

#endif
