/* check --rules FILE [PATH... | --db FILE]: rules on a set of snapshots, with an exit status. */
#ifndef CLI_CMD_CHECK_H
#define CLI_CMD_CHECK_H

#include "report/report.h"

struct err *cmd_check(struct report *r) ERR_RESULT;

#endif
