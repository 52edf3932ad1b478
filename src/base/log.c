#include "base/log.h"

#include "base/mem.h"

#include <stdarg.h>
#include <time.h>
#include <unistd.h>

static enum log_level current_level = LOG_NORMAL;

void log_set_level(enum log_level level)
{
	current_level = level;
}

enum log_level log_level(void)
{
	return current_level;
}

/* Names out of a core may hold anything: a line stays a line, and no terminal is told what to do.
 */
static void clean(char *text)
{
	for (u8 *p = (u8 *)text; *p; p++)
		if (*p < ' ' || *p == 0x7f || (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0))
			*p = '?';
}

static void log_line(const char *prefix, const char *fmt, va_list ap)
{
	char *text = xvasprintf(fmt, ap);

	clean(text);

	fprintf(stderr, "spanscope: %s%s\n", prefix, text);
	free(text);
}

void log_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_line("", fmt, ap);
	va_end(ap);
}

void log_warn(const char *fmt, ...)
{
	va_list ap;

	if (current_level < LOG_NORMAL)
		return;
	va_start(ap, fmt);
	log_line("warning: ", fmt, ap);
	va_end(ap);
}

void log_verbose(const char *fmt, ...)
{
	va_list ap;

	if (current_level < LOG_VERBOSE)
		return;
	va_start(ap, fmt);
	log_line("", fmt, ap);
	va_end(ap);
}

static u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000u + (u64)ts.tv_nsec;
}

static struct {
	struct log_stage stage;
	u64 shown_ns; /* when the line was last painted; 0: it is not there */
} progress;

#define SECOND_NS ((u64)1000000000)
#define REPAINT_NS (SECOND_NS / 5)

static void clear_progress(void)
{
	if (progress.shown_ns)
		fputs("\r\033[K", stderr);
	progress.shown_ns = 0;
}

struct log_stage log_stage_begin(const char *name)
{
	progress.stage = (struct log_stage){name, now_ns()};
	return progress.stage;
}

void log_stage_end(const struct log_stage *stage, u64 items, const char *what)
{
	double ms = (double)(now_ns() - stage->start_ns) / 1e6;

	clear_progress();
	log_verbose("%-24s %9.2f ms  %10llu %s", stage->name, ms, (unsigned long long)items, what);
}

void log_progress(u64 done, u64 total)
{
	u64 now = now_ns(), spent = now - progress.stage.start_ns;
	double share = total ? (double)done / (double)total : 0;

	if (current_level < LOG_NORMAL || !progress.stage.name || spent < SECOND_NS ||
	    now - progress.shown_ns < REPAINT_NS || !isatty(STDERR_FILENO))
		return;
	progress.shown_ns = now;
	fprintf(stderr, "\rspanscope: %s, %.0f %%, %.0f s left\033[K", progress.stage.name,
		100 * share, share > 0 ? (double)spent / 1e9 * (1 - share) / share : 0.0);
}
