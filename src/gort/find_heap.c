/* mheap_, memstats, gcController and the table of size classes. */
#include "gort/find_priv.h"

#define DEFAULT_HEAP_MINIMUM ((u64)4 << 20)   /* runtime/mgcpacer.go defaultHeapMinimum */
#define MAX_TRIGGER_RATIO 100.0               /* of growth: with GOGC=10000 */
#define SMALLER_HEAP_MINIMUM ((u64)512 << 10) /* with the experiment heapminimum512kib */

static bool is_mheap(const struct finder *f, va_t mheap)
{
	const struct rt *rt = f->rt;
	va_t spanalloc = rt_addr(rt, mheap, RT_MHEAP_SPANALLOC);
	va_t cachealloc = rt_addr(rt, mheap, RT_MHEAP_CACHEALLOC);
	u64 arg, span_bytes, cache_bytes, sweepgen;

	return find_field(f, spanalloc, RT_FIXALLOC_ARG, &arg) && arg == mheap &&
	       find_field(f, spanalloc, RT_FIXALLOC_SIZE, &span_bytes) &&
	       span_bytes == rt_size(rt, RT_MSPAN) &&
	       find_field(f, cachealloc, RT_FIXALLOC_SIZE, &cache_bytes) &&
	       cache_bytes == rt_size(rt, RT_MCACHE) &&
	       find_field(f, mheap, RT_MHEAP_SWEEPGEN, &sweepgen) && sweepgen % 2 == 0;
}

/* The allocator of mspans has mheap_ as its argument (mheap.init). */
static struct err *find_mheap(struct finder *f)
{
	struct find_answer a = {.name = "mheap_"};
	struct find_words it = {.f = f, .range = f->first_bss};
	u64 distance = (u64)f->rt->slots[RT_MHEAP_SPANALLOC].offset +
		       (u64)f->rt->slots[RT_FIXALLOC_ARG].offset;

	while (find_next_words(&it))
		for (size_t i = 0; i < it.n; i++) {
			va_t base = it.va + 8 * i - distance;

			if (find_word(&it, i) == base && is_mheap(f, base))
				find_take(&a, base, 0);
		}
	return find_settle(f, RT_G_MHEAP, &a, true);
}

/* mheap_'s allocators count in memstats' mspan_sys and mcache_sys. */
static struct err *find_memstats(struct finder *f)
{
	const struct rt *rt = f->rt;
	va_t mheap = rt->globals[RT_G_MHEAP];
	va_t spanalloc = rt_addr(rt, mheap, RT_MHEAP_SPANALLOC);
	va_t cachealloc = rt_addr(rt, mheap, RT_MHEAP_CACHEALLOC);
	struct find_answer a = {.name = "memstats"};
	u64 spans, caches;

	if (find_field(f, spanalloc, RT_FIXALLOC_STAT, &spans) &&
	    find_field(f, cachealloc, RT_FIXALLOC_STAT, &caches)) {
		va_t base = spans - (u64)rt->slots[RT_MSTATS_MSPAN_SYS].offset;

		if (rt_addr(rt, base, RT_MSTATS_MCACHE_SYS) == caches && find_in_variables(f, base))
			find_take(&a, base, 0);
	}
	return find_settle(f, RT_G_MEMSTATS, &a, true);
}

/* gcControllerState.setGCPercent: the least heap that a GC runs for follows from GOGC. */
static bool minimum_fits(u64 percent, u64 minimum)
{
	u64 factor = (u64)(i64)(int32_t)percent;

	return minimum == DEFAULT_HEAP_MINIMUM * factor / 100 ||
	       minimum == SMALLER_HEAP_MINIMUM * factor / 100;
}

/* Gauges of the heap count pages, and none can be more than what was mapped for it. */
static bool gauges_fit(const struct finder *f, va_t gcc)
{
	static const enum rt_field gauges[] = {RT_GCC_HEAP_IN_USE, RT_GCC_HEAP_RELEASED,
					       RT_GCC_HEAP_FREE};
	u64 total_alloc, total_free, mapped, v;

	for (size_t i = 0; i < COUNT_OF(gauges); i++)
		if (!find_field(f, gcc, gauges[i], &v) || v % GO_PAGE_BYTES != 0 ||
		    v >= GO_MAX_ADDR)
			return false;
	return find_field(f, gcc, RT_GCC_HEAP_IN_USE, &v) && v &&
	       find_field(f, gcc, RT_GCC_TOTAL_ALLOC, &total_alloc) &&
	       find_field(f, gcc, RT_GCC_TOTAL_FREE, &total_free) && total_alloc >= total_free &&
	       find_field(f, gcc, RT_GCC_MAPPED_READY, &mapped) && mapped >= v &&
	       mapped < GO_MAX_ADDR;
}

static bool is_controller(const struct finder *f, va_t gcc)
{
	u64 percent, minimum, limit;

	return find_field(f, gcc, RT_GCC_PERCENT, &percent) &&
	       find_field(f, gcc, RT_GCC_HEAP_MINIMUM, &minimum) &&
	       minimum_fits(percent, minimum) && find_field(f, gcc, RT_GCC_MEMORY_LIMIT, &limit) &&
	       limit && limit <= INT64_MAX && gauges_fit(f, gcc);
}

/* memstats counts the same, in three parts that are summed (mstats.c). */
static bool agrees(const struct finder *f, va_t base, enum rt_field gauge, enum rt_field part)
{
	const struct rt *rt = f->rt;
	va_t deltas = rt_addr(rt, rt->globals[RT_G_MEMSTATS], RT_MSTATS_DELTAS);
	u64 n = rt_size(rt, RT_MSTATS_DELTAS) / MAX(rt_size(rt, RT_MSTATS_DELTA), 1);
	u64 sum = 0, v;

	for (u64 i = 0; i < n; i++)
		if (find_field(f, deltas + i * rt_size(rt, RT_MSTATS_DELTA), part, &v))
			sum += v;
	return find_field(f, base, gauge, &v) && v == sum;
}

