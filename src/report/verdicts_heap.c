/* Rules about the Go heap: free pages, free slots, objects, and the limit. */
#include "report/verdicts_priv.h"

#include "base/bits.h"
#include "gort/rtget.h"
#include "report/common.h"
#include "report/sizeclasses.h"

#include <string.h>

#define CLASSES_NAMED 3 /* size classes in a sentence, */
#define CLASS_SHARE 10  /* of those with a tenth of the bytes */
#define SECOND_NS 1000000000

/* What GOGC would be set to. */
static const char *gogc_text(const struct judged *f)
{
	if (!f->m.has_gc_percent)
		return "a lower GOGC";
	return f->m.gc_percent < 0 ? "a GOGC (now off)"
				   : SAY(f, "a lower GOGC (now %lld)", (long long)f->m.gc_percent);
}

static bool has_limit(const struct judged *f)
{
	return f->m.memory_limit < GO_MAX_ADDR;
}

static const char *limit_text(const struct judged *f)
{
	if (!f->s->gort->rt.dialect.has_memory_limit)
		return "a GOMEMLIMIT (from Go 1.19 on)";
	return has_limit(f)
		       ? SAY(f, "a lower GOMEMLIMIT (now %s)", judged_size(f, f->m.memory_limit))
		       : "a GOMEMLIMIT (now none)";
}

void judge_idle_retained(const struct judged *f, struct verdict *v)
{
	v->gain = v->bytes = judged_resident(f, CAT_IDLE_RETAINED);
	v->summary = SAY(f,
			 "%s are free pages that the runtime keeps for later "
			 "(HeapIdle-HeapReleased)",
			 judged_size(f, v->bytes));
	v->remedy = SAY(f,
			"The scavenger gives them back over minutes while the heap stays small; "
			"debug.FreeOSMemory() does at once. To keep less: %s a little above what "
			"the program needs, or %s.",
			limit_text(f), gogc_text(f));
	verdict_evidence(v, "HeapIdle", f->m.heap_idle);
	verdict_evidence(v, "HeapReleased", f->m.heap_released);
}

/* ", 12.0 MiB of it in huge pages": as far as that is known, and there are any. */
static const char *parts_text(const struct judged *f, const struct columns *c)
{
	const char *text = "";

	if (ledger_knows_part(f->s->ledger, c, PART_LAZYFREE) && c->lazyfree)
		text = SAY(f, ", %s of it lazy-free", judged_size(f, c->lazyfree));
	if (ledger_knows_part(f->s->ledger, c, PART_HUGE) && c->huge)
		text = SAY(f, "%s, %s of it in huge pages", text, judged_size(f, c->huge));
	return text;
}

void judge_released_resident(const struct judged *f, struct verdict *v)
{
	const struct rt *rt = &f->s->gort->rt;
	struct columns c = ledger_columns(f->s->ledger, CAT_IDLE_RELEASED);
	const char *size;
	u64 dontneed = !rt->dialect.frees_lazily;

	v->gain = v->bytes = c.state[STATE_RESIDENT];
	size = judged_size(f, v->bytes);
	err_free(rt_u(rt, rt->globals[RT_G_DEBUG], RT_DEBUG_MADVDONTNEED, &dontneed));
	verdict_evidence(v, "HeapReleased", f->m.heap_released);
	verdict_evidence(v, "madvdontneed", dontneed);
	if (ledger_knows_part(f->s->ledger, &c, PART_LAZYFREE))
		verdict_evidence(v, "lazyfree", c.lazyfree);
	if (ledger_knows_part(f->s->ledger, &c, PART_HUGE))
		verdict_evidence(v, "huge", c.huge);
	if (!dontneed) {
		v->summary = SAY(f,
				 "%s were given back by MADV_FREE, but still count in RSS "
				 "(HeapReleased)%s",
				 size, parts_text(f, &c));
		v->remedy = "The kernel takes them when it needs memory: RSS is higher, nothing is "
			    "lost. GODEBUG=madvdontneed=1 (the default since Go 1.16) makes RSS "
			    "follow.";
		return;
	}
	v->summary = SAY(f, "%s were given back (HeapReleased) and are resident again%s", size,
			 parts_text(f, &c));
	v->remedy = "Transparent huge pages fill released pages in again: write 0 to "
		    "/sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none, or use THP "
		    "'madvise'.";
}

