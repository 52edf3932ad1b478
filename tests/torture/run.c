/* The program itself, run in this process. */
#include "torture/torture.h"

#include "base/mem.h"

#include <sys/wait.h>
#include <unistd.h>

#define MAX_ARGUMENTS 16

const struct variant variants[] = {
	{{"overview", "--json"}},
	{{"verify"}},
	{{"ledger", "--by=vma"}},
	{{"spans", "--csv"}},
	{{"memstats", "--json"}},
	{{"sizeclasses"}},
	{{"spans", "--map"}},
	{{"gc", "--json"}},
	{{"vmas", "--csv"}},
	{{"overview"}},
	{{"verify", "--json"}},
	{{"ledger", "--csv"}},
	{{"spans", "--json"}},
	{{"memstats"}},
	{{"sizeclasses", "--csv"}},
	{{"gc"}},
	{{"spans", "--map", "--json"}},
	{{"vmas"}},
	{{"ledger", "--json"}},
	{{"verify", "--csv"}},
	{{"spans"}},
	{{"memstats", "--csv"}},
	{{"ledger", "--by=vma", "--csv"}},
	{{"gc", "--csv"}},
	{{"sizeclasses", "--json"}},
	{{"ledger"}},
	{{"vmas", "--json"}},
	{{"profile", "stacks", "--json"}},
	{{"profile", "memory", "--json"}},
	{{"sizeclasses", "--pinned"}},
	{{"profile", "heap", "--format=text"}},
	{{"profile", "memory", "--csv"}},
};
const size_t variant_count = COUNT_OF(variants);

void take_stderr(const struct bench *b, char *text, size_t size)
{
	ssize_t n;

	fflush(stderr);
	n = pread(b->stderr_fd, text, size - 1, 0);
	text[n < 0 ? 0 : n] = '\0';
	if (ftruncate(b->stderr_fd, 0) != 0 || lseek(b->stderr_fd, 0, SEEK_SET) < 0)
		abort();
}

void check_stderr(struct trial *t, int status, const char *text)
{
	static const char name[] = "spanscope: ", warning[] = "spanscope: warning: ";
	unsigned lines = 0, warnings = 0;

	for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n') {
		if (strncmp(p, name, sizeof(name) - 1) != 0)
			trial_fail(t, "a line of stderr is not ours: %.100s", p);
		lines++;
		warnings += strncmp(p, warning, sizeof(warning) - 1) == 0;
	}
	if (status < 0 || status > 4)
		trial_fail(t, "status %d: %.300s", status, text);
	else if ((status == 2 || status == 3) && lines - warnings != 1)
		trial_fail(t, "status %d and %u lines: %.300s", status, lines - warnings, text);
	else if (status == 4 && lines != warnings)
		trial_fail(t, "status 4 and an error: %.300s", text);
	else if (status == 1 && lines != warnings)
		trial_fail(t, "status 1 and an error: %.300s", text);
	else if (status == 0 && lines)
		trial_fail(t, "status 0 with a line on stderr: %.300s", text);
}

/* The command line: command, arguments, and where result and core are. */
static int fill_arguments(struct bench *b, struct trial *t, const struct variant *v,
			  const char *const *more, const char *argv[static MAX_ARGUMENTS])
{
	int argc = 0;

	argv[argc++] = "spanscope";
	for (size_t i = 0; i < COUNT_OF(v->words) && v->words[i]; i++)
		argv[argc++] = v->words[i];
	for (; *more; more++)
		argv[argc++] = *more;
	for (int i = 0; i < argc; i++)
		trial_what(t, "%s%s", i ? " " : ", ", argv[i]);
	argv[argc++] = "--output=/dev/null";
	argv[argc++] = b->file.path;
	argv[argc] = NULL;
	return argc;
}

int call_program(struct bench *b, struct trial *t, const struct variant *v, const char *const *more)
{
	const char *argv[MAX_ARGUMENTS];
	int argc = fill_arguments(b, t, v, more, argv);

	return spanscope_main(argc, (char **)argv);
}

int run_program(struct bench *b, struct trial *t, const struct variant *v, const char *const *more)
{
	u64 charged = mem_used();
	int status = call_program(b, t, v, more);

	take_stderr(b, b->text, sizeof(b->text));
	check_stderr(t, status, b->text);
	if (status == 4 && !*b->text && strcmp(v->words[0], "verify") != 0)
		trial_fail(t, "status 4 without a warning");
	if (mem_used() != charged)
		trial_fail(t, "%lld bytes are still charged", (long long)(mem_used() - charged));
	return status;
}

int run_child(struct bench *b, struct trial *t, void (*child)(struct bench *b, struct trial *t))
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		child(b, t);
		exit(99);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		abort();
	take_stderr(b, b->text, sizeof(b->text));
	if (!WIFEXITED(status)) {
		trial_fail(t, "signal %d: %.300s", WTERMSIG(status), b->text);
		return -1;
	}
	check_stderr(t, WEXITSTATUS(status), b->text);
	return WEXITSTATUS(status);
}
