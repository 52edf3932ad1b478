/* What sites hold, by objects that were sampled and survive. */
#include "report/holdings.h"

#include "support/mkgo.h"
#include "support/test.h"

#include <string.h>

#define SIZE_CLASS 5 /* of 48 or 64 bytes, as the release has it */
#define SPANCLASS (2 * SIZE_CLASS)

struct process {
	struct mkgo_core c;
	struct holdings h;
	u64 size, slots;
	va_t scattered, packed; /* sites */
};

/* Two spans with a few objects of one site, and one that another site has filled. In the last one
 * a garbage object is sampled, too. */
static void plant(struct process *p, const struct mkgo_release *r, u64 rate)
{
	struct mkgo *go = mkgo_new(r->minor, r->patch);
	u64 all[16];
	va_t few, more, full, dead;

	memset(all, 0xff, sizeof(all));
	*p = (struct process){.scattered = 0};
	few = mkgo_span(go, (struct mkgo_span){.spanclass = SPANCLASS,
					       .freeindex = 1,
					       .alloc = {1},
					       .specials = true});
	p->size = mkgo_peek(go, few, RT_MSPAN_ELEMSIZE);
	p->slots = mkgo_peek(go, few, RT_MSPAN_NELEMS);
	more = mkgo_span(go, (struct mkgo_span){.spanclass = SPANCLASS,
						.freeindex = 4,
						.alloc = {0xf},
						.specials = true});
	full = mkgo_span(go, (struct mkgo_span){.spanclass = SPANCLASS,
						.freeindex = (u16)p->slots,
						.specials = true});
	dead = mkgo_span(go, (struct mkgo_span){.spanclass = SPANCLASS,
						.sweep = -2,
						.freeindex = 2,
						.alloc = {3},
						.marks = {1},
						.specials = true});
	p->scattered = mkgo_site(go, p->size, NULL, 0);
	p->packed = mkgo_site(go, p->size, NULL, 0);
	mkgo_sampling(go, rate, 5);
	mkgo_sampled(go, few, 0, p->scattered);
	mkgo_sampled(go, more, p->size, p->scattered);
	mkgo_sampled(go, more, 2 * p->size, p->scattered);
	mkgo_sampled(go, more, 20 * p->size, p->scattered); /* a free slot: no object */
	mkgo_sampled(go, full, 3 * p->size, p->packed);
	mkgo_sampled(go, dead, p->size, p->packed); /* not marked */
	mkgo_finish(go);
	mkgo_open(&p->c, go);
	assert_ok(holdings_read(&p->c.gort, rate, &p->h));
}

static void end(struct process *p)
{
	holdings_fini(&p->h);
	mkgo_close(&p->c);
}

static struct holding *of(struct process *p, va_t site)
{
	struct holding *h;

	assert_ok(holdings_of(&p->h, site, &h));
	return h;
}

static void test_sites(void **state)
{
	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++) {
		struct process p;
		struct holding *h;
		u64 one, four;

		plant(&p, r, 1);
		one = (p.slots - 1) * p.size; /* free in each of the two spans */
		four = (p.slots - 4) * p.size;
		h = of(&p, p.scattered);
		assert_non_null(h);
		assert_int_equal(h->spanclass % 2, 0);
		assert_int_equal(h->sampled, 3);
		assert_int_equal(h->spans, 2);
		assert_int_equal(h->unused, one + four);
		assert_int_equal(h->pinned, one + 2 * (four / 4.0));
		assert_int_equal(h->next, 0);
		h = of(&p, p.packed);
		assert_int_equal(h->sampled, 1);
		assert_int_equal(h->pinned, 0);
		assert_int_equal(p.h.spans, 3);
		assert_int_equal(p.h.unused, one + four);
		assert_null(of(&p, 0x1234));
		end(&p);
	}
}

/* An object stands for as many as there are to one that is sampled. */
static void test_scaled(void **state)
{
	struct process p, q;

	(void)state;
	plant(&p, mkgo_releases, 1);
	plant(&q, mkgo_releases, 512 << 10);
	assert_in_range(of(&q, q.scattered)->pinned,
			of(&p, p.scattered)->pinned * ((512 << 10) / q.size) * 99 / 100,
			of(&p, p.scattered)->pinned * ((512 << 10) / q.size) * 101 / 100);
	assert_int_equal(of(&q, q.scattered)->unused, of(&p, p.scattered)->unused);
	end(&p);
	end(&q);
}

/* A list of specials that runs in a circle ends. */
static void test_circle(void **state)
{
	struct mkgo *go = mkgo_new(24, 0);
	va_t span = mkgo_span(go, (struct mkgo_span){.spanclass = SPANCLASS,
						     .freeindex = 1,
						     .alloc = {1},
						     .specials = true});
	struct mkgo_core c;
	struct holdings h;
	va_t site, special;

	(void)state;
	site = mkgo_site(go, 64, NULL, 0);
	mkgo_sampled(go, span, 0, site);
	special = mkgo_peek(go, span, RT_MSPAN_SPECIALS);
	mkgo_finish(go);
	mkgo_poke(go, special, RT_SPECIAL_NEXT, special);
	mkgo_open(&c, go);
	assert_ok(holdings_read(&c.gort, 1, &h));
	assert_int_equal(h.v.n, 1);
	assert_in_range(h.v.v[0].sampled, 1, 3);
	holdings_fini(&h);
	mkgo_close(&c);
}

TEST_MAIN(TEST(test_sites), TEST(test_scaled), TEST(test_circle))
