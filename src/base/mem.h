/* Memory of our own: small blocks that may not fail, big arrays under one budget.
 *
 * Small allocations, those of libraries too, end the program when there is no memory (status 3).
 * Everything whose size follows from the core grows through mem_grow, which keeps --max-memory and
 * returns an error. */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include "base/err.h"

#include <stdarg.h>

void *xcalloc(size_t n, size_t size) __attribute__((malloc, returns_nonnull));
char *xstrdup(const char *s) __attribute__((malloc, returns_nonnull));
char *xstrndup(const char *s, size_t n) __attribute__((malloc, returns_nonnull));
char *xasprintf(const char *fmt, ...)
	__attribute__((format(printf, 1, 2), malloc, returns_nonnull));
char *xvasprintf(const char *fmt, va_list ap)
	__attribute__((format(printf, 1, 0), malloc, returns_nonnull));

/* Ends the program: one line on stderr, status 3. */
void mem_die(void) __attribute__((noreturn));

/* realloc, which here may fail: everywhere else that ends the program (malloc.c). */
void *mem_try_realloc(void *p, size_t n);

/* Sets the budget of mem_grow and mem_charge in bytes; 0 is no limit. */
void mem_set_limit(u64 bytes);
u64 mem_limit(void);

/* Bytes charged now, and the most that ever were. */
u64 mem_used(void);
u64 mem_peak(void);

/* Charges memory that a library allocates on our behalf. ERR_LIMIT when over the budget. */
struct err *mem_charge(u64 bytes) ERR_RESULT;
void mem_discharge(u64 bytes);

/* malloc and free for libraries that build trees of what a file says, which can be larger than the
 * file: charged. NULL when over the budget. */
void *mem_charged_alloc(size_t n);
void mem_charged_free(void *p);

/* Makes *block, of *cap elements, hold at least need elements of size bytes each (capacity grows
 * by half). New elements are not initialised. On failure nothing changes. */
struct err *mem_grow(void **block, size_t *cap, size_t size, size_t need) ERR_RESULT;

/* Frees a block that mem_grow made and gives its charge back. */
void mem_release(void *block, size_t cap, size_t size);

/* Gives unused capacity back. */
void mem_shrink(void **block, size_t *cap, size_t size, size_t need);

#endif
