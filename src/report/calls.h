/* Calls of a stack in a result: rows for programs, lines for people. */
#ifndef REPORT_CALLS_H
#define REPORT_CALLS_H

#include "out/doc.h"
#include "stack/calls.h"

/* A table with a row for each call. The text leaves out what is no news: the runtime's own calls
 * below the program's, repetitions, and what goes on for ever. */
struct doc_table *calls_table(struct doc *d, const struct symbols *s, const va_t *pcs, size_t n);

/* How many calls of a table the text leaves out because there are too many. */
size_t calls_left_out(const struct doc_table *t);

/* The innermost call that is not the runtime's, as "FUNCTION (FILE:LINE)"; an address where there
 * are no function tables; "" without any. */
const char *calls_place(struct doc *d, const struct symbols *s, const va_t *pcs, size_t n);

/* The same of an allocation site (gort/sites.h), where it is the program's call, not one that the
 * runtime allocates in. */
const char *calls_site(struct doc *d, const struct symbols *s, const va_t *pcs, size_t n);

/* The same of a go statement, by the address behind it; "" for 0. */
const char *calls_creation(struct doc *d, const struct symbols *s, va_t gopc);

/* A go statement as an object, which may get more fields; NULL for 0. */
struct doc_object *calls_creation_object(struct doc *d, const struct symbols *s, va_t gopc);

#endif
