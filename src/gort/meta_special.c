/* What objects carry beside their memory: specials hang off their span in a list,
 *
 *   mspan.specials -> special{next, offset, kind, ...} -> ...
 *
 * of fixed-size elements whose allocator, and so whose size, follows from the kind. Kinds have
 * other numbers in each release: they are constants of its DWARF. */
#include "gort/list.h"
#include "gort/meta_priv.h"
#include "gort/rtget.h"

#define FINBLOCK_BYTES ((u64)4096) /* runtime/mfinal.go _FinBlockSize */

static const struct {
	enum rt_field kind, fixalloc;
} special_kinds[] = {
	{RT_KIND_FINALIZER, RT_MHEAP_SPECIAL_FINALIZER},
	{RT_KIND_CLEANUP, RT_MHEAP_SPECIAL_CLEANUP},
	{RT_KIND_CHECK_FINALIZER, RT_MHEAP_SPECIAL_CHECK_FINALIZER},
	{RT_KIND_TINY_BLOCK, RT_MHEAP_SPECIAL_TINY_BLOCK},
	{RT_KIND_PROFILE, RT_MHEAP_SPECIAL_PROFILE},
	{RT_KIND_REACHABLE, RT_MHEAP_SPECIAL_REACHABLE},
	{RT_KIND_PIN_COUNTER, RT_MHEAP_SPECIAL_PIN_COUNTER},
	{RT_KIND_WEAK_HANDLE, RT_MHEAP_SPECIAL_WEAK_HANDLE},
	{RT_KIND_BUBBLE, RT_MHEAP_SPECIAL_BUBBLE},
	{RT_KIND_SECRET, RT_MHEAP_SPECIAL_SECRET},
};

#define MAX_KINDS 256 /* a kind is a byte */

/* Sizes by kind; 0 for kinds that the release has not. Also adds what the allocators hold. */
static struct err *read_kinds(const struct rt *rt, struct meta *meta, u64 sizes[static MAX_KINDS])
{
	va_t mheap = rt->globals[RT_G_MHEAP];

	for (size_t i = 0; i < COUNT_OF(special_kinds); i++) {
		va_t fixalloc;
		u64 kind;

		if (!rt_has(rt, special_kinds[i].kind) || !rt_has(rt, special_kinds[i].fixalloc))
			continue;
		kind = (u64)rt->slots[special_kinds[i].kind].offset;
		fixalloc = rt_addr(rt, mheap, special_kinds[i].fixalloc);
		if (kind < MAX_KINDS)
			TRY(rt_u(rt, fixalloc, RT_FIXALLOC_SIZE, &sizes[kind]));
		TRY(meta_add_fixalloc_rest(rt, meta, fixalloc, META_SPECIAL));
		TRY(meta_add_fixalloc_free(rt, meta, fixalloc, META_SPECIAL));
	}
	return NULL;
}

static struct err *add_list(const struct rt *rt, struct meta *meta, const struct span *s,
			    const u64 sizes[static MAX_KINDS])
{
	struct list_guard guard = {0};
	u8 buf[RT_RECORD_MAX];
	u64 special;

	TRY(rt_u(rt, s->mspan, RT_MSPAN_SPECIALS, &special));
	while (special) {
		const u8 *rec = rt_record(rt, special, RT_SPECIAL, buf);

		if (!rec || !list_guard_step(&guard, special)) {
			diag(rt->d, DIAG_LIST, "the specials of the span at 0x%llx are damaged",
			     (unsigned long long)s->start);
			return NULL;
		}
		TRY(meta_add(meta, special, sizes[rec_u(rt, rec, RT_SPECIAL_KIND) % MAX_KINDS],
			     META_SPECIAL));
		special = rec_u(rt, rec, RT_SPECIAL_NEXT);
	}
	return NULL;
}

/* Blocks on a list that begins at the word `head` and goes on through the word at `link`. A head
 * without a place has none (gort/find.h). */
static struct err *add_blocks(const struct rt *rt, struct meta *meta, va_t head, u64 link,
			      u64 bytes, enum meta_kind kind)
{
	struct list_guard guard = {0};
	va_t block = 0;

	if (head)
		TRY(image_read(rt->im, head, &block, sizeof(block)));
	while (block) {
		if (!list_guard_step(&guard, block)) {
			diag(rt->d, DIAG_LIST, "a list of blocks runs in a circle");
			return NULL;
		}
		TRY(meta_add(meta, block, bytes, kind));
		TRY(image_read(rt->im, block + link, &block, sizeof(block)));
	}
	return NULL;
}

