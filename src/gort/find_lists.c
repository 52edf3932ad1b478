/* Lists of spans, found from their ends: an mspan on a list says which (mspan.list). Tells work,
 * stackLarge and stackpool apart; and gcBitsArenas, by the bits that spans have in its arenas. */
#include "gort/find_priv.h"

#include "gort/list.h"
#include "gort/spans.h"

#define POINTERS_AT_ONCE 512
#define MAX_ARENAS ((u64)1 << 24)
#define WORKBUF_PAGES 4 /* runtime/mgcwork.go workbufAlloc */

static void note_list(struct finder *f, va_t list)
{
	for (size_t i = 0; i < f->list_count; i++)
		if (f->lists[i] == list)
			return;
	if (f->list_count < FIND_MAX_LISTS)
		f->lists[f->list_count++] = list;
}

/* Spans of the stack pool are on a list because they have free stacks. */
static void look_at_span(struct finder *f, u64 index, const u8 *rec)
{
	const struct rt *rt = f->rt;
	u64 state = rec_u(rt, rec, RT_MSPAN_STATE);
	va_t list = rec_u(rt, rec, RT_MSPAN_LIST);
	struct find_sample s = {rec_u(rt, rec, RT_MSPAN_MARK_BITS),
				rec_u(rt, rec, RT_MSPAN_ALLOC_BITS)};

	if (state == SPAN_MANUAL && list && !rec_u(rt, rec, RT_MSPAN_MANUAL_FREE) &&
	    find_in_variables(f, list))
		note_list(f, list);
	if (state != SPAN_IN_USE || !s.mark || !s.alloc)
		return;
	/* The first ones, then a later one in place of an earlier. */
	f->samples[f->sample_count < FIND_MAX_SAMPLES ? f->sample_count
						      : index % FIND_MAX_SAMPLES] = s;
	f->sample_count += f->sample_count < FIND_MAX_SAMPLES;
}

static struct err *look_at_spans(struct finder *f)
{
	const struct rt *rt = f->rt;
	va_t batch[POINTERS_AT_ONCE];
	u8 buf[RT_RECORD_MAX];
	struct go_slice all;

	TRY(rt_slice(rt, rt_addr(rt, rt->globals[RT_G_MHEAP], RT_MHEAP_ALLSPANS), GO_MAX_ADDR,
		     &all));
	for (u64 i = 0; i < all.len; i += POINTERS_AT_ONCE) {
		u64 n = MIN(all.len - i, POINTERS_AT_ONCE);

		TRY(image_read(rt->im, all.ptr + i * sizeof(va_t), batch, n * sizeof(va_t)));
		for (u64 j = 0; j < n; j++) {
			const u8 *rec = rt_record(rt, batch[j], RT_MSPAN, buf);

			if (rec)
				look_at_span(f, i + j, rec);
		}
	}
	return NULL;
}

/* A list {first, last}: empty, or both ends say that they are on it. pages is 0 for any size. */
static bool is_list(const struct finder *f, va_t list, u64 pages)
{
	va_t ends[2];

	for (size_t i = 0; i < COUNT_OF(ends); i++) {
		u64 own, n;

		if (!image_u64(f->rt->im, list + 8 * i, &ends[i]))
			return false;
		if (!ends[i])
			continue;
		if (!find_field(f, ends[i], RT_MSPAN_LIST, &own) || own != list ||
		    !find_field(f, ends[i], RT_MSPAN_NPAGES, &n) || (pages && n != pages))
			return false;
	}
	return !ends[0] == !ends[1];
}

/* stackLarge.free[i] has stacks of 2^i pages. */
static bool is_stack_large(const struct finder *f, va_t base)
{
	const struct rt *rt = f->rt;
	u64 stride = rt_size(rt, RT_STACK_LARGE_LIST), n = rt->slots[RT_STACK_LARGE_FREE].count;
	va_t lists = rt_addr(rt, base, RT_STACK_LARGE_FREE);

	for (u64 i = 0; i < n; i++)
		if (!is_list(f, lists + i * stride, (u64)1 << (i % 64)))
			return false;
	return find_in_variables(f, base);
}

