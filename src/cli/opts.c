#include "cli/opts.h"

#include "base/log.h"
#include "base/units.h"
#include "cli/cmd_batch.h"
#include "cli/cmd_check.h"
#include "cli/cmd_diff.h"
#include "cli/cmd_history.h"
#include "cli/cmd_note.h"
#include "cli/kinds.h"
#include "cli/usage.h"
#include "cli/version.h"
#include "image/pack.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>

static const struct command commands[] = {
#define CMD(name, summary, needs, formats, run) {#name, summary, needs, formats, run},
#include "cli/commands.def"
#undef CMD
};

enum option_id {
	OPTION_NONE = 256, /* above every letter */
#define OPT(id, long, short, arg, command, help) OPTION_##id,
#include "cli/options.def"
#undef OPT
};

static const struct {
	int id;
	const char *name;
	char letter;
	const char *arg, *command, *help;
} options[] = {
#define OPT(id, long, short, arg, command, help) {OPTION_##id, long, short, arg, command, help},
#include "cli/options.def"
#undef OPT
};

static const struct {
	const char *name;
	enum format format;
} formats[] = {
	{"text", FORMAT_TEXT},   {"json", FORMAT_JSON},     {"csv", FORMAT_CSV},
	{"pprof", FORMAT_PPROF}, {"folded", FORMAT_FOLDED}, {"md", FORMAT_MD},
	{"junit", FORMAT_JUNIT}, {"github", FORMAT_GITHUB},
};

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(commands); i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

static struct err *set_format(struct opts *o, const char *name)
{
	for (size_t i = 0; i < COUNT_OF(formats); i++)
		if (!strcmp(formats[i].name, name)) {
			o->format = formats[i].format;
			return NULL;
		}
	return err_new(ERR_USAGE, "there is no format '%s'; see --help", name);
}

static struct err *set_max_memory(const char *arg)
{
	u64 bytes;

	TRY(err_wrap(units_parse_bytes(arg, &bytes), "--max-memory"));
	if (bytes == 0)
		return err_new(ERR_USAGE, "--max-memory 0 leaves nothing to work with");
	mem_set_limit(bytes);
	return NULL;
}

/* A whole number from 0 to max, in C's notation. */
static struct err *parse_number(const char *option, const char *arg, u64 max, u64 *ret)
{
	char *end;
	u64 n;

	errno = 0;
	n = strtoull(arg, &end, 0);
	if (errno || end == arg || *end || *arg == '-' || n > max)
		return err_new(ERR_USAGE, "%s takes a number up to %llu, not '%s'", option,
			       (unsigned long long)max, arg);
	*ret = n;
	return NULL;
}

static struct err *set_span_state(struct report_options *r, const char *arg)
{
	if (!strcmp(arg, "inuse"))
		r->span_state = SPAN_IN_USE;
	else if (!strcmp(arg, "manual"))
		r->span_state = SPAN_MANUAL;
	else
		return err_new(ERR_USAGE, "--state takes 'inuse' or 'manual', not '%s'", arg);
	return NULL;
}

/* Addresses are hexadecimal, as they are printed, with or without 0x. */
static struct err *set_address(struct report_options *r, const char *arg)
{
	char *end;

	errno = 0;
	r->address = strtoull(arg, &end, 16);
	if (errno || end == arg || *end || *arg == '-' || r->address == 0)
		return err_new(ERR_USAGE, "--address takes an address like c000012000, not '%s'",
			       arg);
	return NULL;
}

static struct err *set_order(struct report_options *r, const char *arg)
{
	if (!strcmp(arg, "time"))
		r->by_name = false;
	else if (!strcmp(arg, "name"))
		r->by_name = true;
	else
		return err_new(ERR_USAGE, "--order takes 'time' or 'name', not '%s'", arg);
	return NULL;
}

#define MAX_JOBS 256

/* A number that is not 0. */
static struct err *set_positive(const char *option, const char *arg, u64 max, u64 *ret)
{
	TRY(parse_number(option, arg, max, ret));
	return *ret ? NULL : err_new(ERR_USAGE, "%s 0 makes no sense", option);
}

