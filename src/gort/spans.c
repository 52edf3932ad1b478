/* mheap_.allspans has every mspan that ever was, in the order of creation; the dead ones among
 * them are skipped by their state, and the rest is sorted by address:
 *
 *   allspans -> { *mspan, *mspan, ... }     records: fixalloc'd, neighbours in memory
 */
#include "gort/spans.h"

#include "base/log.h"
#include "base/sort.h"
#include "gort/list.h"
#include "gort/rtget.h"

#define POINTERS_AT_ONCE 1024

/* A key packs the page number of a span with its index: 35 + 29 bits. */
#define KEY_INDEX_BITS 29
#define MAX_SPANS ((u64)1 << KEY_INDEX_BITS)

static bool span_is_sane(const struct span *s, u64 nelems)
{
	u64 bytes = span_bytes(s);

	if (s->state != SPAN_IN_USE && s->state != SPAN_MANUAL)
		return false;
	if (s->start % GO_PAGE_BYTES != 0 || s->npages == 0 || s->start >= GO_MAX_ADDR ||
	    bytes > GO_MAX_ADDR - s->start)
		return false;
	if (s->state == SPAN_MANUAL)
		return true; /* a stale elemsize stands in work buffers */
	return nelems > 0 && nelems <= SPAN_MAX_SLOTS && s->elemsize > 0 &&
	       s->elemsize <= bytes / nelems;
}

/* Normalises one record; a dead one gives state SPAN_DEAD. False when it makes no sense. */
static bool decode_span(const struct rt *rt, const u8 *rec, va_t mspan, struct span *ret)
{
	u64 npages = rec_u(rt, rec, RT_MSPAN_NPAGES);
	u64 nelems = rec_u(rt, rec, RT_MSPAN_NELEMS);
	u64 freeindex = rec_u(rt, rec, RT_MSPAN_FREEINDEX);
	i64 sweep = (int32_t)((u32)rec_u(rt, rec, RT_MSPAN_SWEEPGEN) - rt->sweepgen);

	ret->state = (u8)rec_u(rt, rec, RT_MSPAN_STATE);
	if (ret->state == SPAN_DEAD)
		return true;
	ret->mspan = mspan;
	ret->start = rec_u(rt, rec, RT_MSPAN_START);
	ret->alloc_bits = rec_u(rt, rec, RT_MSPAN_ALLOC_BITS);
	ret->mark_bits = rec_u(rt, rec, RT_MSPAN_MARK_BITS);
	ret->npages = npages > UINT32_MAX ? 0 : (u32)npages;
	ret->nelems = (u16)MIN(nelems, UINT16_MAX);
	ret->freeindex = (u16)MIN(freeindex, nelems);
	ret->alloc_count = (u16)rec_u(rt, rec, RT_MSPAN_ALLOC_COUNT);
	ret->spanclass = (u8)rec_u(rt, rec, RT_MSPAN_SPANCLASS);
	ret->elemsize = rec_u(rt, rec, RT_MSPAN_ELEMSIZE);
	ret->sweep = (int8_t)(sweep < -100 ? -100 : MIN(sweep, 100));
	ret->flags = rec_u(rt, rec, RT_MSPAN_SPECIALS) ? SPAN_SPECIALS : 0;
	return span_is_sane(ret, nelems);
}

/* Notes where a record lies; records are mostly created side by side. */
static struct err *add_record(struct spans *s, va_t lo, u64 bytes)
{
	s->record_count++;
	if (s->records.n && s->records.v[s->records.n - 1].hi == lo) {
		s->records.v[s->records.n - 1].hi += bytes;
		return NULL;
	}
	return array_push(&s->records, (struct range){lo, va_plus(lo, bytes)});
}

static struct err *read_span(const struct rt *rt, va_t mspan, struct spans *ret)
{
	u8 buf[RT_RECORD_MAX];
	const u8 *rec = rt_record(rt, mspan, RT_MSPAN, buf);
	struct span s;

