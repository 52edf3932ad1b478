#include "report/verdicts.h"

#include "base/bits.h"
#include "base/units.h"
#include "gort/rtget.h"
#include "report/sizeclasses.h"

#include <stdlib.h>

#define LEAST_BYTES ((u64)1 << 20) /* less is no answer to anything, whatever its share */

/* What the rules look at. */
struct facts {
	const struct snapshot *s;
	struct doc *d;
	struct mstats m;
	u64 total; /* resident */
};

static u64 resident(const struct facts *f, enum category c)
{
	return ledger_columns(f->s->ledger, c).state[STATE_RESIDENT];
}

/* A size as a string of the doc. */
static const char *size(const struct facts *f, u64 bytes)
{
	char buf[UNITS_BUF];

	return doc_printf(f->d, "%s", units_bytes((i64)bytes, buf)).string;
}

static void add_evidence(struct verdict *v, const char *key, u64 value)
{
	if (v->evidence_count < VERDICT_EVIDENCE) {
		v->evidence[v->evidence_count].key = key;
		v->evidence[v->evidence_count++].value = value;
	}
}

/* "GOGC=100" or "GOGC=off". */
static const char *gogc_text(const struct facts *f)
{
	if (f->m.gc_percent < 0)
		return "GOGC=off";
	return doc_printf(f->d, "GOGC=%lld", (long long)f->m.gc_percent).string;
}

static void judge_idle_retained(const struct facts *f, struct verdict *v)
{
	v->bytes = resident(f, CAT_IDLE_RETAINED);
	v->summary = doc_printf(f->d,
				"%s are free pages that the runtime keeps for later "
				"(HeapIdle-HeapReleased)",
				size(f, v->bytes))
			     .string;
	v->remedy =
		doc_printf(f->d,
			   "The scavenger gives them back over minutes while the heap stays small; "
			   "debug.FreeOSMemory() does at once. To keep less: GOMEMLIMIT a little "
			   "above what the program needs, or a lower GOGC (now %s).",
			   gogc_text(f))
			.string;
	add_evidence(v, "HeapIdle", f->m.heap_idle);
	add_evidence(v, "HeapReleased", f->m.heap_released);
}

static void judge_released_resident(const struct facts *f, struct verdict *v)
{
	const struct rt *rt = &f->s->gort->rt;
	u64 dontneed = 1;

	v->bytes = resident(f, CAT_IDLE_RELEASED);
	err_free(rt_u(rt, rt->globals[RT_G_DEBUG], RT_DEBUG_MADVDONTNEED, &dontneed));
	add_evidence(v, "HeapReleased", f->m.heap_released);
	add_evidence(v, "madvdontneed", dontneed);
	if (!dontneed) {
		v->summary = doc_printf(f->d,
					"%s are given back by MADV_FREE, but still count in RSS "
					"(HeapReleased)",
					size(f, v->bytes))
				     .string;
		v->remedy = "The kernel takes them when it needs memory: RSS is higher, nothing is "
			    "lost. GODEBUG=madvdontneed=1 (the default since Go 1.16) makes RSS "
			    "follow.";
		return;
	}
	v->summary = doc_printf(f->d, "%s were given back (HeapReleased) and are resident again",
				size(f, v->bytes))
			     .string;
	v->remedy = "Transparent huge pages fill released pages in again: write 0 to "
		    "/sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none, or use THP "
		    "'madvise'.";
}

static void judge_fragmentation(const struct facts *f, struct verdict *v)
{
	struct class_row rows[SPANCLASS_COUNT];
	u64 gain = 0;

	sizeclass_rows(f->s, rows);
	for (size_t i = 0; i < SPANCLASS_COUNT; i++)
		gain += rows[i].reclaimable;
	/* Free slots of nearly full spans are no loss: the next objects take them. */
	if (gain * 20 < f->total)
		return;
	v->bytes = resident(f, CAT_HEAP_FREE);
	v->summary = doc_printf(f->d,
				"%s are free slots between live objects, most of %llu bytes (%llu "
				"spans, %llu%% used)",
				size(f, v->bytes), (unsigned long long)rows[0].slot_bytes,
				(unsigned long long)rows[0].spans,
				(unsigned long long)(100 * rows[0].used / MAX(rows[0].slots, 1)))
			     .string;
	v->remedy =
		doc_printf(f->d,
			   "Only objects of the same size class can use them; without the gaps up "
			   "to %s would be whole free spans. Keep what survives a peak apart from "
			   "what does not, or copy the survivors afterwards. See `spanscope "
			   "sizeclasses`.",
			   size(f, gain))
			.string;
	add_evidence(v, "reclaimable", gain);
	add_evidence(v, "slot_bytes", rows[0].slot_bytes);
	add_evidence(v, "spans", rows[0].spans);
	add_evidence(v, "slots_used", rows[0].used);
}

