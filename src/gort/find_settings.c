/* Variables without pointers that settings and pacing leave behind: debug, scavenge; and gcphase,
 * which is one number among many and is derived from what goes with it. */
#include "gort/find_priv.h"

#define MAX_SETTING ((u64)1 << 30) /* tracing's period in ns, the largest default */
#define MAX_LARGE_SETTINGS 6       /* settings that are more than a switch */
#define MAX_DEFAULTS_CHANGED 1     /* by GODEBUG, of those that are known */
#define MAX_NS ((u64)1 << 56)      /* two years */
/* A cycle of the GC, unless that is off or the process stood still: forcegcperiod of
 * runtime/proc.go, and what it may be late by on all Ps together. */
#define CYCLE_NS ((u64)5 * 120 * 1000000000)

/* runtime/mgcscavenge.go: 100 - reduceExtraPercent, 100 / retainExtraPercent */
#define RETAINED_PERCENT 95
#define RETAINED_EXTRA_PART 10

/* parsedebugvars (runtime/runtime1.go) sets these before it reads GODEBUG. */
static const struct {
	enum rt_field f;
	u64 value;
} defaults[] = {
	{RT_DEBUG_CGOCHECK, 1},
	{RT_DEBUG_INVALIDPTR, 1},
	{RT_DEBUG_ADAPTIVE, 1},
	{RT_DEBUG_PROFSTACKDEPTH, 128},
};

/* Nearly all settings are switches that are off; a few count. How much looks like the defaults; 0
 * when it is not debug. */
static u64 rank_debug(const struct finder *f, va_t debug)
{
	u64 n = rt_size(f->rt, RT_DEBUG) / 4, zeros = 0, large = 0, fit, v;
	bool dontneed = !f->rt->dialect.frees_lazily;

	fit = find_field(f, debug, RT_DEBUG_MADVDONTNEED, &v) && v == dontneed;

	for (u64 i = 0; i < n; i++) {
		u32 setting;
		struct err *err = image_read(f->rt->im, debug + 4 * i, &setting, sizeof(setting));

		err_free(err);
		if (err || setting > MAX_SETTING)
			return 0;
		zeros += setting == 0;
		large += setting > 2;
	}
	for (size_t i = 0; i < COUNT_OF(defaults); i++)
		fit += !rt_has(f->rt, defaults[i].f) ||
		       (find_field(f, debug, defaults[i].f, &v) && v == defaults[i].value);
	return large <= MAX_LARGE_SETTINGS && fit + MAX_DEFAULTS_CHANGED > COUNT_OF(defaults)
		       ? fit * n + zeros
		       : 0;
}

/* Several answers may differ in nothing that is read. */
static u64 debug_value(const struct finder *f, va_t debug)
{
	static const enum rt_field read[] = {RT_DEBUG_MADVDONTNEED, RT_DEBUG_HARDDECOMMIT,
					     RT_DEBUG_DISABLETHP, RT_DEBUG_GCSTOPTHEWORLD};
	u64 value = 0, v;

	for (size_t i = 0; i < COUNT_OF(read); i++)
		value = value << 8 | (find_field(f, debug, read[i], &v) ? v & 0xff : 0);
	return value;
}

static struct err *find_debug(struct finder *f)
{
	struct find_answer a = {.name = "debug"};
	struct find_words it = {.f = f, .range = f->first_noptrbss};
	u64 offset = (u64)f->rt->slots[RT_DEBUG_INVALIDPTR].offset, half = offset / 4 % 2;

	while (find_next_words(&it))
		for (size_t i = 0; i < it.n; i++) {
			va_t base = it.va + 8 * i - (offset - 4 * half);
			u64 rank;

			if (find_half(find_word(&it, i), (unsigned)half) != 1 ||
			    find_is_part(f, base))
				continue;
			rank = rank_debug(f, base);
			if (rank &&
			    (rank != a.rank || debug_value(f, a.va) != debug_value(f, base)))
				find_take(&a, base, rank);
		}
	return find_settle(f, RT_G_DEBUG, &a, false);
}

