/* batch PATH... --db FILE: many snapshots, analysed in parallel, into a history. */
#ifndef CLI_CMD_BATCH_H
#define CLI_CMD_BATCH_H

#include "report/report.h"

struct err *cmd_batch(struct report *r) ERR_RESULT;

#endif