	if (!rec) {
		diag(rt->d, DIAG_SPAN, "the record at 0x%llx is not in the core",
		     (unsigned long long)mspan);
		ret->bad_count++;
		return NULL;
	}
	TRY(add_record(ret, mspan, rt_size(rt, RT_MSPAN)));
	if (!decode_span(rt, rec, mspan, &s)) {
		diag(rt->d, DIAG_SPAN, "the record at 0x%llx makes no sense",
		     (unsigned long long)mspan);
		ret->bad_count++;
		return NULL;
	}
	if (s.state == SPAN_DEAD)
		return NULL;
	return array_push(&ret->v, s);
}

static struct err *read_table(const struct rt *rt, struct spans *ret)
{
	va_t mheap = rt->globals[RT_G_MHEAP], batch[POINTERS_AT_ONCE];
	struct go_slice all;

	TRY(rt_slice(rt, rt_addr(rt, mheap, RT_MHEAP_ALLSPANS), MAX_SPANS, &all));
	if (image_dumped_end(rt->im, all.ptr) < va_plus(all.ptr, all.len * sizeof(va_t)))
		return err_new(ERR_FAULT, "the table of %llu spans at 0x%llx is not in the core",
			       (unsigned long long)all.len, (unsigned long long)all.ptr);
	/* Reserving for all, dead ones included, would be too much only after a shrunk heap. */
	TRY(array_reserve(&ret->v, all.len));
	for (u64 i = 0; i < all.len; i += POINTERS_AT_ONCE) {
		u64 n = MIN(all.len - i, POINTERS_AT_ONCE);

		TRY(image_read(rt->im, all.ptr + i * sizeof(va_t), batch, n * sizeof(va_t)));
		for (u64 j = 0; j < n; j++)
			TRY(read_span(rt, batch[j], ret));
		log_progress(i, all.len);
	}
	return NULL;
}

/* Puts v[] into the order of the sorted keys, in place, cycle by cycle. */
static void permute(struct span *v, u64 *keys, size_t n)
{
	const u64 index_mask = MAX_SPANS - 1;

	for (size_t i = 0; i < n; i++) {
		struct span first = v[i];
		size_t hole = i, from = keys[i] & index_mask;

		if (keys[i] == UINT64_MAX)
			continue;
		while (from != i) {
			v[hole] = v[from];
			keys[hole] = UINT64_MAX;
			hole = from;
			from = keys[hole] & index_mask;
		}
		v[hole] = first;
		keys[hole] = UINT64_MAX;
	}
}

static struct err *sort_spans(struct spans *s)
{
	ARRAY(u64) keys = {0};
	struct err *err = array_reserve(&keys, s->v.n);

	if (err)
		return err;
	for (size_t i = 0; i < s->v.n; i++)
		keys.v[i] = s->v.v[i].start / GO_PAGE_BYTES << KEY_INDEX_BITS | i;
	err = sort_u64(keys.v, s->v.n);
	if (!err)
		permute(s->v.v, keys.v, s->v.n);
	array_free(&keys);
	return err;
}

/* Marks the spans of one list of work buffers. */
static void mark_work_list(const struct rt *rt, struct spans *s, va_t head)
{
	struct list_guard guard = {0};
	u64 node, start;

	if (!image_u64(rt->im, head, &node))
		node = 0;
	while (node) {
		struct span *span;
		struct err *err;

		if (!list_guard_step(&guard, node)) {
			diag(rt->d, DIAG_LIST, "a list of work buffers runs in a circle");
			return;
		}
		err = rt_u(rt, node, RT_MSPAN_START, &start);
		if (!err)
			err = rt_u(rt, node, RT_MSPAN_NEXT, &node);
		if (err) {
			diag_err(rt->d, DIAG_LIST, err_wrap(err, "a list of work buffers"));
			return;
		}
		span = (struct span *)spans_find(s, start);
		if (span && span->start == start && span->state == SPAN_MANUAL)
			span->flags |= SPAN_WORKBUF;
	}
}