/* What bounds the scavenger's goals. */
struct pacing {
	u64 limit; /* GOMEMLIMIT */
	u64 heap;  /* all that was ever mapped for the heap: more cannot be kept */
	u64 goal;  /* of what is kept by GOGC, if there is one; 0: not known */
};

/* gcPaceScavenger: the heap that was in use when the last GC ended, as the goal has grown since. A
 * memory limit can make it less. */
static u64 goal_by_percent(const struct finder *f, va_t gcc)
{
	u64 page = f->rt->im->auxv.page_size, in_use, goal, last_goal, kept;
	double grown;

	if (!page || !find_field(f, gcc, RT_GCC_PERCENT_HEAP_GOAL, &goal) ||
	    !find_field(f, gcc, RT_GCC_LAST_HEAP_GOAL, &last_goal) || !last_goal ||
	    !find_field(f, f->rt->globals[RT_G_MEMSTATS], RT_MSTATS_LAST_HEAP_IN_USE, &in_use))
		return 0;
	grown = (double)in_use * ((double)goal / (double)last_goal);
	if (grown > (double)GO_MAX_ADDR) /* none, by GOGC=off; or damage */
		return 0;
	kept = (u64)grown;
	return align_up(kept + kept / RETAINED_EXTRA_PART, page);
}

static bool read_pacing(const struct finder *f, struct pacing *ret)
{
	va_t gcc = f->rt->globals[RT_G_GC_CONTROLLER];
	u64 in_use, free, released;

	if (!find_field(f, gcc, RT_GCC_MEMORY_LIMIT, &ret->limit) ||
	    !find_field(f, gcc, RT_GCC_HEAP_IN_USE, &in_use) ||
	    !find_field(f, gcc, RT_GCC_HEAP_FREE, &free) ||
	    !find_field(f, gcc, RT_GCC_HEAP_RELEASED, &released))
		return false;
	ret->heap = in_use + free + released;
	ret->goal = goal_by_percent(f, gcc);
	return true;
}

/* gcPaceScavenger: each goal is none (all ones) or what it computes. */
static bool goals_fit(const struct finder *f, const struct pacing *p, u64 percent_goal,
		      u64 limit_goal)
{
	u64 kept = (u64)((double)p->limit * (RETAINED_PERCENT / 100.0));

	return (percent_goal == UINT64_MAX || (percent_goal && percent_goal <= p->heap &&
					       percent_goal % f->rt->im->auxv.page_size == 0)) &&
	       (limit_goal == UINT64_MAX || limit_goal == kept);
}

enum { RANK_FITS = 1, RANK_COMPUTED = 4 /* more than times add to the other */ };

/* 0 when it is not scavenge. More when its times, which are of the last cycle, are no longer than
 * that takes (of two that fit, one was settings of the program with a time of an hour), and most
 * when its goal is what was computed (of two that fit, one was a mask: all ones mean none). */
static u64 rank_scavenge(const struct finder *f, va_t scavenge, const struct pacing *pacing)
{
	static const enum rt_field times[] = {RT_SCAVENGE_ASSIST, RT_SCAVENGE_BACKGROUND};
	u64 percent_goal, limit_goal, ns, rank;

	if (!find_field(f, scavenge, RT_SCAVENGE_PERCENT_GOAL, &percent_goal) ||
	    !find_field(f, scavenge, RT_SCAVENGE_LIMIT_GOAL, &limit_goal) ||
	    !goals_fit(f, pacing, percent_goal, limit_goal))
		return 0;
	rank = percent_goal == pacing->goal ? RANK_COMPUTED : RANK_FITS;
	for (size_t i = 0; i < COUNT_OF(times); i++) {
		if (!rt_has(f->rt, times[i]))
			continue;
		if (!find_field(f, scavenge, times[i], &ns) || ns >= MAX_NS)
			return 0;
		rank += ns < CYCLE_NS;
	}
	return rank;
}

static bool same_goals(const struct finder *f, va_t a, va_t b)
{
	u64 x[2], y[2];

	return find_field(f, a, RT_SCAVENGE_PERCENT_GOAL, &x[0]) &&
	       find_field(f, b, RT_SCAVENGE_PERCENT_GOAL, &y[0]) && x[0] == y[0] &&
	       find_field(f, a, RT_SCAVENGE_LIMIT_GOAL, &x[1]) &&
	       find_field(f, b, RT_SCAVENGE_LIMIT_GOAL, &y[1]) && x[1] == y[1];
}

