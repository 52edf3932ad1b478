/* Labels that a program gave its goroutines for the profiler (runtime/pprof/label.go): pairs of
 * strings, which are the program's own data. */
#ifndef GORT_LABELS_H
#define GORT_LABELS_H

#include "gort/rt.h"

#define LABELS_MAX 64 /* of one goroutine; more are left out */

struct label {
	const char *key, *value; /* "?" where the core does not have it */
};

/* Reads the labels that a g points to, by key; how many they are. The strings go to the arena, and
 * end at their first NUL and after 1 KiB. */
size_t labels_read(const struct rt *rt, va_t labels, struct arena *a,
		   struct label ret[static LABELS_MAX]);

#endif
