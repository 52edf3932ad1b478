/* Samples of a site are counted in cycles, so that frees of a GC meet the allocations before it:
 *
 *   memRecord { active; future[3] }     cycle C: allocations go to future[(C+2)%3]
 *
 * What is published is active + future[C%3]; before the first GC nothing is, and then the runtime
 * adds all three (runtime/mprof.go MemProfile). Each site is scaled by the chance that an object
 * of its size was sampled (runtime/pprof/protomem.go scaleHeapSample). */
#include "gort/buckets.h"

#include "gort/list.h"
#include "gort/rtget.h"

#include <math.h>

#define CYCLES 3
#define BUCKET_MEM 1 /* runtime/mprof.go memProfile */

/* Samples in use at one site. */
struct samples {
	u64 allocs, objects, bytes;
};

static struct err *add_cycle(const struct rt *rt, va_t cycle, u64 size, struct samples *s)
{
	u8 buf[RT_RECORD_MAX];
	const u8 *rec = rt_record(rt, cycle, RT_MEM_CYCLE, buf);
	u64 allocs, frees;

	if (!rec)
		return err_fault();
	allocs = rec_u(rt, rec, RT_MEM_CYCLE_ALLOCS);
	frees = rec_u(rt, rec, RT_MEM_CYCLE_FREES);
	s->allocs += allocs;
	s->objects += allocs - frees;
	if (rt_has(rt, RT_MEM_CYCLE_ALLOC_BYTES))
		s->bytes += rec_u(rt, rec, RT_MEM_CYCLE_ALLOC_BYTES) -
			    rec_u(rt, rec, RT_MEM_CYCLE_FREE_BYTES);
	else /* since 1.27 all objects of a bucket have its size */
		s->bytes += (allocs - frees) * size;
	return NULL;
}

/* What is published of one record, and everything in it. */
static struct err *read_record(const struct rt *rt, va_t record, u64 size, u64 cycle,
			       struct samples *published, struct samples *all)
{
	va_t future = rt_addr(rt, record, RT_MEM_RECORD_FUTURE);
	u64 one = rt_size(rt, RT_MEM_RECORD_FUTURE_ONE);

	*published = (struct samples){0};
	TRY(add_cycle(rt, rt_addr(rt, record, RT_MEM_RECORD_ACTIVE), size, published));
	*all = *published;
	TRY(add_cycle(rt, future + cycle % CYCLES * one, size, published));
	for (u64 i = 0; i < CYCLES; i++)
		TRY(add_cycle(rt, future + i * one, size, all));
	return NULL;
}

/* Counters of a damaged bucket may be anything, negative too. */
static u64 scaled(u64 n, double scale)
{
	double v = (double)n * scale;

	if (v >= (double)INT64_MAX)
		return INT64_MAX;
	return v > 0 ? (u64)v : 0;
}

static void add_scaled(struct heap_profile *p, const struct samples *s)
{
	double scale = 1;

	if (!s->objects || !s->bytes)
		return;
	if (p->rate > 1)
		scale = 1 / (1 - exp(-((double)s->bytes / (double)s->objects) / (double)p->rate));
	p->sites++;
	p->inuse_objects += scaled(s->objects, scale);
	p->inuse_bytes += scaled(s->bytes, scale);
}

static struct err *walk(const struct rt *rt, u64 cycle, struct heap_profile *published,
			struct heap_profile *all, bool *any)
{
	struct list_guard guard = {0};
	u8 buf[RT_RECORD_MAX];
	va_t va;

	TRY(rt_pointer(rt, RT_G_MBUCKETS, &va));
	while (va) {
		const u8 *rec = rt_record(rt, va, RT_BUCKET, buf);
		struct samples p, a;
		u64 depth;

		/* buckets_read has reported what is wrong with the list. */
		if (!rec || !list_guard_step(&guard, va) ||
		    rec_u(rt, rec, RT_BUCKET_TYP) != BUCKET_MEM)
			return NULL;
		depth = rec_u(rt, rec, RT_BUCKET_NSTK);
		TRY(read_record(rt, va + rt_size(rt, RT_BUCKET) + depth * sizeof(va_t),
				rec_u(rt, rec, RT_BUCKET_SIZE), cycle, &p, &a));
		*any |= p.allocs != 0;
		add_scaled(published, &p);
		add_scaled(all, &a);
		va = rec_u(rt, rec, RT_BUCKET_ALLNEXT);
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

struct err *heap_profile_read(const struct rt *rt, struct heap_profile *ret)
{
	struct heap_profile published = {0}, all = {0};
	bool any = false;
	u32 cycle;
	i64 rate;

	TRY(read_settings(rt, &rate, &cycle));
	published.rate = all.rate = rate > 0 ? (u64)rate : 0;
	if (rt_has(rt, RT_MEM_RECORD_FUTURE_ONE) && rt_has(rt, RT_MEM_CYCLE))
		TRY(walk(rt, cycle, &published, &all, &any));
	*ret = any ? published : all;
	return NULL;
}