/* Anchored at the goal of the limit, which is never 0 once there was pacing. */
static struct err *find_scavenge(struct finder *f)
{
	struct find_answer a = {.name = "scavenge"};
	struct find_words it = {.f = f, .range = f->first_noptrbss};
	u64 distance = (u64)f->rt->slots[RT_SCAVENGE_LIMIT_GOAL].offset;
	struct pacing pacing;

	if (!rt_has(f->rt, RT_SCAVENGE_LIMIT_GOAL)) /* mheap_ has the only goal */
		return NULL;
	if (!read_pacing(f, &pacing))
		return err_fault();
	while (find_next_words(&it))
		for (size_t i = 0; i < it.n; i++) {
			va_t base = it.va + 8 * i - distance;
			u64 rank;

			if (find_word(&it, i) < pacing.limit / 2 || find_is_part(f, base))
				continue;
			rank = rank_scavenge(f, base, &pacing);
			if (rank && (rank != a.rank || !same_goals(f, a.va, base)))
				find_take(&a, base, rank);
		}
	return find_settle(f, RT_G_SCAVENGE, &a, false);
}

/* Up to 1.18 a GC that was begun and is not yet counted as done tells; without work, which has the
 * number, there is no mark work either. */
static void derive_phase_by_cycles(struct finder *f)
{
	u64 begun, ended;

	f->rt->gcphase = GC_OFF;
	if (f->rt->globals[RT_G_WORK] &&
	    find_field(f, f->rt->globals[RT_G_WORK], RT_WORK_CYCLES, &begun) &&
	    find_field(f, f->rt->globals[RT_G_MEMSTATS], RT_MSTATS_NUMGC, &ended) && begun != ended)
		f->rt->gcphase = GC_MARK;
}

/* gcController.triggered is set when a GC begins and reset when all is marked
 * (gcControllerState.startCycle, resetLive). */
struct err *find_phase(struct finder *f)
{
	u64 triggered;

	if (!rt_has(f->rt, RT_GCC_TRIGGERED)) {
		derive_phase_by_cycles(f);
		return NULL;
	}
	if (!find_field(f, f->rt->globals[RT_G_GC_CONTROLLER], RT_GCC_TRIGGERED, &triggered))
		return err_fault();
	f->rt->gcphase = triggered == UINT64_MAX ? GC_OFF : GC_MARK;
	return NULL;
}

/* Each GC begins a cycle of the heap profile (mprof.go mProf_NextCycle). The rate is a number among
 * many; from 1.24 on an mcache keeps a copy, and a profile without a sample needs none. */
struct err *find_profile(struct finder *f)
{
	struct rt *rt = f->rt;
	u64 cycles, rate = 0, blocking = 0;
	va_t mcache;

	if (!find_field(f, rt->globals[RT_G_MEMSTATS], RT_MSTATS_NUMGC, &cycles))
		return err_fault();
	rt->profile.cycle = (u32)cycles;
	rt->profile.has_rate = !rt->globals[RT_G_MBUCKETS];
	if (!rt->profile.has_rate && f->ps.n)
		rt->profile.has_rate = find_field(f, f->ps.v[0], RT_P_MCACHE, &mcache) &&
				       find_field(f, mcache, RT_MCACHE_MEM_PROF_RATE, &rate);
	/* With GODEBUG=gcstoptheworld=2 a GC begins two. */
	if (rt->globals[RT_G_DEBUG] && rt->globals[RT_G_MBUCKETS] &&
	    find_field(f, rt->globals[RT_G_DEBUG], RT_DEBUG_GCSTOPTHEWORLD, &blocking) && blocking)
		rt->profile.has_rate = false;
	rt->profile.rate = (i64)rate;
	return NULL;
}

/* What has no figure hanging on it may be missing, and is said to be. */
static void survive(struct finder *f, struct err *err)
{
	if (err)
		diag_err(f->rt->d, DIAG_STRUCTURE, err);
}

void find_settings(struct finder *f)
{
	survive(f, find_debug(f));
	survive(f, find_scavenge(f));
}
