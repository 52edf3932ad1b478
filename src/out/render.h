/* Renderers: a doc as text, JSON or CSV. Output depends on nothing but the doc. */
#ifndef OUT_RENDER_H
#define OUT_RENDER_H

#include "out/doc.h"

struct render_options {
	bool exact_bytes; /* text: sizes as integers */
};

struct err *render_text(const struct doc *d, const struct render_options *o, FILE *f) ERR_RESULT;
struct err *render_json(const struct doc *d, FILE *f) ERR_RESULT;
struct err *render_csv(const struct doc *d, FILE *f) ERR_RESULT;

#endif
