/* One chunk is 512 pages (4 MiB) and two bitmaps:
 *
 *   pallocBits   bit set: the page is allocated (to a span, a P's page cache, or padding)
 *   scavenged    bit set: the page was given back or never used
 *
 *   alloc  scav   P's cache      meaning
 *     0     0        -           free, retained
 *     0     1        -           free, released
 *     1     -     cache bit      free; released when the P's own scav bit says so
 *     1     1        -           random padding at the heap's start (1.26): counted as released
 *     1     0        -           a span has it, or a thread holds it at this instant: free
 */
#include "gort/pagealloc.h"

#include "base/bits.h"
#include "gort/rtget.h"

#include <string.h>

#define CHUNKS_PER_L2 ((u64)8192) /* runtime/mpagealloc.go pallocChunksL2Bits = 13 */
#define MAX_RANGES ((u64)1 << 22)
#define WORDS (GO_CHUNK_PAGES / 64)

/* Adds the range, as far as there are arenas for it. */
static struct err *add_range(const struct rt *rt, const struct arenas *arenas, struct range r,
			     struct pagealloc *ret)
{
	va_t end = ret->in_use.n ? ret->in_use.v[ret->in_use.n - 1].hi : 0;
	va_t arena_end = arenas_end(arenas, r.lo);

	if (r.hi > arena_end || r.lo < end || r.hi <= r.lo || r.hi > GO_MAX_ADDR)
		diag(rt->d, DIAG_STRUCTURE, "the heap's address range 0x%llx-0x%llx makes no sense",
		     (unsigned long long)r.lo, (unsigned long long)r.hi);
	r.lo = MAX(r.lo, end);
	r.hi = MIN(r.hi, arena_end);
	return r.lo < r.hi ? array_push(&ret->in_use, r) : NULL;
}

struct err *pagealloc_read(const struct rt *rt, const struct arenas *arenas, struct pagealloc *ret)
{
	va_t mheap = rt->globals[RT_G_MHEAP];
	struct go_slice s;

	TRY(rt_slice(rt, rt_addr(rt, mheap, RT_MHEAP_IN_USE_RANGES), MAX_RANGES, &s));
	if (rt_size(rt, RT_ADDR_RANGE) != sizeof(struct range))
		return err_new(ERR_FORMAT, "address ranges have an unknown form");
	for (u64 i = 0; i < s.len; i++) {
		struct range r;

		TRY(image_read(rt->im, s.ptr + i * sizeof(r), &r, sizeof(r)));
		/* The field is an offAddr, the address itself. Chunks are whole. */
		r.lo = align_down(r.lo, GO_CHUNK_BYTES);
		r.hi = align_up(r.hi, GO_CHUNK_BYTES);
		TRY(add_range(rt, arenas, r, ret));
	}
	return NULL;
}

void free_walk_begin(struct free_walk *w, const struct rt *rt, const struct pagealloc *pa,
		     const struct procs *procs, const struct spans *spans)
{
	*w = (struct free_walk){.rt = rt, .pa = pa, .procs = procs, .spans = spans};
	if (pa->in_use.n)
		w->chunk = pa->in_use.v[0].lo;
}

static void overlay_caches(struct free_walk *w)
{
	for (size_t i = 0; i < w->procs->v.n; i++) {
		const struct proc *p = &w->procs->v.v[i];
		u64 word = (p->cache_base - w->base) / GO_PAGE_BYTES / 64;

		if (!p->cache_free || p->cache_base < w->base || word >= WORDS)
			continue;
		w->free[word] |= p->cache_free;
		w->released[word] |= p->cache_released;
	}
}

/* Pages that no span has. Spans that could not be read must not pass for free ones: then nothing
 * is added. Spans are sorted, so each is looked at once, or once more for each chunk it spans. */
static void overlay_unowned(struct free_walk *w)
{
	const struct spans *spans = w->spans;
	va_t end = w->base + GO_CHUNK_BYTES;
	u64 owned[WORDS] = {0};

	if (!spans || spans->bad_count)
		return;
	for (; w->span < spans->v.n && spans->v.v[w->span].start < end; w->span++) {
		const struct span *s = &spans->v.v[w->span];

		for (va_t va = MAX(s->start, w->base); va < MIN(span_end(s), end);
		     va += GO_PAGE_BYTES) {
			u64 page = (va - w->base) / GO_PAGE_BYTES;

			owned[page / 64] |= (u64)1 << page % 64;
		}
		if (span_end(s) > end)
			break;
	}
	for (int i = 0; i < WORDS; i++)
		w->free[i] |= ~owned[i];
}

