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

bool bits_all_zero(const u8 *p, size_t n)
{
	u64 w[8]; /* a cache line, in as few steps as the compiler finds */

	for (; n >= sizeof(w); p += sizeof(w), n -= sizeof(w)) {
		memcpy(w, p, sizeof(w));
		if (w[0] | w[1] | w[2] | w[3] | w[4] | w[5] | w[6] | w[7])
			return false;
	}
	/* Bytes are equal to themselves shifted by one only when all are the same. */
	return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}
