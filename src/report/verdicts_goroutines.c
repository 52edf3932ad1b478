/* Rules about goroutines and threads: their stacks, and what they leave behind. */
#include "report/verdicts_priv.h"

#include "base/units.h"
#include "report/common.h"

#define LEAST_STACK 2048  /* runtime/stack.go fixedStack, the same in all releases */
#define LEAK_COUNT 100    /* fewer are no leak, whatever their size */
#define NOSPLIT_BYTES 800 /* stackNosplit: what a GC adds to the bytes in use */

static size_t count_goroutines(const struct judged *f, bool dead)
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

static u64 shrinkable_stacks(const struct judged *f, u64 *all)
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

/* A sentence about the goroutines that have most of the stacks; "" when that is no great part. */
static const char *largest_group(const struct judged *f)
{
	const struct goroutine_groups *gg = f->groups;
	size_t most = 0;
	u64 all = 0;
	char share[REPORT_PERCENT_BUF];

	for (size_t i = 0; gg && i < gg->g.v.n; i++) {
		all += gg->resident.v[i];
		if (gg->resident.v[i] > gg->resident.v[most])
			most = i;
	}
	if (!all || gg->resident.v[most] < all / 4)
		return "";
	return SAY(f, "%s of it are stacks of %llu goroutines in %s. ",
		   report_percent(gg->resident.v[most], all, share),
		   (unsigned long long)gg->g.v.v[most].count,
		   group_place(f->d, gg, &gg->g.v.v[most]));
}

void judge_goroutine_stacks(const struct judged *f, struct verdict *v)
{
	u64 used = judged_resident(f, CAT_STACK_USED),
	    unused = judged_resident(f, CAT_STACK_UNUSED);
	u64 cached = judged_resident(f, CAT_STACK_CACHED), all;
	u64 shrink = MIN(shrinkable_stacks(f, &all), unused);
	size_t n = count_goroutines(f, false);

	v->bytes = used + unused + cached;
	v->gain = shrink + cached;
	v->summary = SAY(f,
			 "%s are the stacks of %zu goroutines (StackInuse), %s on average: %s "
			 "in use, %s of room below, %s cached for new ones",
			 judged_size(f, v->bytes), n, judged_size(f, all / MAX(n, 1)),
			 judged_size(f, used), judged_size(f, unused), judged_size(f, cached));
	v->remedy =
		SAY(f,
		    "%sFewer goroutines, or ones that wait near the top of their stack: a stack "
		    "that grew is halved by each GC while less than a quarter of it is in use "
		    "(%s of these), and cached stacks are freed by the next.",
		    largest_group(f), judged_size(f, shrink));
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

void judge_dead_goroutines(const struct judged *f, struct verdict *v)
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
			 judged_size(f, v->bytes), dead, alive);
	v->remedy = "The runtime never frees them, only uses them again: limit how many goroutines "
		    "run at a time. A restart is the only way back.";
	verdict_evidence(v, "dead", dead);
	verdict_evidence(v, "alive", alive);
}

static const char *duration(const struct judged *f, u64 ns)
{
	char buf[UNITS_BUF];

	return SAY(f, "%s", units_duration(ns, buf));
}

/* Whether most of a group have waited for long for what other goroutines would have to do. */
static bool looks_leaked(const struct judged *f, const struct group *g)
{
	enum wait_kind kind;

	return wait_reason_name(&f->s->gort->rt, g->wait_reason, &kind) && kind == WAIT_BLOCKED &&
	       !g->system && 2 * g->waited_long > g->count;
}

static void add_to_leak(struct leak *l, const struct goroutine_groups *gg, size_t group)
{
	const struct group *g = &gg->g.v.v[group];

	l->bytes += gg->resident.v[group];
	l->allocated += g->allocated;
	l->count += g->count;
	l->waited_long += g->waited_long;
	l->waited_most = MAX(l->waited_most, g->waited_most);
	if (!l->largest || g->count > l->largest->count)
		l->largest = g;
}

