#include "base/log.h"

#include "base/mem.h"

#include <stdarg.h>
#include <time.h>

static enum log_level current_level = LOG_NORMAL;

void log_set_level(enum log_level level)
{
	current_level = level;
}

enum log_level log_level(void)
{
	return current_level;
}

static void log_line(const char *prefix, const char *fmt, va_list ap)
{
	char *text = xvasprintf(fmt, ap);

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

struct log_stage log_stage_begin(const char *name)
{
	return (struct log_stage){name, now_ns()};
}

void log_stage_end(const struct log_stage *stage, u64 items, const char *what)
{
	double ms = (double)(now_ns() - stage->start_ns) / 1e6;

	log_verbose("%-24s %9.2f ms  %10llu %s", stage->name, ms, (unsigned long long)items, what);
}
