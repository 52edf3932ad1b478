/* Bump allocator for the small things of one stage: no single frees, all dropped together. What
 * goes beyond a first block is charged; over --max-memory the program ends. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/types.h"

struct arena_block;

struct arena {
	struct arena_block *head;
	size_t left; /* free bytes at the end of head */
};

/* Zeroed memory, aligned for any type; lives until arena_fini. Never NULL. */
void *arena_alloc(struct arena *a, size_t size) __attribute__((malloc, returns_nonnull));
char *arena_strndup(struct arena *a, const char *s, size_t n) __attribute__((returns_nonnull));
char *arena_strdup(struct arena *a, const char *s) __attribute__((returns_nonnull));
char *arena_printf(struct arena *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), returns_nonnull));

/* Frees everything; a zeroed arena is valid and empty. */
void arena_fini(struct arena *a);

#endif