static struct err *load_chunk(struct free_walk *w, va_t base)
{
	const struct rt *rt = w->rt;
	u64 index = (base - rt->dialect.arena_base_offset) / GO_CHUNK_BYTES;
	va_t l1 = rt_addr(rt, rt->globals[RT_G_MHEAP], RT_MHEAP_CHUNKS), data;
	u64 scavenged[WORDS];

	w->base = base;
	w->page = 0;
	w->loaded = false;
	if (index / CHUNKS_PER_L2 >= rt->slots[RT_MHEAP_CHUNKS].count ||
	    !image_u64(rt->im, l1 + index / CHUNKS_PER_L2 * 8, &data) || !data)
		return err_fault();
	data += index % CHUNKS_PER_L2 * rt_size(rt, RT_PALLOC_DATA);
	TRY(image_read(rt->im, rt_addr(rt, data, RT_PALLOC_DATA_ALLOC), w->free, sizeof(w->free)));
	TRY(image_read(rt->im, rt_addr(rt, data, RT_PALLOC_DATA_SCAVENGED), scavenged,
		       sizeof(scavenged)));
	for (int i = 0; i < WORDS; i++) {
		u64 alloc = w->free[i];

		w->free[i] = ~alloc | (alloc & scavenged[i]);
		w->released[i] = scavenged[i];
	}
	overlay_caches(w);
	overlay_unowned(w);
	w->loaded = true;
	return NULL;
}

/* Loads the next chunk that is there; false after the last. */
static bool next_chunk(struct free_walk *w)
{
	while (w->range < w->pa->in_use.n) {
		const struct range *r = &w->pa->in_use.v[w->range];
		struct err *err;

		if (w->chunk >= r->hi) {
			w->range++;
			if (w->range < w->pa->in_use.n)
				w->chunk = w->pa->in_use.v[w->range].lo;
			continue;
		}
		err = load_chunk(w, w->chunk);
		if (err)
			diag(w->rt->d, DIAG_STRUCTURE,
			     "the bitmap of the chunk at 0x%llx is not in the core",
			     (unsigned long long)w->chunk);
		err_free(err);
		w->chunk += GO_CHUNK_BYTES;
		if (!err)
			return true;
	}
	return false;
}

/* First page at or after `from` whose bit in the free map equals `want`. */
static unsigned find_page(const u64 *map, unsigned from, bool want)
{
	while (from < GO_CHUNK_PAGES) {
		u64 word = (want ? map[from / 64] : ~map[from / 64]) >> (from % 64);

		if (word)
			return from + (unsigned)__builtin_ctzll(word);
		from = (from / 64 + 1) * 64;
	}
	return GO_CHUNK_PAGES;
}

bool free_walk_next(struct free_walk *w, struct free_run *ret)
{
	unsigned lo, hi;

	while (!w->loaded || (lo = find_page(w->free, w->page, true)) == GO_CHUNK_PAGES)
		if (!next_chunk(w))
			return false;
	ret->released = bits_test(w->released, lo);
	hi = find_page(w->free, lo, false);
	hi = MIN(hi, find_page(w->released, lo, !ret->released));
	w->page = hi;
	ret->lo = w->base + lo * GO_PAGE_BYTES;
	ret->hi = w->base + hi * GO_PAGE_BYTES;
	return true;
}

/* The span all of whose pages are free; n when there is none, or more than one. */
static size_t find_freed(const struct rt *rt, const struct pagealloc *pa, const struct procs *procs,
			 const struct spans *spans)
{
	size_t n = spans->v.n, found = n, i = 0;
	struct range joined = {0, 0};
	struct free_walk walk;
	struct free_run run;

	free_walk_begin(&walk, rt, pa, procs, NULL);
	while (free_walk_next(&walk, &run)) {
		if (run.lo != joined.hi)
			joined.lo = run.lo;
		joined.hi = run.hi;
		while (i < n && spans->v.v[i].start < joined.lo)
			i++;
		for (; i < n && span_end(&spans->v.v[i]) <= joined.hi; i++) {
			if (found < n)
				return n;
			found = i;
		}
	}
	return found;
}

void spans_drop_freed(const struct rt *rt, const struct pagealloc *pa, const struct procs *procs,
		      struct spans *spans)
{
	u64 lock = 0;
	size_t i;

	err_free(rt_u(rt, rt->globals[RT_G_MHEAP], RT_MHEAP_LOCK, &lock));
	i = lock ? find_freed(rt, pa, procs, spans) : spans->v.n;
	if (i == spans->v.n)
		return;
	spans->freed = spans->v.v[i];
	spans->v.n--;
	memmove(&spans->v.v[i], &spans->v.v[i + 1], (spans->v.n - i) * sizeof(spans->v.v[i]));
}
