#include "base/apportion.h"

#include "base/array.h"

#include <stdlib.h>

struct rest {
	u64 remainder;
	size_t index;
};

static int by_remainder(const void *a, const void *b)
{
	const struct rest *x = a, *y = b;

	if (x->remainder != y->remainder)
		return x->remainder > y->remainder ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* By how many bits weights have to be shifted for their sum to fit into a word. */
static unsigned excess_bits(const u64 *weights, size_t n)
{
	unsigned __int128 sum = 0;
	unsigned bits = 0;

	for (size_t i = 0; i < n; i++)
		sum += weights[i];
	for (; sum >> 64; sum >>= 1)
		bits++;
	return bits;
}

struct err *apportion(u64 total, const u64 *weights, size_t n, u64 *parts)
{
	ARRAY(struct rest) rests = {.v = NULL};
	unsigned shift = excess_bits(weights, n);
	u64 sum = 0, left = total;

	TRY(array_reserve(&rests, n));
	for (size_t i = 0; i < n; i++)
		sum += weights[i] >> shift;
	for (; rests.n < n; rests.n++) {
		size_t i = rests.n;
		unsigned __int128 share = (unsigned __int128)total * (weights[i] >> shift);

		rests.v[i] = (struct rest){sum ? (u64)(share % sum) : i, i};
		parts[i] = sum ? (u64)(share / sum) : 0;
		left -= parts[i];
	}
	if (sum) {
		qsort(rests.v, n, sizeof(*rests.v), by_remainder);
		for (size_t i = 0; i < left; i++)
			parts[rests.v[i].index]++;
	} else {
		parts[n - 1] = total;
	}
	array_free(&rests);
	return NULL;
}
