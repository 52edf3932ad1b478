/* Arenas, chunks, spans, free pages. */
#include "support/mkgo_priv.h"
#include "support/test.h"

#include <string.h>

#define CHUNKS_PER_TABLE ((u64)8192)

static u64 arena_index(const struct mkgo *go, va_t va)
{
	return (va - go->rt.dialect.arena_base_offset) / GO_ARENA_BYTES;
}

/* The heapArena of an address; 0 when there is none. */
static va_t find_arena(const struct mkgo *go, va_t va)
{
	va_t base = align_down(va, GO_ARENA_BYTES);

	for (size_t i = 0; i < go->arenas.n; i++)
		if (go->arenas.v[i].base == base)
			return go->arenas.v[i].meta;
	for (size_t i = 0; i < go->user_arenas.n; i++)
		if (go->user_arenas.v[i].base == base)
			return go->user_arenas.v[i].meta;
	return 0;
}

static struct heap_arena new_arena(struct mkgo *go, va_t base)
{
	struct heap_arena arena = {base, mkgo_persistent(go, mkgo_size(go, RT_HEAP_ARENA))};
	va_t l2 = mkgo_peek(go, mkgo_global(go, RT_G_MHEAP), RT_MHEAP_ARENAS);

	if (base % GO_ARENA_BYTES || find_arena(go, base))
		fail_msg("0x%llx is no new arena", (unsigned long long)base);
	mkgo_put(go, l2 + 8 * arena_index(go, base), arena.meta, 8);
	return arena;
}

va_t mkgo_arena(struct mkgo *go, va_t base)
{
	struct heap_arena arena = new_arena(go, base);

	mkgo_must(array_push(&go->arenas, arena));
	return arena.meta;
}

va_t mkgo_arena_entry(const struct mkgo *go, va_t va)
{
	va_t arena = find_arena(go, va);

	if (!arena)
		fail_msg("0x%llx is in no arena", (unsigned long long)va);
	return mkgo_addr(go, arena, RT_HEAP_ARENA_SPANS) + va % GO_ARENA_BYTES / GO_PAGE_BYTES * 8;
}

static u64 chunk_index(const struct mkgo *go, va_t va)
{
	return (va - go->rt.dialect.arena_base_offset) / GO_CHUNK_BYTES;
}

va_t mkgo_chunk_entry(const struct mkgo *go, va_t va)
{
	return mkgo_addr(go, mkgo_global(go, RT_G_MHEAP), RT_MHEAP_CHUNKS) +
	       chunk_index(go, va) / CHUNKS_PER_TABLE * 8;
}

va_t mkgo_page_bits(const struct mkgo *go, enum rt_field bitmap, va_t va, u64 *bit)
{
	va_t arena, table;

	if (bitmap == RT_PALLOC_DATA_ALLOC || bitmap == RT_PALLOC_DATA_SCAVENGED) {
		table = mkgo_get(go, mkgo_chunk_entry(go, va), 8);
		table += chunk_index(go, va) % CHUNKS_PER_TABLE * mkgo_size(go, RT_PALLOC_DATA);
		*bit = va % GO_CHUNK_BYTES / GO_PAGE_BYTES;
		return mkgo_addr(go, table, bitmap);
	}
	arena = find_arena(go, va);
	if (!arena || !mkgo_has(go, bitmap))
		fail_msg("there is no %s", layout_field_id(bitmap));
	*bit = va % GO_ARENA_BYTES / GO_PAGE_BYTES;
	return mkgo_addr(go, arena, bitmap);
}

void mkgo_flip(struct mkgo *go, enum rt_field bitmap, va_t va)
{
	u64 bit;
	va_t bits = mkgo_page_bits(go, bitmap, va, &bit);

	mkgo_set_bit(go, bits, bit, !mkgo_get_bit(go, bits, bit));
}