/* A process that was stopped in its allocator may have changed one of two counters, not all. */
static u64 rank_controller(const struct finder *f, va_t gcc)
{
	u64 percent;

	return (u64)agrees(f, gcc, RT_GCC_HEAP_IN_USE, RT_DELTA_IN_HEAP) +
	       agrees(f, gcc, RT_GCC_HEAP_RELEASED, RT_DELTA_RELEASED) +
	       (find_field(f, gcc, RT_GCC_PERCENT, &percent) && percent);
}

/* Anchored at heapInUse: few words are a number of pages. */
static struct err *find_controller(struct finder *f)
{
	struct find_answer a = {.name = "gcController"};
	struct find_words it = {.f = f, .range = f->first_bss};
	u64 distance = (u64)f->rt->slots[RT_GCC_HEAP_IN_USE].offset;

	while (find_next_words(&it))
		for (size_t i = 0; i < it.n; i++) {
			u64 v = find_word(&it, i);

			if (v && v % GO_PAGE_BYTES == 0 && v < GO_MAX_ADDR &&
			    is_controller(f, it.va + 8 * i - distance))
				find_take(&a, it.va + 8 * i - distance,
					  rank_controller(f, it.va + 8 * i - distance));
		}
	return find_settle(f, RT_G_GC_CONTROLLER, &a, true);
}

static bool begins_size_classes(const u8 *p)
{
	/* Since 1.16 there is a class of 24 bytes. */
	static const u16 beginnings[][8] = {{0, 8, 16, 24, 32, 48, 64, 80},
					    {0, 8, 16, 32, 48, 64, 80, 96}};

	for (size_t i = 0; i < COUNT_OF(beginnings); i++)
		if (!memcmp(p, beginnings[i], sizeof(beginnings[i])))
			return true;
	return false;
}

/* The table is the same in every release since 1.16 (rt.c reads and checks it to its end), so any
 * copy will do: the first is taken. */
static struct err *find_size_classes(struct finder *f)
{
	struct find_answer a = {.name = "the table of size classes"};
	struct find_words it = {.f = f};

	while (!a.va && find_next_words(&it))
		for (size_t i = 0; i + 1 < it.n && !a.va; i++)
			if (find_word(&it, i) & 0xffff0000 && begins_size_classes(it.p + 8 * i))
				find_take(&a, it.va + 8 * i, 0);
	return find_settle(f, RT_G_SIZE_CLASSES, &a, true);
}

/* Before 1.19 the controller holds what the pacer decides: GOGC, the least heap that follows from
 * it, a ratio of growth. Up to 1.16 nothing of it is read. */
static bool is_plain_controller(const struct finder *f, va_t gcc)
{
	u64 percent, minimum, live, marked, bits; /* marked is a guess before the first GC */
	double ratio;

	if (!find_field(f, gcc, RT_GCC_PERCENT, &percent) ||
	    !find_field(f, gcc, RT_GCC_HEAP_MINIMUM, &minimum) || !minimum_fits(percent, minimum) ||
	    !find_field(f, gcc, RT_GCC_TRIGGER_RATIO, &bits) ||
	    !find_field(f, gcc, RT_GCC_HEAP_LIVE, &live) || live >= GO_MAX_ADDR ||
	    !find_field(f, gcc, RT_GCC_HEAP_MARKED, &marked) || marked > MAX(live, minimum))
		return false;
	memcpy(&ratio, &bits, sizeof(ratio));
	return ratio >= 0 && ratio <= MAX_TRIGGER_RATIO && live;
}

static struct err *find_plain_controller(struct finder *f)
{
	struct find_answer a = {.name = "gcController"};
	struct find_words it = {.f = f, .range = f->first_bss};
	u64 distance = (u64)f->rt->slots[RT_GCC_HEAP_MINIMUM].offset;

	if (!rt_has(f->rt, RT_GCC_PERCENT))
		return NULL;
	while (find_next_words(&it))
		for (size_t i = 0; i < it.n; i++) {
			va_t base = it.va + 8 * i - distance;

			if (find_word(&it, i) && is_plain_controller(f, base))
				find_take(&a, base, 0);
		}
	return find_settle(f, RT_G_GC_CONTROLLER, &a, true);
}

/* Up to 1.18 memstats has the heap's gauges twice since 1.16; the layout of another patch level
 * reads other numbers. */
static struct err *check_gauges(const struct finder *f)
{
	va_t stats = f->rt->globals[RT_G_MEMSTATS];

	if (!rt_has(f->rt, RT_DELTA_IN_HEAP) ||
	    agrees(f, stats, RT_MSTATS_HEAP_INUSE, RT_DELTA_IN_HEAP) ||
	    agrees(f, stats, RT_MSTATS_HEAP_RELEASED, RT_DELTA_RELEASED))
		return NULL;
	return err_new(ERR_FORMAT, "memstats holds other figures than in the layout of %s",
		       f->rt->version.text);
}

struct err *find_heap(struct finder *f)
{
	TRY(find_mheap(f));
	TRY(find_memstats(f));
	if (rt_has(f->rt, RT_GCC_HEAP_IN_USE)) {
		TRY(find_controller(f));
	} else {
		TRY(check_gauges(f));
		TRY(find_plain_controller(f));
	}
	return find_size_classes(f);
}
