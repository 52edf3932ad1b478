/* Rules about goroutines, the runtime's own structures, and what is not Go's. */
#include "report/verdicts_priv.h"

#include "base/bits.h"
#include "gort/rtget.h"

#define LEAST_STACK 2048  /* runtime/stack.go fixedStack, the same in all releases */
#define NOSPLIT_BYTES 800 /* stackNosplit: what a GC adds to the bytes in use */

static size_t count_goroutines(const struct facts *f, bool dead)
{
	size_t n = 0;

	for (size_t i = 0; i < f->s->gort->gs.v.n; i++)
		n += goroutine_is_dead(&f->s->gort->gs.v.v[i]) == dead;
	return n;
}

/* Bytes that the next collections cut off: each halves a stack of which less than a quarter is in
 * use (runtime/stack.go shrinkstack). */
static u64 shrinkable(const struct goroutine *g)
{
	u64 size = g->stack.hi - g->stack.lo, used = g->stack.hi - g->sp + NOSPLIT_BYTES;
	u64 left = size;

	while (left / 2 >= LEAST_STACK && used < left / 4)
		left /= 2;
	return size - left;
}

static u64 shrinkable_stacks(const struct facts *f, u64 *all)
{
	u64 sum = 0;

	*all = 0;
	for (size_t i = 0; i < f->s->gort->gs.v.n; i++) {
		const struct goroutine *g = &f->s->gort->gs.v.v[i];

		if (goroutine_is_dead(g))
			continue;
		*all += g->stack.hi - g->stack.lo;
		sum += shrinkable(g);
	}
	return sum;
}

void judge_goroutine_stacks(const struct facts *f, struct verdict *v)
{
	u64 used = facts_resident(f, CAT_STACK_USED), unused = facts_resident(f, CAT_STACK_UNUSED);
	u64 cached = facts_resident(f, CAT_STACK_CACHED), all;
	u64 shrink = MIN(shrinkable_stacks(f, &all), unused);
	size_t n = count_goroutines(f, false);

	v->bytes = used + unused + cached;
	v->gain = shrink + cached;
	v->summary = SAY(f,
			 "%s are the stacks of %zu goroutines (StackInuse), %s on average: %s "
			 "in use, %s of room below, %s cached for new ones",
			 facts_size(f, v->bytes), n, facts_size(f, all / MAX(n, 1)),
			 facts_size(f, used), facts_size(f, unused), facts_size(f, cached));
	v->remedy = SAY(f,
			"Fewer goroutines, or ones that wait near the top of their stack: a stack "
			"that grew is halved by each GC while less than a quarter of it is in use "
			"(%s of these), and cached stacks are freed by the next.",
			facts_size(f, shrink));
	verdict_evidence(v, "goroutines", n);
	verdict_evidence(v, "used", used);
	verdict_evidence(v, "unused", unused);
	verdict_evidence(v, "cached", cached);
	verdict_evidence(v, "shrinkable", shrink);
}

/* Bytes of the heap that a descriptor takes: a slot; that of thread 0 is a variable. */
static u64 descriptor_bytes(const struct gort *gort, const struct goroutine *g)
{
	const struct span *s = spans_find(&gort->spans, g->g);

	return s && s->state == SPAN_IN_USE ? s->elemsize : 0;
}

void judge_dead_goroutines(const struct facts *f, struct verdict *v)
{
	size_t dead = count_goroutines(f, true), alive = count_goroutines(f, false);
	const struct gort *gort = f->s->gort;

	if (dead < 4 * alive)
		return;
	for (size_t i = 0; i < gort->gs.v.n; i++)
		if (goroutine_is_dead(&gort->gs.v.v[i]))
			v->bytes += descriptor_bytes(gort, &gort->gs.v.v[i]);
	v->summary = SAY(f,
			 "%s of the objects (HeapAlloc) are the descriptors of %zu goroutines that "
			 "ended; %zu live",
			 facts_size(f, v->bytes), dead, alive);
	v->remedy = "The runtime never frees them, only uses them again: limit how many goroutines "
		    "run at a time. A restart is the only way back.";
	verdict_evidence(v, "dead", dead);
	verdict_evidence(v, "alive", alive);
}

void judge_profile_buckets(const struct facts *f, struct verdict *v)
{
	u64 count = f->s->gort->buckets.count;

	v->gain = v->bytes = facts_resident(f, CAT_META_BUCKET);
	v->summary = SAY(f, "%s are %llu profile buckets (BuckHashSys), never freed",
			 facts_size(f, v->bytes), (unsigned long long)count);
	v->remedy =
		"One is kept for each stack that was ever sampled. From the next start on sample "
		"less (a larger MemProfileRate, block and mutex profiles off), or less deep "
		"(GODEBUG=profstackdepth=32, Go 1.23 and later).";
	verdict_evidence(v, "buckets", count);
	verdict_evidence(v, "BuckHashSys", f->m.buckhash_sys);
}

void judge_old_metadata(const struct facts *f, struct verdict *v)
{
	const struct spans *spans = &f->s->gort->spans;
	u64 dead = spans->record_count - MIN(spans->record_count, spans->v.n);

	if (dead < 2 * spans->v.n)
		return;
	v->bytes =
		MIN(dead * rt_size(&f->s->gort->rt, RT_MSPAN), facts_resident(f, CAT_META_MSPAN));
	v->summary = SAY(f,
			 "%s describe %llu spans that are no more (MSpanSys-MSpanInuse): the heap "
			 "was larger once; now it has %zu",
			 facts_size(f, v->bytes), (unsigned long long)dead, spans->v.n);
	v->remedy =
		"The runtime never frees span descriptors, only uses them again: they tell of an "
		"earlier peak, and cost no more than this. A restart is the only way back.";
	verdict_evidence(v, "dead_spans", dead);
	verdict_evidence(v, "spans", spans->v.n);
}

void judge_anonymous(const struct facts *f, struct verdict *v)
{
	size_t runs = f->s->ledger->anon.n;

	v->bytes = facts_resident(f, CAT_ANON);
	v->summary = SAY(f, "%s are private memory outside Go (cgo malloc, mmap), in %zu run%s",
			 facts_size(f, v->bytes), runs, runs == 1 ? "" : "s");
	v->remedy = "The Go runtime does not know of it: look at C libraries and syscall.Mmap. "
		    "`spanscope ledger` lists the runs. malloc_trim(3) or MALLOC_ARENA_MAX help "
		    "against what malloc keeps.";
	verdict_evidence(v, "runs", runs);
}
