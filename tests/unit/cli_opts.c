/* The command line: every option, every wrong usage. */
#include "cli/opts.h"

#include "base/log.h"
#include "base/mem.h"
#include "support/test.h"

#include <string.h>

#define MAX_WORDS 16

/* Parses "spanscope" and the words of a line. Strings stay valid until the next call. */
static struct err *parse(const char *line, struct opts *o)
{
	static char words[256];
	char *argv[MAX_WORDS + 1] = {words}, *p;
	int argc = 1;

	snprintf(words, sizeof(words), "spanscope %s", line);
	for (p = words; (p = strchr(p, ' ')); argc++) {
		*p++ = '\0';
		assert_true(argc < MAX_WORDS);
		argv[argc] = p;
	}
	if (!*argv[argc - 1]) /* an empty line */
		argv[--argc] = NULL;
	unsetenv("POSIXLY_CORRECT");
	log_set_level(LOG_NORMAL);
	mem_set_limit(0);
	return opts_parse(argc, argv, o);
}

static size_t put_word(char *out, size_t room, const char *key, const char *value)
{
	return value ? (size_t)snprintf(out, room, " %s%s", key, value) : 0;
}

/* What was parsed, in one line: the command, then everything that is not as always. */
static const char *describe(const struct opts *o, char out[static 256])
{
	const struct {
		bool set;
		const char *name;
	} flags[] = {
		{o->format == FORMAT_JSON, "json"},
		{o->format == FORMAT_CSV, "csv"},
		{o->format == FORMAT_PPROF, "pprof"},
		{o->format == FORMAT_FOLDED, "folded"},
		{o->report.profile == PROFILE_HEAP, "heap"},
		{o->report.profile == PROFILE_STACKS, "stacks"},
		{o->binary.none, "no-exe"},
		{o->no_sidecar, "no-sidecar"},
		{o->report.by_vma, "by-vma"},
		{o->exact_bytes, "bytes"},
		{o->test_zero, "zero"},
		{o->strict, "strict"},
		{o->help, "help"},
		{o->version, "version"},
		{log_level() == LOG_QUIET, "quiet"},
		{log_level() == LOG_VERBOSE, "verbose"},
	};
	size_t n = (size_t)snprintf(out, 256, "%s", o->command->name);

	n += put_word(out + n, 256 - n, "core=", o->core);
	n += put_word(out + n, 256 - n, "exe=", o->binary.given);
	n += put_word(out + n, 256 - n, "output=", o->output);
	n += put_word(out + n, 256 - n, "sort=", o->sort);
	n += put_word(out + n, 256 - n, "sidecar=", o->sidecar.folder);
	n += put_word(out + n, 256 - n, "smaps=", o->sidecar.smaps);
	n += put_word(out + n, 256 - n, "pagemap=", o->sidecar.pagemap);
	n += put_word(out + n, 256 - n, "status=", o->sidecar.status);
	n += put_word(out + n, 256 - n, "from=", o->report.from);
	if (o->top)
		n += (size_t)snprintf(out + n, 256 - n, " top=%llu", (unsigned long long)o->top);
	for (size_t i = 0; i < COUNT_OF(flags); i++)
		if (flags[i].set)
			n += put_word(out + n, 256 - n, "", flags[i].name);
	return out;
}