/* "64 bytes (2344 spans, 0.8 % used), 1024 bytes without pointers (...)" */
static const char *gaps_text(const struct judged *f, const struct class_row rows[])
{
	char used[REPORT_PERCENT_BUF];
	const char *text = "";
	u64 all = 0;

	for (size_t i = 0; i < SPANCLASS_COUNT; i++)
		all += rows[i].free;
	for (size_t i = 0; i < CLASSES_NAMED; i++) {
		const struct class_row *r = &rows[i];

		if (!r->free || (i && r->free < all / CLASS_SHARE))
			break;
		text = SAY(f, "%s%s%llu bytes%s (%llu spans, %s used)", text, i ? ", " : "",
			   (unsigned long long)r->slot_bytes,
			   r->spanclass % 2 ? " without pointers" : "",
			   (unsigned long long)r->spans, report_percent(r->used, r->slots, used));
	}
	return text;
}

void judge_fragmentation(const struct judged *f, struct verdict *v)
{
	struct class_row rows[SPANCLASS_COUNT];
	u64 gain = 0;

	sizeclass_rows(f->s, rows);
	for (size_t i = 0; i < SPANCLASS_COUNT; i++)
		gain += rows[i].reclaimable;
	/* Free slots of nearly full spans are no loss: the next objects take them. */
	if (gain * 20 < f->total)
		return;
	v->bytes = judged_resident(f, CAT_HEAP_FREE);
	v->gain = MIN(gain, v->bytes + judged_resident(f, CAT_HEAP_TAIL));
	v->summary = SAY(f,
			 "%s are free slots between objects (HeapInuse-HeapAlloc), most in "
			 "slots of %s",
			 judged_size(f, v->bytes), gaps_text(f, rows));
	v->remedy = SAY(f,
			"Only objects of the same size class can use them; without the gaps %s "
			"would be whole free spans. Keep what survives a peak apart from what does "
			"not, or copy the survivors afterwards. See `spanscope sizeclasses`.",
			judged_size(f, gain));
	verdict_evidence(v, "reclaimable", gain);
	verdict_evidence(v, "slot_bytes", rows[0].slot_bytes);
	verdict_evidence(v, "spans", rows[0].spans);
	verdict_evidence(v, "slots_used", rows[0].used);
}

/* Zero pages of large objects with pointers, which this release clears although they are new. */
static u64 zero_pages(const struct image *im, const struct span *s)
{
	static const u8 zeros[4096];
	va_t end = MIN(span_end(s), image_dumped_end(im, s->start));
	u64 sum = 0;

	for (va_t va = s->start; va < end; va += sizeof(zeros)) {
		const u8 *page = image_view(im, va, sizeof(zeros));

		if (page && residency_proves(&im->res, va) && !memcmp(page, zeros, sizeof(zeros)))
			sum += sizeof(zeros);
	}
	return sum;
}

void judged_find_cleared(struct judged *f)
{
	const struct gort *gort = f->s->gort;
	struct slots slots;

	if (!gort->rt.dialect.clears_fresh_memory)
		return;
	for (size_t i = 0; i < gort->spans.v.n; i++) {
		const struct span *s = &gort->spans.v.v[i];
		u64 bytes;

		if (s->state != SPAN_IN_USE || s->spanclass != 0 ||
		    !slots_read(&gort->rt, &gort->arenas, s, &slots))
			continue;
		bytes = zero_pages(f->s->im, s);
		if (bits_count(slots.live, 0, slots.n) || slots.rest == REST_UNDECIDED)
			f->cleared_live += bytes;
		else if (slots.rest == REST_DEAD)
			f->cleared_dead += bytes;
		else
			f->cleared_fresh += bytes;
	}
}