static void judge_garbage(const struct facts *f, struct verdict *v)
{
	u64 dead = resident(f, CAT_HEAP_DEAD), fresh = resident(f, CAT_HEAP_FRESH);

	v->bytes = dead + fresh;
	v->summary =
		doc_printf(f->d, "up to %s may be garbage: %s dead, %s allocated since the last GC",
			   size(f, v->bytes), size(f, dead), size(f, fresh))
			.string;
	if (f->m.next_gc < GO_MAX_ADDR)
		v->remedy =
			doc_printf(
				f->d,
				"The last GC found %s live; the next is due at %s (NextGC). A "
				"lower "
				"GOGC (now %s) or a GOMEMLIMIT makes it come earlier, at the price "
				"of CPU.",
				size(f, f->m.heap_marked), size(f, f->m.next_gc), gogc_text(f))
				.string;
	else
		v->remedy = "The GC is switched off: set GOGC, or a GOMEMLIMIT.";
	add_evidence(v, "dead", dead);
	add_evidence(v, "fresh", fresh);
	add_evidence(v, "heapMarked", f->m.heap_marked);
	add_evidence(v, "NextGC", f->m.next_gc);
	add_evidence(v, "LastGC", f->m.last_gc);
}

static size_t count_goroutines(const struct facts *f, bool dead)
{
	size_t n = 0;

	for (size_t i = 0; i < f->s->gort->gs.v.n; i++)
		n += goroutine_is_dead(&f->s->gort->gs.v.v[i]) == dead;
	return n;
}

static void judge_goroutine_stacks(const struct facts *f, struct verdict *v)
{
	u64 used = resident(f, CAT_STACK_USED), unused = resident(f, CAT_STACK_UNUSED);
	u64 cached = resident(f, CAT_STACK_CACHED);
	size_t n = count_goroutines(f, false);

	v->bytes = used + unused + cached;
	v->summary =
		doc_printf(f->d,
			   "%s are the stacks of %zu goroutines (StackInuse): %s in use, %s "
			   "below, %s cached",
			   size(f, v->bytes), n, size(f, used), size(f, unused), size(f, cached))
			.string;
	v->remedy = "Fewer goroutines, or ones that wait near the top of their stack: a stack that "
		    "grew is halved by a GC only while less than a quarter of it is in use. "
		    "Cached stacks are freed by the next GC.";
	add_evidence(v, "goroutines", n);
	add_evidence(v, "used", used);
	add_evidence(v, "unused", unused);
	add_evidence(v, "cached", cached);
}

/* Bytes of the heap that a descriptor takes: a slot; that of thread 0 is a variable. */
static u64 descriptor_bytes(const struct gort *gort, const struct goroutine *g)
{
	const struct span *s = spans_find(&gort->spans, g->g);

	return s && s->state == SPAN_IN_USE ? s->elemsize : 0;
}

static void judge_dead_goroutines(const struct facts *f, struct verdict *v)
{
	size_t dead = count_goroutines(f, true), alive = count_goroutines(f, false);
	const struct gort *gort = f->s->gort;

	if (dead < 4 * alive)
		return;
	for (size_t i = 0; i < gort->gs.v.n; i++)
		if (goroutine_is_dead(&gort->gs.v.v[i]))
			v->bytes += descriptor_bytes(gort, &gort->gs.v.v[i]);
	v->summary =
		doc_printf(f->d, "%s are the descriptors of %zu goroutines that ended (%zu live)",
			   size(f, v->bytes), dead, alive)
			.string;
	v->remedy = "The runtime never frees them, only uses them again: limit how many goroutines "
		    "run at a time. A restart is the only way back.";
	add_evidence(v, "dead", dead);
	add_evidence(v, "alive", alive);
}

static void judge_profile_buckets(const struct facts *f, struct verdict *v)
{
	v->bytes = resident(f, CAT_META_BUCKET);
	v->summary = doc_printf(f->d, "%s are %llu profile buckets (BuckHashSys), never freed",
				size(f, v->bytes), (unsigned long long)f->s->gort->buckets.count)
			     .string;
	v->remedy = "One is kept for each stack that was ever sampled: sample less (a larger "
		    "MemProfileRate, block and mutex profiles off), or less deep "
		    "(GODEBUG=profstackdepth=32, Go 1.23 and later).";
	add_evidence(v, "buckets", f->s->gort->buckets.count);
	add_evidence(v, "BuckHashSys", f->m.buckhash_sys);
}

static void judge_old_metadata(const struct facts *f, struct verdict *v)
{
	const struct spans *spans = &f->s->gort->spans;
	u64 dead = spans->record_count - MIN(spans->record_count, spans->v.n);

	if (dead < 2 * spans->v.n)
		return;
	v->bytes = MIN(dead * rt_size(&f->s->gort->rt, RT_MSPAN), resident(f, CAT_META_MSPAN));
	v->summary = doc_printf(f->d, "%s describe %llu spans of a larger heap than today's %zu",
				size(f, v->bytes), (unsigned long long)dead, spans->v.n)
			     .string;
	v->remedy = "The runtime never frees span descriptors: they tell of an earlier peak, and "
		    "cost no more than this.";
	add_evidence(v, "dead_spans", dead);
	add_evidence(v, "spans", spans->v.n);
}

