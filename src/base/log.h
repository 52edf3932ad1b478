/* stderr: errors, warnings, and with -v the stages of the work with their times. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/types.h"

enum log_level { LOG_QUIET = -1, LOG_NORMAL = 0, LOG_VERBOSE = 1 };

void log_set_level(enum log_level level);
enum log_level log_level(void);

/* One line each, "spanscope: ...". Errors are printed at any level. */
void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_verbose(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A named stage; log_stage_end prints its time and the items it worked on under -v. One at a time:
 * the newest is the one that log_progress speaks of. */
struct log_stage {
	const char *name;
	u64 start_ns;
};

struct log_stage log_stage_begin(const char *name);
void log_stage_end(const struct log_stage *stage, u64 items, const char *what);

/* On a terminal, one line with the stage, its share and the time left, once it has run for more
 * than a second. Cheap enough for every few thousand steps of a loop. */
void log_progress(u64 done, u64 total);

#endif
