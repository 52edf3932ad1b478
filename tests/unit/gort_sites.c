/* Allocation sites out of memory buckets: what is published of them, and scaled. */
#include "gort/buckets.h"
#include "gort/sites.h"

#include "support/mkgo.h"
#include "support/test.h"

#include <string.h>

#define RATE ((u64)512 << 10)
#define CYCLE 7 /* future[1] is the next to be published */

struct found {
	struct site v[8];
	va_t outermost[8];
	size_t n;
	size_t stop_after; /* 0: never */
};

static struct err *note_site(void *arg, const struct site *s)
{
	struct found *f = arg;

	if (f->n < COUNT_OF(f->v)) {
		f->v[f->n] = *s;
		f->outermost[f->n] = s->depth ? s->pcs[s->depth - 1] : 0;
	}
	f->n++;
	return f->n == f->stop_after ? err_new(ERR_LIMIT, "enough") : NULL;
}

/* A site of objects of `size` bytes; its calls return to at, at + 1, ... */
static va_t site(struct mkgo *go, unsigned depth, u64 size, va_t at)
{
	va_t returns[4];

	for (unsigned i = 0; i < depth; i++)
		returns[i] = at + i;
	return mkgo_site(go, size, returns, depth);
}

static struct mkgo *process(const struct mkgo_release *r)
{
	struct mkgo *go = mkgo_new(r->minor, r->patch);

	mkgo_sampling(go, RATE, CYCLE);
	return go;
}

static void visit(const struct mkgo_core *c, struct sampling *s, struct found *f)
{
	*f = (struct found){.n = 0};
	assert_ok(sampling_read(&c->gort.rt, s));
	assert_int_equal(s->rate, RATE);
	assert_int_equal(s->cycle, CYCLE);
	assert_ok(sites_visit(&c->gort.rt, s, note_site, f));
}

/* The newest comes first; of what is to come only the next cycle is published. */
static void test_published(void **state)
{
	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++) {
		struct mkgo *go = process(r);
		va_t old = site(go, 3, 48, 0x5000), fresh = site(go, 1, 64, 0x6000);
		struct mkgo_core c;
		struct sampling s;
		struct found f;

		mkgo_count(go, old, -1, 10, 4);
		mkgo_count(go, old, 1, 3, 2);
		mkgo_count(go, old, 0, 100, 0);
		mkgo_count(go, fresh, 2, 5, 0);
		mkgo_finish(go);
		mkgo_open(&c, go);
		visit(&c, &s, &f);
		assert_false(s.early);
		assert_int_equal(f.n, 2);
		assert_int_equal(f.v[0].bucket, fresh);
		assert_int_equal(f.v[0].alloc_objects, 0);
		assert_int_equal(f.v[0].size, mkgo_has(go, RT_MEM_CYCLE_ALLOC_BYTES) ? 0 : 64);
		assert_int_equal(f.v[1].alloc_objects, 13);
		assert_int_equal(f.v[1].alloc_bytes, 13 * 48);
		assert_int_equal(f.v[1].inuse_objects, 7);
		assert_int_equal(f.v[1].inuse_bytes, 7 * 48);
		assert_int_equal(f.v[1].size, 48);
		assert_int_equal(f.v[1].depth, 3);
		assert_int_equal(f.outermost[1], 0x5001);
		mkgo_close(&c);
	}
}

/* Before the first GC everything is shown. */
static void test_early(void **state)
{
	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++) {
		struct mkgo *go = process(r);
		va_t b = site(go, 1, 32, 0x5000);
		struct mkgo_core c;
		struct sampling s;
		struct found f;

		mkgo_count(go, b, 0, 2, 0);
		mkgo_count(go, b, 2, 3, 1);
		mkgo_finish(go);
		mkgo_open(&c, go);
		visit(&c, &s, &f);
		assert_true(s.early);
		assert_int_equal(f.v[0].alloc_objects, 5);
		assert_int_equal(f.v[0].inuse_bytes, 4 * 32);
		mkgo_close(&c);
	}
}

/* A list that runs in a circle ends, and so does one whose stack is too deep; the visitor's error
 * ends any. */