static void judge_anonymous(const struct facts *f, struct verdict *v)
{
	const struct ledger *l = f->s->ledger;

	v->bytes = resident(f, CAT_ANON);
	v->summary =
		doc_printf(f->d, "%s are private memory outside Go, in %zu runs (cgo malloc, mmap)",
			   size(f, v->bytes), l->anon.n)
			.string;
	v->remedy = "The Go runtime does not know of it: look at C libraries and syscall.Mmap. "
		    "`spanscope ledger` lists the runs. malloc_trim(3) or MALLOC_ARENA_MAX help "
		    "against what malloc keeps.";
	add_evidence(v, "runs", l->anon.n);
}

/* Zero pages of large objects with pointers, which this release clears although they are new. */
static u64 zero_pages(const struct image *im, const struct span *s)
{
	static const u8 zeros[4096];
	va_t end = MIN(span_end(s), image_dumped_end(im, s->start));
	u64 sum = 0;

	for (va_t va = s->start; va < end; va += sizeof(zeros)) {
		u64 kinds[PAGE_KIND_COUNT] = {0};
		const u8 *page = image_view(im, va, sizeof(zeros));

		residency_tally(&im->res, va, va + sizeof(zeros), kinds);
		if (kinds[PAGE_DATA] && page && !memcmp(page, zeros, sizeof(zeros)))
			sum += sizeof(zeros);
	}
	return sum;
}

static void judge_never_written(const struct facts *f, struct verdict *v)
{
	const struct gort *gort = f->s->gort;

	if (!gort->rt.dialect.clears_fresh_memory)
		return;
	for (size_t i = 0; i < gort->spans.v.n; i++)
		if (gort->spans.v.v[i].state == SPAN_IN_USE && gort->spans.v.v[i].spanclass == 0)
			v->bytes += zero_pages(f->s->im, &gort->spans.v.v[i]);
	v->summary = doc_printf(f->d,
				"%s of large objects with pointers were cleared by the runtime, "
				"never written",
				size(f, v->bytes))
			     .string;
	v->remedy =
		"Go 1.24 clears fresh memory that is zero already (golang/go#72991): upgrade to "
		"1.25.";
}

static void judge_in_use_absent(const struct facts *f, struct verdict *v)
{
	static const enum category heap[] = {CAT_HEAP_LIVE, CAT_HEAP_FRESH, CAT_HEAP_DEAD,
					     CAT_HEAP_UNDECIDED};
	u64 virtual = 0;

	for (size_t i = 0; i < COUNT_OF(heap); i++) {
		struct columns c = ledger_columns(f->s->ledger, heap[i]);

		v->bytes += c.state[STATE_ABSENT];
		virtual += c.virtual;
	}
	if (v->bytes * 4 < virtual)
		v->bytes = 0;
	v->summary = doc_printf(f->d,
				"%s of the objects (HeapAlloc) are not in memory: allocated, never "
				"touched",
				size(f, v->bytes))
			     .string;
	v->remedy = "pprof and HeapAlloc count them, the kernel does not: they cost nothing until "
		    "they are written.";
	add_evidence(v, "HeapAlloc", virtual);
}

static void judge_memory_limit(const struct facts *f, struct verdict *v)
{
	u64 limit = f->m.memory_limit, mapped = f->m.mapped_ready;

	if (limit >= GO_MAX_ADDR || mapped < limit / 10 * 9)
		return;
	v->bytes = mapped;
	v->summary = doc_printf(f->d, "%s of the memory limit of %s are mapped (%llu %%)",
				size(f, mapped), size(f, limit),
				(unsigned long long)(limit ? mapped * 100 / limit : 0))
			     .string;
	v->remedy = "Near GOMEMLIMIT the GC runs ever more often: raise the limit, or hold less.";
	add_evidence(v, "GOMEMLIMIT", limit);
	add_evidence(v, "mapped_ready", mapped);
}

static const struct rule {
	const char *id;
	unsigned least; /* permille of the resident total */
	const char *part;
	void (*judge)(const struct facts *f, struct verdict *v);
} rules[] = {
#define V(id, least, part, judge) {id, least, part, judge},
#include "report/verdicts.def"
#undef V
};

/* Disjoint ones first, then by size; equal ones keep the order of the table. */
static int by_weight(const void *a, const void *b)
{
	const struct verdict *x = a, *y = b;

	if (!x->part != !y->part)
		return x->part ? 1 : -1;
	return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

struct err *verdicts_find(const struct snapshot *s, struct doc *d,
			  struct verdict ret[static VERDICT_MAX], size_t *n)
{
	struct facts f = {.s = s, .d = d};

	*n = 0;
	f.total = ledger_total(s->ledger).state[STATE_RESIDENT];
	TRY(mstats_read(s->gort, &f.m));
	for (size_t i = 0; i < COUNT_OF(rules); i++) {
		struct verdict v = {.id = rules[i].id, .part = rules[i].part};

		rules[i].judge(&f, &v);
		if (v.bytes >= MAX(f.total / 1000 * rules[i].least, LEAST_BYTES))
			ret[(*n)++] = v;
	}
	qsort(ret, *n, sizeof(*ret), by_weight);
	return NULL;
}
