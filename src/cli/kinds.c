#include "cli/kinds.h"

#include <string.h>

/* What a command makes, where a word behind its name says that. */
static const struct kind {
	const char *command, *name, *summary;
	unsigned needs;
	enum profile_kind kind;
} kinds[] = {
#define KIND(id, name, needs, fill, summary) {"profile", name, summary, needs, PROFILE_##id},
#include "report/profiles.def"
#undef KIND
};

bool kinds_has(const struct command *command)
{
	for (size_t i = 0; i < COUNT_OF(kinds); i++)
		if (!strcmp(kinds[i].command, command->name))
			return true;
	return false;
}

struct err *kinds_parse(int argc, char **argv, int *i, struct opts *o)
{
	const char *word = *i < argc ? argv[*i] : NULL;

	if (!kinds_has(o->command))
		return NULL;
	for (size_t k = 0; word && k < COUNT_OF(kinds); k++)
		if (!strcmp(kinds[k].command, o->command->name) && !strcmp(kinds[k].name, word)) {
			o->report.profile = kinds[k].kind;
			o->needs |= kinds[k].needs;
			++*i;
			return NULL;
		}
	if (!word)
		return err_new(ERR_USAGE, "%s needs to be told which; see spanscope %s --help",
			       o->command->name, o->command->name);
	return err_new(ERR_USAGE, "there is no %s '%s'; see spanscope %s --help", o->command->name,
		       word, o->command->name);
}

void kinds_print(const struct command *command, FILE *f)
{
	if (!kinds_has(command))
		return;
	fputs("\nKinds:\n", f);
	for (size_t i = 0; i < COUNT_OF(kinds); i++)
		if (!strcmp(kinds[i].command, command->name))
			fprintf(f, "  %-11s %s\n", kinds[i].name, kinds[i].summary);
}