static const struct {
	const char *line, *meaning;
} lines[] = {
	{"core", "overview core=core"},
	{"core app", "overview core=core exe=app"},
	{"overview core", "overview core=core"},
	{"ledger core app", "ledger core=core exe=app"},
	{"vmas core", "vmas core=core"},
	{"memstats core", "memstats core=core"},
	{"ledger ledger", "ledger core=ledger"},
	{"./ledger", "overview core=./ledger"},
	{"ledgers", "overview core=ledgers"},
	/* the executable */
	{"-e app core", "overview core=core exe=app"},
	{"-eapp core", "overview core=core exe=app"},
	{"--exe app core", "overview core=core exe=app"},
	{"--exe=app core", "overview core=core exe=app"},
	{"core --exe app", "overview core=core exe=app"},
	{"--no-exe core", "overview core=core no-exe"},
	/* formats */
	{"-f text core", "overview core=core"},
	{"-f json core", "overview core=core json"},
	{"--format=json core", "overview core=core json"},
	{"--json core", "overview core=core json"},
	{"ledger --csv core", "ledger core=core csv"},
	{"ledger --format csv core", "ledger core=core csv"},
	{"ledger --csv core --json", "ledger core=core json"},
	{"--csv ledger core", "ledger core=core csv"},
	/* what was kept beside the core */
	{"--sidecar kept core", "overview core=core sidecar=kept"},
	{"vmas --smaps a --pagemap b --status c core", "vmas core=core smaps=a pagemap=b status=c"},
	{"gc --no-sidecar core", "gc core=core no-sidecar"},
	{"note core --from kept", "note core=core from=kept"},
	/* what a command is to make */
	{"profile heap core", "profile core=core pprof heap"},
	{"profile stacks --json core app", "profile core=core exe=app json stacks"},
	{"-f folded profile --sample virtual stacks core", "profile core=core folded stacks"},
	{"profile heap heap", "profile core=heap pprof heap"},
	{"heap core", "overview core=heap exe=core"},
	/* the rest */
	{"ledger --by vma core", "ledger core=core by-vma"},
	{"-b core", "overview core=core bytes"},
	{"--bytes core", "overview core=core bytes"},
	{"-o out core", "overview core=core output=out"},
	{"--output out core", "overview core=core output=out"},
	{"--output= core", "overview core=core output="},
	{"--strict core", "overview core=core strict"},
	{"-q core", "overview core=core quiet"},
	{"--quiet core", "overview core=core quiet"},
	{"-v core", "overview core=core verbose"},
	{"--verbose core", "overview core=core verbose"},
	{"-q core -v", "overview core=core verbose"},
	{"--max-memory 1G core", "overview core=core"},
	{"--zero core", "overview core=core zero"},
	{"vmas --top 3 core --sort resident", "vmas core=core sort=resident top=3"},
	/* how they are written */
	{"-bqo out -e app core", "overview core=core exe=app output=out bytes quiet"},
	{"core -b --strict", "overview core=core bytes strict"},
	{"--strict -- core", "overview core=core strict"},
	{"-- -core", "overview core=-core"},
	{"-- core --strict", "overview core=core exe=--strict"},
	{"-- ledger core", "ledger core=core"},
	{"--str core", "overview core=core strict"}, /* an unambiguous beginning */
	/* what is printed instead of a result */
	{"-h", "overview help"},
	{"--help", "overview help"},
	{"ledger --help", "ledger help"},
	{"--help vmas core", "vmas help"},
	{"--help --csv", "overview csv help"},
	{"--help --by vma", "overview by-vma help"},
	{"-V", "overview version"},
	{"--version", "overview version"},
};

static void test_lines(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(lines); i++) {
		char meaning[256];
		struct opts o;
		struct err *err = parse(lines[i].line, &o);

		if (err)
			print_error("%s:\n", lines[i].line);
		assert_ok(err);
		assert_string_equal(describe(&o, meaning), lines[i].meaning);
	}
	log_set_level(LOG_NORMAL);
}

static void test_max_memory(void **state)
{
	struct opts o;

	(void)state;
	assert_ok(parse("--max-memory 2M core", &o));
	assert_ok(mem_charge((u64)1 << 20));
	assert_err(mem_charge((u64)2 << 20), ERR_LIMIT, "--max-memory");
	mem_discharge((u64)1 << 20);
}

static const struct {
	const char *line, *message;
} wrong[] = {
	{"", "no core; usage: spanscope [COMMAND] [options] CORE [EXE]"},
	{"ledger", "no core; usage"},
	{"--json", "no core; usage"},
	{"profile", "profile needs to be told which; see spanscope profile --help"},
	{"profile core", "there is no profile 'core'; see spanscope profile --help"},
	{"profile heap", "no core; usage"},
	{"ledger --sample x core", "--sample goes with profile"},
	{"ledger -f pprof core", "ledger has no such format"},
	{"core app more", "one argument too many: 'more'"},
	{"ledger core app more", "one argument too many: 'more'"},
	{"-e app core app2", "two executables: --exe and 'app2'"},
	{"--sidecar d --status f core", "--sidecar and --status exclude each other"},
	{"--no-sidecar --smaps f core", "--no-sidecar and --smaps exclude each other"},
	{"--no-sidecar --sidecar d core", "--no-sidecar and --sidecar exclude each other"},
	{"--rss 1M --pagemap f core", "--rss and --pagemap exclude each other"},
	{"note --sidecar d core", "note takes its folder by --from"},
	{"ledger --from d core", "--from goes with note"},
	{"--no-exe core app", "--no-exe and an executable exclude each other"},
	{"--no-exe -e app core", "--no-exe and an executable exclude each other"},
	/* options that there are not */
	{"-x core", "there is no option -x; see --help"},
	{"-bxq core", "there is no option -x; see --help"},
	{"core -x", "there is no option -x; see --help"},
	{"--exf app core", "there is no option --exf; see --help"},
	{"core --bogus=1", "there is no option --bogus=1; see --help"},
	{"--ver core", "there is no option --ver; see --help"}, /* verbose or version */
	{"--strict=1 core", "--strict=1: this option takes no argument"},
	/* missing arguments */
	{"core -e", "-e needs an argument; see --help"},
	{"core -be", "-e needs an argument; see --help"},
	{"core --exe", "--exe needs an argument; see --help"},
	{"core -f", "-f needs an argument"},
	{"core --format", "--format needs an argument"},
	{"core -o", "-o needs an argument"},
	{"core --output", "--output needs an argument"},
	{"ledger core --by", "--by needs an argument"},
	{"vmas --top 0 core", "--top 0 leaves nothing to show"},
	{"vmas --top many core", "--top takes a number up to"},
	{"core --top 3", "--top goes with commands that have a table"},
	{"core --max-memory", "--max-memory needs an argument"},
	/* wrong arguments */
	{"-f xml core", "there is no format 'xml'; see --help"},
	{"--format JSON core", "there is no format 'JSON'; see --help"},
	{"--format= core", "there is no format ''; see --help"},
	{"--csv core", "overview has no such format; see spanscope overview --help"},
	{"overview --format csv core", "overview has no such format"},
	{"ledger --by class core", "--by takes 'vma', not 'class'"},
	{"vmas --by vma core", "--by goes with ledger"},
	{"--by vma core", "--by goes with ledger"},
	{"--max-memory lots core", "--max-memory: 'lots' is no size; write it like 512M or 2GiB"},
	{"--max-memory -5 core", "--max-memory: '-5' is no size"},
	{"--max-memory 0 core", "--max-memory 0 leaves nothing to work with"},
};

