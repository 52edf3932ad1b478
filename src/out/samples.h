/* Weighted stacks, before anybody decides whether they become a pprof profile, folded lines or a
 * table. Knows neither Go nor cores: a frame is an address, a name, or both.
 *
 *   sample -> locations, the innermost first -> lines, the innermost of inlined calls first
 *                                                -> function
 *
 * Names are not copied: they have to outlive the samples, unless they come out of the arena. All
 * numbers of things are indices into the arrays. Errors are the end of memory. */
#ifndef OUT_SAMPLES_H
#define OUT_SAMPLES_H

#include "base/arena.h"
#include "base/map.h"

#include <stdio.h>

#define SAMPLE_TYPES_MAX 4
#define SAMPLE_LINES_MAX 64 /* of one location */

/* What is counted, and in which unit: "inuse_space", "bytes". */
struct sample_type {
	const char *type, *unit;
};

/* A mapping of the process that has code. */
struct sample_mapping {
	va_t lo, hi;
	u64 offset;                  /* in the file */
	const char *file, *build_id; /* "" where it is not known */
};

struct sample_function {
	const char *name, *file;
	u32 start_line; /* 0: not known */
};

/* A call that was under way at a location. */
struct sample_line {
	u32 function, line; /* line 0: not known */
};

struct sample_location {
	va_t address;     /* inside the call; 0 where there is none */
	u32 first, count; /* of its lines; none where only the address is known */
};

struct sample {
	u32 first, depth; /* of its locations, in stacks */
	i64 bytes;        /* size of the objects that it counts; 0: says nothing */
};

struct samples {
	struct arena arena;              /* for names that are made */
	const struct sample_type *types; /* of the values of each sample */
	size_t type_count;
	size_t default_type; /* the one to look at first */
	bool says_default;   /* the profile names it */
	struct sample_type period_type;
	u64 period;
	i64 time_ns; /* Unix time; 0: not known */
	ARRAY(const char *) comments;
	ARRAY(struct sample_mapping) mappings;
	ARRAY(struct sample_function) functions;
	ARRAY(struct sample_line) lines;
	ARRAY(struct sample_location) locations;
	ARRAY(u32) stacks;
	ARRAY(i64) values; /* type_count for each sample */
	ARRAY(struct sample) v;
	struct map names;     /* hash of a function's name -> its index + 1 */
	struct map merged;    /* hash of a stack -> index + 1 of its sample */
	struct map synthetic; /* index of a function + 1 -> location's index + 1 */
};

void samples_fini(struct samples *s);

/* A function by its name: the first file and line that are told count. */
struct err *samples_function(struct samples *s, const struct sample_function *f,
			     u32 *ret) ERR_RESULT;

/* A new location with its calls, the innermost first; n may be 0. */
struct err *samples_location(struct samples *s, va_t address, const struct sample_line *lines,
			     size_t n, u32 *ret) ERR_RESULT;

/* The location that has no address but a name: the same one each time. */
struct err *samples_frame(struct samples *s, const char *name, u32 *ret) ERR_RESULT;

/* Adds a sample: a stack of locations, the innermost first, and a value for each type. */
struct err *samples_add(struct samples *s, const u32 *stack, size_t depth, i64 bytes,
			const i64 *values) ERR_RESULT;

/* Adds the values to the sample that has this very stack, made when there is none yet. */
struct err *samples_merge(struct samples *s, const u32 *stack, size_t depth,
			  const i64 *values) ERR_RESULT;

/* Value `type` of sample i, and its sum over all. */
i64 samples_value(const struct samples *s, size_t i, size_t type);
i64 samples_total(const struct samples *s, size_t type);

/* The function of a line. */
static inline const struct sample_function *samples_line_function(const struct samples *s,
								  const struct sample_line *l)
{
	return &s->functions.v[l->function];
}

/* Writes them as lines "OUTERMOST;...;INNERMOST VALUE", which tools for flame graphs read: those
 * whose value of this type is above 0. Semicolons in names become commas. */
struct err *samples_write_folded(const struct samples *s, size_t type, FILE *f) ERR_RESULT;

#endif
