/* diff A B: what grew from one snapshot to another. */
#ifndef CLI_CMD_DIFF_H
#define CLI_CMD_DIFF_H

#include "report/report.h"

struct err *cmd_diff(struct report *r) ERR_RESULT;

#endif
