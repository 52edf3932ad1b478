/* A result in the format that was asked for. */
#ifndef CLI_RESULT_H
#define CLI_RESULT_H

#include "cli/opts.h"
#include "out/samples.h"

#include <stdio.h>

/* Writes a doc, or of a command that makes profiles the samples. Fails where there is no memory for
 * it; what the file could not take is seen when it is closed. */
struct err *result_render(const struct doc *d, const struct samples *samples, const struct opts *o,
			  FILE *f) ERR_RESULT;

#endif
