/* An allocation that fails ends the program, whoever asked: libraries do not survive it. libdw
 * 0.188 crashes, aborts by an assertion, or finds half of the DWARF, depending on which one it is;
 * all of that was seen (tests/failpoints).
 *
 * The definitions here come before glibc's for all of the process. Requests that are beyond all
 * reason stem from a damaged file, are checked by those who make them, and are no lack of memory.
 * Not with sanitizers, whose own allocator ends the program. */
#include "base/mem.h"

#include <dlfcn.h>
#include <stdlib.h>

#define WITHIN_REASON ((size_t)1 << 30)

#ifdef __SANITIZE_ADDRESS__
#define REPLACE_MALLOC 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define REPLACE_MALLOC 0
#endif
#endif
#ifndef REPLACE_MALLOC
#define REPLACE_MALLOC 1
#endif

#if REPLACE_MALLOC

/* The next definition of a function; looked up at its first use, which is before main. */
#define NEXT(name)                                                                                 \
	({                                                                                         \
		static typeof(name) *next_;                                                        \
		if (!next_)                                                                        \
			next_ = (typeof(name) *)dlsym(RTLD_NEXT, #name);                           \
		next_;                                                                             \
	})

static void *checked(void *p, size_t n)
{
	if (!p && n < WITHIN_REASON)
		mem_die();
	return p;
}

void *malloc(size_t n)
{
	return checked(NEXT(malloc)(n), n);
}

void *calloc(size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes))
		return NULL;
	return checked(NEXT(calloc)(n, size), bytes);
}

/* No memory and a size of 0 is what realloc makes of a block that it frees. */
void *realloc(void *p, size_t n)
{
	void *q = NEXT(realloc)(p, n);

	return n ? checked(q, n) : q;
}

void *mem_try_realloc(void *p, size_t n)
{
	return NEXT(realloc)(p, n);
}

#else

void *mem_try_realloc(void *p, size_t n)
{
	return realloc(p, n);
}

#endif