/* The pointer bits of a large object whose type has a program in their place, unrolled: a span that
 * the object's own leads to as if it were its type (runtime/mbitmap_allocheaders.go heapSetType,
 * 1.22 and 1.23). Counted like work buffers, but on no list. */
static void mark_unrolled(const struct rt *rt, struct spans *s)
{
	for (size_t i = 0; rt_has(rt, RT_MSPAN_LARGE_TYPE) && i < s->v.n; i++) {
		const struct span *large = &s->v.v[i];
		struct span *bits;
		u64 type = 0;

		if (large->state != SPAN_IN_USE || large->spanclass / 2)
			continue;
		err_free(rt_u(rt, large->mspan, RT_MSPAN_LARGE_TYPE, &type));
		bits = (struct span *)spans_find(s, type);
		if (bits && bits->start == type && bits->state == SPAN_MANUAL)
			bits->flags |= SPAN_WORKBUF;
	}
}

/* Drops the span of a chunk that is freed while something points into it: address space that
 * faults, counted as free in all but pagesInUse (runtime/arena.go setUserArenaChunkToFault). */
static void drop_quarantined(struct spans *s, va_t start)
{
	struct span *span = (struct span *)spans_find(s, start);

	if (!span || span->start != start || span->state != SPAN_IN_USE)
		return;
	s->quarantined_pages += span->npages;
	span->state = SPAN_DEAD;
}

/* Closes the gaps: all at once, since a damaged list may name every span. */
static void remove_dropped(struct spans *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->v.n && s->quarantined_pages; i++)
		if (s->v.v[i].state != SPAN_DEAD)
			s->v.v[kept++] = s->v.v[i];
	if (s->quarantined_pages)
		s->v.n = kept;
}

/* Spans of freed user arena chunks: dead ones that wait to be used again, and before that, when
 * the sweeper has seen that no pointer is left, quarantined ones. */
static struct err *find_parked(const struct rt *rt, struct spans *s, enum rt_field head)
{
	struct list_guard guard = {0};
	u64 node, start;

	if (!rt_has(rt, head))
		return NULL;
	TRY(rt_u(rt, rt->globals[RT_G_MHEAP], head, &node));
	while (node) {
		bool again = !list_guard_step(&guard, node);
		struct err *err = rt_u(rt, node, RT_MSPAN_START, &start);

		if (!err)
			err = rt_u(rt, node, RT_MSPAN_NEXT, &node);
		if (err || again) {
			diag(rt->d, DIAG_LIST, "a list of user arena chunks is damaged");
			err_free(err);
			return NULL;
		}
		drop_quarantined(s, start);
		TRY(array_push(&s->parked, start));
	}
	return NULL;
}

struct err *spans_read(const struct rt *rt, struct spans *ret)
{
	va_t work = rt->globals[RT_G_WORK];

	TRY(read_table(rt, ret));
	TRY(sort_spans(ret));
	array_shrink(&ret->v);
	if (work) { /* without a place it has no spans (gort/find.h) */
		mark_work_list(rt, ret, rt_addr(rt, work, RT_WORK_WBUF_FREE));
		mark_work_list(rt, ret, rt_addr(rt, work, RT_WORK_WBUF_BUSY));
	}
	mark_unrolled(rt, ret);
	TRY(find_parked(rt, ret, RT_MHEAP_USER_ARENA_READY));
	TRY(find_parked(rt, ret, RT_MHEAP_USER_ARENA_QUARANTINE));
	remove_dropped(ret);
	return NULL;
}

void spans_free(struct spans *s)
{
	array_free(&s->v);
	array_free(&s->records);
	array_free(&s->parked);
}

const struct span *spans_find(const struct spans *s, va_t va)
{
	size_t i = array_first(&s->v, span_end(e) > va);

	return i < s->v.n && s->v.v[i].start <= va ? &s->v.v[i] : NULL;
}
