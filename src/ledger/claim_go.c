#include "ledger/claim.h"

#include "gort/meta.h"
#include "ledger/source.h"

#include <stdlib.h>

struct stacks {
	ARRAY(struct range) v;
};

static enum category meta_category(enum meta_kind kind)
{
	switch (kind) {
	case META_PERSISTENT:
		return CAT_META_PERSISTENT;
	case META_MSPAN:
		return CAT_META_MSPAN;
	case META_MCACHE:
		return CAT_META_MCACHE;
	case META_HEAPARENA:
		return CAT_META_HEAPARENA;
	case META_GCBITS:
		return CAT_META_GCBITS;
	case META_PAGEALLOC:
		return CAT_META_PAGEALLOC;
	case META_BUCKET:
		return CAT_META_BUCKET;
	case META_ALLSPANS:
		return CAT_META_ALLSPANS;
	case META_GCWORK:
		return CAT_META_GCWORK;
	case META_SPECIAL:
		return CAT_META_SPECIAL;
	case META_TRACE:
		return CAT_META_TRACE;
	case META_RESERVED:
		break;
	}
	return CAT_META_RESERVED;
}

static struct err *claim_meta(struct ledger *l)
{
	struct meta meta = {0};
	struct err *err = meta_find(l->gort, &meta);

	for (size_t i = 0; i < meta.v.n && !err; i++) {
		const struct meta_range *m = &meta.v.v[i];
		enum ledger_level level = m->kind == META_PERSISTENT ? LEVEL_CONTAINER : LEVEL_LEAF;

		err = ledger_claim(l, level, m->range.lo, m->range.hi, meta_category(m->kind));
		if (!err && m->mapped)
			err = ledger_claim(l, LEVEL_CONTAINER, m->range.hi,
					   align_up(m->range.hi, l->im->auxv.page_size),
					   meta_category(m->kind));
	}
	array_free(&meta.v);
	return err;
}

/* Whether a stack lies in the Go heap (with cgo, a thread's g0 runs on the thread's own). */
static bool in_stack_span(const struct ledger *l, struct range stack)
{
	const struct span *s;

	if (stack.lo >= stack.hi)
		return false;
	s = spans_find(&l->gort->spans, stack.lo);
	return s && s->state == SPAN_MANUAL && stack.hi <= span_end(s);
}

static struct err *claim_goroutines(struct ledger *l)
{
	/* A dead goroutine's stack stays what its span is: cached. */
	for (size_t i = 0; i < l->gort->gs.v.n; i++) {
		const struct goroutine *g = &l->gort->gs.v.v[i];

		if (goroutine_is_dead(g) || !in_stack_span(l, g->stack))
			continue;
		TRY(ledger_claim(l, LEVEL_LEAF, g->stack.lo, g->sp, CAT_STACK_UNUSED));
		TRY(ledger_claim(l, LEVEL_LEAF, g->sp, g->stack.hi, CAT_STACK_USED));
	}
	return NULL;
}

static struct err *claim_system_stack(struct ledger *l, struct range stack)
{
	if (!in_stack_span(l, stack))
		return NULL;
	return ledger_claim(l, LEVEL_LEAF, stack.lo, stack.hi, CAT_STACK_SYSTEM);
}

/* The signal stacks that lie in one mapping, and in no span. */
static struct err *find_foreign_stacks(const struct ledger *l, struct stacks *ret)
{
	for (size_t i = 0; l->gort && i < l->gort->ms.v.n; i++) {
		struct range stack = l->gort->ms.v.v[i].gsignal;
		const struct vma *v = image_vma(l->im, stack.lo);

		if (stack.lo < stack.hi && !in_stack_span(l, stack) && v && stack.hi <= v->hi)
			TRY(array_push(&ret->v, stack));
	}
	return NULL;
}

static int by_lo(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return x->hi < y->hi ? -1 : x->hi > y->hi;
}

