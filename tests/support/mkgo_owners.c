/* Who has stacks and caches: goroutines, Ms, Ps; and profile buckets. */
#include "support/mkgo_priv.h"
#include "support/test.h"

#define POOL_SPAN_BYTES ((u64)32 << 10)
#define SMALLEST_STACK ((u64)2048)
#define TABLE_ENTRIES 256 /* of allgs and allp */

static struct mkgo_planted *pool_span(struct mkgo *go, u64 bytes)
{
	for (size_t i = 0; i < go->spans.n; i++) {
		struct mkgo_planted *s = &go->spans.v[i];

		if (s->state == SPAN_MANUAL && !s->workbuf && s->elemsize == bytes &&
		    s->alloc_count < POOL_SPAN_BYTES / bytes)
			return s;
	}
	return mkgo_manual_span(go, POOL_SPAN_BYTES / GO_PAGE_BYTES, bytes);
}

struct range mkgo_stack(struct mkgo *go, u64 bytes)
{
	struct mkgo_planted *s;
	va_t lo;

	if (bytes < SMALLEST_STACK || (bytes & (bytes - 1)))
		fail_msg("no stack has %llu bytes", (unsigned long long)bytes);
	s = bytes < POOL_SPAN_BYTES ? pool_span(go, bytes)
				    : mkgo_manual_span(go, (u32)(bytes / GO_PAGE_BYTES), bytes);
	lo = s->start + s->alloc_count++ * bytes;
	mkgo_set(go, s->mspan, RT_MSPAN_ALLOC_COUNT, s->alloc_count);
	return (struct range){lo, lo + bytes};
}

static va_t new_g(struct mkgo *go, struct range stack)
{
	va_t g = mkgo_bss(go, mkgo_size(go, RT_G));

	mkgo_set(go, g, RT_G_STACK_LO, stack.lo);
	mkgo_set(go, g, RT_G_STACK_HI, stack.hi);
	return g;
}

/* Appends a pointer to one of the tables that a global slice leads to. */
static void append(struct mkgo *go, va_t slice, va_t pointer)
{
	u64 n = mkgo_get(go, slice + 8, 8);

	if (!mkgo_get(go, slice, 8))
		mkgo_set_slice(go, slice, mkgo_bss(go, TABLE_ENTRIES * sizeof(va_t)), 0,
			       TABLE_ENTRIES);
	if (n == TABLE_ENTRIES)
		fail_msg("mkgo: a table is full");
	mkgo_put(go, mkgo_get(go, slice, 8) + 8 * n, pointer, 8);
	mkgo_put(go, slice + 8, n + 1, 8);
}

va_t mkgo_goroutine(struct mkgo *go, struct mkgo_g how)
{
	va_t g = new_g(go, how.stack), allgs = mkgo_global(go, RT_G_ALLGS);

	append(go, allgs, g);
	mkgo_set(go, g, RT_G_STATUS, how.status);
	mkgo_set(go, g, RT_G_GOID, mkgo_get(go, allgs + 8, 8));
	mkgo_set(go, g, RT_G_SCHED_SP, how.sched_sp);
	mkgo_set(go, g, RT_G_SYSCALLSP, how.syscallsp);
	return g;
}

va_t mkgo_m(struct mkgo *go, struct mkgo_m how)
{
	const u64 bytes = 4096; /* none of the releases has a larger one */
	va_t m = mkgo_bss(go, bytes), head = mkgo_global(go, RT_G_ALLM);
	enum rt_field link = RT_M_ALLLINK;

	if (how.freed) {
		head = mkgo_addr(go, mkgo_global(go, RT_G_SCHED), RT_SCHED_FREEM);
		link = RT_M_FREELINK;
	}
	mkgo_set(go, m, link, mkgo_get(go, head, 8));
	mkgo_put(go, head, m, 8);
	mkgo_set(go, m, RT_M_PROCID, how.tid);
	mkgo_set(go, m, RT_M_CURG, how.curg);
	if (how.g0.lo)
		mkgo_set(go, m, RT_M_G0, new_g(go, how.g0));
	if (how.gsignal.lo)
		mkgo_set(go, m, RT_M_GSIGNAL, new_g(go, how.gsignal));
	mkgo_set(go, m, RT_M_GO_SIGNAL_STACK_LO, how.own_signal.lo);
	mkgo_set(go, m, RT_M_GO_SIGNAL_STACK_HI, how.own_signal.hi);
	return m;
}

bool mkgo_gcrash(struct mkgo *go, struct range stack)
{
	va_t gcrash = mkgo_global(go, RT_G_GCRASH);

	if (!gcrash)
		return false;
	mkgo_set(go, gcrash, RT_G_STACK_LO, stack.lo);
	mkgo_set(go, gcrash, RT_G_STACK_HI, stack.hi);
	return true;
}