static void test_wrong_usage(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		struct opts o;

		assert_err(parse(wrong[i].line, &o), ERR_USAGE, wrong[i].message);
	}
}

/* A command line that was wrong in the middle of a word leaves nothing behind. */
static void test_parsing_again(void **state)
{
	struct opts o;

	(void)state;
	assert_err(parse("-xb core", &o), ERR_USAGE, "there is no option -x");
	assert_ok(parse("core", &o));
	assert_false(o.exact_bytes);
	assert_string_equal(o.core, "core");
}

static char *help_of(const struct command *command)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	assert_ok(opts_print_help(command, f));
	assert_int_equal(fclose(f), 0);
	return text;
}

/* Every command and every option is in the help, within 100 columns. */
static void test_help(void **state)
{
	static const char *const parts[] = {
		"usage: spanscope [COMMAND]",
		"\n  overview ",
		"\n  ledger ",
		"\n  vmas ",
		"\n  memstats ",
		"-e, --exe FILE",
		"    --no-exe",
		"-f, --format FORMAT",
		"--json",
		"--csv",
		"--by vma",
		"-b, --bytes",
		"-o, --output FILE",
		"--max-memory SIZE",
		"--strict",
		"-q, --quiet",
		"-v, --verbose",
		"-h, --help",
		"-V, --version",
		"Exit status: 0",
	};
	char *text = help_of(NULL);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(parts); i++)
		assert_contains(text, parts[i]);
	for (const char *p = text; *p; p += strcspn(p, "\n") + 1)
		assert_true(strcspn(p, "\n") <= 100);
	free(text);
}

static void test_help_of_a_command(void **state)
{
	struct opts o;
	char *text;

	(void)state;
	assert_ok(parse("ledger --help", &o));
	text = help_of(o.command);
	assert_contains(text, "usage: spanscope ledger [options] CORE [EXE]\n");
	assert_contains(text, "Formats: text json csv\n");
	free(text);
	assert_ok(parse("overview --help", &o));
	text = help_of(o.command);
	assert_contains(text, "Formats: text json\n");
	free(text);
}

static void test_version(void **state)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	(void)state;
	assert_ok(opts_print_version(f));
	assert_int_equal(fclose(f), 0);
	assert_int_equal(strncmp(text, "spanscope ", 10), 0);
	assert_contains(text, "reads cores of Go 1.");
	free(text);
}

static void test_write_fails(void **state)
{
	FILE *f = fopen("/dev/full", "we");

	(void)state;
	if (!f)
		skip();
	setvbuf(f, NULL, _IONBF, 0);
	assert_err(opts_print_help(NULL, f), ERR_OS, "cannot be written");
	assert_err(opts_print_version(f), ERR_OS, "cannot be written");
	fclose(f);
}

TEST_MAIN(TEST(test_lines), TEST(test_max_memory), TEST(test_wrong_usage), TEST(test_parsing_again),
	  TEST(test_help), TEST(test_help_of_a_command), TEST(test_version), TEST(test_write_fails))
