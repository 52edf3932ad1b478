/* history list|show|trend|prune|import|merge: what a database of snapshots has. */
#ifndef CLI_CMD_HISTORY_H
#define CLI_CMD_HISTORY_H

#include "report/report.h"

struct err *cmd_history(struct report *r) ERR_RESULT;

#endif