/* Options about many snapshots. *done says whether it is one of them. */
static struct err *set_store_option(struct report_options *r, enum option_id id, const char *arg,
				    bool *done)
{
	u64 n = 0;

	*done = true;
	switch (id) {
	case OPTION_DB:
		r->db = arg;
		return NULL;
	case OPTION_DOCUMENTS:
		r->documents = arg;
		return NULL;
	case OPTION_PROGRAM:
		r->program = arg;
		return NULL;
	case OPTION_RULES:
		r->rules = arg;
		return NULL;
	case OPTION_BASELINE:
		r->baseline = arg;
		return NULL;
	case OPTION_EXIT_ZERO:
		r->exit_zero = true;
		return NULL;
	case OPTION_ORDER:
		return set_order(r, arg);
	case OPTION_JOBS:
		TRY(set_positive("--jobs", arg, MAX_JOBS, &n));
		r->jobs = (unsigned)n;
		return NULL;
	case OPTION_TIMEOUT:
		return err_wrap(units_parse_duration(arg, &r->timeout_ns), "--timeout");
	case OPTION_LAST:
		return set_positive("--last", arg, UINT32_MAX, &r->last);
	default:
		*done = false;
		return NULL;
	}
}

/* Options of one command. */
static struct err *set_report_option(struct report_options *r, enum option_id id, const char *arg)
{
	u64 n = 0;
	bool done;

	TRY(set_store_option(r, id, arg, &done));
	if (done)
		return NULL;
	switch (id) {
	case OPTION_HEAP_PROFILE:
		r->heap_profile = arg;
		return NULL;
	case OPTION_FROM:
		r->from = arg;
		return NULL;
	case OPTION_RSS:
		return err_wrap(units_parse_bytes(arg, &r->rss), "--rss");
	case OPTION_BY:
		if (strcmp(arg, "vma") != 0)
			return err_new(ERR_USAGE, "--by takes 'vma', not '%s'", arg);
		r->by_vma = true;
		return NULL;
	case OPTION_CLASS:
		TRY(parse_number("--class", arg, GO_MAX_SIZE_CLASSES, &n));
		r->filter_class = true;
		r->class = (unsigned)n;
		return NULL;
	case OPTION_OCCUPANCY:
		TRY(parse_number("--occupancy", arg, 100, &n));
		r->filter_occupancy = true;
		r->occupancy = (unsigned)n;
		return NULL;
	case OPTION_STATE: /* what it means depends on the command */
		r->state = arg;
		return NULL;
	case OPTION_ADDRESS:
		return set_address(r, arg);
	case OPTION_PINNED:
		r->pinned = true;
		return NULL;
	case OPTION_MAP:
		r->map = true;
		return NULL;
	case OPTION_WITH_EXE:
		r->with_exe = true;
		return NULL;
	case OPTION_FORCE:
		r->force = true;
		return NULL;
	case OPTION_SAMPLE:
		r->sample_type = arg;
		return NULL;
	case OPTION_FUNCTION:
		r->function = arg;
		return NULL;
	case OPTION_WAITED:
		return err_wrap(units_parse_duration(arg, &r->waited_least), "--waited");
	case OPTION_ALL:
		r->all = true;
		return NULL;
	case OPTION_LABELS:
		r->labels = true;
		return NULL;
	case OPTION_SYSTEM:
		r->system = true;
		return NULL;
	case OPTION_THREADS:
		r->threads = true;
		return NULL;
	default:
		return err_new(ERR_BUG, "an option that nobody handles");
	}
}

/* Options about the files beside the core. False for any other. */
static bool set_file_option(struct opts *o, enum option_id id, const char *arg)
{
	switch (id) {
	case OPTION_EXE:
		o->binary.given = arg;
		return true;
	case OPTION_DEBUG_FILE:
		o->binary.debug = arg;
		return true;
	case OPTION_NO_EXE:
		o->binary.none = true;
		return true;
	case OPTION_SIDECAR:
		o->sidecar.folder = arg;
		return true;
	case OPTION_SMAPS:
		o->sidecar.smaps = arg;
		return true;
	case OPTION_PAGEMAP:
		o->sidecar.pagemap = arg;
		return true;
	case OPTION_STATUS:
		o->sidecar.status = arg;
		return true;
	case OPTION_NO_SIDECAR:
		o->no_sidecar = true;
		return true;
	default:
		return false;
	}
}

static struct err *set_option(struct opts *o, enum option_id id, const char *arg)
{
	if (set_file_option(o, id, arg))
		return NULL;
	switch (id) {
	case OPTION_FORMAT:
		return set_format(o, arg);
	case OPTION_JSON:
		return set_format(o, "json");
	case OPTION_CSV:
		return set_format(o, "csv");
	case OPTION_SORT:
		o->sort = arg;
		return NULL;
	case OPTION_TOP:
		TRY(parse_number("--top", arg, UINT32_MAX, &o->top));
		o->report.top = o->top;
		return o->top ? NULL : err_new(ERR_USAGE, "--top 0 leaves nothing to show");
	case OPTION_ZERO:
		o->test_zero = true;
		return NULL;
	case OPTION_BYTES:
		o->exact_bytes = true;
		return NULL;
	case OPTION_OUTPUT:
		o->output = arg;
		return NULL;
	case OPTION_MAX_MEMORY:
		return set_max_memory(arg);
	case OPTION_STRICT:
		o->strict = true;
		return NULL;
	case OPTION_QUIET:
		log_set_level(LOG_QUIET);
		return NULL;
	case OPTION_VERBOSE:
		log_set_level(LOG_VERBOSE);
		return NULL;
	case OPTION_HELP:
		o->help = true;
		return NULL;
	case OPTION_VERSION:
		o->version = true;
		return NULL;
	default:
		return set_report_option(&o->report, id, arg);
	}
}

