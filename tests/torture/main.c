/* torture [options] FOLDER: damages the shipped cores that are unpacked in FOLDER.
 *
 *   --part NAME     only flip, whole, blind, head, cut, shrink, limit or budget
 *   --core NAME     only this core
 *   --seed N        other damage than that of seed 1
 *   --only I        only trial I
 *   --trials N      so many trials of each part on each core
 *   --sample        few trials
 *   --jobs N        workers at a time
 *
 * Prints a line a part, a line for each failure with what repeats it, and a sum. */
#include "torture/torture.h"

#include "base/mem.h"

#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TRIAL_SECONDS 10  /* of the CPU: a busy machine is no failure */
#define TRIAL_WAITING 200 /* seconds in all, should one wait for something */
#define MAX_JOBS 16
#define MAX_FAILURES 20 /* of one part on one core; then it ends */

static const struct part *const parts[] = {&part_flip, &part_whole,  &part_blind, &part_head,
					   &part_cut,  &part_shrink, &part_limit, &part_budget};

static const struct {
	const char *name, *exe;
} cores[] = {
	{"fragmented-go1.26", "fragmented"},
	{"quiet-go1.19", "quiet"},
};

static struct options {
	const char *part, *core, *folder;
	u64 seed, only, trials;
	bool has_only, sample;
	unsigned jobs;
} options = {.seed = 1, .jobs = 1};

/* What a worker tells its parent, in shared memory. */
struct progress {
	u64 started_ns, cpu_ns; /* of the current trial; the worker's CPU time then */
	u64 done, failed;
	struct trial trial;
};

struct worker {
	pid_t pid;
	int stderr_fd;
	struct progress *progress;
};

/* The part that is run, on one core. */
struct run {
	const struct part *part;
	const char *core;
	char *core_path, *exe_path;
	u64 first, end;
	u64 passed, failed;
	struct worker workers[MAX_JOBS];
};

static u64 clock_ns(clockid_t clock)
{
	struct timespec ts;

	if (clock_gettime(clock, &ts) != 0)
		return 0;
	return (u64)ts.tv_sec * 1000000000u + (u64)ts.tv_nsec;
}

static u64 now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* Whether a worker's trial has had its time. */
static bool is_late(const struct worker *w)
{
	u64 started = __atomic_load_n(&w->progress->started_ns, __ATOMIC_SEQ_CST);
	u64 cpu = __atomic_load_n(&w->progress->cpu_ns, __ATOMIC_SEQ_CST), now;
	clockid_t clock;

	if (now_ns() > started + (u64)TRIAL_WAITING * 1000000000u)
		return true;
	if (clock_getcpuclockid(w->pid, &clock) != 0)
		return false;
	now = clock_ns(clock);
	return now > cpu + (u64)TRIAL_SECONDS * 1000000000u;
}

