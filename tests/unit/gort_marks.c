/* Slots of spans as each release has them in memory: bitmaps of any length, marks inside the span
 * (Green Tea) or outside, every state of the sweep. */
#include "base/bits.h"
#include "support/mkgo.h"
#include "support/test.h"

#define GC_MARK 1

/* Size classes by their bytes; + 1 is noscan. */
enum { B8 = 2, B16 = 4, B48 = 10, B64 = 12, B112 = 18, B128 = 20, B448 = 48, B1408 = 70 };

/* "L1 F3 .7": live, fresh, dead, undecided and free slots, in runs. */
static void describe(const struct slots *s, char text[static 256])
{
	static const char rest[] = {[REST_FRESH] = 'F', [REST_DEAD] = 'D', [REST_UNDECIDED] = 'U'};
	char letter = 0;
	unsigned run = 0;
	size_t n = 0;

	for (unsigned i = 0; i <= s->n; i++) {
		char next = '.';

		if (i == s->n)
			next = 0;
		else if (bits_test(s->live, i))
			next = bits_test(s->alloc, i) ? 'L' : '?';
		else if (bits_test(s->alloc, i))
			next = rest[s->rest];
		if (next != letter && run)
			n += (size_t)snprintf(text + n, 256 - n, "%s%c%u", n ? " " : "", letter,
					      run);
		run = next == letter ? run + 1 : 1;
		letter = next;
	}
	/* Behind the last slot nothing is set. */
	for (unsigned i = s->n; i % 64; i++)
		assert_false(bits_test(s->live, i) || bits_test(s->alloc, i));
}

/* The only span of the process. */
static void check_slots(struct mkgo *go, const char *expected)
{
	char text[256] = "";
	struct mkgo_core c;
	struct slots slots;

	mkgo_open(&c, go);
	mkgo_assert_clean(&c);
	assert_int_equal(c.gort.spans.v.n, 1);
	assert_true(slots_read(&c.gort.rt, &c.gort.arenas, &c.gort.spans.v.v[0], &slots));
	describe(&slots, text);
	assert_string_equal(text, expected);
	mkgo_assert_failed(&c, "");
	mkgo_close(&c);
}

struct slot_case {
	u32 phase;
	struct mkgo_span span;
	const char *slots;
};

static void check_cases(const struct slot_case *cases, size_t n)
{
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++)
		for (size_t i = 0; i < n; i++) {
			struct mkgo *go = mkgo_new(r->minor, r->patch);

			if (cases[i].span.inline_marks &&
			    !mkgo_has(go, RT_HEAP_ARENA_INLINE_MARKS)) {
				mkgo_free(go);
				continue;
			}
			mkgo_gcphase(go, cases[i].phase);
			mkgo_span(go, cases[i].span);
			check_slots(go, cases[i].slots);
		}
}

/* Eleven slots; bits 0 2 6 7 10 in allocBits, 1 2 5 7 9 marked, slots below 4 handed out. */
#define ELEVEN(when)                                                                               \
	{                                                                                          \
		.spanclass = B1408 + 1, .sweep = (when), .freeindex = 4, .alloc = {0x4c5},         \
		.marks = {                                                                         \
			0x2a6                                                                      \
		}                                                                                  \
	}

static void test_sweep(void **state)
{
	static const struct slot_case cases[] = {
		{GC_OFF, ELEVEN(0), "L1 F1 L1 F1 .2 L2 .2 L1"},
		{GC_OFF, ELEVEN(3), "L1 F1 L1 F1 .2 L2 .2 L1"},
		{GC_OFF, ELEVEN(-2), "D1 L2 D1 .2 D1 L1 .2 D1"},
		{GC_OFF, ELEVEN(1), "D1 L2 D1 .2 D1 L1 .2 D1"},
		{GC_OFF, ELEVEN(-1), "U4 .2 U2 .2 U1"},
		{GC_MARK, ELEVEN(0), "U1 L2 U1 .2 U1 L1 .2 U1"},
		{GC_MARK, ELEVEN(3), "U1 L2 U1 .2 U1 L1 .2 U1"},
		{GC_MARK_TERMINATION, ELEVEN(0), "U1 L2 U1 .2 U1 L1 .2 U1"},
	};

	(void)state;
	check_cases(cases, COUNT_OF(cases));
}

