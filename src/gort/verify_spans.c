/* Spans among themselves, and the arenas' view of them. */
#include "base/bits.h"
#include "base/sort.h"
#include "gort/list.h"
#include "gort/rtget.h"
#include "gort/verify_priv.h"

/* Slots that differ between the bitmap and the span's own count. */
static void check_slots(const struct gort *gort, const struct span *s, struct faults *f)
{
	struct slots slots;
	u64 n;

	if (!slots_read(&gort->rt, &gort->arenas, s, &slots)) {
		f->unreadable++;
		return;
	}
	n = bits_count(slots.alloc, 0, slots.n);
	if (n != s->alloc_count)
		faults_add(f, "span 0x%llx: %llu slots are allocated, allocCount is %u",
			   (unsigned long long)s->start, (unsigned long long)n, s->alloc_count);
}

/* A small span's slots have the size of its class. */
static void check_class(const struct gort *gort, const struct span *s, struct faults *f)
{
	unsigned class = s->spanclass / 2;

	if (class == 0) /* large: one slot, or a user arena chunk */
		return;
	if (class >= gort->rt.size_class_count || gort->rt.size_class_bytes[class] != s->elemsize)
		faults_add(f, "span 0x%llx: class %u, slots of %llu bytes",
			   (unsigned long long)s->start, class, (unsigned long long)s->elemsize);
}

static struct err *check_each_span(const struct gort *gort, struct verification *v)
{
	struct faults overlap = {0}, slots = {0}, class = {0};
	u64 bad = gort->rt.d ? gort->rt.d->entries[DIAG_SPAN].count : 0;
	va_t end = 0;

	for (size_t i = 0; i < gort->spans.v.n; i++) {
		const struct span *s = &gort->spans.v.v[i];

		if (s->start < end)
			faults_add(&overlap, "span 0x%llx begins inside another",
				   (unsigned long long)s->start);
		end = MAX(end, span_end(s));
		if (s->state != SPAN_IN_USE)
			continue;
		check_slots(gort, s, &slots);
		check_class(gort, s, &class);
	}
	TRY(verify_equal(v, "span records that make no sense", bad, 0, 0));
	TRY(verify_no_faults(v, "spans that overlap", &overlap, 0));
	TRY(verify_no_faults(v, "allocated slots = allocCount", &slots, INSIDE_OBJECTS));
	return verify_no_faults(v, "slot size = size class", &class, INSIDE_PAGES);
}

/* Addresses of all gcBits arenas, ascending. */
static struct err *gcbits_arenas(const struct rt *rt, va_t *arenas, size_t max, size_t *n)
{
	static const enum rt_field heads[] = {RT_GCBITS_ARENAS_FREE, RT_GCBITS_ARENAS_NEXT,
					      RT_GCBITS_ARENAS_CURRENT, RT_GCBITS_ARENAS_PREVIOUS};

	*n = 0;
	for (size_t i = 0; i < COUNT_OF(heads); i++) {
		struct list_guard guard = {0};
		u64 arena;

		TRY(rt_u(rt, rt->globals[RT_G_GCBITS_ARENAS], heads[i], &arena));
		while (arena && *n < max) {
			if (!list_guard_step(&guard, arena))
				return err_new(ERR_FORMAT,
					       "a list of gcBits arenas runs in a circle");
			arenas[(*n)++] = arena;
			TRY(rt_u(rt, arena, RT_GCBITS_ARENA_NEXT, &arena));
		}
	}
	return sort_u64(arenas, *n);
}

static bool in_arenas(const va_t *arenas, size_t n, u64 size, va_t va)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (arenas[mid] + size <= va)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < n && arenas[lo] <= va;
}

/* Allocation and mark bits of spans in use lie in gcBits arenas. */
static struct err *check_gcbits(const struct gort *gort, struct verification *v)
{
	static const char name[] = "bitmaps lie in gcBits arenas";
	/* Each arena serves 64 KiB of bits: far more than ever are. */
	const size_t max = 1 << 16;
	u64 size = rt_size(&gort->rt, RT_GCBITS_ARENA);
	struct faults f = {0};
	va_t *arenas = xcalloc(max, sizeof(*arenas));
	size_t n;
	struct err *err = gcbits_arenas(&gort->rt, arenas, max, &n);

	for (size_t i = 0; i < gort->spans.v.n && !err; i++) {
		const struct span *s = &gort->spans.v.v[i];

		if (s->state == SPAN_IN_USE && (!in_arenas(arenas, n, size, s->alloc_bits) ||
						!in_arenas(arenas, n, size, s->mark_bits)))
			faults_add(&f, "span 0x%llx: its bitmaps are elsewhere",
				   (unsigned long long)s->start);
	}
	free(arenas);
	if (err)
		return verify_unreadable(v, name, err);
	return verify_no_faults(v, name, &f, INSIDE_OBJECTS | INSIDE_PAGES);
}

struct err *verify_spans(const struct gort *gort, struct verification *v)
{
	TRY(check_each_span(gort, v));
	return check_gcbits(gort, v);
}

/* Bits of one arena's bitmap of pages. */
struct page_bits {
	u8 bytes[GO_ARENA_BYTES / GO_PAGE_BYTES / 8];
};

static bool page_bit(const struct page_bits *b, u64 page)
{
	return b->bytes[page / 8] >> (page % 8) & 1;
}

