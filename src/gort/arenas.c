#include "gort/arenas.h"

#include "gort/rtget.h"

#include <stdlib.h>

static struct err *add_list(const struct rt *rt, va_t slice, struct arenas *ret)
{
	struct go_slice s;

	TRY(rt_slice(rt, slice, GO_ARENA_COUNT, &s));
	for (u64 i = 0; i < s.len; i++) {
		struct heap_arena a;
		u64 index;

		TRY(image_read(rt->im, s.ptr + 8 * i, &index, sizeof(index)));
		a.base = index * GO_ARENA_BYTES + rt->dialect.arena_base_offset;
		if (index >= GO_ARENA_COUNT || a.base >= GO_MAX_ADDR ||
		    !image_u64(rt->im, ret->l2 + 8 * index, &a.meta) || !a.meta) {
			diag(rt->d, DIAG_STRUCTURE, "arena number %llu makes no sense",
			     (unsigned long long)i);
			continue;
		}
		TRY(array_push(&ret->v, a));
	}
	return NULL;
}

static int by_base(const void *a, const void *b)
{
	const struct heap_arena *x = a, *y = b;

	return x->base < y->base ? -1 : x->base > y->base;
}

/* Later it is in no statistic, and nothing hangs on it. */
static struct err *read_rest(const struct rt *rt, struct range *ret)
{
	va_t mheap = rt->globals[RT_G_MHEAP];

	if (!rt->dialect.arena_rest_is_released)
		return NULL;
	TRY(rt_u(rt, mheap, RT_MHEAP_CUR_ARENA_BASE, &ret->lo));
	TRY(rt_u(rt, mheap, RT_MHEAP_CUR_ARENA_END, &ret->hi));
	if (ret->lo <= ret->hi && ret->hi <= GO_MAX_ADDR)
		return NULL;
	diag(rt->d, DIAG_STRUCTURE, "the rest of the newest arena (curArena) makes no sense");
	*ret = (struct range){0, 0};
	return NULL;
}

struct err *arenas_read(const struct rt *rt, struct arenas *ret)
{
	va_t mheap = rt->globals[RT_G_MHEAP];
	size_t kept = 0;

	TRY(image_read(rt->im, rt_addr(rt, mheap, RT_MHEAP_ARENAS), &ret->l2, sizeof(ret->l2)));
	TRY(add_list(rt, rt_addr(rt, mheap, RT_MHEAP_ARENA_LIST), ret));
	if (rt_has(rt, RT_MHEAP_USER_ARENA_LIST))
		TRY(add_list(rt, rt_addr(rt, mheap, RT_MHEAP_USER_ARENA_LIST), ret));
	TRY(read_rest(rt, &ret->rest));
	if (ret->v.n)
		qsort(ret->v.v, ret->v.n, sizeof(*ret->v.v), by_base);
	for (size_t i = 0; i < ret->v.n; i++) {
		if (kept && ret->v.v[kept - 1].base == ret->v.v[i].base)
			diag(rt->d, DIAG_STRUCTURE, "the arena at 0x%llx is listed twice",
			     (unsigned long long)ret->v.v[i].base);
		else
			ret->v.v[kept++] = ret->v.v[i];
	}
	ret->v.n = kept;
	return NULL;
}

const struct heap_arena *arenas_find(const struct arenas *arenas, va_t va)
{
	size_t i = array_first(&arenas->v, e->base + GO_ARENA_BYTES > va);

	return i < arenas->v.n && arenas->v.v[i].base <= va ? &arenas->v.v[i] : NULL;
}

va_t arenas_end(const struct arenas *arenas, va_t va)
{
	const struct heap_arena *a = arenas_find(arenas, va);

	for (; a && a < arenas->v.v + arenas->v.n && a->base <= va; a++)
		va = a->base + GO_ARENA_BYTES;
	return va;
}

/* Reads the metadata pointer of the arena at base; false when the map has none. */
static bool arena_at(const struct rt *rt, const struct arenas *arenas, va_t base,
		     struct heap_arena *ret)
{
	u64 index = (base - rt->dialect.arena_base_offset) / GO_ARENA_BYTES;

	ret->base = base;
	return index < GO_ARENA_COUNT && image_u64(rt->im, arenas->l2 + 8 * index, &ret->meta) &&
	       ret->meta;
}

/* Sorts, and drops what came twice: a damaged list of chunks may run in a circle. */
static void sort_arenas(struct arenas *arenas)
{
	size_t kept = 0;

	qsort(arenas->v.v, arenas->v.n, sizeof(*arenas->v.v), by_base);
	for (size_t i = 0; i < arenas->v.n; i++)
		if (!kept || arenas->v.v[kept - 1].base != arenas->v.v[i].base)
			arenas->v.v[kept++] = arenas->v.v[i];
	arenas->v.n = kept;
}

struct err *arenas_add_spans(const struct rt *rt, struct arenas *arenas, const struct spans *spans)
{
	ARRAY(struct heap_arena) more = {0};
	struct err *err = NULL;
	va_t next = 0; /* arenas below have been looked at: spans ascend */

	for (size_t i = 0; i < spans->v.n && !err; i++) {
		const struct span *s = &spans->v.v[i];
		va_t base = MAX(next, align_down(s->start, GO_ARENA_BYTES));

		for (; base < span_end(s) && !err; base += GO_ARENA_BYTES) {
			struct heap_arena a;

			if (!arenas_find(arenas, base) && arena_at(rt, arenas, base, &a))
				err = array_push(&more, a);
			next = base + GO_ARENA_BYTES;
		}
	}
	/* A freed chunk has no span, but its arena stays. */
	for (size_t i = 0; i < spans->parked.n && !err; i++) {
		va_t base = align_down(spans->parked.v[i], GO_ARENA_BYTES);
		struct heap_arena a;

		if (!arenas_find(arenas, base) && arena_at(rt, arenas, base, &a))
			err = array_push(&more, a);
	}
	for (size_t i = 0; i < more.n && !err; i++)
		err = array_push(&arenas->v, more.v[i]);
	if (more.n && !err)
		sort_arenas(arenas);
	array_free(&more);
	return err;
}

bool arenas_inline_marks(const struct rt *rt, const struct arenas *arenas, va_t va)
{
	u64 page = va % GO_ARENA_BYTES / GO_PAGE_BYTES;
	const struct heap_arena *a;
	const u8 *byte;

	if (!rt_has(rt, RT_HEAP_ARENA_INLINE_MARKS))
		return false;
	a = arenas_find(arenas, va);
	if (!a)
		return false;
	byte = image_view(rt->im, rt_addr(rt, a->meta, RT_HEAP_ARENA_INLINE_MARKS) + page / 8, 1);
	return byte && (*byte >> (page % 8) & 1);
}
