/* The scalar types that every layer shares. */
#ifndef BASE_TYPES_H
#define BASE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t i64;

/* An address in the dumped process. */
typedef u64 va_t;

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* Half-open range of target addresses. */
struct range {
	va_t lo, hi;
};

static inline u64 align_down(u64 x, u64 unit)
{
	return x & ~(unit - 1);
}

/* Rounds up to a power-of-two unit; saturates instead of wrapping. */
static inline u64 align_up(u64 x, u64 unit)
{
	u64 sum;

	if (__builtin_add_overflow(x, unit - 1, &sum))
		return ~(unit - 1);
	return align_down(sum, unit);
}

/* lo + len, saturated: an end address out of a core never wraps below its start. */
static inline va_t va_plus(va_t lo, u64 len)
{
	va_t hi;

	return __builtin_add_overflow(lo, len, &hi) ? UINT64_MAX : hi;
}

#endif
