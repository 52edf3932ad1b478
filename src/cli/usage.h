/* What stands behind a command on its command line. */
#ifndef CLI_USAGE_H
#define CLI_USAGE_H

/* "CORE [EXE]", or what a command takes instead, for --help. */
const char *usage_arguments(const char *command);

#endif
