/* Bit arrays as the Go runtime stores them: bit i is byte i/8, bit i%8 (little-endian words). */
#ifndef BASE_BITS_H
#define BASE_BITS_H

#include "base/types.h"

#include <string.h>

/* 64 bits at word index w. The array need not be aligned. */
static inline u64 bits_word(const u8 *bits, size_t w)
{
	u64 word;

	memcpy(&word, bits + w * 8, sizeof(word));
	return word;
}

static inline bool bits_test(const u64 *bits, size_t i)
{
	return bits[i / 64] >> (i % 64) & 1;
}

/* A word whose lowest n bits are set; n <= 64. */
static inline u64 bits_low(unsigned n)
{
	return n >= 64 ? UINT64_MAX : ((u64)1 << n) - 1;
}

/* Number of set bits in [lo, hi). */
size_t bits_count(const u64 *bits, size_t lo, size_t hi);

/* Whether n bytes are all zero. */
bool bits_all_zero(const u8 *p, size_t n);

#endif
