/* Words behind a command's name that say what it is to make, as in `profile heap`. */
#ifndef CLI_KINDS_H
#define CLI_KINDS_H

#include "cli/opts.h"

/* Whether a command has to be told which. */
bool kinds_has(const struct command *command);

/* Takes argument *i if the command wants such a word. ERR_USAGE when there is none, or an unknown
 * one. */
struct err *kinds_parse(int argc, char **argv, int *i, struct opts *o) ERR_RESULT;

/* The words of a command, for --help; nothing where it has none. */
void kinds_print(const struct command *command, FILE *f);

#endif
