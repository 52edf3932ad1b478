/* Work in child processes, a few at a time: what one of them dies of ends nothing else, and its
 * memory is gone with it. */
#ifndef CLI_WORKERS_H
#define CLI_WORKERS_H

#include "base/err.h"

#include <stdio.h>

/* Runs in a child for item i: writes its result to `out`, or returns an error, whose message is
 * then the result. */
typedef struct err *work_fn(void *arg, size_t i, FILE *out);

/* What became of item i. */
struct work_result {
	const char *text; /* the result, or one line that says why there is none; terminated */
	size_t n;
	bool done;
	bool bug; /* the child found itself wrong, or a signal ended it */
};

/* Takes a result, in the order in which they come; an error ends the whole. */
typedef struct err *result_fn(void *arg, size_t i, const struct work_result *result);

struct work {
	size_t n;       /* items 0 .. n - 1 begin in this order */
	unsigned jobs;  /* so many at a time */
	u64 timeout_ns; /* of one item: its child is ended then; 0: none */
	work_fn *work;
	result_fn *result;
	void *arg;
};

/* Does all of it. --max-memory is divided among the children. ERR_OS when there can be no more
 * processes; what `result` returned. No child is left behind. */
struct err *workers_run(const struct work *w) ERR_RESULT;

#endif
