/* One pass over all variables, which may be many: sorts the few words that can be a pointer of the
 * runtime's by what they may point to. The finders look at these alone. */
#include "gort/find_priv.h"

#define MAX_SLICE ((u64)1 << 28)

/* Memory that was looked at last: neighbours point to the same places. */
struct near {
	const struct finder *f;
	const struct segment *seg;
	u64 arena; /* index of a heap arena plus 1 */
	bool arena_in_use;
};

static bool dumped(struct near *n, va_t va)
{
	const struct segment *seg = n->seg;

	if (!seg || va < seg->lo || va >= seg->hi) {
		seg = image_segment(n->f->rt->im, va);
		if (!seg)
			return false;
		n->seg = seg;
	}
	return va - seg->lo < seg->file_bytes;
}

static bool read_word(struct near *n, va_t va, u64 *ret)
{
	const struct segment *seg;

	if (!dumped(n, va))
		return false;
	seg = n->seg;
	if (seg->file_bytes - (va - seg->lo) < sizeof(*ret))
		return image_u64(n->f->rt->im, va, ret);
	memcpy(ret, n->f->rt->im->core.data + seg->off + (va - seg->lo), sizeof(*ret));
	return true;
}

/* Whether the address lies in an arena of the heap. */
static bool in_heap(struct near *n, va_t va)
{
	const struct rt *rt = n->f->rt;
	u64 index = (va - rt->dialect.arena_base_offset) / GO_ARENA_BYTES;

	if (index + 1 != n->arena) {
		va_t l2, arena = 0;

		n->arena = index + 1;
		n->arena_in_use = index < GO_ARENA_COUNT &&
				  find_field(n->f, rt->globals[RT_G_MHEAP], RT_MHEAP_ARENAS, &l2) &&
				  image_u64(rt->im, l2 + 8 * index, &arena) && arena;
	}
	return n->arena_in_use;
}

/* An M's g0 belongs to it. */
static bool is_m(struct near *n, va_t m)
{
	va_t g0, owner;

	return read_word(n, rt_addr(n->f->rt, m, RT_M_G0), &g0) && g0 && g0 % 8 == 0 &&
	       read_word(n, rt_addr(n->f->rt, g0, RT_G_M), &owner) && owner == m;
}

static u64 word_behind(const struct find_words *it, size_t i)
{
	u64 v = 0;

	if (i < it->n)
		return find_word(it, i);
	(void)image_u64(it->f->rt->im, it->va + 8 * i, &v);
	return v;
}

static struct err *sort_pointer(struct finder *f, struct near *near, const struct find_words *it,
				size_t i)
{
	struct find_pointer p = {it->va + 8 * i, find_word(it, i)};
	u64 second = word_behind(it, i + 1), third = word_behind(it, i + 2);

	if (!in_heap(near, p.to))
		TRY(array_push(&f->outside, p));
	else if (second && second <= third && third <= MAX_SLICE)
		TRY(array_push(&f->slices, p));
	else if (second - p.to == FIND_GCRASH_STACK_BYTES)
		TRY(array_push(&f->crash_stacks, p));
	if (is_m(near, p.to))
		TRY(array_push(&f->machines, p));
	return NULL;
}

/* What mheap_ points to is its own. */
struct err *find_pointers(struct finder *f)
{
	const struct image *im = f->rt->im;
	va_t mheap = f->rt->globals[RT_G_MHEAP], mheap_end = mheap + rt_size(f->rt, RT_MHEAP);
	va_t lo = im->segs.v[0].lo, hi = im->segs.v[im->segs.n - 1].hi;
	struct find_words it = {.f = f, .range = f->first_bss};
	struct near near = {.f = f}, target = {.f = f};

	while (find_next_words(&it))
		for (size_t i = 0; i < it.n; i++) {
			u64 v = find_word(&it, i);
			va_t at = it.va + 8 * i;

			if (v >= lo && v < hi && v % 8 == 0 && (at < mheap || at >= mheap_end) &&
			    dumped(&target, v))
				TRY(sort_pointer(f, &near, &it, i));
		}
	return NULL;
}