static void set_page_bit(struct mkgo *go, enum rt_field bitmap, va_t va)
{
	u64 bit;
	va_t bits = mkgo_page_bits(go, bitmap, va, &bit);

	mkgo_set_bit(go, bits, bit, true);
}

/* Makes the table for the chunk at base, unless a neighbour has made it. */
static void need_table(struct mkgo *go, va_t base)
{
	u64 bytes = CHUNKS_PER_TABLE * mkgo_size(go, RT_PALLOC_DATA);
	va_t entry = mkgo_chunk_entry(go, base), table;

	if (mkgo_get(go, entry, 8))
		return;
	table = mkgo_window(go, bytes);
	mkgo_map_sparse(go, table, bytes);
	mkgo_put(go, entry, table, 8);
}

struct mkgo_chunk *mkgo_chunk_of(struct mkgo *go, va_t va)
{
	struct mkgo_chunk chunk = {.base = align_down(va, GO_CHUNK_BYTES)};
	size_t i = 0;

	while (i < go->chunks.n && go->chunks.v[i].base < chunk.base)
		i++;
	if (i < go->chunks.n && go->chunks.v[i].base == chunk.base)
		return &go->chunks.v[i];
	if (!find_arena(go, va))
		mkgo_arena(go, align_down(va, GO_ARENA_BYTES));
	need_table(go, chunk.base);
	memset(chunk.letters, '.', sizeof(chunk.letters) - 1);
	mkgo_must(array_reserve(&go->chunks, 1));
	memmove(go->chunks.v + i + 1, go->chunks.v + i, (go->chunks.n - i) * sizeof(*go->chunks.v));
	go->chunks.v[i] = chunk;
	go->chunks.n++;
	return &go->chunks.v[i];
}

void mkgo_pages(struct mkgo *go, va_t va, const char *letters)
{
	for (; *letters; letters++, va += MK_PAGE)
		mkgo_chunk_of(go, va)->letters[va % GO_CHUNK_BYTES / MK_PAGE] = *letters;
}

/* Gives a page to its only owner. */
static void use_page(struct mkgo *go, va_t va, enum mkgo_use use, const char *letters)
{
	struct mkgo_chunk *chunk = mkgo_chunk_of(go, va);
	u8 *page = &chunk->use[va % GO_CHUNK_BYTES / GO_PAGE_BYTES];

	if (go->finished)
		fail_msg("mkgo_finish was called");
	if (va % GO_PAGE_BYTES || *page != MKGO_RELEASED)
		fail_msg("the page at 0x%llx is taken", (unsigned long long)va);
	*page = (u8)use;
	mkgo_pages(go, va, go->untouched ? ".." : letters);
}

void mkgo_idle(struct mkgo *go, va_t lo, u32 npages, bool released)
{
	for (u32 i = 0; i < npages; i++)
		use_page(go, lo + i * GO_PAGE_BYTES, released ? MKGO_RELEASED : MKGO_RETAINED,
			 released ? ".." : "00");
}

void mkgo_padding(struct mkgo *go, va_t lo, u32 npages)
{
	for (u32 i = 0; i < npages; i++)
		use_page(go, lo + i * GO_PAGE_BYTES, MKGO_PADDING, "..");
}

void mkgo_pcache(struct mkgo *go, va_t p, va_t base, u64 cache, u64 scav)
{
	mkgo_set(go, p, RT_P_PCACHE_BASE, base);
	mkgo_set(go, p, RT_P_PCACHE_CACHE, cache);
	mkgo_set(go, p, RT_P_PCACHE_SCAV, scav);
	for (unsigned i = 0; i < 64; i++) {
		bool released = scav >> i & 1;

		if (cache >> i & 1)
			use_page(go, base + i * GO_PAGE_BYTES,
				 released ? MKGO_PCACHE_RELEASED : MKGO_PCACHE_RETAINED,
				 released ? ".." : "00");
	}
}