/* The list that a span is on, and the span's size, say where the first list is. */
static struct err *find_stack_large(struct finder *f)
{
	struct find_answer a = {.name = "stackLarge"};
	const struct rt *rt = f->rt;

	for (size_t i = 0; i < f->list_count; i++) {
		va_t first, base;
		u64 pages;

		if (!image_u64(rt->im, f->lists[i], &first) || !first ||
		    !find_field(f, first, RT_MSPAN_NPAGES, &pages) || !pages ||
		    (pages & (pages - 1)))
			continue;
		base = f->lists[i] -
		       (u64)__builtin_ctzll(pages) * rt_size(rt, RT_STACK_LARGE_LIST) -
		       (u64)rt->slots[RT_STACK_LARGE_FREE].offset;
		if (is_stack_large(f, base))
			find_take(&a, base, 0);
	}
	return find_settle(f, RT_G_STACK_LARGE, &a, false);
}

/* The head of a lock-free stack: empty, or a buffer in one of the marker's spans. */
static bool is_stack(const struct finder *f, va_t head)
{
	u64 v, state, pages;
	va_t node, span;

	if (!image_u64(f->rt->im, head, &v))
		return false;
	node = find_lfstack_node(f, v);
	span = node ? find_span_of(f, node) : 0;
	return !node || (find_field(f, span, RT_MSPAN_STATE, &state) && state == SPAN_MANUAL &&
			 find_field(f, span, RT_MSPAN_NPAGES, &pages) && pages == WORKBUF_PAGES);
}

/* Cycles are counted when they begin, in memstats when they end. */
static bool counts_cycles(const struct finder *f, va_t work)
{
	u64 begun, ended;

	return find_field(f, work, RT_WORK_CYCLES, &begun) &&
	       find_field(f, f->rt->globals[RT_G_MEMSTATS], RT_MSTATS_NUMGC, &ended) &&
	       (begun == ended || begun == ended + 1);
}

static bool is_work(const struct finder *f, va_t work)
{
	const struct rt *rt = f->rt;

	return find_in_variables(f, work) && counts_cycles(f, work) &&
	       is_stack(f, rt_addr(rt, work, RT_WORK_FULL)) &&
	       is_stack(f, rt_addr(rt, work, RT_WORK_EMPTY)) &&
	       is_list(f, rt_addr(rt, work, RT_WORK_WBUF_FREE), WORKBUF_PAGES) &&
	       is_list(f, rt_addr(rt, work, RT_WORK_WBUF_BUSY), WORKBUF_PAGES);
}

/* The marker's queues of spans may outlive all its buffers (1.26). */
static void find_work_by_queue(struct finder *f, struct find_answer *a)
{
	const struct rt *rt = f->rt;

	if (!rt_has(rt, RT_WORK_SPAN_SPMCS) || !rt_has(rt, RT_SPAN_SPMC_RING))
		return;
	for (size_t i = 0; i < f->outside.n; i++) {
		struct find_pointer p = f->outside.v[i];
		va_t work = p.at - (u64)rt->slots[RT_WORK_SPAN_SPMCS].offset, ring;
		u64 cap;

		if (find_field(f, p.to, RT_SPAN_SPMC_CAP, &cap) && cap && !(cap & (cap - 1)) &&
		    find_field(f, p.to, RT_SPAN_SPMC_RING, &ring) && ring % 8 == 0 &&
		    find_dumped(f, ring, cap * sizeof(va_t)) && is_work(f, work))
			find_take(a, work, 0);
	}
}

static struct err *find_work(struct finder *f)
{
	static const enum rt_field lists[] = {RT_WORK_WBUF_FREE, RT_WORK_WBUF_BUSY};
	struct find_answer a = {.name = "work"};
	const struct rt *rt = f->rt;
	va_t large = rt->globals[RT_G_STACK_LARGE];
	va_t large_end = rt_addr(rt, large, RT_STACK_LARGE_FREE) + rt_size(rt, RT_STACK_LARGE_FREE);