/* Claims those of the stacks on which nothing else is. There may be thousands of them, and a claim
 * for each of a million goroutines: both ascend, and are walked once. */
static struct err *claim_unclaimed(struct ledger *l, struct stacks *stacks)
{
	size_t next = 0, n = l->claims[LEVEL_LEAF].n;
	va_t end = 0; /* of what begins at or before the stack */

	if (!stacks->v.n)
		return NULL;
	qsort(stacks->v.v, stacks->v.n, sizeof(*stacks->v.v), by_lo);
	source_sort(l, LEVEL_LEAF);
	for (size_t i = 0; i < stacks->v.n; i++) {
		struct range stack = stacks->v.v[i];

		for (; next < n && l->claims[LEVEL_LEAF].v[next].lo <= stack.lo; next++)
			end = MAX(end, l->claims[LEVEL_LEAF].v[next].hi);
		if (stack.lo < end || (next < n && l->claims[LEVEL_LEAF].v[next].lo < stack.hi))
			continue;
		TRY(ledger_claim(l, LEVEL_LEAF, stack.lo, stack.hi, CAT_THREAD_STACK));
		end = stack.hi;
	}
	return NULL;
}

struct err *claim_signal_stacks(struct ledger *l)
{
	struct stacks stacks = {0};
	struct err *err = find_foreign_stacks(l, &stacks);

	if (!err)
		err = claim_unclaimed(l, &stacks);
	array_free(&stacks.v);
	return err;
}

static void mark_unread(struct ledger *l, enum category first, enum category last)
{
	for (unsigned c = first; c <= last; c++)
		l->unread |= (u64)1 << c;
}

/* Parts of a runtime whose heap was read. */
static void mark_missing(struct ledger *l, u8 missing)
{
	if (missing & GORT_GS)
		mark_unread(l, CAT_STACK_USED, CAT_STACK_UNUSED);
	if (missing & GORT_MS)
		mark_unread(l, CAT_STACK_SYSTEM, CAT_STACK_SYSTEM);
	if (missing & GORT_MODULES)
		mark_unread(l, CAT_BINARY_PCLNTAB, CAT_BINARY_PCLNTAB);
	if (missing & GORT_BUCKETS)
		mark_unread(l, CAT_META_BUCKET, CAT_META_BUCKET);
}

void claim_unread(struct ledger *l, const struct binary *bin)
{
	Elf64_Phdr ph;

	if (l->gort) {
		mark_missing(l, l->gort->missing);
		return;
	}
	for (unsigned c = 0; c < CAT_COUNT; c++)
		if (category_is_runtime((enum category)c))
			mark_unread(l, (enum category)c, (enum category)c);
	mark_unread(l, CAT_BINARY_PCLNTAB, CAT_BINARY_PCLNTAB); /* segments tell the rest, if any */
	if (!binary_phdr(bin, l->im, 0, &ph))
		mark_unread(l, CAT_BINARY_TEXT, CAT_BINARY_BSS);
}

struct err *claim_go(struct ledger *l)
{
	const struct gort *gort = l->gort;

	for (size_t i = 0; i < gort->arenas.v.n; i++)
		TRY(ledger_claim(l, LEVEL_CONTAINER, gort->arenas.v.v[i].base,
				 gort->arenas.v.v[i].base + GO_ARENA_BYTES, CAT_ARENA_UNUSED));
	TRY(ledger_claim(l, LEVEL_LEAF, gort->arenas.rest.lo, gort->arenas.rest.hi,
			 CAT_IDLE_RELEASED));
	TRY(claim_meta(l));
	TRY(claim_goroutines(l));
	for (size_t i = 0; i < gort->ms.v.n; i++) {
		TRY(claim_system_stack(l, gort->ms.v.v[i].g0));
		TRY(claim_system_stack(l, gort->ms.v.v[i].gsignal));
		TRY(claim_system_stack(l, gort->ms.v.v[i].spare_signal));
	}
	return claim_system_stack(l, gort->ms.gcrash);
}