/* How old the last GC was when the core's file was last written. */
static u64 seconds_since_gc(const struct judged *f)
{
	u64 written = (u64)f->s->im->core.mtime_ns;

	return f->m.last_gc && written > f->m.last_gc ? (written - f->m.last_gc) / SECOND_NS : 0;
}

static const char *last_gc_text(const struct judged *f)
{
	if (!f->m.num_gc)
		return "There was no GC yet";
	return SAY(f, "The last GC, %llu s before the core was written, found %s live",
		   (unsigned long long)seconds_since_gc(f), judged_size(f, f->m.heap_marked));
}

void judge_garbage(const struct judged *f, struct verdict *v)
{
	u64 dead = judged_resident(f, CAT_HEAP_DEAD), fresh = judged_resident(f, CAT_HEAP_FRESH);

	dead -= MIN(dead, f->cleared_dead); /* see judge_never_written */
	fresh -= MIN(fresh, f->cleared_fresh);
	v->gain = v->bytes = dead + fresh;
	v->summary =
		SAY(f, "up to %s may be garbage: %s found dead, %s allocated since the last GC",
		    judged_size(f, v->bytes), judged_size(f, dead), judged_size(f, fresh));
	if (f->m.next_gc >= GO_MAX_ADDR)
		v->remedy = SAY(f, "%s. It is switched off (GOGC=off): set GOGC, or %s.",
				last_gc_text(f), limit_text(f));
	else
		v->remedy = SAY(
			f,
			"%s; the next is due at %s (NextGC). It comes earlier, at the price "
			"of CPU, with %s or %s.",
			last_gc_text(f), judged_size(f, f->m.next_gc), gogc_text(f), limit_text(f));
	verdict_evidence(v, "dead", dead);
	verdict_evidence(v, "fresh", fresh);
	verdict_evidence(v, "heapMarked", f->m.heap_marked);
	verdict_evidence(v, "NextGC", f->m.next_gc);
	verdict_evidence(v, "LastGC", f->m.last_gc);
	verdict_evidence(v, "seconds_since_gc", seconds_since_gc(f));
	if (f->m.has_gc_percent && f->m.gc_percent >= 0)
		verdict_evidence(v, "GOGC", (u64)f->m.gc_percent);
	if (has_limit(f))
		verdict_evidence(v, "GOMEMLIMIT", f->m.memory_limit);
}

/* What is never written is not called garbage besides. */
void judge_never_written(const struct judged *f, struct verdict *v)
{
	v->gain = v->bytes = f->cleared_live + f->cleared_dead + f->cleared_fresh;
	v->summary = SAY(f,
			 "%s of large objects with pointers were cleared by the runtime, never "
			 "written",
			 judged_size(f, v->bytes));
	v->remedy = "Go 1.24 clears fresh memory that is zero already, and so makes it resident "
		    "(golang/go#72991): upgrade to Go 1.25.";
}

void judge_in_use_absent(const struct judged *f, struct verdict *v)
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
	v->summary =
		SAY(f, "%s of the objects (HeapAlloc) are not in memory: allocated, never touched",
		    judged_size(f, v->bytes));
	v->remedy = "pprof and HeapAlloc count them, the kernel does not: they cost nothing until "
		    "they are written.";
	verdict_evidence(v, "HeapAlloc", virtual);
}

void judge_memory_limit(const struct judged *f, struct verdict *v)
{
	u64 limit = f->m.memory_limit, mapped = f->m.mapped_ready;
	char share[REPORT_PERCENT_BUF];

	if (!has_limit(f) || mapped < limit / 10 * 9)
		return;
	v->bytes = mapped;
	v->summary = SAY(f, "the runtime has %s (Sys-HeapReleased), %s of its memory limit of %s",
			 judged_size(f, mapped), report_percent(mapped, limit, share),
			 judged_size(f, limit));
	v->remedy = "Near GOMEMLIMIT the GC runs ever more often: raise the limit, or hold less.";
	verdict_evidence(v, "GOMEMLIMIT", limit);
	verdict_evidence(v, "mapped_ready", mapped);
}
