/* The command line: options, command, help; all from commands.def and options.def. */
#ifndef CLI_OPTS_H
#define CLI_OPTS_H

#include "image/binary.h"
#include "image/sidecar.h"
#include "report/report.h"

/* Each needs the ones before; NEED_FILE is the core alone, which gets changed. */
enum { NEED_CORE = 0, NEED_HEAP = 1, NEED_PAGES = 3, NEED_LEDGER = 7, NEED_FILE = 8 };

/* No core: the command makes what it wants of its arguments. */
#define NEED_ARGUMENTS 16

enum format {
	FORMAT_DEFAULT = 0, /* none was asked for */
	FORMAT_TEXT = 1,
	FORMAT_JSON = 2,
	FORMAT_CSV = 4,
	FORMAT_PPROF = 8, /* binary; the default where a command has it */
	FORMAT_FOLDED = 16,
	FORMAT_MD = 32,
	FORMAT_JUNIT = 64,
	FORMAT_GITHUB = 128,
};

/* Exit statuses. When several hold, the first of 5, 3, 2, 4, 1 counts. */
enum exit_status {
	EXIT_DONE = 0,
	EXIT_FIRED = 1,
	EXIT_USAGE = 2,
	EXIT_NOTHING = 3,
	EXIT_PART = 4,
	EXIT_BUG = 5,
};

struct command {
	const char *name, *summary;
	unsigned needs, formats;
	struct err *(*run)(struct report *r);
};

struct opts {
	const struct command *command;
	unsigned needs; /* beyond the command's, those of what it is to make */
	const char *core;
	struct binary_options binary;
	struct sidecar_options sidecar;
	bool no_sidecar;
	struct report_options report;
	enum format format;
	bool test_zero; /* read all resident pages */
	bool exact_bytes, strict, help, version;
	const char *output; /* NULL: stdout */
	const char *sort;   /* the table's column; NULL: its own order */
	u64 top;            /* rows of the table; 0: all */
};

/* Parses the command line. ERR_USAGE says what is wrong. The command line's strings are kept. */
struct err *opts_parse(int argc, char **argv, struct opts *ret) ERR_RESULT;

/* --help: of one command, or of all. */
struct err *opts_print_help(const struct command *command, FILE *f) ERR_RESULT;
struct err *opts_print_version(FILE *f) ERR_RESULT;

#endif