/* An mspan record, in the table of all spans. */
static va_t new_mspan(struct mkgo *go)
{
	u64 bytes = mkgo_size(go, RT_MSPAN);
	va_t mheap = mkgo_global(go, RT_G_MHEAP),
	     fixalloc = mkgo_addr(go, mheap, RT_MHEAP_SPANALLOC);
	va_t slice = mkgo_addr(go, mheap, RT_MHEAP_ALLSPANS), mspan;
	const u64 cap = 8192;

	if (!go->span_count) {
		va_t table = mkgo_window(go, cap * 8);

		mkgo_map(go, table, cap * 8, PF_R | PF_W, '.');
		mkgo_set_slice(go, slice, table, 0, cap);
	}
	if (go->mspans.pos == go->mspans.end) { /* runtime/mfixalloc.go: chunks of 16 KiB */
		u64 chunk = 16384 / bytes * bytes;

		go->mspans.pos = mkgo_persistent(go, chunk);
		go->mspans.end = go->mspans.pos + chunk;
		go->mspan_chunks++;
	}
	if (go->span_count == cap)
		fail_msg("mkgo: too many spans");
	mspan = go->mspans.pos;
	go->mspans.pos += bytes;
	mkgo_set(go, fixalloc, RT_FIXALLOC_CHUNK, go->mspans.pos);
	mkgo_set(go, fixalloc, RT_FIXALLOC_NCHUNK, go->mspans.end - go->mspans.pos);
	mkgo_put(go, mkgo_get(go, slice, 8) + 8 * go->span_count++, mspan, 8);
	mkgo_put(go, slice + 8, go->span_count, 8);
	return mspan;
}

void mkgo_dead_mspans(struct mkgo *go, unsigned n, bool spare)
{
	for (unsigned i = 0; i < n; i++) {
		va_t mspan = new_mspan(go);

		/* What it was before stands in it still. */
		mkgo_set(go, mspan, RT_MSPAN_START, MKGO_HEAP);
		mkgo_set(go, mspan, RT_MSPAN_NPAGES, 1);
	}
	if (spare) {
		go->spare_mspans += n;
		mkgo_set(go, go->p0, RT_P_MSPANCACHE_LEN, go->spare_mspans);
	}
}

/* Writes what spans of all kinds have. */
static struct mkgo_planted *add_span(struct mkgo *go, struct mkgo_planted s)
{
	s.mspan = new_mspan(go);
	for (u32 i = 0; i < s.npages; i++)
		mkgo_put(go, mkgo_arena_entry(go, s.start + i * GO_PAGE_BYTES), s.mspan, 8);
	mkgo_set(go, s.mspan, RT_MSPAN_START, s.start);
	mkgo_set(go, s.mspan, RT_MSPAN_NPAGES, s.npages);
	mkgo_set(go, s.mspan, RT_MSPAN_STATE, s.state);
	mkgo_set(go, s.mspan, RT_MSPAN_ELEMSIZE, s.elemsize);
	mkgo_must(array_push(&go->spans, s));
	return &go->spans.v[go->spans.n - 1];
}

/* Places a span of either kind on pages of the page allocator. */
static struct mkgo_planted *new_span(struct mkgo *go, va_t start, u32 npages, u8 state,
				     u64 elemsize)
{
	struct mkgo_planted s = {.start = start ? start : go->next_start,
				 .npages = npages,
				 .state = state,
				 .elemsize = elemsize};

	if (!start)
		go->next_start = s.start + npages * GO_PAGE_BYTES;
	for (u32 i = 0; i < npages; i++)
		use_page(go, s.start + i * GO_PAGE_BYTES, MKGO_SPAN, "00");
	return add_span(go, s);
}

/* How many slots fit: from 1.22 on a small span with pointers has its heap bits at the end
 * (there is no bitmap in the arena), and Green Tea has its marks there. */