static void test_damage(void **state)
{
	struct mkgo *go = process(mkgo_releases);
	va_t first = site(go, 2, 32, 0x5000), last = site(go, 2, 32, 0x5000);
	struct mkgo_core c;
	struct sampling s;
	struct found f;

	(void)state;
	mkgo_count(go, first, -1, 1, 2); /* more freed than allocated */
	mkgo_poke(go, first, RT_BUCKET_ALLNEXT, last);
	mkgo_finish(go);
	mkgo_open(&c, go);
	visit(&c, &s, &f);
	assert_in_range(f.n, 2, 6);
	assert_int_equal(f.v[1].inuse_objects, -1);
	f = (struct found){.stop_after = 1};
	assert_err(sites_visit(&c.gort.rt, &s, note_site, &f), ERR_LIMIT, "enough");
	assert_int_equal(f.n, 1);
	mkgo_close(&c);

	go = process(mkgo_releases);
	site(go, 2, 32, 0x5000);
	last = site(go, 2, 32, 0x5000);
	mkgo_poke(go, last, RT_BUCKET_NSTK, BUCKET_DEPTH_MAX + 1);
	mkgo_finish(go);
	mkgo_open(&c, go);
	visit(&c, &s, &f);
	assert_int_equal(f.n, 0);
	mkgo_close(&c);
}

struct waits {
	struct contention v[4];
	size_t n;
};

static struct err *note_wait(void *arg, const struct contention *c)
{
	struct waits *w = arg;

	if (w->n < COUNT_OF(w->v))
		w->v[w->n] = *c;
	w->n++;
	return NULL;
}

/* Counts are whole numbers, or since 1.17 not. */
static void test_contentions(void **state)
{
	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++) {
		struct mkgo *go = mkgo_new(r->minor, r->patch);
		va_t block = mkgo_bucket(go, MKGO_BLOCK, 3), mutex = mkgo_bucket(go, MKGO_MUTEX, 0);
		struct waits w = {.n = 0};
		struct mkgo_core c;
		const double count = 2.75;
		u64 bits;

		memcpy(&bits, &count, sizeof(bits));
		if (!go->rt.dialect.counts_contentions_in_reals)
			bits = 2;
		block += go->rt.slots[RT_BUCKET].size + 3 * sizeof(va_t);
		mutex += go->rt.slots[RT_BUCKET].size;
		mkgo_finish(go);
		mkgo_poke(go, block, RT_BLOCK_RECORD_COUNT, bits);
		mkgo_poke(go, block, RT_BLOCK_RECORD_CYCLES, 5000);
		mkgo_poke(go, mutex, RT_BLOCK_RECORD_CYCLES, 7);
		mkgo_open(&c, go);
		assert_ok(contentions_visit(&c.gort.rt, BUCKET_BLOCK, note_wait, &w));
		assert_int_equal(w.n, 1);
		assert_int_equal(w.v[0].count, 2);
		assert_int_equal(w.v[0].cycles, 5000);
		assert_int_equal(w.v[0].depth, 3);
		assert_ok(contentions_visit(&c.gort.rt, BUCKET_MUTEX, note_wait, &w));
		assert_int_equal(w.n, 2);
		assert_int_equal(w.v[1].cycles, 7);
		mkgo_close(&c);
	}
}

/* The figures are those of runtime/pprof for such samples. */
static void test_scaled(void **state)
{
	static const struct {
		i64 objects, bytes;
		u64 rate, scaled_objects, scaled_bytes;
	} cases[] = {
		{1, 48, 0, 1, 48},
		{1, 48, 1, 1, 48},
		{0, 0, RATE, 0, 0},
		{3, 0, RATE, 0, 0},
		{1, 1024, RATE, 512, 524800},
		{2, 2 << 20, RATE, 2, 2425393},
		{-4, -4096, RATE, 0, 0},
		{INT64_MAX, INT64_MAX, 2, INT64_MAX, INT64_MAX},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct scaled s = site_scaled(cases[i].objects, cases[i].bytes, cases[i].rate);

		assert_int_equal(s.objects, cases[i].scaled_objects);
		assert_int_equal(s.bytes, cases[i].scaled_bytes);
	}
}

TEST_MAIN(TEST(test_published), TEST(test_early), TEST(test_damage), TEST(test_contentions),
	  TEST(test_scaled))
