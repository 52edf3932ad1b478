/* Parts of a span by class, against a count of single bytes. */
#include "ledger/span_split.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "support/test.h"

/* A span with random slots; the class of each of its bytes, counted up: sum[b] is that of [0, b).
 */
struct sample {
	struct span span;
	struct slots slots;
	u64 (*sum)[4];
};

static bool bit(const u64 *bits, u64 i)
{
	return bits[i / 64] >> (i % 64) & 1;
}

/* 0 live, 1 allocated, 2 free, 3 tail: the order of struct split. */
static unsigned class_of(const struct sample *s, u64 offset)
{
	u64 slot = offset / s->span.elemsize;

	if (slot >= s->slots.n)
		return 3;
	if (!bit(s->slots.alloc, slot))
		return 2;
	return bit(s->slots.live, slot) ? 0 : 1;
}

static void sample_init(struct sample *s, u32 npages, u64 elemsize, unsigned n, u64 *seed)
{
	u64 bytes;

	*s = (struct sample){.span = {.start = 0xc000000000,
				      .npages = npages,
				      .elemsize = elemsize,
				      .nelems = (u16)n,
				      .state = SPAN_IN_USE},
			     .slots = {.n = n}};
	for (unsigned i = 0; i < n; i++) {
		u64 r = test_random(seed) % 4;

		s->slots.alloc[i / 64] |= (u64)(r > 0) << i % 64;
		s->slots.live[i / 64] |= (u64)(r > 1) << i % 64;
	}
	bytes = span_bytes(&s->span);
	s->sum = xcalloc(bytes + 1, sizeof(*s->sum));
	for (u64 b = 0; b < bytes; b++) {
		memcpy(s->sum[b + 1], s->sum[b], sizeof(*s->sum));
		s->sum[b + 1][class_of(s, b)]++;
	}
}

static void check_cut(const struct sample *s, u64 a, u64 b)
{
	struct split split;
	u64 all = 0;

	span_split(&s->slots, &s->span, s->span.start + a, s->span.start + b, &split);
	for (unsigned i = 0; i < 4; i++) {
		if (split.bytes[i] != s->sum[b][i] - s->sum[a][i])
			fail_msg("[%llu, %llu) of slots of %llu: class %u has %llu bytes",
				 (unsigned long long)a, (unsigned long long)b,
				 (unsigned long long)s->span.elemsize, i,
				 (unsigned long long)split.bytes[i]);
		all += split.bytes[i];
	}
	assert_int_equal(all, b - a);
}

#define MAX_CUTS 400

/* Offsets where something begins or ends, their neighbours, and some between. */
static size_t find_cuts(const struct sample *s, u64 *cuts, u64 *seed)
{
	u64 bytes = span_bytes(&s->span), slots_end = s->span.elemsize * s->slots.n;
	const u64 marks[] = {0,
			     slots_end,
			     bytes,
			     s->span.elemsize,
			     s->span.elemsize * 63,
			     s->span.elemsize * 64,
			     s->span.elemsize * 65,
			     slots_end / 2};
	size_t n = 0;

	for (size_t i = 0; i < COUNT_OF(marks); i++)
		for (u64 d = 0; d < 3; d++)
			if (marks[i] + d >= 1 && marks[i] + d - 1 <= bytes)
				cuts[n++] = marks[i] + d - 1;
	for (u64 page = 0; page <= bytes && n < MAX_CUTS / 2; page += 4096)
		cuts[n++] = page;
	for (u64 i = 0; i < 20; i++) {
		u64 slot = test_random(seed) % s->slots.n * s->span.elemsize;

		cuts[n++] = slot;
		cuts[n++] = slot + s->span.elemsize / 2;
		cuts[n++] = test_random(seed) % (bytes + 1);
	}
	assert_true(n <= MAX_CUTS);
	return n;
}

static void test_against_single_bytes(void **state)
{
	static const struct {
		u32 npages;
		u64 elemsize;
		unsigned n;
	} spans[] = {
		{1, 8, 1024}, {1, 8, 1008},  {1, 16, 512},  {1, 24, 341},    {1, 48, 170},
		{1, 48, 168}, {1, 512, 15},  {1, 1152, 7},  {1, 8192, 1},    {2, 5376, 3},
		{3, 3072, 8}, {5, 13568, 3}, {4, 32768, 1}, {25, 200000, 1}, {8, 64, 1000},
		{1, 1, 1000}, {1, 8191, 1},
	};
	u64 seed = 23, cuts[MAX_CUTS];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(spans) * 2; i++) {
		struct sample s;
		size_t n;

		sample_init(&s, spans[i / 2].npages, spans[i / 2].elemsize, spans[i / 2].n, &seed);
		n = find_cuts(&s, cuts, &seed);
		for (size_t a = 0; a < n; a++)
			for (size_t b = 0; b < n; b++)
				if (cuts[a] <= cuts[b])
					check_cut(&s, cuts[a], cuts[b]);
		free(s.sum);
	}
}

/* Pieces that follow each other sum to the whole, wherever the cuts are. */
static void test_pieces_sum_up(void **state)
{
	struct sample s;
	u64 seed = 5;

	(void)state;
	sample_init(&s, 2, 48, 341, &seed);
	for (u64 step = 1; step < 20000; step = step * 3 + 1) {
		u64 bytes = span_bytes(&s.span);

		for (u64 a = 0; a < bytes; a += step)
			check_cut(&s, a, MIN(a + step, bytes));
	}
	free(s.sum);
}

static void test_classes(void **state)
{
	static const struct {
		enum slot_rest rest;
		enum category cat;
	} cases[] = {
		{REST_FRESH, CAT_HEAP_FRESH},
		{REST_DEAD, CAT_HEAP_DEAD},
		{REST_UNDECIDED, CAT_HEAP_UNDECIDED},
	};
	struct sample s;
	u64 seed = 1;

	(void)state;
	sample_init(&s, 1, 1024, 7, &seed);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct split split;

		s.slots.rest = cases[i].rest;
		span_split(&s.slots, &s.span, s.span.start, span_end(&s.span), &split);
		assert_int_equal(split.cat[0], CAT_HEAP_LIVE);
		assert_int_equal(split.cat[1], cases[i].cat);
		assert_int_equal(split.cat[2], CAT_HEAP_FREE);
		assert_int_equal(split.cat[3], CAT_HEAP_TAIL);
		assert_int_equal(split.bytes[3], 1024);
	}
	free(s.sum);
}

TEST_MAIN(TEST(test_against_single_bytes), TEST(test_pieces_sum_up), TEST(test_classes))
