/* Fuzz targets: one function each that takes any bytes and comes back.
 *
 * With entry.c it is a libFuzzer target (make MODE=fuzz fuzz), with replay.c a program that runs
 * files through it (make fuzz-replay). Besides crashes and sanitizer reports, what must never be
 * ends the process by assert_always. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include "base/types.h"

void fuzz_one(const u8 *data, size_t n);

/* Ends the process with a message unless the condition holds. */
#define assert_always(condition)                                                                   \
	do {                                                                                       \
		if (!(condition))                                                                  \
			fuzz_fail(#condition, __FILE__, __LINE__);                                 \
	} while (0)

static inline void fuzz_fail(const char *condition, const char *file, int line)
{
	fprintf(stderr, "%s:%d: %s does not hold\n", file, line, condition);
	abort();
}

/* Takes up to n bytes from the front of the data, as a little-endian number. */
static inline u64 fuzz_take(const u8 **data, size_t *left, size_t n)
{
	u64 v = 0;

	n = MIN(n, *left);
	memcpy(&v, *data, n);
	*data += n;
	*left -= n;
	return v;
}

#endif