#define OPTION_COUNT COUNT_OF(options)

/* The tables in the form that getopt_long wants. */
struct getopt_tables {
	struct option longs[OPTION_COUNT + 1];
	char shorts[2 * OPTION_COUNT + 2];
};

static void fill_tables(struct getopt_tables *t)
{
	char *p = t->shorts;

	*p++ = ':'; /* report a missing argument apart */
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		t->longs[i] = (struct option){options[i].name,
					      options[i].arg ? required_argument : no_argument,
					      NULL, options[i].id};
		if (options[i].letter) {
			*p++ = options[i].letter;
			if (options[i].arg)
				*p++ = ':';
		}
	}
	t->longs[OPTION_COUNT] = (struct option){0};
	*p = '\0';
}

static enum option_id option_by_letter(int c)
{
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (options[i].letter == c)
			return (enum option_id)options[i].id;
	return (enum option_id)c;
}

/* What getopt_long refused: a letter, maybe among others, or a word. */
static struct err *bad_option(char **argv, int c)
{
	const char letter[] = {'-', (char)optopt, '\0'};
	const char *name = optopt > 0 && optopt < OPTION_NONE ? letter : argv[optind - 1];

	if (c == ':')
		return err_new(ERR_USAGE, "%s needs an argument; see --help", name);
	if (optopt > OPTION_NONE)
		return err_new(ERR_USAGE, "%s: this option takes no argument", name);
	return err_new(ERR_USAGE, "there is no option %s; see --help", name);
}

/* *used gets a bit for each option that was given. */
static struct err *parse_options(int argc, char **argv, struct opts *o, u64 *used)
{
	struct getopt_tables t;
	int c;

	fill_tables(&t);
	opterr = 0;
	optind = 0; /* glibc: forget everything about an earlier command line */
	while ((c = getopt_long(argc, argv, t.shorts, t.longs, NULL)) != -1) {
		if (c == ':' || c == '?')
			return bad_option(argv, c);
		TRY(set_option(o, option_by_letter(c), optarg));
		for (size_t i = 0; i < OPTION_COUNT; i++)
			if (options[i].id == c)
				*used |= (u64)1 << i;
	}
	return NULL;
}

static struct err *parse_arguments(int argc, char **argv, struct opts *o)
{
	int i = optind;

	o->command = find_command("overview");
	if (i < argc && find_command(argv[i]))
		o->command = find_command(argv[i++]);
	if (o->help || o->version)
		return NULL;
	if (o->command->needs == NEED_ARGUMENTS) {
		o->report.args = argv + i;
		o->report.arg_count = (size_t)(argc - i);
		return NULL;
	}
	TRY(kinds_parse(argc, argv, &i, o));
	if (i == argc)
		return err_new(ERR_USAGE,
			       "no core; usage: spanscope [COMMAND] [options] CORE [EXE]");
	o->core = argv[i++];
	if (i < argc) {
		if (o->binary.given)
			return err_new(ERR_USAGE, "two executables: --exe and '%s'", argv[i]);
		o->binary.given = argv[i++];
	}
	if (i < argc)
		return err_new(ERR_USAGE, "one argument too many: '%s'", argv[i]);
	return NULL;
}

/* Whether a list ("spans, goroutines") has the word. */
static bool names_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; (p = strstr(p, word)); p += n)
		if ((p == list || p[-1] == ' ') && (p[n] == '\0' || p[n] == ','))
			return true;
	return false;
}

static bool option_fits(size_t i, const struct command *command)
{
	if (options[i].id == OPTION_SORT || options[i].id == OPTION_TOP)
		return command->formats & FORMAT_CSV; /* it has a table */
	return !options[i].command || names_word(options[i].command, command->name);
}

/* Whether -o names what the command makes, and its result is about that. */
static bool makes_file(const struct command *command)
{
	return command->needs == NEED_CORE;
}

static struct err *take_output(struct opts *o)
{
	if (!o->output)
		return err_new(ERR_USAGE, "%s needs -o FILE", o->command->name);
	o->report.output = o->output;
	o->report.with_exe |= o->binary.given != NULL;
	o->output = NULL;
	return pack_check_name(o->report.output);
}

