/* Preloaded into a program, makes an allocation fail: number FAILMALLOC_AT, and with FAILMALLOC_ON
 * all that follow. Whatever asks: the program, its libraries, glibc itself. Writes the number of
 * allocations that there were, in 20 digits, to the descriptor FAILMALLOC_FD, if it is given. */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

/* glibc's own, below the names that programs use. */
void *__libc_malloc(size_t n);                     // NOLINT
void *__libc_calloc(size_t n, size_t size);        // NOLINT
void *__libc_realloc(void *p, size_t n);           // NOLINT
void *__libc_memalign(size_t alignment, size_t n); // NOLINT

static atomic_long count;
static long fail_at;
static int fd = -1;
static bool fail_on;

static long number(const char *name, long otherwise)
{
	const char *text = getenv(name);

	return text ? strtol(text, NULL, 10) : otherwise;
}

__attribute__((constructor)) static void start(void)
{
	fail_on = getenv("FAILMALLOC_ON") != NULL;
	fd = (int)number("FAILMALLOC_FD", -1);
	fail_at = number("FAILMALLOC_AT", 0);
	atomic_store(&count, 0);
}

__attribute__((destructor)) static void finish(void)
{
	char text[20];
	long n = atomic_load(&count);

	for (int i = sizeof(text); i-- > 0; n /= 10)
		text[i] = (char)('0' + n % 10);
	if (fd >= 0 && write(fd, text, sizeof(text)) < 0)
		_exit(99);
}

static bool fails(void)
{
	long n = atomic_fetch_add(&count, 1) + 1;
	bool now = fail_at > 0 && (fail_on ? n >= fail_at : n == fail_at);

	if (now)
		errno = ENOMEM;
	return now;
}

void *malloc(size_t n)
{
	return fails() ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	return fails() ? NULL : __libc_realloc(p, n);
}

void *aligned_alloc(size_t alignment, size_t n)
{
	return fails() ? NULL : __libc_memalign(alignment, n);
}

int posix_memalign(void **p, size_t alignment, size_t n)
{
	void *block = fails() ? NULL : __libc_memalign(alignment, n);

	if (!block)
		return ENOMEM;
	*p = block;
	return 0;
}
