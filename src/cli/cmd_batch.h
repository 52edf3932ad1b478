/* batch PATH... --db FILE: many snapshots, analysed in parallel, into a history. */
#ifndef CLI_CMD_BATCH_H
#define CLI_CMD_BATCH_H

#include "report/report.h"
#include "store/history.h"

/* Analyses the arguments into a database (NULL: none), and says in the doc what became of each. */
struct err *batch_into(struct report *r, struct history *h) ERR_RESULT;

struct err *cmd_batch(struct report *r) ERR_RESULT;

#endif