static struct err *check_sidecar(const struct opts *o)
{
	const struct sidecar_options *s = &o->sidecar;
	const char *file = s->smaps     ? "--smaps"
			   : s->pagemap ? "--pagemap"
			   : s->status  ? "--status"
					: NULL;

	if (o->command->needs == NEED_FILE && (s->folder || file || o->no_sidecar))
		return err_new(ERR_USAGE, "%s takes its folder by --from", o->command->name);
	if (s->folder && file)
		return err_new(ERR_USAGE, "--sidecar and %s exclude each other", file);
	if (o->no_sidecar && (s->folder || file))
		return err_new(ERR_USAGE, "--no-sidecar and %s exclude each other",
			       file ? file : "--sidecar");
	if (o->report.rss && (s->folder || file))
		return err_new(ERR_USAGE, "--rss and %s exclude each other",
			       file ? file : "--sidecar");
	return NULL;
}

struct err *opts_parse(int argc, char **argv, struct opts *ret)
{
	u64 used = 0;

	*ret = (struct opts){.format = FORMAT_DEFAULT};
	TRY(parse_options(argc, argv, ret, &used));
	TRY(parse_arguments(argc, argv, ret));
	if (ret->help || ret->version)
		return NULL;
	if (ret->binary.none && ret->binary.given)
		return err_new(ERR_USAGE, "--no-exe and an executable exclude each other");
	TRY(check_sidecar(ret));
	if (ret->format == FORMAT_DEFAULT)
		ret->format = ret->command->formats & FORMAT_PPROF ? FORMAT_PPROF : FORMAT_TEXT;
	if (!(ret->command->formats & ret->format))
		return err_new(ERR_USAGE, "%s has no such format; see spanscope %s --help",
			       ret->command->name, ret->command->name);
	if (makes_file(ret->command))
		TRY(take_output(ret));
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (used >> i & 1 && !option_fits(i, ret->command))
			return err_new(ERR_USAGE, "--%s goes with %s", options[i].name,
				       options[i].command ? options[i].command
							  : "commands that have a table");
	if (ret->report.state && !strcmp(ret->command->name, "spans"))
		TRY(set_span_state(&ret->report, ret->report.state));
	return NULL;
}

static void print_formats(const struct command *command, FILE *f)
{
	fputs("Formats:", f);
	for (size_t i = 0; i < COUNT_OF(formats); i++)
		if (command->formats & formats[i].format)
			fprintf(f, " %s", formats[i].name);
	fputc('\n', f);
}

/* The options of one command, or all of them with the command that each belongs to. */
static void print_options(const struct command *command, FILE *f)
{
	char left[64];

	fputs("\nOptions:\n", f);
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		char letter[8] = "    ";

		if (command && !option_fits(i, command))
			continue;
		if (options[i].letter)
			snprintf(letter, sizeof(letter), "-%c, ", options[i].letter);
		snprintf(left, sizeof(left), "%s--%s%s%s", letter, options[i].name,
			 options[i].arg ? " " : "", options[i].arg ? options[i].arg : "");
		fprintf(f, "  %-26s %s%s%s\n", left,
			!command && options[i].command ? options[i].command : "",
			!command && options[i].command ? ": " : "", options[i].help);
	}
}

struct err *opts_print_help(const struct command *command, FILE *f)
{
	if (command) {
		fprintf(f, "usage: spanscope %s %s[options] %s\n\n%s: %s\n", command->name,
			kinds_has(command) ? "KIND " : "", usage_arguments(command->name),
			command->name, command->summary);
		print_formats(command, f);
		kinds_print(command, f);
	} else {
		fputs("usage: spanscope [COMMAND] [options] CORE [EXE]\n\n"
		      "Says where the memory of a Go process is, from its core dump or gcore "
		      "snapshot.\n\nCommands:\n",
		      f);
		for (size_t i = 0; i < COUNT_OF(commands); i++)
			fprintf(f, "  %-11s %s\n", commands[i].name, commands[i].summary);
	}
	print_options(command, f);
	fputs("\nExit status: 0 done; 1 a check fired; 2 wrong usage; 3 nothing could be "
	      "analysed;\n"
	      "4 analysed in part; 5 a bug of spanscope's. See spanscope(1).\n",
	      f);
	return ferror(f) ? err_os("the result cannot be written") : NULL;
}

struct err *opts_print_version(FILE *f)
{
	fprintf(f, "spanscope %s\nreads cores of Go %s, linux/amd64 and linux/arm64\n",
		SPANSCOPE_VERSION, dialect_supported_text());
	return ferror(f) ? err_os("the result cannot be written") : NULL;
}
