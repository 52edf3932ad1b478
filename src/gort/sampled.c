#include "gort/sampled.h"

#include "base/bits.h"
#include "gort/list.h"
#include "gort/rtget.h"

static struct err *visit_special(const struct rt *rt, va_t special, const u8 *rec,
				 struct sampled *s, sampled_visitor *visit, void *arg)
{
	u64 slot = rec_u(rt, rec, RT_SPECIAL_OFFSET) / s->span->elemsize;

	if (rec_u(rt, rec, RT_SPECIAL_KIND) != (u64)rt->slots[RT_KIND_PROFILE].offset ||
	    slot >= s->slots->n || !bits_test(s->slots->alloc, slot) ||
	    !image_u64(rt->im, rt_addr(rt, special, RT_SPECIAL_PROFILE_BUCKET), &s->bucket))
		return NULL;
	s->slot = (unsigned)slot;
	return visit(arg, s);
}

static struct err *visit_span(const struct rt *rt, struct sampled *s, sampled_visitor *visit,
			      void *arg)
{
	struct list_guard guard = {0};
	u8 buf[RT_RECORD_MAX];
	u64 special;

	TRY(rt_u(rt, s->span->mspan, RT_MSPAN_SPECIALS, &special));
	while (special) {
		const u8 *rec = rt_record(rt, special, RT_SPECIAL, buf);

		if (!rec || !list_guard_step(&guard, special))
			return NULL;
		TRY(visit_special(rt, special, rec, s, visit, arg));
		special = rec_u(rt, rec, RT_SPECIAL_NEXT);
	}
	return NULL;
}

struct err *sampled_visit(const struct gort *gort, sampled_visitor *visit, void *arg)
{
	const struct rt *rt = &gort->rt;

	if (!rt_has(rt, RT_SPECIAL_OFFSET) || !rt_has(rt, RT_SPECIAL_PROFILE_BUCKET) ||
	    !rt_has(rt, RT_KIND_PROFILE))
		return NULL;
	for (size_t i = 0; i < gort->spans.v.n; i++) {
		const struct span *span = &gort->spans.v.v[i];
		struct slots slots;
		struct sampled s = {.span = span, .slots = &slots};

		if (span->state == SPAN_IN_USE && span->flags & SPAN_SPECIALS && span->elemsize &&
		    slots_read(rt, &gort->arenas, span, &slots))
			TRY(visit_span(rt, &s, visit, arg));
	}
	return NULL;
}