static void test_lengths(void **state)
{
	static const struct slot_case cases[] = {
		/* Nothing, everything, and rubbish behind the last of 11. */
		{0, {.spanclass = B1408}, ".11"},
		{0, {.spanclass = B1408, .freeindex = 11}, "F11"},
		{0, {.spanclass = B1408, .alloc = {UINT64_MAX}}, "L11"},
		{0, {.spanclass = B1408, .sweep = -2, .alloc = {0xf800}, .marks = {0xffff}}, ".11"},
		/* 73: the second word has 9. */
		{0,
		 {.spanclass = B112 + 1, .freeindex = 66, .alloc = {0, 0xfffffffffffffe05}},
		 "F64 L1 F1 L1 .6"},
		{0,
		 {.spanclass = B112 + 1,
		  .sweep = -2,
		  .freeindex = 66,
		  .alloc = {0, 4},
		  .marks = {(u64)1 << 63, UINT64_MAX}},
		 "D63 L4 .6"},
		{0, {.spanclass = B112 + 1, .freeindex = 64}, "F64 .9"},
		{0, {.spanclass = B112 + 1, .freeindex = 73}, "F73"},
		{GC_MARK, {.spanclass = B112 + 1, .freeindex = 65, .marks = {0, 1}}, "U64 L1 .8"},
		/* 64: one word, and none behind it. */
		{0, {.spanclass = B128 + 1, .freeindex = 63}, "F63 .1"},
		{0, {.spanclass = B128 + 1, .freeindex = 64}, "F64"},
		{0, {.spanclass = B128 + 1, .alloc = {(u64)1 << 63}}, ".63 L1"},
		/* 170 and 1024. */
		{0,
		 {.spanclass = B48 + 1, .freeindex = 1, .alloc = {0, 0, (u64)1 << 41}},
		 "F1 .168 L1"},
		{0,
		 {.spanclass = B8 + 1, .freeindex = 1000, .alloc = {[15] = (u64)1 << 63}},
		 "F1000 .23 L1"},
		{0,
		 {.spanclass = B8 + 1, .sweep = -2, .freeindex = 1024, .marks = {[15] = 1}},
		 "D960 L1 D63"},
	};

	(void)state;
	check_cases(cases, COUNT_OF(cases));
}

static void test_large(void **state)
{
	static const struct slot_case cases[] = {
		{0, {.npages = 5, .freeindex = 1, .alloc = {1}}, "L1"},
		{0, {.npages = 5, .freeindex = 1}, "F1"},
		{0, {.npages = 5}, ".1"},
		{0, {.spanclass = 1, .npages = 500, .sweep = -2, .freeindex = 1}, "D1"},
		{0, {.npages = 1, .sweep = -2, .freeindex = 1, .marks = {1}}, "L1"},
		{0, {.npages = 5, .sweep = -1, .freeindex = 1, .marks = {1}}, "U1"},
		{GC_MARK, {.npages = 5, .freeindex = 1}, "U1"},
		{GC_MARK, {.npages = 5, .freeindex = 1, .marks = {1}}, "L1"},
	};

	(void)state;
	check_cases(cases, COUNT_OF(cases));
}

static void test_inline_marks(void **state)
{
	static const struct slot_case cases[] = {
		/* 18 slots: 128 bytes are taken off the page. */
		{0,
		 {.spanclass = B448 + 1,
		  .inline_marks = true,
		  .sweep = -2,
		  .freeindex = 18,
		  .marks = {0x20101}},
		 "L1 D7 L1 D8 L1"},
		/* 124 with pointers: 128 bytes more for the heap bits. */
		{0,
		 {.spanclass = B64,
		  .inline_marks = true,
		  .sweep = 1,
		  .freeindex = 124,
		  .marks = {0, (u64)1 << 59}},
		 "D123 L1"},
		/* 504: all 63 bytes of marks; the class stands behind them. */
		{0,
		 {.spanclass = B16 + 1,
		  .inline_marks = true,
		  .sweep = -2,
		  .freeindex = 504,
		  .marks = {1, [7] = (u64)1 << 55}},
		 "L1 D502 L1"},
		/* Swept: they are the next mark's. */
		{0,
		 {.spanclass = B448 + 1,
		  .inline_marks = true,
		  .freeindex = 3,
		  .alloc = {2},
		  .marks = {5}},
		 "F1 L1 F1 .15"},
		{GC_MARK,
		 {.spanclass = B448 + 1,
		  .inline_marks = true,
		  .freeindex = 3,
		  .alloc = {2},
		  .marks = {5}},
		 "L1 U1 L1 .15"},
		/* The same release without them. */
		{GC_MARK,
		 {.spanclass = B448 + 1, .freeindex = 3, .alloc = {2}, .marks = {5}},
		 "L1 U1 L1 .15"},
	};

	(void)state;
	check_cases(cases, COUNT_OF(cases));
}

/* Slots too small or too large for marks of their own, or in more than a page, whatever the arena's
 * bit says. */
static void test_no_inline_marks(void **state)
{
	static const struct slot_case cases[] = {
		{0,
		 {.spanclass = B8 + 1, .sweep = -2, .freeindex = 8, .marks = {0x81}},
		 "L1 D6 L1 .1016"},
		{0, {.spanclass = B1408 + 1, .sweep = -2, .freeindex = 11, .marks = {1}}, "L1 D10"},
		{0, {.npages = 1, .sweep = -2, .freeindex = 1, .marks = {1}}, "L1"},
		{0,
		 {.spanclass = B448 + 1, .npages = 2, .sweep = -2, .freeindex = 36, .marks = {2}},
		 "D1 L1 D34"},
	};

	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++)
		for (size_t i = 0; i < COUNT_OF(cases); i++) {
			struct mkgo *go = mkgo_new(r->minor, r->patch);

			mkgo_span(go, cases[i].span);
			mkgo_finish(go);
			if (mkgo_has(go, RT_HEAP_ARENA_INLINE_MARKS))
				mkgo_flip(go, RT_HEAP_ARENA_INLINE_MARKS, MKGO_HEAP);
			check_slots(go, cases[i].slots);
		}
}

TEST_MAIN(TEST(test_sweep), TEST(test_lengths), TEST(test_large), TEST(test_inline_marks),
	  TEST(test_no_inline_marks))