void mkgo_cached_stack(struct mkgo *go, va_t p, u64 bytes)
{
	va_t mcache = mkgo_peek(go, p, RT_P_MCACHE);
	va_t list = mkgo_addr(go, mcache, RT_MCACHE_STACKCACHE);

	list += (u64)__builtin_ctzll(bytes / SMALLEST_STACK) * mkgo_size(go, RT_STACK_FREE_LIST);
	mkgo_put(go, list, mkgo_stack(go, bytes).lo, 8);
	mkgo_set(go, list, RT_STACK_FREE_LIST_SIZE,
		 mkgo_peek(go, list, RT_STACK_FREE_LIST_SIZE) + bytes);
}

va_t mkgo_free_stack(struct mkgo *go, u64 bytes)
{
	struct mkgo_planted *s = mkgo_manual_span(go, (u32)(bytes / GO_PAGE_BYTES), bytes);
	u64 log2 = (u64)__builtin_ctzll(s->npages);
	va_t head = mkgo_addr(go, mkgo_global(go, RT_G_STACK_LARGE), RT_STACK_LARGE_FIRST) +
		    log2 * mkgo_size(go, RT_STACK_LARGE_LIST);

	mkgo_set(go, s->mspan, RT_MSPAN_NEXT, mkgo_get(go, head, 8));
	mkgo_put(go, head, s->mspan, 8);
	return s->mspan;
}

/* An mcache out of its allocator; without a span cached it points to a dummy everywhere. */
static va_t new_mcache(struct mkgo *go)
{
	u64 bytes = mkgo_size(go, RT_MCACHE), chunk = 16384 / bytes * bytes;
	va_t mcache, empty = MKGO_DATA + 0x2000, mheap = mkgo_global(go, RT_G_MHEAP);
	va_t fixalloc = mkgo_addr(go, mheap, RT_MHEAP_CACHEALLOC);

	if (go->mcache_pool.pos == go->mcache_pool.end) {
		go->mcache_pool.pos = mkgo_persistent(go, chunk);
		go->mcache_pool.end = go->mcache_pool.pos + chunk;
		go->mcache_chunks++;
	}
	mcache = go->mcache_pool.pos;
	go->mcache_pool.pos += bytes;
	mkgo_set(go, fixalloc, RT_FIXALLOC_CHUNK, go->mcache_pool.pos);
	mkgo_set(go, fixalloc, RT_FIXALLOC_NCHUNK, go->mcache_pool.end - go->mcache_pool.pos);
	mkgo_put(go, empty, 0, 8);
	for (u64 i = 0; i < go->rt.slots[RT_MCACHE_ALLOC].count; i++)
		mkgo_put(go, mkgo_addr(go, mcache, RT_MCACHE_ALLOC) + 8 * i, empty, 8);
	return mcache;
}

va_t mkgo_p(struct mkgo *go, bool with_mcache)
{
	va_t p = mkgo_bss(go, mkgo_size(go, RT_P)), mcache;

	append(go, mkgo_global(go, RT_G_ALLP), p);
	mkgo_set(go, p, RT_P_ID, go->ps.n);
	mkgo_must(array_push(&go->ps, p));
	if (with_mcache) {
		mcache = new_mcache(go);
		mkgo_set(go, p, RT_P_MCACHE, mcache);
		mkgo_set(go, mcache, RT_MCACHE_TINY_ALLOCS, 7);
		go->mcaches++;
	}
	return p;
}

void mkgo_free_mcache(struct mkgo *go)
{
	va_t mheap = mkgo_global(go, RT_G_MHEAP), mcache = new_mcache(go);
	va_t fixalloc = mkgo_addr(go, mheap, RT_MHEAP_CACHEALLOC);

	mkgo_put(go, mcache, mkgo_peek(go, fixalloc, RT_FIXALLOC_LIST), 8);
	mkgo_set(go, fixalloc, RT_FIXALLOC_LIST, mcache);
}

va_t mkgo_bucket(struct mkgo *go, enum mkgo_bucket type, unsigned nstk)
{
	static const enum rt_global lists[] = {[MKGO_MEM] = RT_G_MBUCKETS,
					       [MKGO_BLOCK] = RT_G_BBUCKETS,
					       [MKGO_MUTEX] = RT_G_XBUCKETS};
	enum rt_field record = type == MKGO_MEM ? RT_MEM_RECORD : RT_BLOCK_RECORD;
	u64 bytes = mkgo_size(go, RT_BUCKET) + nstk * (u64)8 + mkgo_size(go, record);
	va_t bucket = mkgo_persistent(go, bytes), head = mkgo_global(go, lists[type]);
	va_t hash = mkgo_global(go, RT_G_BUCKHASH);

	if (!mkgo_get(go, hash, 8)) {
		va_t table = mkgo_window(go, GO_BUCKHASH_BYTES);

		mkgo_map(go, table, GO_BUCKHASH_BYTES, PF_R | PF_W, '.');
		mkgo_put(go, hash, table, 8);
		go->buckhash_bytes += GO_BUCKHASH_BYTES;
	}
	mkgo_set(go, bucket, RT_BUCKET_ALLNEXT, mkgo_get(go, head, 8));
	mkgo_set(go, bucket, RT_BUCKET_TYP, type);
	mkgo_set(go, bucket, RT_BUCKET_NSTK, nstk);
	mkgo_put(go, head, bucket, 8);
	go->buckhash_bytes += bytes;
	return bucket;
}
