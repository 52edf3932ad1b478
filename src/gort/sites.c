/* Samples of a site are counted in cycles, so that frees of a GC meet the allocations before it:
 *
 *   bucket { ..., nstk } | nstk return addresses | memRecord { active; future[3] }
 *
 *   cycle C: allocations go to future[(C+2)%3]
 *
 * What is published is active + future[C%3]; before the first GC nothing is, and then the runtime
 * adds all of them (runtime/mprof.go memProfileInternal). */
#include "gort/sites.h"

#include "gort/list.h"
#include "gort/rtget.h"

#include <math.h>

#define CYCLES 3

/* The walk over one list of buckets. */
struct walk {
	const struct rt *rt;
	enum bucket_type type;
	struct list_guard guard;
	va_t bucket;
	u64 size, depth;
	va_t next;
};

static struct err *walk_begin(struct walk *w, const struct rt *rt, enum bucket_type type)
{
	static const enum rt_global heads[] = {[BUCKET_MEM] = RT_G_MBUCKETS,
					       [BUCKET_BLOCK] = RT_G_BBUCKETS,
					       [BUCKET_MUTEX] = RT_G_XBUCKETS};

	*w = (struct walk){.rt = rt, .type = type};
	return rt_pointer(rt, heads[type], &w->next);
}

/* The next bucket; false at the end, or where the list is damaged. */
static bool walk_next(struct walk *w)
{
	u8 buf[RT_RECORD_MAX];
	const u8 *rec = w->next ? rt_record(w->rt, w->next, RT_BUCKET, buf) : NULL;

	if (!rec || !list_guard_step(&w->guard, w->next) ||
	    rec_u(w->rt, rec, RT_BUCKET_TYP) != w->type)
		return false;
	w->bucket = w->next;
	w->size = rec_u(w->rt, rec, RT_BUCKET_SIZE);
	w->depth = rec_u(w->rt, rec, RT_BUCKET_NSTK);
	w->next = rec_u(w->rt, rec, RT_BUCKET_ALLNEXT);
	return w->depth <= BUCKET_DEPTH_MAX;
}

static va_t walk_stack(const struct walk *w)
{
	return va_plus(w->bucket, rt_size(w->rt, RT_BUCKET));
}

static va_t walk_record(const struct walk *w)
{
	return va_plus(walk_stack(w), w->depth * sizeof(va_t));
}

/* Counters of one cycle, or sums of several. Sums of damaged ones wrap. */
struct counters {
	u64 allocs, frees, alloc_bytes, free_bytes;
};

static struct err *add_cycle(const struct walk *w, va_t cycle, struct counters *sum)
{
	const struct rt *rt = w->rt;
	u8 buf[RT_RECORD_MAX];
	const u8 *rec = rt_record(rt, cycle, RT_MEM_CYCLE, buf);
	struct counters c;

	if (!rec)
		return err_fault();
	c.allocs = rec_u(rt, rec, RT_MEM_CYCLE_ALLOCS);
	c.frees = rec_u(rt, rec, RT_MEM_CYCLE_FREES);
	/* Since 1.27 the bytes are not counted: all objects of a bucket have its size. */
	c.alloc_bytes = c.allocs * w->size;
	c.free_bytes = c.frees * w->size;
	if (rt_has(rt, RT_MEM_CYCLE_ALLOC_BYTES)) {
		c.alloc_bytes = rec_u(rt, rec, RT_MEM_CYCLE_ALLOC_BYTES);
		c.free_bytes = rec_u(rt, rec, RT_MEM_CYCLE_FREE_BYTES);
	}
	sum->allocs += c.allocs;
	sum->frees += c.frees;
	sum->alloc_bytes += c.alloc_bytes;
	sum->free_bytes += c.free_bytes;
	return NULL;
}

/* What is published of a bucket, or with `all` everything that was counted. */
static struct err *add_record(const struct walk *w, u32 cycle, bool all, struct counters *sum)
{
	va_t record = walk_record(w);
	va_t future = rt_addr(w->rt, record, RT_MEM_RECORD_FUTURE);
	u64 one = rt_size(w->rt, RT_MEM_RECORD_FUTURE_ONE);

	TRY(add_cycle(w, rt_addr(w->rt, record, RT_MEM_RECORD_ACTIVE), sum));
	for (u32 i = 0; i < CYCLES; i++)
		if (all || i == cycle % CYCLES)
			TRY(add_cycle(w, va_plus(future, i * one), sum));
	return NULL;
}

static bool has_records(const struct rt *rt)
{
	return rt_has(rt, RT_MEM_RECORD_FUTURE_ONE) && rt_has(rt, RT_MEM_CYCLE);
}

static struct err *read_early(const struct rt *rt, u32 cycle, bool *early)
{
	struct walk w;

	*early = true;
	TRY(walk_begin(&w, rt, BUCKET_MEM));
	while (*early && has_records(rt) && walk_next(&w)) {
		struct counters c = {0};

		TRY(add_record(&w, cycle, false, &c));
		*early = !c.allocs && !c.frees;
	}
	return NULL;
}

/* mProfCycle, whose lowest bit says whether the cycle was published already; up to 1.18 that is a
 * field beside it (mProf). */
static struct err *read_cycle(const struct rt *rt, u32 *cycle)
{
	bool plain = rt_has(rt, RT_MPROF_CYCLE);
	va_t va = rt->globals[RT_G_MPROF_CYCLE];

