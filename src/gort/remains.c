#include "gort/remains.h"

#include "gort/rtget.h"

/* Arenas follow each other, and nothing else is mapped beside them: sysReserve asks for addresses
 * far from all others (runtime/malloc.go, mallocinit). */
static void find_arenas(const struct image *im, va_t inside, struct remains *ret)
{
	const struct vma *v = image_vma(im, inside), *first = v, *last = v;

	if (!v || v->kind != VMA_ANON)
		return;
	while (first > im->vmas.v && first[-1].hi == first->lo && first[-1].kind == VMA_ANON)
		first--;
	while (last + 1 < im->vmas.v + im->vmas.n && last[1].lo == last->hi &&
	       last[1].kind == VMA_ANON)
		last++;
	ret->lo = first->lo;
	ret->hi = last->hi;
}

struct err *remains_read(const struct gort *gort, struct remains *ret)
{
	const struct rt *rt = &gort->rt;
	va_t base = 0;

	*ret = (struct remains){.lo = 0};
	TRY(rt_u(rt, rt->globals[RT_G_MHEAP], RT_MHEAP_CUR_ARENA_BASE, &base));
	if (base)
		find_arenas(rt->im, base - 1, ret);
	return mstats_read(gort, &ret->counters);
}