static u64 count_bits(const struct page_bits *b)
{
	u64 n = 0;

	for (size_t w = 0; w < sizeof(b->bytes) / 8; w++)
		n += (u64)__builtin_popcountll(bits_word(b->bytes, w));
	return n;
}

/* A freed user arena chunk may keep its bit: no sweep or mark looks at it. */
static void drop_parked(const struct spans *spans, va_t base, struct page_bits *b)
{
	for (size_t i = 0; i < spans->parked.n; i++) {
		u64 page = (spans->parked.v[i] - base) / GO_PAGE_BYTES;

		if (spans->parked.v[i] >= base && page < sizeof(b->bytes) * 8)
			b->bytes[page / 8] &= (u8) ~(1u << (page % 8));
	}
}

/* What one pass over the arenas finds. */
struct arena_faults {
	struct faults in_use, specials, pointers;
	u64 in_use_pages;
};

/* The arena's table must lead from every page of a span back to it; one fault a span. */
static void check_pointers(const struct rt *rt, const struct heap_arena *a, const struct span *s,
			   struct faults *f)
{
	va_t table = rt_addr(rt, a->meta, RT_HEAP_ARENA_SPANS), page;
	va_t end = MIN(span_end(s), a->base + GO_ARENA_BYTES);

	for (page = MAX(s->start, a->base); page < end; page += GO_PAGE_BYTES) {
		va_t mspan;

		if (!image_u64(rt->im, table + (page - a->base) / GO_PAGE_BYTES * 8, &mspan))
			f->unreadable++;
		else if (mspan != s->mspan)
			return faults_add(f, "page 0x%llx: leads to the span at 0x%llx",
					  (unsigned long long)page, (unsigned long long)mspan);
	}
}

/* One arena: its spans' first pages, and no others, have their bits. */
static void check_arena(const struct gort *gort, const struct heap_arena *a, size_t first,
			size_t last, struct arena_faults *f)
{
	const struct rt *rt = &gort->rt;
	struct page_bits in_use, specials;
	u64 spans_with_bit = 0, with_specials = 0;
	struct err *err = image_read(rt->im, rt_addr(rt, a->meta, RT_HEAP_ARENA_PAGE_IN_USE),
				     &in_use, sizeof(in_use));

	if (!err)
		err = image_read(rt->im, rt_addr(rt, a->meta, RT_HEAP_ARENA_PAGE_SPECIALS),
				 &specials, sizeof(specials));
	if (err) {
		err_free(err);
		f->in_use.unreadable++;
		f->specials.unreadable++;
		return;
	}
	drop_parked(&gort->spans, a->base, &in_use);
	for (size_t i = first; i < last; i++) {
		const struct span *s = &gort->spans.v.v[i];
		u64 page = (s->start - a->base) / GO_PAGE_BYTES, list = 0;

		check_pointers(rt, a, s, &f->pointers);
		if (s->state != SPAN_IN_USE || s->start < a->base)
			continue;
		f->in_use_pages += s->npages;
		spans_with_bit += page_bit(&in_use, page);
		if (!page_bit(&in_use, page))
			faults_add(&f->in_use, "span 0x%llx has no pageInUse bit",
				   (unsigned long long)s->start);
		err_free(rt_u(rt, s->mspan, RT_MSPAN_SPECIALS, &list));
		with_specials += list != 0;
		if (page_bit(&specials, page) != (list != 0))
			faults_add(&f->specials, "span 0x%llx: pageSpecials and its list differ",
				   (unsigned long long)s->start);
	}
	if (count_bits(&in_use) != spans_with_bit)
		faults_add(&f->in_use, "arena 0x%llx: %llu pageInUse bits, %llu of spans",
			   (unsigned long long)a->base, (unsigned long long)count_bits(&in_use),
			   (unsigned long long)spans_with_bit);
	if (count_bits(&specials) != with_specials)
		faults_add(&f->specials, "arena 0x%llx: %llu pageSpecials bits, %llu spans",
			   (unsigned long long)a->base, (unsigned long long)count_bits(&specials),
			   (unsigned long long)with_specials);
}

struct err *verify_arenas(const struct gort *gort, struct verification *v)
{
	struct arena_faults f = {.in_use_pages = 0};
	struct err *err;
	u64 counter;
	size_t first = 0;

	for (size_t i = 0; i < gort->arenas.v.n; i++) {
		const struct heap_arena *a = &gort->arenas.v.v[i];
		size_t last;

		/* Large spans reach into the next arenas. */
		while (first < gort->spans.v.n && span_end(&gort->spans.v.v[first]) <= a->base)
			first++;
		last = first;
		while (last < gort->spans.v.n &&
		       gort->spans.v.v[last].start < a->base + GO_ARENA_BYTES)
			last++;
		check_arena(gort, a, first, last, &f);
	}
	TRY(verify_no_faults(v, "pageInUse = spans in use", &f.in_use, INSIDE_PAGES));
	TRY(verify_no_faults(v, "pageSpecials = spans with specials", &f.specials,
			     INSIDE_PAGES | INSIDE_OBJECTS));
	TRY(verify_no_faults(v, "arenas lead from pages to spans", &f.pointers, INSIDE_PAGES));
	err = rt_u(&gort->rt, gort->rt.globals[RT_G_MHEAP], RT_MHEAP_PAGES_IN_USE, &counter);
	if (err)
		return verify_unreadable(v, "pagesInUse", err);
	return verify_equal(v, "pagesInUse", f.in_use_pages + gort->spans.quarantined_pages,
			    counter, INSIDE_PAGES);
}