	for (size_t i = 0; i < f->list_count; i++)
		for (size_t j = 0; j < COUNT_OF(lists); j++) {
			va_t work = f->lists[i] - (u64)rt->slots[lists[j]].offset;

			if (large && f->lists[i] >= large && f->lists[i] < large_end)
				continue;
			if (is_work(f, work))
				find_take(&a, work, 0);
		}
	find_work_by_queue(f, &a);
	return find_settle(f, RT_G_WORK, &a, false);
}

static bool has_bits(const struct finder *f, va_t arena, va_t bits)
{
	return bits >= arena && bits < arena + rt_size(f->rt, RT_GCBITS_ARENA);
}

/* Walks the list of arenas; notes which samples have bits in them. False when it is none. */
static bool walk_arenas(const struct finder *f, va_t arena, bool marks,
			u8 hits[static FIND_MAX_SAMPLES], u64 *count)
{
	struct list_guard guard = {0};

	while (arena) {
		u64 used;

		if (arena % 4096 != 0 || *count >= MAX_ARENAS || !list_guard_step(&guard, arena) ||
		    !find_dumped(f, arena, rt_size(f->rt, RT_GCBITS_ARENA)) ||
		    !find_field(f, arena, RT_GCBITS_ARENA_FREE, &used) ||
		    used > rt_size(f->rt, RT_GCBITS_ARENA))
			return false;
		for (size_t i = 0; i < f->sample_count; i++) {
			if (marks && has_bits(f, arena, f->samples[i].mark))
				hits[i] |= 1;
			if (has_bits(f, arena, f->samples[i].alloc))
				hits[i] |= 2;
		}
		++*count;
		if (!find_field(f, arena, RT_GCBITS_ARENA_NEXT, &arena))
			return false;
	}
	return true;
}

/* Mark bits are in the arenas of this cycle or of the next (mheap.go nextMarkBitArenaEpoch), what
 * is allocated may also be described in those of the previous one. A span that is being swept has
 * bits between two cycles. How many samples fit, then how many arenas there are; 0 when it is not
 * gcBitsArenas. */
static u64 rank_arenas(const struct finder *f, va_t base)
{
	static const struct {
		enum rt_field head;
		bool marks;
	} lists[] = {{RT_GCBITS_ARENAS_NEXT, true},
		     {RT_GCBITS_ARENAS_CURRENT, true},
		     {RT_GCBITS_ARENAS_PREVIOUS, false},
		     {RT_GCBITS_ARENAS_FREE, false}};
	u8 hits[FIND_MAX_SAMPLES] = {0};
	u64 count = 0, fit = 0;

	for (size_t i = 0; i < COUNT_OF(lists); i++) {
		va_t arena;

		if (!find_field(f, base, lists[i].head, &arena) ||
		    !walk_arenas(f, arena, lists[i].marks, hits, &count))
			return 0;
	}
	for (size_t i = 0; i < f->sample_count; i++)
		fit += hits[i] == 3;
	return (f->sample_count - fit) * 16 <= f->sample_count ? fit * MAX_ARENAS + count : 0;
}

/* Where the list of free arenas is empty, the word behind the first may look like the structure
 * too; the arenas on all its lists are the same. */
static struct err *find_gcbits(struct finder *f)
{
	static const enum rt_field heads[] = {RT_GCBITS_ARENAS_NEXT, RT_GCBITS_ARENAS_CURRENT};
	struct find_answer a = {.name = "gcBitsArenas"};

	for (size_t i = 0; i < f->outside.n; i++)
		for (size_t j = 0; j < COUNT_OF(heads); j++) {
			struct find_pointer p = f->outside.v[i];
			va_t base = p.at - (u64)f->rt->slots[heads[j]].offset;
			u64 rank = p.to % 4096 == 0 ? rank_arenas(f, base) : 0;

			if (rank && rank == a.rank && base + sizeof(va_t) == a.va)
				a.va = base;
			else if (rank && (rank != a.rank || base != a.va + sizeof(va_t)))
				find_take(&a, base, rank);
		}
	return find_settle(f, RT_G_GCBITS_ARENAS, &a, true);
}

struct err *find_span_lists(struct finder *f)
{
	TRY(look_at_spans(f));
	TRY(find_stack_large(f));
	TRY(find_work(f));
	return find_gcbits(f);
}
