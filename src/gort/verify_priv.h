/* The checks, grouped by what they look at; one file a group. */
#ifndef GORT_VERIFY_PRIV_H
#define GORT_VERIFY_PRIV_H

#include "gort/verify.h"

/* Contradictions to one invariant: how many, and the first in words. */
struct faults {
	u64 count, unreadable;
	char first[96];
};

void faults_add(struct faults *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Adds a check that holds when there are no faults, or when two figures are equal. What threads
 * were `inside` (INSIDE_*) explains a difference: one fault a thread, any distance of figures. */
struct err *verify_no_faults(struct verification *v, const char *name, const struct faults *f,
			     unsigned inside) ERR_RESULT;
struct err *verify_equal(struct verification *v, const char *name, u64 walked, u64 counter,
			 unsigned inside) ERR_RESULT;

/* The same, but up to `slack` of difference is explained by `detail`. */
struct err *verify_close(struct verification *v, const char *name, u64 walked, u64 counter,
			 u64 slack, const char *detail, unsigned inside) ERR_RESULT;

/* A check that could not run, and why; frees err. */
struct err *verify_unreadable(struct verification *v, const char *name, struct err *err) ERR_RESULT;

struct err *verify_spans(const struct gort *gort, struct verification *v) ERR_RESULT;
struct err *verify_arenas(const struct gort *gort, struct verification *v) ERR_RESULT;
struct err *verify_pages(const struct gort *gort, struct verification *v) ERR_RESULT;
struct err *verify_stacks(const struct gort *gort, struct verification *v) ERR_RESULT;
struct err *verify_counters(const struct gort *gort, struct verification *v) ERR_RESULT;

#endif
