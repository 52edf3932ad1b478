/* The page equations: every page of the heap's chunks is free, or in exactly one span; and every
 * byte of stack spans is somebody's stack or kept for the next. */
#include "gort/list.h"
#include "gort/rtget.h"
#include "gort/verify_priv.h"

/* A merge of the sorted free runs with the sorted spans, over the ranges in use. */
struct page_check {
	const struct gort *gort;
	struct faults both, neither;
	va_t block; /* of the last page in neither */
	size_t span;
};

/* What a thread moves at once into a P's page cache (runtime/mpagecache.go): all free pages of an
 * aligned block. They are one fault. */
#define CACHE_BLOCK_BYTES (64 * GO_PAGE_BYTES)

/* Accounts for [lo, hi), in which no page is free. */
static void check_used(struct page_check *c, va_t lo, va_t hi)
{
	const struct spans *spans = &c->gort->spans;

	while (lo < hi) {
		const struct span *s;

		while (c->span < spans->v.n && span_end(&spans->v.v[c->span]) <= lo)
			c->span++;
		s = c->span < spans->v.n ? &spans->v.v[c->span] : NULL;
		if (s && s->start <= lo) {
			lo = MIN(hi, span_end(s));
			continue;
		}
		if (!c->neither.count || align_down(lo, CACHE_BLOCK_BYTES) != c->block)
			faults_add(&c->neither, "page 0x%llx is allocated, but in no span",
				   (unsigned long long)lo);
		c->block = align_down(lo, CACHE_BLOCK_BYTES);
		lo = s ? MIN(hi, s->start) : hi;
	}
}

static void check_free(struct page_check *c, va_t lo, va_t hi)
{
	const struct spans *spans = &c->gort->spans;

	while (c->span < spans->v.n && span_end(&spans->v.v[c->span]) <= lo)
		c->span++;
	if (c->span < spans->v.n && spans->v.v[c->span].start < hi)
		faults_add(&c->both, "page 0x%llx is free, and in the span at 0x%llx",
			   (unsigned long long)MAX(lo, spans->v.v[c->span].start),
			   (unsigned long long)spans->v.v[c->span].start);
}

struct err *verify_pages(const struct gort *gort, struct verification *v)
{
	const struct span *freed = &gort->spans.freed;
	struct page_check c = {.gort = gort};
	struct free_walk walk;
	struct free_run run;
	size_t range = 0;
	va_t pos = gort->pagealloc.in_use.n ? gort->pagealloc.in_use.v[0].lo : 0;
	bool more;

	if (freed->npages)
		faults_add(&c.both, "page 0x%llx is free, and in the span at 0x%llx",
			   (unsigned long long)freed->start, (unsigned long long)freed->start);
	free_walk_begin(&walk, &gort->rt, &gort->pagealloc, &gort->procs, NULL);
	do {
		more = free_walk_next(&walk, &run);
		/* Up to the next free page, all pages of the ranges have to be in spans. */
		while (range < gort->pagealloc.in_use.n) {
			const struct range *r = &gort->pagealloc.in_use.v[range];

			check_used(&c, MAX(pos, r->lo), more ? MIN(run.lo, r->hi) : r->hi);
			if (more && run.lo < r->hi)
				break;
			range++;
		}
		if (more) {
			check_free(&c, run.lo, run.hi);
			pos = run.hi;
		}
	} while (more);
	TRY(verify_no_faults(v, "pages both free and in a span", &c.both, INSIDE_PAGES));
	return verify_no_faults(v, "pages neither free nor in a span", &c.neither, INSIDE_PAGES);
}

static u64 length(struct range r)
{
	return r.hi - r.lo;
}

/* Bytes of [lo, hi) when it is a stack in the Go heap. */
static u64 heap_stack(const struct gort *gort, struct range stack)
{
	const struct span *s = stack.lo ? spans_find(&gort->spans, stack.lo) : NULL;

	return s && s->state == SPAN_MANUAL ? length(stack) : 0;
}

/* Free stacks on the lists of a P's cache. */
static struct err *cached_stacks(const struct gort *gort, u64 *sum)
{
	const struct rt *rt = &gort->rt;
	u64 one = rt_size(rt, RT_STACK_FREE_LIST);
	u64 orders = one ? rt_size(rt, RT_MCACHE_STACKCACHE) / one : 0;

