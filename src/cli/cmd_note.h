/* The command note: a folder of copies of /proc becomes a part of the core. */
#ifndef CLI_CMD_NOTE_H
#define CLI_CMD_NOTE_H

#include "report/report.h"

/* Adds what the folder has (options.from, else CORE.d) to the core in place, and says what. */
struct err *cmd_note(struct report *r) ERR_RESULT;

#endif
