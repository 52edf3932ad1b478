/* Any bytes as a command line: arguments end with a NUL. */
#include "fuzz/fuzz.h"

#include "base/log.h"
#include "base/mem.h"
#include "cli/opts.h"

#define MAX_ARGUMENTS 24

void fuzz_one(const u8 *data, size_t n)
{
	static FILE *out;
	char *argv[MAX_ARGUMENTS + 2] = {(char[]){"spanscope"}};
	char *text = xcalloc(n + 1, 1);
	struct opts o;
	struct err *err;
	int argc = 1;

	if (!out)
		out = fopen("/dev/null", "we");
	if (n)
		memcpy(text, data, n);
	for (char *p = text; p < text + n && argc <= MAX_ARGUMENTS; p += strlen(p) + 1)
		argv[argc++] = p;
	err = opts_parse(argc, argv, &o);
	assert_always(!err || err->code == ERR_USAGE);
	if (!err && o.help)
		err = opts_print_help(o.command, out);
	else if (!err && o.version)
		err = opts_print_version(out);
	else if (!err)
		assert_always(o.core && o.command && o.command->formats & o.format);
	err_free(err);
	free(text);
	mem_set_limit(0);
	log_set_level(LOG_NORMAL);
}
