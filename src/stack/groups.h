/* Goroutines grouped by what they do: the same calls on the stack, the same state.
 *
 * A group costs its frames once, a goroutine the number of its group, so that a million of them
 * need little more than their records. */
#ifndef STACK_GROUPS_H
#define STACK_GROUPS_H

#include "gort/labels.h"
#include "stack/gounwind.h"

/* Who started goroutines of a group, and how many. */
struct creator {
	va_t gopc; /* behind the go statement; 0: nobody, the program began with it */
	u64 count;
	u32 next; /* of the same group, index + 1; 0: the last */
};

struct label_set {
	const struct label *v;
	size_t n;
};

struct group {
	u64 count;
	u16 status;
	u8 wait_reason; /* 0 unless the status is waiting */
	bool in_c;      /* inside a call of C */
	bool system;    /* the runtime's own: not in its listings */
	enum stack_end end;
	u32 frame, frames;   /* of groups.pcs */
	u32 creators;        /* index + 1 of the first in groups.creators, in no order */
	u32 label_set;       /* index + 1; 0: none, or not asked for */
	u64 goid;            /* the lowest */
	u64 locked;          /* how many are locked to a thread */
	u64 labelled;        /* how many have labels */
	u64 allocated, used; /* bytes of their stacks */
	/* Nanoseconds that those wait at least of whom that is known. */
	u64 waits_known, waited_least, waited_most;
	u64 waited_long; /* how many of them for LONG_WAIT_NS or more */
};

#define LONG_WAIT_NS ((u64)60 * 1000000000) /* as the runtime, which lists waits by the minute */

#define NO_GROUP UINT32_MAX

struct groups {
	ARRAY(struct group) v;
	ARRAY(va_t) pcs;
	ARRAY(struct creator) creators;
	ARRAY(u32)
	of; /* by goroutine, as in gort.gs: its group, or NO_GROUP when dead or left out */
	ARRAY(struct label_set) label_sets;
	struct arena arena;
	u64 clock;      /* see goroutines_clock */
	u64 unreadable; /* goroutines whose record is not in the core */
	u64 damaged;    /* whose stack ends in the middle */
	va_t damage;    /* where the first does */
	u64 damaged_goid;
};

struct group_options {
	bool labels;      /* tell goroutines with other labels apart, and read them */
	u64 waited_least; /* leave those out that did not wait so long, in nanoseconds */
};

/* Unwinds all goroutines that are not dead. The only error is the end of memory; groups_fini is
 * due in any case. */
struct err *groups_build(struct unwinder *u, const struct group_options *o,
			 struct groups *ret) ERR_RESULT;
void groups_fini(struct groups *g);

/* Nanoseconds that a goroutine has waited at least; 0 when that is not known. */
u64 groups_waited(const struct groups *g, const struct goroutine_detail *detail);

/* The creator of most of a group's goroutines. */
const struct creator *group_creator(const struct groups *g, const struct group *group);

/* "chan receive", "running": the wait reason, or else the status. */
const char *group_state(const struct rt *rt, const struct group *group);

#endif