u64 trial_random(struct trial *t)
{
	u64 z = t->random += 0x9e3779b97f4a7c15u; /* splitmix64 */

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

u64 trial_below(struct trial *t, u64 n)
{
	return n ? trial_random(t) % n : 0;
}

static void append(char text[static TRIAL_TEXT], const char *fmt, va_list ap)
{
	size_t n = strlen(text);

	vsnprintf(text + n, TRIAL_TEXT - n, fmt, ap);
}

void trial_what(struct trial *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	append(t->what, fmt, ap);
	va_end(ap);
}

void trial_fail(struct trial *t, const char *fmt, ...)
{
	va_list ap;

	if (*t->failure)
		return;
	va_start(ap, fmt);
	append(t->failure, fmt, ap);
	va_end(ap);
}

/* Says what failed and how to see it again. */
static void report(struct run *r, const struct trial *t, const char *failure)
{
	r->failed++;
	printf("not ok %s %s: %s\n  %s\n  again: torture --part %s --core %s --seed %llu "
	       "--only %llu\n",
	       r->part->name, r->core, failure, t->what, r->part->name, r->core,
	       (unsigned long long)options.seed, (unsigned long long)t->number);
	fflush(stdout);
}

/* A worker's life: every jobs-th trial from `first` on. */
static void work(const struct run *r, struct worker *w, u64 first)
{
	struct bench b = {.core = r->core_path, .exe = r->exe_path, .stderr_fd = w->stderr_fd};

	if (dup2(w->stderr_fd, STDERR_FILENO) < 0)
		_exit(99);
	memfile_copy(&b.file, b.core);
	if (r->part->begin)
		r->part->begin(&b);
	for (u64 i = first; i < r->end; i += options.jobs) {
		struct trial *t = &w->progress->trial;

		*t = (struct trial){.number = i, .random = options.seed << 40 ^ i};
		__atomic_store_n(&w->progress->cpu_ns, clock_ns(CLOCK_PROCESS_CPUTIME_ID),
				 __ATOMIC_SEQ_CST);
		__atomic_store_n(&w->progress->started_ns, now_ns(), __ATOMIC_SEQ_CST);
		r->part->run(&b, t);
		w->progress->done++;
		if (*t->failure) {
			w->progress->failed++;
			break; /* the parent reports it, and starts another */
		}
	}
	if (r->part->end)
		r->part->end(&b);
	memfile_free(&b.file);
}

static void start(struct run *r, struct worker *w, u64 first)
{
	w->progress->trial = (struct trial){.number = first};
	w->progress->started_ns = now_ns();
	w->progress->cpu_ns = 0;
	fflush(stdout);
	w->pid = fork();
	if (w->pid < 0) {
		perror("fork");
		exit(1);
	}
	if (w->pid == 0) {
		work(r, w, first);
		exit(0); /* with the leak check */
	}
}

/* The last words of a worker, a sanitizer's report. */
static void print_stderr(const struct worker *w)
{
	char text[6000];
	ssize_t n = pread(w->stderr_fd, text, sizeof(text) - 1, 0);

	if (n > 0) {
		text[n] = '\0';
		printf("%s\n", text);
	}
	if (ftruncate(w->stderr_fd, 0) != 0 || lseek(w->stderr_fd, 0, SEEK_SET) < 0)
		abort();
}

/* Looks at how a worker ended, and starts another one for the rest of its trials. */
static void reap(struct run *r, struct worker *w, int status)
{
	const struct trial *t = &w->progress->trial;
	char text[80];

	w->pid = 0;
	if (*t->failure) {
		report(r, t, t->failure);
	} else if (WIFSIGNALED(status)) {
		snprintf(text, sizeof(text), "%s",
			 WTERMSIG(status) == SIGKILL ? "takes more than 10 s" : "a crash");
		report(r, t, text);
	} else if (status != 0) {
		snprintf(text, sizeof(text), "the end with status %d", WEXITSTATUS(status));
		report(r, t, text);
	}
	if (status != 0)
		print_stderr(w);
	if ((status != 0 || *t->failure) && r->failed < MAX_FAILURES &&
	    t->number + options.jobs < r->end)
		start(r, w, t->number + options.jobs);
}

/* Whether any worker is still at work. */
static bool watch(struct run *r)
{
	bool busy = false;

	for (unsigned i = 0; i < options.jobs; i++) {
		struct worker *w = &r->workers[i];
		int status;

		if (!w->pid)
			continue;
		if (is_late(w))
			kill(w->pid, SIGKILL);
		if (waitpid(w->pid, &status, WNOHANG) == w->pid)
			reap(r, w, status);
		busy |= w->pid != 0;
	}
	return busy;
}

static void open_workers(struct run *r)
{
	for (unsigned i = 0; i < options.jobs; i++) {
		struct worker *w = &r->workers[i];
		void *shared = mmap(NULL, sizeof(*w->progress), PROT_READ | PROT_WRITE,
				    // cppcheck-suppress invalidFunctionArg
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

		w->stderr_fd = memfd_create("stderr", MFD_CLOEXEC);
		if (shared == MAP_FAILED || w->stderr_fd < 0) {
			perror("torture");
			exit(1);
		}
		w->progress = shared;
	}
}

static void close_workers(struct run *r)
{
	for (unsigned i = 0; i < options.jobs; i++) {
		r->passed += r->workers[i].progress->done - r->workers[i].progress->failed;
		munmap(r->workers[i].progress, sizeof(struct progress));
		close(r->workers[i].stderr_fd);
	}
}

static u64 trials_of(const struct part *p)
{
	if (options.trials)
		return options.trials;
	return options.sample ? p->sample : p->full;
}

/* One part on one core; how many trials failed. */
static u64 run_part(const struct part *part, size_t core, u64 *passed)
{
	struct run r = {.part = part, .core = cores[core].name, .end = trials_of(part)};
	const struct timespec nap = {.tv_nsec = 2000000};
	u64 begin = now_ns(), trials;
	double seconds;

	r.core_path = xasprintf("%s/%s/core", options.folder, cores[core].name);
	r.exe_path = xasprintf("%s/%s/%s", options.folder, cores[core].name, cores[core].exe);
	if (options.has_only) {
		r.first = options.only;
		r.end = options.only + 1;
	}
	open_workers(&r);
	for (unsigned i = 0; i < options.jobs && r.first + i < r.end; i++)
		start(&r, &r.workers[i], r.first + i);
	while (watch(&r))
		nanosleep(&nap, NULL);
	close_workers(&r);
	seconds = (double)(now_ns() - begin) / 1e9;
	trials = r.passed + r.failed;
	printf("%-7s %-18s %7llu trials, %llu failed, %.1f s, %.0f a second\n", part->name, r.core,
	       (unsigned long long)trials, (unsigned long long)r.failed, seconds,
	       (double)trials / seconds);
	free(r.core_path);
	free(r.exe_path);
	*passed += r.passed;
	return r.failed;
}

static void usage(void)
{
	fprintf(stderr, "usage: torture [--part NAME] [--core NAME] [--seed N] [--only I] "
			"[--trials N] [--sample] [--jobs N] FOLDER\n");
	exit(2);
}

static u64 number(const char *arg)
{
	char *end;
	u64 n = strtoull(arg, &end, 0);

	if (end == arg || *end)
		usage();
	return n;
}

static void parse(int argc, char **argv)
{
	static const struct option longs[] = {
		{"part", required_argument, NULL, 'p'},   {"core", required_argument, NULL, 'c'},
		{"seed", required_argument, NULL, 's'},   {"only", required_argument, NULL, 'o'},
		{"trials", required_argument, NULL, 't'}, {"sample", no_argument, NULL, 'f'},
		{"jobs", required_argument, NULL, 'j'},   {0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 'p')
			options.part = optarg;
		else if (c == 'c')
			options.core = optarg;
		else if (c == 's')
			options.seed = number(optarg);
		else if (c == 't')
			options.trials = number(optarg);
		else if (c == 'f')
			options.sample = true;
		else if (c == 'j')
			options.jobs = (unsigned)MIN(MAX(number(optarg), 1), MAX_JOBS);
		else if (c != 'o')
			usage();
		if (c == 'o') {
			options.only = number(optarg);
			options.has_only = true;
		}
	}
	if (optind + 1 != argc)
		usage();
	options.folder = argv[optind];
}

int main(int argc, char **argv)
{
	u64 passed = 0, failed = 0;

	parse(argc, argv);
	for (size_t p = 0; p < COUNT_OF(parts); p++)
		for (size_t c = 0; c < COUNT_OF(cores); c++)
			if ((!options.part || !strcmp(options.part, parts[p]->name)) &&
			    (!options.core || !strcmp(options.core, cores[c].name)))
				failed += run_part(parts[p], c, &passed);
	printf("torture: %llu passed, %llu failed, 0 skipped\n", (unsigned long long)passed,
	       (unsigned long long)failed);
	return failed || !passed;
}
