/* Renderers: a doc as text, Markdown, JSON or CSV. Output depends on nothing but the doc. */
#ifndef OUT_RENDER_H
#define OUT_RENDER_H

#include "out/doc.h"

struct render_options {
	bool exact_bytes; /* text: sizes as integers */
};

#define RENDER_CELL 64

/* The text of a value, in buf or the value's own string, which may hold anything: what is written
 * goes through text_clean_bytes. */
const char *render_value(const struct doc_value *v, const struct render_options *o,
			 char buf[static RENDER_CELL]);

/* Whether people see a column, and whether it is numbers, judged by its first cell that is not
 * null. */
bool render_shows(const struct doc_table *t, size_t column);
bool render_is_number(const struct doc_table *t, size_t column);

struct err *render_text(const struct doc *d, const struct render_options *o, FILE *f) ERR_RESULT;
struct err *render_md(const struct doc *d, const struct render_options *o, FILE *f) ERR_RESULT;
struct err *render_json(const struct doc *d, FILE *f) ERR_RESULT;
struct err *render_csv(const struct doc *d, FILE *f) ERR_RESULT;

/* Of a document whose table for CSV is one of checks: out/checks.c says what columns it has. The
 * suite is a word, such as "spanscope.check". */
struct err *render_junit(const struct doc *d, const char *suite, FILE *f) ERR_RESULT;
struct err *render_github(const struct doc *d, FILE *f) ERR_RESULT;

#endif
