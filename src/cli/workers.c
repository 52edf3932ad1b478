#include "cli/workers.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>

#define RESULT_MAX ((size_t)64 << 20)
#define READ_BYTES ((size_t)64 << 10)
#define STATUS_BUG 5
#define NS_PER_SECOND ((u64)1000000000)

struct worker {
	pid_t pid; /* 0: idle */
	int fd;    /* the result comes from here */
	size_t item;
	ARRAY(char) text;
	bool too_long;
};

struct pool {
	const struct work *w;
	struct worker *workers;
	struct pollfd *polled; /* the busy ones' */
	size_t next;           /* item that begins next */
	unsigned busy;
};

/* In the child: a signal ends it when its time is over, wherever it is. */
static void limit_time(u64 ns)
{
	const struct itimerval timer = {
		.it_value = {.tv_sec = (time_t)(ns / NS_PER_SECOND),
			     .tv_usec = (suseconds_t)(ns % NS_PER_SECOND / 1000)}};

	signal(SIGALRM, SIG_DFL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

/* In the child: everything that it says goes into the pipe. */
__attribute__((noreturn)) static void be_worker(const struct work *w, size_t item, int fd)
{
	const struct rlimit no_core = {0, 0};
	FILE *out = fdopen(fd, "w");
	struct err *err;

	setrlimit(RLIMIT_CORE, &no_core);
	log_set_level(LOG_QUIET);
	if (!out || dup2(fd, STDERR_FILENO) < 0)
		_exit(1);
	limit_time(w->timeout_ns);
	mem_set_limit(mem_limit() / w->jobs);
	err = w->work(w->arg, item, out);
	if (err) {
		fprintf(stderr, "%s\n", err->msg);
		_exit(err->code == ERR_BUG ? STATUS_BUG : 1);
	}
	_exit(fflush(out) == 0 ? 0 : 1);
}

static struct err *begin(struct pool *p, struct worker *worker)
{
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_os("no pipe for a worker");
	pid = fork();
	if (pid == 0) {
		close(fds[0]);
		be_worker(p->w, p->next, fds[1]);
	}
	close(fds[1]);
	if (pid < 0) {
		close(fds[0]);
		return err_os("no more processes");
	}
	worker->pid = pid;
	worker->fd = fds[0];
	worker->item = p->next++;
	worker->text.n = 0;
	worker->too_long = false;
	p->busy++;
	return NULL;
}

/* Waits for its end. */
static int reap(struct worker *worker)
{
	int status = 0;

	while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR)
		;
	close(worker->fd);
	worker->pid = 0;
	return status;
}

/* The first line of what a child said, without the program's name. */
static const char *first_line(char *text)
{
	static const char name[] = "spanscope: ";
	char *end = strchr(text, '\n');

	if (end)
		*end = '\0';
	return strncmp(text, name, strlen(name)) != 0 ? text : text + strlen(name);
}

static struct err *finish(struct pool *p, struct worker *worker)
{
	int status = reap(worker);
	struct work_result r = {.n = worker->text.n};
	char how[64], time[UNITS_BUF];

	p->busy--;
	TRY(array_push(&worker->text, '\0'));
	r.text = worker->text.v;
	r.done = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	r.bug = WIFEXITED(status) && WEXITSTATUS(status) == STATUS_BUG;
	if (worker->too_long) {
		r = (struct work_result){.text = "its result is too long"};
	} else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
		snprintf(how, sizeof(how), "it took longer than %s (--timeout)",
			 units_duration(p->w->timeout_ns, time));
		r = (struct work_result){.text = how};
	} else if (WIFSIGNALED(status)) {
		bool killed = WTERMSIG(status) == SIGKILL;

		snprintf(how, sizeof(how), "its worker was ended by signal %d%s", WTERMSIG(status),
			 killed ? ": too little memory?" : " (a bug: please report it)");
		r = (struct work_result){.text = how, .bug = !killed};
	} else if (!r.done) {
		r.text = first_line(worker->text.v);
	}
	return p->w->result(p->w->arg, worker->item, &r);
}

/* Reads what there is; at the end, the worker's result. */
static struct err *take(struct pool *p, struct worker *worker)
{
	ssize_t n;

	TRY(array_reserve(&worker->text, READ_BYTES));
	n = read(worker->fd, worker->text.v + worker->text.n, READ_BYTES);
	if (n < 0)
		return errno == EINTR ? NULL : err_os("a worker's result cannot be read");
	if (n == 0)
		return finish(p, worker);
	worker->text.n += (size_t)n;
	if (worker->text.n > RESULT_MAX) {
		worker->too_long = true;
		worker->text.n = 0;
		kill(worker->pid, SIGKILL);
	}
	return NULL;
}

/* Waits until a worker says something. */
static struct err *take_any(struct pool *p)
{
	for (unsigned i = 0; i < p->w->jobs; i++)
		p->polled[i] = (struct pollfd){.fd = p->workers[i].pid ? p->workers[i].fd : -1,
					       .events = POLLIN};
	if (poll(p->polled, p->w->jobs, -1) < 0)
		return errno == EINTR ? NULL : err_os("workers cannot be waited for");
	for (unsigned i = 0; i < p->w->jobs; i++)
		if (p->polled[i].revents)
			TRY(take(p, &p->workers[i]));
	return NULL;
}

static struct err *run(struct pool *p)
{
	while (p->busy || p->next < p->w->n) {
		for (unsigned i = 0; i < p->w->jobs && p->next < p->w->n; i++)
			if (!p->workers[i].pid)
				TRY(begin(p, &p->workers[i]));
		TRY(take_any(p));
	}
	return NULL;
}

struct err *workers_run(const struct work *w)
{
	struct pool p = {.w = w};
	struct err *err;

	p.workers = xcalloc(w->jobs, sizeof(*p.workers));
	p.polled = xcalloc(w->jobs, sizeof(*p.polled));
	(void)fflush(NULL); /* or each child has what is still to be written */
	err = run(&p);
	for (unsigned i = 0; i < w->jobs; i++) {
		if (p.workers[i].pid) {
			kill(p.workers[i].pid, SIGKILL);
			reap(&p.workers[i]);
		}
		array_free(&p.workers[i].text);
	}
	free(p.workers);
	free(p.polled);
	return err;
}
