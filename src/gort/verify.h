/* Every invariant that the Go runtime keeps, checked on one core.
 *
 * Each check compares what a walk finds with what the runtime says, or counts what contradicts an
 * invariant (then the other side is 0). In the middle of a sweep a few spans are between two
 * states, and so is what a thread inside the allocator has in hand; a difference that they account
 * for is no failure, and they are named. */
#ifndef GORT_VERIFY_H
#define GORT_VERIFY_H

#include "gort/gort.h"
#include "gort/inside.h"
#include "gort/mstats.h"
#include "gort/walk.h"

enum verify_result { VERIFY_OK, VERIFY_FAILED, VERIFY_UNREADABLE };

struct verify_check {
	const char *name;
	enum verify_result result;
	u64 walked, counter;
	const char *detail; /* what differs or explains, or NULL; in the verification's arena */
};

struct verification {
	ARRAY(struct verify_check) checks;
	struct insiders inside;
	size_t explained; /* checks that hold but for what a thread had in hand */
	struct arena arena;
};

/* Runs all checks. An error is the end of memory only. */
struct err *verify_run(const struct gort *gort, struct verification *ret) ERR_RESULT;
void verify_fini(struct verification *v);

#endif