static unsigned slots_of(const struct mkgo *go, const struct mkgo_span *how, u64 bytes,
			 u64 elemsize)
{
	if (how->spanclass < 2)
		return 1;
	if (!mkgo_has(go, RT_HEAP_ARENA_BITMAP) && !(how->spanclass & 1) && elemsize <= 512)
		bytes -= bytes / 64;
	if (how->inline_marks)
		bytes -= GO_INLINE_MARKS_FROM_END;
	return (unsigned)(bytes / elemsize);
}

static va_t put_bitmap(struct mkgo *go, struct mkgo_pool *pool, const u64 *words, unsigned n)
{
	va_t va = pool->pos;
	u64 bytes = (n + 63) / 64 * (u64)8;

	pool->pos += bytes;
	if (pool->pos > pool->end)
		fail_msg("mkgo: an arena of bitmaps is full");
	mkgo_put_bits(go, va, words, bytes);
	return va;
}

/* struct spanInlineMarkBits: 63 bytes of scans, one of state, 63 of marks, the class. */
static void put_inline_marks(struct mkgo *go, const struct mkgo_planted *s)
{
	va_t bits = s->start + GO_PAGE_BYTES - GO_INLINE_MARKS_FROM_END;

	if (!mkgo_has(go, RT_HEAP_ARENA_INLINE_MARKS))
		fail_msg("%s has no marks in spans", go->rt.version.text);
	for (unsigned i = 0; i < GO_INLINE_MARKS_OFFSET; i++)
		mkgo_put(go, bits + i, 0x5a, 1);
	mkgo_put_bits(go, bits + GO_INLINE_MARKS_OFFSET, s->how.marks, (s->nelems + 7) / 8);
	mkgo_put(go, bits + GO_INLINE_MARKS_FROM_END - 1, s->spanclass, 1);
	set_page_bit(go, RT_HEAP_ARENA_INLINE_MARKS, s->start);
}

static unsigned count_allocated(const struct mkgo_planted *s)
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->nelems; i++)
		n += i < s->how.freeindex || (s->how.alloc[i / 64] >> i % 64 & 1);
	return n;
}

/* Puts the span into its P's mcache. One that is swept there was counted before (the P's thread
 * was stopped in mcache.refill). */
static void cache_span(struct mkgo *go, struct mkgo_planted *s)
{
	va_t mcache = mkgo_peek(go, s->how.p, RT_P_MCACHE);

	mkgo_put(go, mkgo_addr(go, mcache, RT_MCACHE_ALLOC) + 8 * s->spanclass, s->mspan, 8);
	mkgo_set(go, s->mspan, RT_MSPAN_ALLOC_COUNT_BEFORE_CACHE, s->how.reported);
	/* Up to 1.18 all slots were counted when the span came here. */
	if (!mkgo_has(go, RT_MSPAN_ALLOC_COUNT_BEFORE_CACHE))
		s->unreported = (int)s->alloc_count - (int)s->nelems;
	else if (s->how.sweep)
		s->unreported = (int)(s->alloc_count - s->how.reported);
}

/* What a span in use has besides. */
static void describe_span(struct mkgo *go, struct mkgo_planted *s)
{
	static const u64 no_marks[SLOT_WORDS];
	const struct mkgo_span *how = &s->how;
	const u64 *marks = how->inline_marks ? no_marks : how->marks;
	va_t m = s->mspan;

	s->spanclass = (u8)(2 * mkgo_own_class(go, how->spanclass / 2) + how->spanclass % 2);
	s->alloc_count = count_allocated(s);
	mkgo_set(go, m, RT_MSPAN_SPANCLASS, s->spanclass);
	mkgo_set(go, m, RT_MSPAN_NELEMS, s->nelems);
	mkgo_set(go, m, RT_MSPAN_FREEINDEX, how->freeindex);
	mkgo_set(go, m, RT_MSPAN_ALLOC_COUNT, s->alloc_count);
	mkgo_set(go, m, RT_MSPAN_SWEEPGEN, (u64)(MKGO_SWEEPGEN + how->sweep));
	mkgo_set(go, m, RT_MSPAN_LIMIT, s->start + s->nelems * s->elemsize);
	mkgo_set(go, m, RT_MSPAN_ALLOC_BITS,
		 put_bitmap(go, &go->alloc_bits, how->alloc, s->nelems));
	mkgo_set(go, m, RT_MSPAN_MARK_BITS, put_bitmap(go, &go->mark_bits, marks, s->nelems));
	set_page_bit(go, RT_HEAP_ARENA_PAGE_IN_USE, s->start);
}

