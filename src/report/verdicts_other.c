/* Rules about the runtime's own structures, and what is not Go's. */
#include "report/verdicts_priv.h"

#include "gort/rtget.h"

void judge_profile_buckets(const struct judged *f, struct verdict *v)
{
	u64 count = f->s->gort->buckets.count;

	v->gain = v->bytes = judged_resident(f, CAT_META_BUCKET);
	v->summary = SAY(f, "%s are %llu profile buckets (BuckHashSys), never freed",
			 judged_size(f, v->bytes), (unsigned long long)count);
	v->remedy =
		"One is kept for each stack that was ever sampled. From the next start on sample "
		"less (a larger MemProfileRate, block and mutex profiles off), or less deep "
		"(GODEBUG=profstackdepth=32, Go 1.23 and later).";
	verdict_evidence(v, "buckets", count);
	verdict_evidence(v, "BuckHashSys", f->m.buckhash_sys);
}

void judge_old_metadata(const struct judged *f, struct verdict *v)
{
	const struct spans *spans = &f->s->gort->spans;
	u64 dead = spans->record_count - MIN(spans->record_count, spans->v.n);

	if (dead < 2 * spans->v.n)
		return;
	v->bytes =
		MIN(dead * rt_size(&f->s->gort->rt, RT_MSPAN), judged_resident(f, CAT_META_MSPAN));
	v->summary = SAY(f,
			 "%s describe %llu spans that are no more (MSpanSys-MSpanInuse): the heap "
			 "was larger once; now it has %zu",
			 judged_size(f, v->bytes), (unsigned long long)dead, spans->v.n);
	v->remedy =
		"The runtime never frees span descriptors, only uses them again: they tell of an "
		"earlier peak, and cost no more than this. A restart is the only way back.";
	verdict_evidence(v, "dead_spans", dead);
	verdict_evidence(v, "spans", spans->v.n);
}

void judge_anonymous(const struct judged *f, struct verdict *v)
{
	size_t runs = f->s->ledger->anon.n;

	v->bytes = judged_resident(f, CAT_ANON);
	v->summary = SAY(f, "%s are private memory outside Go (cgo malloc, mmap), in %zu run%s",
			 judged_size(f, v->bytes), runs, runs == 1 ? "" : "s");
	v->remedy = "The Go runtime does not know of it: look at C libraries and syscall.Mmap. "
		    "`spanscope ledger` lists the runs. malloc_trim(3) or MALLOC_ARENA_MAX help "
		    "against what malloc keeps.";
	verdict_evidence(v, "runs", runs);
}
