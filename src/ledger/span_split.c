#include "ledger/span_split.h"

#include "base/bits.h"

/* Bytes of the set slots within offsets [a, b), which end at or before the last slot. */
static u64 slot_bytes(const u64 *bits, u64 elemsize, u64 a, u64 b)
{
	u64 first = a / elemsize, last = b / elemsize; /* slots that a and b lie in */
	u64 head = a % elemsize, tail = b % elemsize;
	u64 bytes = (u64)bits_count(bits, first, last) * elemsize;

	if (head && bits_test(bits, first))
		bytes -= head;
	if (tail && bits_test(bits, last))
		bytes += tail;
	return bytes;
}

static enum category rest_category(enum slot_rest rest)
{
	switch (rest) {
	case REST_FRESH:
		return CAT_HEAP_FRESH;
	case REST_DEAD:
		return CAT_HEAP_DEAD;
	case REST_UNDECIDED:
		break;
	}
	return CAT_HEAP_UNDECIDED;
}

void span_split(const struct slots *slots, const struct span *span, va_t lo, va_t hi,
		struct split *ret)
{
	u64 slots_end = span->elemsize * slots->n;
	u64 a = MIN(lo - span->start, slots_end), b = MIN(hi - span->start, slots_end);
	u64 alloc = slot_bytes(slots->alloc, span->elemsize, a, b);
	u64 live = slot_bytes(slots->live, span->elemsize, a, b);

	*ret = (struct split){
		{CAT_HEAP_LIVE, rest_category(slots->rest), CAT_HEAP_FREE, CAT_HEAP_TAIL},
		{live, alloc - live, (b - a) - alloc, (hi - lo) - (b - a)},
	};
}