static struct err *add_callback_blocks(const struct rt *rt, struct meta *meta)
{
	va_t cleanups = rt->globals[RT_G_GC_CLEANUPS];

	TRY(add_blocks(rt, meta, rt->globals[RT_G_ALLFIN],
		       (u64)rt->slots[RT_FINBLOCK_ALLLINK].offset, FINBLOCK_BYTES, META_SPECIAL));
	if (!cleanups || !rt_has(rt, RT_CLEANUPS_ALL) || !rt_has(rt, RT_CLEANUP_BLOCK_ALLLINK))
		return NULL;
	return add_blocks(rt, meta, rt_addr(rt, cleanups, RT_CLEANUPS_ALL),
			  (u64)rt->slots[RT_CLEANUP_BLOCK_ALLLINK].offset,
			  rt_size(rt, RT_CLEANUP_BLOCK), META_SPECIAL);
}

struct err *meta_find_specials(const struct gort *gort, struct meta *meta)
{
	u64 sizes[MAX_KINDS] = {0};

	TRY(read_kinds(&gort->rt, meta, sizes));
	for (size_t i = 0; i < gort->spans.v.n; i++)
		if (gort->spans.v.v[i].flags & SPAN_SPECIALS)
			TRY(add_list(&gort->rt, meta, &gort->spans.v.v[i], sizes));
	return add_callback_blocks(&gort->rt, meta);
}

/* Rings of spans that wait to be marked (Green Tea, 1.26). */
struct err *meta_find_queues(const struct rt *rt, struct meta *meta)
{
	struct list_guard guard = {0};
	u64 queue, ring, cap;

	if (!rt->globals[RT_G_WORK] || !rt_has(rt, RT_WORK_SPAN_SPMCS) ||
	    !rt_has(rt, RT_SPAN_SPMC_RING))
		return NULL;
	TRY(rt_u(rt, rt->globals[RT_G_WORK], RT_WORK_SPAN_SPMCS, &queue));
	while (queue) {
		if (!list_guard_step(&guard, queue)) {
			diag(rt->d, DIAG_LIST, "the list of span queues runs in a circle");
			return NULL;
		}
		TRY(rt_u(rt, queue, RT_SPAN_SPMC_CAP, &cap));
		TRY(rt_u(rt, queue, RT_SPAN_SPMC_RING, &ring));
		TRY(meta_add(meta, queue, rt_size(rt, RT_SPAN_SPMC), META_GCWORK));
		TRY(meta_add_mapped(meta, ring, cap * sizeof(va_t), META_GCWORK));
		TRY(rt_u(rt, queue, RT_SPAN_SPMC_NEXT, &queue));
	}
	return NULL;
}

/* The buffers on one or more lists, whose heads stand `stride` bytes apart in a field. */
static struct err *add_trace_lists(const struct rt *rt, struct meta *meta, va_t base,
				   enum rt_field heads, u64 stride)
{
	for (u64 at = 0; rt_has(rt, heads) && stride && at < rt_size(rt, heads); at += stride)
		TRY(add_blocks(rt, meta, rt_addr(rt, base, heads) + at,
			       (u64)rt->slots[RT_TRACE_BUF_LINK].offset, rt_size(rt, RT_TRACE_BUF),
			       META_TRACE));
	return NULL;
}

/* A buffer is on one list at a time. From 1.22 on there are two queues of full ones, {head, tail}
 * each: the tail is the last buffer of its list. */
struct err *meta_find_trace(const struct gort *gort, struct meta *meta)
{
	const struct rt *rt = &gort->rt;
	const struct slot *full = &rt->slots[RT_TRACE_FULL];
	const u64 word = sizeof(va_t);
	va_t trace = rt->globals[RT_G_TRACE];

	if (!trace || !rt_has(rt, RT_TRACE_BUF_LINK))
		return NULL;
	TRY(add_trace_lists(rt, meta, trace, RT_TRACE_READING, word));
	TRY(add_trace_lists(rt, meta, trace, RT_TRACE_EMPTY, word));
	TRY(add_trace_lists(rt, meta, trace, RT_TRACE_FULL, full->size / MAX(full->count, 1)));
	for (size_t i = 0; i < gort->procs.v.n; i++)
		TRY(add_trace_lists(rt, meta, gort->procs.v.v[i].p, RT_P_TRACE_BUF, word));
	for (size_t i = 0; i < gort->ms.v.n; i++)
		TRY(add_trace_lists(rt, meta, gort->ms.v.v[i].m, RT_M_TRACE_BUF, word));
	return NULL;
}