/* Those that one go statement has started are one leak, though they may wait at several lines. */
struct err *judged_find_leak(struct judged *f)
{
	const struct goroutine_groups *gg = f->groups;
	ARRAY(struct leak) leaks = {0};
	struct map by_creator = {.used = 0};
	struct err *err = NULL;

	for (size_t i = 0; gg && i < gg->g.v.n && !err; i++) {
		const struct group *g = &gg->g.v.v[i];
		va_t gopc = group_creator(&gg->g, g)->gopc;
		bool fresh;
		u32 *index;

		if (!looks_leaked(f, g))
			continue;
		err = map_at(&by_creator, gopc ? gopc : 1, &index, &fresh);
		if (!err && fresh) {
			err = array_push(&leaks, {.bytes = 0});
			*index = (u32)leaks.n;
		}
		if (!err && leaks.v)
			add_to_leak(&leaks.v[*index - 1], gg, i);
	}
	for (size_t i = 0; i < leaks.n; i++)
		if (leaks.v[i].count >= LEAK_COUNT && leaks.v[i].bytes > f->leak.bytes)
			f->leak = leaks.v[i];
	array_free(&leaks);
	map_fini(&by_creator);
	return err;
}

void judge_goroutine_leak(const struct judged *f, struct verdict *v)
{
	const struct leak *l = &f->leak;
	const char *creation;

	if (!l->largest)
		return;
	creation = group_creation(f->d, f->groups, l->largest);
	v->gain = v->bytes = l->bytes;
	v->summary = SAY(
		f,
		"%s are the stacks of %llu goroutines that may be leaked: they have waited "
		"for %s or longer, most for '%s' in %s",
		judged_size(f, v->bytes), (unsigned long long)l->count, duration(f, LONG_WAIT_NS),
		group_state(&f->s->gort->rt, l->largest), group_place(f->d, f->groups, l->largest));
	v->remedy = SAY(
		f,
		"%s%s%sWhen nothing will wake them they stay for ever, with all that they refer "
		"to: let them give up when nobody waits for their work any more (a context, a "
		"closed channel). See `spanscope goroutines --waited 1m`.",
		*creation ? "They were started by " : "", creation, *creation ? ". " : "");
	verdict_evidence(v, "goroutines", l->count);
	verdict_evidence(v, "waited_long", l->waited_long);
	verdict_evidence(v, "waited_most_ns", l->waited_most);
	verdict_evidence(v, "stack_bytes", l->allocated);
}

/* What a thread keeps in memory while it has nothing to do. */
static u64 thread_bytes(const struct judged *f, const struct machine *m)
{
	return report_resident(f->s->im, m->g0.lo, m->g0.hi) +
	       report_resident(f->s->im, m->gsignal.lo, m->gsignal.hi);
}

void judge_idle_threads(const struct judged *f, struct verdict *v)
{
	const struct gort *gort = f->s->gort;
	size_t idle = 0, all = 0;
	u64 bytes = 0;

	for (size_t i = 0; i < gort->ms.v.n; i++) {
		const struct machine *m = &gort->ms.v.v[i];

		all += m->thread != NULL;
		if (!m->thread || !m->idle)
			continue;
		idle++;
		bytes += thread_bytes(f, m);
	}
	if (idle < 4 * gort->procs.v.n)
		return;
	v->bytes = MIN(bytes,
		       judged_resident(f, CAT_THREAD_STACK) + judged_resident(f, CAT_STACK_SYSTEM));
	v->summary = SAY(f, "%s are the stacks of %zu threads that have nothing to do, of %zu",
			 judged_size(f, v->bytes), idle, all);
	v->remedy =
		"The runtime makes a thread for each call into C or the kernel that blocks at the "
		"same time, and keeps it: let fewer of them run at a time. A thread ends when a "
		"goroutine does that is locked to it (runtime.LockOSThread).";
	verdict_evidence(v, "idle", idle);
	verdict_evidence(v, "threads", all);
	verdict_evidence(v, "GOMAXPROCS", gort->procs.v.n);
}
