/* What of a process was there in an earlier snapshot and still is in a later one: spans by place,
 * size class and length, sampled objects by address and site. A slot that was freed and taken again
 * from the same site cannot be told from one that stayed. */
#ifndef REPORT_SURVIVORS_H
#define REPORT_SURVIVORS_H

#include "report/report.h"

struct survivor_span {
	va_t start;
	u64 what; /* pages, state and span class */
};

struct survivor_object {
	va_t object; /* its first byte */
	va_t bucket; /* of its site: struct site.bucket */
};

/* 16 bytes a span and a sampled object, by address. */
struct survivors {
	bool known; /* false: a document, or a core whose heap was not read */
	ARRAY(struct survivor_span) spans;
	ARRAY(struct survivor_object) objects;
};

/* What a snapshot has. *ret must be zeroed; survivors_fini is due in any case. */
struct err *survivors_take(const struct snapshot *s, struct survivors *ret) ERR_RESULT;
void survivors_fini(struct survivors *s);

/* Adds a table, or null for programs when one of both is not known or they are of two processes. */
void survivors_report(struct doc *d, const struct survivors *a, const struct survivors *b,
		      bool same_process);

#endif
