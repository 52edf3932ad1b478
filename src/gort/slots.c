/* A slot is allocated when its index is below freeindex or its bit in allocBits is set; what the
 * mark bits say depends on how far the sweep is (d = sweepgen of the span minus the heap's):
 *
 *   d      allocBits                mark bits
 *  -2,+1   what was allocated       result of the last mark: unmarked slots are dead
 *  -1      in between: the span is being swept at this instant
 *   0,+3   survivors of the mark    of the next mark; slots allocated since are "fresh"
 */
#include "gort/slots.h"

#include "base/bits.h"
#include "gort/rtget.h"

enum {
	SWEEP_UNSWEPT = -2,
	SWEEP_SWEEPING = -1,
	SWEEP_SWEPT = 0,
	SWEEP_CACHED_UNSWEPT = 1,
	SWEEP_CACHED = 3
};

/* Copies n bits and clears the rest of the last word. The runtime allocates whole words. */
static bool read_bits(const struct rt *rt, va_t va, unsigned n, u64 *out)
{
	size_t words = (n + 63) / 64;
	const u8 *p = image_view(rt->im, va, words * 8);
	struct err *err = NULL;

	if (p)
		memcpy(out, p, words * 8);
	else
		err = image_read(rt->im, va, out, words * 8);
	err_free(err);
	if (n % 64)
		out[words - 1] &= bits_low(n % 64);
	return !err;
}

/* Green Tea keeps the marks of small objects at the end of their page until the sweep. */
static va_t mark_address(const struct rt *rt, const struct arenas *arenas, const struct span *s)
{
	if (s->npages == 1 && s->elemsize >= GO_INLINE_MARKS_MIN_SIZE &&
	    s->elemsize <= GO_INLINE_MARKS_MAX_SIZE && arenas_inline_marks(rt, arenas, s->start))
		return span_end(s) - GO_INLINE_MARKS_FROM_END + GO_INLINE_MARKS_OFFSET;
	return s->mark_bits;
}

static bool read_inline_marks(const struct rt *rt, va_t va, unsigned n, u64 *out)
{
	u8 bytes[SLOT_WORDS * 8] = {0};
	size_t words = (n + 63) / 64;
	struct err *err = image_read(rt->im, va, bytes, (n + 7) / 8);

	memcpy(out, bytes, words * 8);
	if (n % 64)
		out[words - 1] &= bits_low(n % 64);
	err_free(err);
	return !err;
}

static bool read_marks(const struct rt *rt, const struct arenas *arenas, const struct span *s,
		       u64 *out)
{
	va_t va = mark_address(rt, arenas, s);

	return va == s->mark_bits ? read_bits(rt, va, s->nelems, out)
				  : read_inline_marks(rt, va, s->nelems, out);
}

bool slots_read(const struct rt *rt, const struct arenas *arenas, const struct span *s,
		struct slots *ret)
{
	unsigned words = (s->nelems + 63u) / 64;
	u64 alloc_bits[SLOT_WORDS];
	bool marks = rt->gcphase != GC_OFF || s->sweep == SWEEP_UNSWEPT ||
		     s->sweep == SWEEP_CACHED_UNSWEPT;
	bool swept = s->sweep == SWEEP_SWEPT || s->sweep == SWEEP_CACHED;

	ret->n = s->nelems;
	if (!read_bits(rt, s->alloc_bits, s->nelems, alloc_bits))
		return false;
	if (marks && !read_marks(rt, arenas, s, ret->live))
		return false;
	for (unsigned w = 0; w < words; w++) {
		unsigned below = s->freeindex > w * 64 ? s->freeindex - w * 64 : 0;

		ret->alloc[w] = alloc_bits[w] | bits_low(below);
		if (marks)
			ret->live[w] &= ret->alloc[w];
		else
			ret->live[w] = swept ? alloc_bits[w] : 0;
	}
	if (s->nelems % 64) /* freeindex may not lead beyond the last slot */
		ret->alloc[words - 1] &= bits_low(s->nelems % 64);
	if (rt->gcphase != GC_OFF || !(marks || swept))
		ret->rest = REST_UNDECIDED;
	else
		ret->rest = marks ? REST_DEAD : REST_FRESH;
	return true;
}
