/* Stacks of Go code: which calls were under way on a goroutine's stack, or on a thread's own.
 *
 * Each function's table says how far the return address is from the stack pointer, at every
 * address of its code (runtime/traceback.go); without any table the saved frame pointers are
 * followed instead. A stack that cannot be followed to its bottom keeps what was found, and why it
 * ends there. */
#ifndef STACK_GOUNWIND_H
#define STACK_GOUNWIND_H

#include "base/map.h"
#include "gort/gort.h"
#include "gort/pclntab.h"

enum stack_end {
	STACK_BOTTOM,    /* complete */
	STACK_SWITCHED,  /* at a function that changes stacks, as the runtime's own unwinder does */
	STACK_FOREIGN,   /* at code that is in no Go function: C, or the kernel's */
	STACK_DAMAGED,   /* a frame leads out of the stack, or to what is not in the core */
	STACK_DEEP,      /* there is more; see STACK_FRAMES_MAX */
	STACK_NOT_SAVED, /* it was running, and its registers are not in the core */
	STACK_END_COUNT,
};

#define STACK_FRAMES_MAX 512

struct stack {
	/* Addresses inside the calls, the innermost first: where a return address stood, the byte
	 * before it, so that each is in the function and the line of the call. */
	va_t pc[STACK_FRAMES_MAX];
	/* The stack pointer in each of them: its frame reaches from there to the next one's. */
	va_t sp[STACK_FRAMES_MAX];
	size_t n;
	enum stack_end end;
	va_t stop; /* address on the stack at which it could not go on; 0 with the other ends */
};

/* Where a stack begins. */
struct stack_start {
	struct context at;
	bool exact; /* pc is that of an instruction, not of a return */
};

struct unwinder {
	const struct gort *gort;
	const struct rt *rt;
	struct symbols symbols;
	struct map known; /* address -> index + 1 of infos */
	ARRAY(struct pc_info) infos;
};

/* Opens the function tables; d takes what is wrong with them, and may be NULL. The only error is
 * the end of memory. unwinder_close is due in any case. */
struct err *unwinder_open(struct unwinder *u, const struct gort *gort, struct diags *d) ERR_RESULT;
void unwinder_close(struct unwinder *u);

/* The calls on a goroutine's own stack. A dead one has none. */
struct err *unwind_goroutine(struct unwinder *u, const struct goroutine *g,
			     const struct goroutine_detail *detail, struct stack *ret) ERR_RESULT;

/* The calls on a thread's system stack, or on that of a signal, as far as they are Go's. *on says
 * which stack it stood on when the core was made; none is STACK_NOT_SAVED. */
struct err *unwind_machine(struct unwinder *u, const struct machine *m, struct range *on,
			   struct stack *ret) ERR_RESULT;

/* The same from any start: for tests. */
struct err *unwind_from(struct unwinder *u, const struct stack_start *start, struct range stack,
			struct stack *ret) ERR_RESULT;

/* Why a stack ends there, in a few words; "" for STACK_BOTTOM. */
const char *stack_end_text(enum stack_end end);
const char *stack_end_name(enum stack_end end);

#endif
