#include "base/mem.h"

#include "base/units.h"

#include <stdatomic.h>
#include <unistd.h>

#define HEADER_BYTES ((size_t)16) /* before a charged block: its size */

static _Atomic u64 used_bytes, peak_bytes;
static u64 limit_bytes;

void mem_die(void)
{
	static const char line[] = "spanscope: out of memory\n";
	static const char advice[] = "spanscope: out of memory; raise --max-memory\n";

	/* stdio may need memory itself. */
	if (write(STDERR_FILENO, limit_bytes ? advice : line,
		  (limit_bytes ? sizeof(advice) : sizeof(line)) - 1) < 0)
		_exit(3);
	_exit(3);
}

void *xcalloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size ? size : 1);

	if (!p)
		mem_die();
	return p;
}

char *xstrdup(const char *s)
{
	return xstrndup(s, strlen(s));
}

char *xstrndup(const char *s, size_t n)
{
	char *copy = strndup(s, n);

	if (!copy)
		mem_die();
	return copy;
}

char *xvasprintf(const char *fmt, va_list ap)
{
	char *s;

	if (vasprintf(&s, fmt, ap) < 0)
		mem_die();
	return s;
}

char *xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = xvasprintf(fmt, ap);
	va_end(ap);
	return s;
}

void mem_set_limit(u64 bytes)
{
	limit_bytes = bytes;
}

u64 mem_limit(void)
{
	return limit_bytes;
}

u64 mem_used(void)
{
	return used_bytes;
}

u64 mem_peak(void)
{
	return peak_bytes;
}

struct err *mem_charge(u64 bytes)
{
	u64 now = atomic_fetch_add(&used_bytes, bytes) + bytes;
	char text[UNITS_BUF];

	if (limit_bytes && now > limit_bytes) {
		atomic_fetch_sub(&used_bytes, bytes);
		return err_new(ERR_LIMIT, "more than %s of memory are needed; raise --max-memory",
			       units_bytes((i64)limit_bytes, text));
	}
	if (now > peak_bytes)
		peak_bytes = now;
	return NULL;
}

void mem_discharge(u64 bytes)
{
	atomic_fetch_sub(&used_bytes, bytes);
}

void *mem_charged_alloc(size_t n)
{
	struct err *err = n < SIZE_MAX - HEADER_BYTES ? mem_charge(n + HEADER_BYTES) : err_fault();
	u8 *block = err ? NULL : malloc(n + HEADER_BYTES);

	if (!block) {
		if (!err)
			mem_discharge(n + HEADER_BYTES);
		err_free(err);
		return NULL;
	}
	memcpy(block, &n, sizeof(n));
	return block + HEADER_BYTES;
}

void mem_charged_free(void *p)
{
	u8 *block = p ? (u8 *)p - HEADER_BYTES : NULL;
	size_t n;

	if (!block)
		return;
	memcpy(&n, block, sizeof(n));
	mem_discharge(n + HEADER_BYTES);
	free(block);
}

struct err *mem_grow(void **block, size_t *cap, size_t size, size_t need)
{
	size_t want = MAX(need, *cap + *cap / 2);
	size_t bytes;
	void *grown;

	if (need <= *cap)
		return NULL;
	if (__builtin_mul_overflow(want, size, &bytes))
		return err_new(ERR_LIMIT, "a table of %zu entries is too large", need);
	TRY(mem_charge(bytes - *cap * size));
	grown = mem_try_realloc(*block, bytes);
	if (!grown) {
		mem_discharge(bytes - *cap * size);
		return err_new(ERR_LIMIT, "no memory for a table of %zu entries", need);
	}
	*block = grown;
	*cap = want;
	return NULL;
}

void mem_release(void *block, size_t cap, size_t size)
{
	free(block);
	mem_discharge((u64)cap * size);
}

void mem_shrink(void **block, size_t *cap, size_t size, size_t need)
{
	void *smaller;

	if (need >= *cap || need == 0)
		return;
	smaller = mem_try_realloc(*block, need * size);
	if (!smaller)
		return;
	mem_discharge((u64)(*cap - need) * size);
	*block = smaller;
	*cap = need;
}