va_t mkgo_span(struct mkgo *go, struct mkgo_span how)
{
	u32 npages = how.npages ? how.npages : mkgo_class_pages(how.spanclass / 2);
	u64 bytes = npages * GO_PAGE_BYTES;
	u64 elemsize = how.spanclass < 2 ? bytes : mkgo_class_bytes(how.spanclass / 2);
	struct mkgo_planted *s = new_span(go, how.start, npages, SPAN_IN_USE, elemsize);
	va_t m = s->mspan;

	s->how = how;
	s->nelems = slots_of(go, &how, bytes, elemsize);
	describe_span(go, s);
	if (how.inline_marks)
		put_inline_marks(go, s);
	if (how.specials) {
		mkgo_set(go, m, RT_MSPAN_SPECIALS, mkgo_specials(go));
		set_page_bit(go, RT_HEAP_ARENA_PAGE_SPECIALS, s->start);
	}
	if (how.p)
		cache_span(go, s);
	return m;
}

/* runtime/arena.go: the chunk's pages are not the page allocator's. */
va_t mkgo_user_arena(struct mkgo *go, va_t base, enum mkgo_user_arena state)
{
	enum rt_field list =
		state == MKGO_READY ? RT_MHEAP_USER_ARENA_READY : RT_MHEAP_USER_ARENA_QUARANTINE;
	va_t mheap = mkgo_global(go, RT_G_MHEAP), mspan;
	struct heap_arena arena = new_arena(go, base);
	struct mkgo_planted *s;

	mkgo_must(array_push(&go->user_arenas, arena));
	mkgo_map(go, base, GO_ARENA_BYTES, PF_R | PF_W, '.');
	s = add_span(go, (struct mkgo_planted){.start = base,
					       .npages = GO_ARENA_BYTES / GO_PAGE_BYTES,
					       .state = SPAN_IN_USE,
					       .nelems = 1,
					       .elemsize = GO_ARENA_BYTES - MKGO_USER_ARENA_RESERVE,
					       .how = {.freeindex = 1}});
	describe_span(go, s);
	mspan = s->mspan;
	if (state == MKGO_USED)
		return mspan;
	/* Its bit in pageInUse stays. The sweeper makes the record no span's any more. */
	if (state == MKGO_READY)
		mkgo_set(go, mspan, RT_MSPAN_STATE, SPAN_DEAD);
	else
		go->quarantined_pages += s->npages;
	mkgo_set(go, mspan, RT_MSPAN_NEXT, mkgo_peek(go, mheap, list));
	mkgo_set(go, mheap, list, mspan);
	go->spans.n--;
	go->parked_mspans++;
	return mspan;
}

struct mkgo_planted *mkgo_manual_span(struct mkgo *go, u32 npages, u64 elemsize)
{
	return new_span(go, 0, npages, SPAN_MANUAL, elemsize);
}

va_t mkgo_workbuf(struct mkgo *go, bool busy)
{
	/* The size of slots is what the record's last user left. */
	struct mkgo_planted *s = mkgo_manual_span(go, 4, 48);
	enum rt_field list = busy ? RT_WORK_WBUF_BUSY : RT_WORK_WBUF_FREE;
	va_t work = mkgo_global(go, RT_G_WORK);

	s->workbuf = true;
	mkgo_set(go, s->mspan, RT_MSPAN_NEXT, mkgo_peek(go, work, list));
	mkgo_set(go, work, list, s->mspan);
	return s->mspan;
}