	for (size_t i = 0; i < gort->procs.v.n; i++) {
		va_t mcache = gort->procs.v.v[i].mcache;

		for (u64 k = 0; mcache && k < orders; k++) {
			va_t list = rt_addr(rt, mcache, RT_MCACHE_STACKCACHE) + k * one;
			u64 bytes;

			TRY(rt_u(rt, list, RT_STACK_FREE_LIST_SIZE, &bytes));
			*sum += bytes;
		}
	}
	return NULL;
}

#define POOL_SPAN_BYTES ((u64)32 << 10) /* runtime/malloc.go _StackCacheSize */

/* Stacks that were not handed out, in the pool's spans: small stacks of one size each. */
static u64 pool_stacks(const struct gort *gort)
{
	u64 sum = 0;

	for (size_t i = 0; i < gort->spans.v.n; i++) {
		const struct span *s = &gort->spans.v.v[i];

		if (s->state == SPAN_MANUAL && !(s->flags & SPAN_WORKBUF) &&
		    span_bytes(s) == POOL_SPAN_BYTES && s->elemsize < POOL_SPAN_BYTES)
			sum += POOL_SPAN_BYTES - s->alloc_count * s->elemsize;
	}
	return sum;
}

/* Free large stacks, by the lists of stackLarge. */
static struct err *large_stacks(const struct gort *gort, u64 *sum)
{
	const struct rt *rt = &gort->rt;
	va_t lists = rt_addr(rt, rt->globals[RT_G_STACK_LARGE], RT_STACK_LARGE_FREE);
	u64 first = (u64)(rt->slots[RT_STACK_LARGE_FIRST].offset -
			  rt->slots[RT_STACK_LARGE_LIST].offset);

	/* Without a place it has no stacks (gort/find.h). */
	for (u64 i = 0; rt->globals[RT_G_STACK_LARGE] && i < rt->slots[RT_STACK_LARGE_FREE].count;
	     i++) {
		struct list_guard guard = {0};
		va_t node;

		if (!image_u64(rt->im, lists + i * rt_size(rt, RT_STACK_LARGE_LIST) + first, &node))
			return err_fault();
		while (node) {
			u64 npages;

			if (!list_guard_step(&guard, node))
				return err_new(ERR_FORMAT,
					       "a list of free stacks runs in a circle");
			TRY(rt_u(rt, node, RT_MSPAN_NPAGES, &npages));
			*sum += npages * GO_PAGE_BYTES;
			TRY(rt_u(rt, node, RT_MSPAN_NEXT, &node));
		}
	}
	return NULL;
}

/* All stacks by their owners: goroutines, Ms, caches, the pool. */
static struct err *sum_stacks(const struct gort *gort, u64 *sum, u64 *copying)
{
	for (size_t i = 0; i < gort->gs.v.n; i++) {
		const struct goroutine *g = &gort->gs.v.v[i];

		*sum += heap_stack(gort, g->stack);
		/* While a stack is copied there are two, and only one is known. */
		if (g->status == G_COPYSTACK)
			*copying += 2 * length(g->stack);
	}
	for (size_t i = 0; i < gort->ms.v.n; i++)
		*sum += heap_stack(gort, gort->ms.v.v[i].g0) +
			heap_stack(gort, gort->ms.v.v[i].gsignal) +
			heap_stack(gort, gort->ms.v.v[i].spare_signal);
	*sum += heap_stack(gort, gort->ms.gcrash) + pool_stacks(gort);
	TRY(cached_stacks(gort, sum));
	return large_stacks(gort, sum);
}

struct err *verify_stacks(const struct gort *gort, struct verification *v)
{
	static const char name[] = "stacks by owner = stack spans";
	u64 sum = 0, spans = 0, copying = 0;
	struct err *err = sum_stacks(gort, &sum, &copying);

	if (err)
		return verify_unreadable(v, name, err);
	for (size_t i = 0; i < gort->spans.v.n; i++)
		if (gort->spans.v.v[i].state == SPAN_MANUAL &&
		    !(gort->spans.v.v[i].flags & SPAN_WORKBUF))
			spans += span_bytes(&gort->spans.v.v[i]);
	return verify_close(v, name, sum, spans, copying, "a stack was being copied",
			    INSIDE_STACKS | INSIDE_PAGES);
}
