#include "gort/find_priv.h"

#include "gort/list.h"

#include <stdlib.h>

void find_take(struct find_answer *a, va_t va, u64 rank)
{
	if (!a->va || rank > a->rank) {
		a->va = va;
		a->other = 0;
		a->rank = rank;
	} else if (rank == a->rank && va != a->va) {
		a->other = va;
	}
}

struct err *find_settle(struct finder *f, enum rt_global g, const struct find_answer *a, bool need)
{
	if (!a->va && need)
		return err_new(ERR_FORMAT, "%s was not found", a->name);
	if (a->other)
		return err_new(ERR_FORMAT, "%s could be at 0x%llx and at 0x%llx", a->name,
			       (unsigned long long)a->va, (unsigned long long)a->other);
	f->rt->globals[g] = a->va;
	return NULL;
}

bool find_next_words(struct find_words *it)
{
	const struct image *im = it->f->rt->im;

	for (; it->range < it->f->range_count; it->range++, it->va = 0, it->n = 0) {
		struct range r = it->f->ranges[it->range];
		va_t at = align_up(MAX(it->va + 8 * it->n, r.lo), 8);

		while (at < r.hi) {
			const struct segment *seg = image_segment(im, at);
			va_t end;

			if (!seg)
				break;
			end = MIN(seg->lo + seg->file_bytes, r.hi);
			if (end >= at + 8) {
				it->va = at;
				it->n = (end - at) / 8;
				it->p = image_view(im, at, 8 * it->n);
				return it->p != NULL;
			}
			at = seg->hi;
		}
	}
	return false;
}

bool find_in_variables(const struct finder *f, va_t va)
{
	for (size_t i = 0; i < f->range_count; i++)
		if (va >= f->ranges[i].lo && va < f->ranges[i].hi)
			return true;
	return false;
}

bool find_is_part(const struct finder *f, va_t va)
{
	static const struct {
		enum rt_global g;
		enum rt_field whole;
	} found[] = {
		{RT_G_MHEAP, RT_MHEAP},
		{RT_G_MEMSTATS, RT_MSTATS},
		{RT_G_GC_CONTROLLER, RT_GCC},
	};

	for (size_t i = 0; i < COUNT_OF(found); i++) {
		va_t lo = rt_addr(f->rt, f->rt->globals[found[i].g], found[i].whole);

		if (va >= lo && va - lo < rt_size(f->rt, found[i].whole))
			return true;
	}
	return f->m0 && va >= f->m0 && va - f->m0 < rt_size(f->rt, RT_M);
}

bool find_dumped(const struct finder *f, va_t va, u64 n)
{
	va_t end;

	return va % 8 == 0 && va && !__builtin_add_overflow(va, n, &end) &&
	       (image_view(f->rt->im, va, n) || image_dumped_end(f->rt->im, va) >= end);
}

bool find_field(const struct finder *f, va_t base, enum rt_field field, u64 *ret)
{
	struct err *err;

	if (!rt_has(f->rt, field))
		return false;
	err = rt_u(f->rt, base, field, ret);
	err_free(err);
	return !err;
}

va_t find_span_of(const struct finder *f, va_t va)
{
	const struct rt *rt = f->rt;
	va_t index = (va - rt->dialect.arena_base_offset) / GO_ARENA_BYTES;
	va_t l2, arena, span;

	if (index >= GO_ARENA_COUNT ||
	    !find_field(f, rt->globals[RT_G_MHEAP], RT_MHEAP_ARENAS, &l2) ||
	    !image_u64(rt->im, l2 + 8 * index, &arena) || !arena ||
	    !image_u64(rt->im,
		       rt_addr(rt, arena, RT_HEAP_ARENA_SPANS) +
			       8 * (va % GO_ARENA_BYTES / GO_PAGE_BYTES),
		       &span))
		return 0;
	return span;
}

va_t find_lfstack_node(const struct finder *f, u64 head)
{
	return head >> f->rt->dialect.tag_bits << f->rt->dialect.tag_align_bits;
}

const struct range *find_chunk(const struct finder *f, va_t va)
{
	size_t i = array_first(&f->chunks, e->hi > va);

	return i < f->chunks.n && f->chunks.v[i].lo <= va ? &f->chunks.v[i] : NULL;
}

static struct err *find_all(struct finder *f)
{
	TRY(find_module(f));
	TRY(find_heap(f));
	TRY(find_pointers(f));
	TRY(find_scheduler(f));
	find_settings(f);
	TRY(find_span_lists(f));
	TRY(find_phase(f));
	TRY(find_persistent(f));
	TRY(find_buckets(f));
	TRY(find_callbacks(f));
	return find_profile(f);
}

struct err *find_globals(struct rt *rt)
{
	struct finder f = {.rt = rt};
	struct err *err = find_all(&f);

	array_free(&f.slices);
	array_free(&f.machines);
	array_free(&f.crash_stacks);
	array_free(&f.outside);
	array_free(&f.chunks);
	array_free(&f.ps);
	array_free(&f.ms);
	return err;
}
