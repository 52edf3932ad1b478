#include "base/bits.h"

size_t bits_count(const u64 *bits, size_t lo, size_t hi)
{
	size_t first = lo / 64, last, n = 0;

	if (lo >= hi)
		return 0;
	last = (hi - 1) / 64;
	for (size_t w = first; w <= last; w++) {
		u64 word = bits[w];

		if (w == first)
			word &= ~bits_low(lo % 64);
		if (w == last)
			word &= bits_low((unsigned)(hi - w * 64));
		n += (size_t)__builtin_popcountll(word);
	}
	return n;
}
