/* Allocated, live, or neither: the slots of a span from its bitmaps and the state of the sweep. */
#include "gort/slots.h"

#include "support/core.h"
#include "support/test.h"

#define ALLOC_BITS 0x10000
#define MARK_BITS 0x10100

/* One span whose slots are too large for marks of its own. */
static struct span span_of(unsigned nelems, unsigned freeindex, int sweep)
{
	return (struct span){
		.start = 0xc000000000,
		.alloc_bits = ALLOC_BITS,
		.mark_bits = MARK_BITS,
		.npages = 200,
		.nelems = (u16)nelems,
		.freeindex = (u16)freeindex,
		.elemsize = 1024,
		.state = SPAN_IN_USE,
		.sweep = (int8_t)sweep,
	};
}

static struct core core_with_bits(u64 alloc, u64 mark)
{
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);

	mkcore_load(mk, 0x10000, PF_R | PF_W, "#");
	mkcore_poke_u64(mk, ALLOC_BITS, alloc);
	mkcore_poke_u64(mk, MARK_BITS, mark);
	return core_open(mk);
}

/* Eight slots: allocBits 0b10110010, marks 0b11010011, freeindex as given. */
static const struct {
	int sweep;
	u32 phase;
	unsigned freeindex;
	u64 alloc, live;
	enum slot_rest rest;
} cases[] = {
	/* Swept: the bits are the survivors of the last mark, everything else is new. */
	{0, GC_OFF, 0, 0xb2, 0xb2, REST_FRESH},
	{0, GC_OFF, 4, 0xbf, 0xb2, REST_FRESH},
	{0, GC_OFF, 8, 0xff, 0xb2, REST_FRESH},
	{3, GC_OFF, 4, 0xbf, 0xb2, REST_FRESH},
	/* Not swept: the marks are the result of the last mark. */
	{-2, GC_OFF, 0, 0xb2, 0x92, REST_DEAD},
	{-2, GC_OFF, 3, 0xb7, 0x93, REST_DEAD},
	{1, GC_OFF, 3, 0xb7, 0x93, REST_DEAD},
	/* Being swept at this instant. */
	{-1, GC_OFF, 3, 0xb7, 0, REST_UNDECIDED},
	{2, GC_OFF, 3, 0xb7, 0, REST_UNDECIDED}, /* no state that there is */
	/* During a mark: what is marked so far is live, the rest open. */
	{0, 1, 3, 0xb7, 0x93, REST_UNDECIDED},
	{0, 2, 3, 0xb7, 0x93, REST_UNDECIDED},
	{3, 1, 8, 0xff, 0xd3, REST_UNDECIDED},
	{-2, 1, 0, 0xb2, 0x92, REST_UNDECIDED},
};

static void test_states(void **state)
{
	struct core c = core_with_bits(0xb2, 0xd3);
	const struct arenas arenas = {.l2 = 0};
	struct rt *rt = xcalloc(1, sizeof(*rt));

	(void)state;
	rt->im = &c.im;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct span span = span_of(8, cases[i].freeindex, cases[i].sweep);
		struct slots slots;

		memset(&slots, 0xee, sizeof(slots));
		rt->gcphase = cases[i].phase;
		assert_true(slots_read(rt, &arenas, &span, &slots));
		assert_int_equal(slots.n, 8);
		assert_int_equal(slots.alloc[0], cases[i].alloc);
		assert_int_equal(slots.live[0], cases[i].live);
		assert_int_equal(slots.rest, cases[i].rest);
	}
	free(rt);
	core_close(&c);
}

/* No bit behind the last slot counts, whatever the bitmaps and freeindex say. */
static void test_ends_with_the_span(void **state)
{
	static const unsigned sizes[] = {1, 2, 63, 64, 65, 127, 128, 200, 1000, 1023, 1024};
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
	const struct arenas arenas = {.l2 = 0};
	struct rt *rt = xcalloc(1, sizeof(*rt));
	struct core c;

	(void)state;
	mkcore_load(mk, 0x10000, PF_R | PF_W, "#");
	for (u64 w = 0; w < 16; w++) {
		mkcore_poke_u64(mk, ALLOC_BITS + w * 8, UINT64_MAX);
		mkcore_poke_u64(mk, MARK_BITS + w * 8, UINT64_MAX);
	}
	c = core_open(mk);
	rt->im = &c.im;
	for (size_t i = 0; i < COUNT_OF(sizes) * 2; i++) {
		unsigned n = sizes[i / 2], words = (n + 63) / 64;
		struct span span = span_of(n, n, i % 2 ? 0 : -2);
		u64 alloc = 0, live = 0;
		struct slots slots;

		assert_true(slots_read(rt, &arenas, &span, &slots));
		for (unsigned w = 0; w < words; w++) {
			alloc += (u64)__builtin_popcountll(slots.alloc[w]);
			live += (u64)__builtin_popcountll(slots.live[w]);
		}
		assert_int_equal(alloc, n);
		assert_int_equal(live, n);
	}
	free(rt);
	core_close(&c);
}

/* Bits that were not dumped, in part or whole, and bits across a border of loads. */
static void test_missing_bits(void **state)
{
	static const struct {
		va_t alloc, mark;
		unsigned n;
		bool there;
	} places[] = {
		{0x10ff8, 0x10000, 128, true}, /* into the next load */
		{0x10ffc, 0x10000, 64, true},  {0x11ff8, 0x10000, 64, true},
		{0x11ff8, 0x10000, 65, false}, /* the second word is behind the end */
		{0x11ffc, 0x10000, 8, false},  /* whole words are read */
		{0, 0x10000, 8, false},        {0x10000, 0, 8, false},
		{0x10000, 0x12000, 8, false},
	};
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
	const struct arenas arenas = {.l2 = 0};
	struct rt *rt = xcalloc(1, sizeof(*rt));
	struct core c;

	(void)state;
	mkcore_load(mk, 0x10000, PF_R | PF_W, "#");
	mkcore_load(mk, 0x11000, PF_R, "#")->ph.p_memsz = 0x2000;
	c = core_open(mk);
	rt->im = &c.im;
	for (size_t i = 0; i < COUNT_OF(places); i++) {
		struct span span = span_of(places[i].n, 0, -2);
		struct slots slots;

		span.alloc_bits = places[i].alloc;
		span.mark_bits = places[i].mark;
		assert_int_equal(slots_read(rt, &arenas, &span, &slots), places[i].there);
		for (unsigned b = 0; places[i].there && b < places[i].n; b++)
			assert_int_equal(slots.alloc[b / 64] >> b % 64 & 1,
					 mkcore_byte(places[i].alloc + b / 8) >> b % 8 & 1);
	}
	free(rt);
	core_close(&c);
}

TEST_MAIN(TEST(test_states), TEST(test_ends_with_the_span), TEST(test_missing_bits))
