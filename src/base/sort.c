#include "base/sort.h"

#include "base/array.h"

#include <string.h>

#define RADIX_BITS 11
#define RADIX_SIZE (1u << RADIX_BITS)

/* One stable pass by one digit. False when all keys share it and nothing was moved. */
static bool radix_pass(const u64 *from, u64 *to, size_t n, unsigned shift)
{
	size_t starts[RADIX_SIZE] = {0}, sum = 0;

	for (size_t i = 0; i < n; i++)
		starts[from[i] >> shift & (RADIX_SIZE - 1)]++;
	if (starts[from[0] >> shift & (RADIX_SIZE - 1)] == n)
		return false;
	for (unsigned d = 0; d < RADIX_SIZE; d++) {
		size_t count = starts[d];

		starts[d] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[starts[from[i] >> shift & (RADIX_SIZE - 1)]++] = from[i];
	return true;
}

struct err *sort_u64(u64 *keys, size_t n)
{
	ARRAY(u64) spare = {0};
	u64 *from = keys, *to;

	if (n < 2)
		return NULL;
	TRY(array_reserve(&spare, n));
	to = spare.v;
	for (unsigned shift = 0; shift < 64; shift += RADIX_BITS)
		if (radix_pass(from, to, n, shift)) {
			u64 *swap = from;

			from = to;
			to = swap;
		}
	if (from != keys)
		memcpy(keys, from, n * sizeof(*keys));
	array_free(&spare);
	return NULL;
}