	if (plain)
		va = rt_addr(rt, va, RT_MPROF_CYCLE);
	TRY(image_read(rt->im, va, cycle, sizeof(*cycle)));
	if (!plain)
		*cycle >>= 1;
	return NULL;
}

static struct err *read_settings(const struct rt *rt, i64 *rate, u32 *cycle)
{
	if (!rt->globals[RT_G_MPROF_CYCLE]) {
		*rate = rt->profile.rate;
		*cycle = rt->profile.cycle;
		return rt->profile.has_rate ? NULL
					    : err_new(ERR_MISSING, "MemProfileRate was not found");
	}
	TRY(image_read(rt->im, rt->globals[RT_G_MEM_PROFILE_RATE], rate, sizeof(*rate)));
	return read_cycle(rt, cycle);
}

struct err *sampling_read(const struct rt *rt, struct sampling *ret)
{
	i64 rate = 0;

	*ret = (struct sampling){0};
	TRY(read_settings(rt, &rate, &ret->cycle));
	ret->rate = rate > 0 ? (u64)rate : 0;
	return read_early(rt, ret->cycle, &ret->early);
}

/* Begins stacks that have an address for each inlined call (runtime/mprof.go, tracestack.go
 * logicalStackSentinel, 1.23). */
#define STACK_SENTINEL UINT64_MAX

/* Return addresses become addresses inside the calls. */
static size_t read_stack(const struct walk *w, va_t pcs[static BUCKET_DEPTH_MAX])
{
	struct err *err = image_read(w->rt->im, walk_stack(w), pcs, w->depth * sizeof(*pcs));
	size_t n = 0;

	if (err) {
		err_free(err);
		return 0;
	}
	for (u64 i = 0; i < w->depth; i++)
		if (pcs[i] != STACK_SENTINEL)
			pcs[n++] = pcs[i] - (pcs[i] != 0);
	return n;
}

/* The runtime's own division: the size is only known where something was published. */
static u64 object_size(const struct walk *w, const struct counters *c)
{
	if (!rt_has(w->rt, RT_MEM_CYCLE_ALLOC_BYTES))
		return w->size;
	return c->allocs ? c->alloc_bytes / c->allocs : 0;
}

struct err *sites_visit(const struct rt *rt, const struct sampling *sampling, site_visitor *visit,
			void *arg)
{
	va_t pcs[BUCKET_DEPTH_MAX];
	struct walk w;

	TRY(walk_begin(&w, rt, BUCKET_MEM));
	while (has_records(rt) && walk_next(&w)) {
		struct counters c = {0};
		struct site s = {.bucket = w.bucket, .pcs = pcs};

		TRY(add_record(&w, sampling->cycle, sampling->early, &c));
		s.size = object_size(&w, &c);
		s.alloc_objects = (i64)c.allocs;
		s.alloc_bytes = (i64)c.alloc_bytes;
		s.inuse_objects = (i64)(c.allocs - c.frees);
		s.inuse_bytes = (i64)(c.alloc_bytes - c.free_bytes);
		s.depth = read_stack(&w, pcs);
		TRY(visit(arg, &s));
	}
	return NULL;
}

/* As Go's conversion, but for what a damaged bucket may have. */
static u64 whole(double v)
{
	if (v >= (double)INT64_MAX)
		return INT64_MAX;
	return v > 0 ? (u64)v : 0;
}

/* As Go converts a float64, but for what a damaged bucket may have. */
static i64 real_count(u64 bits)
{
	double v;

	memcpy(&v, &bits, sizeof(v));
	return (i64)whole(v);
}

struct err *contentions_visit(const struct rt *rt, enum bucket_type type, contention_visitor *visit,
			      void *arg)
{
	va_t pcs[BUCKET_DEPTH_MAX];
	struct walk w;

	TRY(walk_begin(&w, rt, type));
	while (rt_has(rt, RT_BLOCK_RECORD_CYCLES) && walk_next(&w)) {
		struct contention c = {.pcs = pcs};
		u64 count, cycles;

		TRY(rt_u(rt, walk_record(&w), RT_BLOCK_RECORD_COUNT, &count));
		TRY(rt_u(rt, walk_record(&w), RT_BLOCK_RECORD_CYCLES, &cycles));
		c.count = rt->dialect.counts_contentions_in_reals ? real_count(count) : (i64)count;
		c.cycles = (i64)cycles;
		c.depth = read_stack(&w, pcs);
		TRY(visit(arg, &c));
	}
	return NULL;
}

static u64 variable(const struct rt *rt, enum rt_global g, u64 offset)
{
	u64 value;

	return rt->globals[g] && image_u64(rt->im, rt->globals[g] + offset, &value) ? value : 0;
}

u64 contentions_clock(const struct rt *rt)
{
	return rt_has(rt, RT_TICKS_VAL)
		       ? variable(rt, RT_G_TICKS, (u64)rt->slots[RT_TICKS_VAL].offset)
		       : 0;
}

u64 contentions_mutex_rate(const struct rt *rt)
{
	return variable(rt, RT_G_MUTEX_PROFILE_RATE, 0);
}

struct scaled site_scaled(i64 objects, i64 bytes, u64 rate)
{
	double scale = 1;

	if (!objects || !bytes)
		return (struct scaled){0};
	if (rate > 1)
		scale = 1 / (1 - exp(-((double)bytes / (double)objects) / (double)rate));
	return (struct scaled){whole((double)objects * scale), whole((double)bytes * scale)};
}
