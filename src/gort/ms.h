/* The runtime's Ms: its threads, and the stacks that they own (runtime/runtime2.go, proc.go). */
#ifndef GORT_MS_H
#define GORT_MS_H

#include "gort/rt.h"

struct machine {
	va_t m, curg;
	struct range g0, gsignal; /* stacks; empty where there is none */
	/* The signal stack that the runtime had made, while gsignal is one that C set up
	 * (runtime/signal_unix.go minitSignalStack); empty otherwise. */
	struct range spare_signal;
	const struct thread *thread; /* of the core, or NULL */
	bool idle;                   /* parked, with nothing to run */
};

struct machines {
	ARRAY(struct machine) v;
	struct range gcrash; /* the stack that a crash runs on (1.22), or empty */
};

/* All Ms, those that wait to be freed too. */
struct err *machines_read(const struct rt *rt, struct machines *ret) ERR_RESULT;

struct context {
	va_t pc, sp, fp;
	va_t lr; /* the link register where there is one (arm64); 0: unknown, or on the stack */
};

/* The registers of an M's thread: those that a signal interrupted when it runs a handler on
 * gsignal, the outermost when one interrupted another. All 0 when it has no thread. */
struct context machine_context(const struct rt *rt, const struct machine *m);

/* Where a thread that is (or was, before a signal) on `stack` has its stack pointer; stack.lo
 * when that cannot be told, which counts the whole stack as used. */
va_t machine_sp(const struct rt *rt, const struct machine *m, struct range stack);

#endif
