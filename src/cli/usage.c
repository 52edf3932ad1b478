#include "cli/usage.h"

#include "base/types.h"

#include <string.h>

/* Others take a core. */
static const struct {
	const char *command, *text;
} arguments[] = {
	{"diff", "A B"},
	{"batch", "PATH..."},
	{"check", "[PATH...]"},
	{"history", "list|show|trend|prune|import|merge [ARGUMENT...]"},
};

const char *usage_arguments(const char *command)
{
	for (size_t i = 0; i < COUNT_OF(arguments); i++)
		if (!strcmp(arguments[i].command, command))
			return arguments[i].text;
	return "CORE [EXE]";
}
