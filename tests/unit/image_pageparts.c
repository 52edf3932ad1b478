/* Huge and lazily freed pages where the record of pages does not tell: concluded from smaps where
 * that leaves no choice, never wrongly. */
#include "image/pagerec.h"

#include "support/test.h"

#include <string.h>

#define PAGE ((u64)4096)
#define BLOCK 512 /* pages */
#define FIRST ((u64)0xc000000)
#define LETTERS (4 * 8)

/* One mapping of 4 blocks, a letter each 64 pages: # present, . absent, z the shared page of zeros,
 * f of a file, s swapped. */
static void add_runs(struct pagerec *r, const char *letters)
{
	for (size_t i = 0; letters[i]; i++) {
		u16 flags = PG_PRESENT;

		switch (letters[i]) {
		case '.':
			continue;
		case 'z':
			flags |= PG_ZERO;
			break;
		case 'f':
			flags |= PG_FILE;
			break;
		case 's':
			flags = PG_SWAPPED;
			break;
		}
		assert_ok(array_push(&r->runs, (struct record_run){FIRST + 64 * i, 64, flags}));
	}
}

static struct smaps_vma mapping(u64 huge_pages, u64 lazy_pages)
{
	return (struct smaps_vma){.lo = FIRST * PAGE,
				  .hi = (FIRST + (u64)64 * LETTERS) * PAGE,
				  .path = "",
				  .anon_huge = huge_pages * PAGE,
				  .lazyfree = lazy_pages * PAGE};
}

static char letter(u16 flags)
{
	if (flags & (PG_HUGE_UNSURE | PG_LAZYFREE_UNSURE))
		return '?';
	if (flags & PG_HUGE)
		return 'H';
	return flags & PG_LAZYFREE ? 'L' : '-';
}

/* What was concluded, in the same letters' places. */
static void describe(const struct pagerec *r, char text[static LETTERS + 1])
{
	memset(text, '.', LETTERS);
	text[LETTERS] = '\0';
	for (size_t i = 0; i < r->runs.n; i++)
		for (u64 k = 0; k < r->runs.v[i].count; k += 64)
			text[(r->runs.v[i].page - FIRST + k) / 64] = letter(r->runs.v[i].flags);
}

static void test_cases(void **state)
{
	static const struct {
		const char *pages;
		u64 huge, lazy;
		const char *expected;
	} cases[] = {
		/* None. */
		{"########....####................", 0, 0, "--------....----................"},
		/* As many whole blocks as are huge. */
		{"########....####################", BLOCK * 3, 0,
		 "HHHHHHHH....----HHHHHHHHHHHHHHHH"},
		{"########........########........", BLOCK * 2, 0,
		 "HHHHHHHH........HHHHHHHH........"},
		/* Some of them, nobody knows which. */
		{"########....####################", BLOCK, 0, "????????....----????????????????"},
		/* More than there can be: of another moment. */
		{"####.............####...........", BLOCK, 0, "????.............????..........."},
		/* A block with a hole, the page of zeros or one in swap is none. */
		{"#######z#######.#######s########", BLOCK, 0, "---------------.--------HHHHHHHH"},
		/* Pages of files are in huge ones too. */
		{"########ffffffff................", BLOCK * 2, 0,
		 "HHHHHHHHHHHHHHHH................"},
		/* Lazily freed: all private memory, or some. */
		{"####....fffz....####............", 0, 512, "LLLL....----....LLLL............"},
		{"####....fffz....####............", 0, 511, "????....----....????............"},
		/* Both. */
		{"########....####................", BLOCK, 768,
		 "HHHHHHHH....LLLL................"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct pagerec r = {.known = PG_ZERO | PG_GUARD};
		struct smaps smaps = {.vmas = {0}};
		char text[LETTERS + 1];

		add_runs(&r, cases[i].pages);
		assert_ok(array_push(&smaps.vmas, mapping(cases[i].huge, cases[i].lazy)));
		assert_ok(pagerec_derive_parts(&r, &smaps, PAGE));
		assert_int_equal(r.by_smaps, PG_HUGE | PG_LAZYFREE);
		describe(&r, text);
		assert_string_equal(text, cases[i].expected);
		pagerec_fini(&r);
		array_free(&smaps.vmas);
	}
}

/* What the record tells is not touched, and without smaps nothing is concluded. */
static void test_known(void **state)
{
	struct pagerec r = {.known = PG_HUGE | PG_LAZYFREE}, none = {.known = 0};
	struct smaps smaps = {.vmas = {0}}, empty = {.vmas = {0}};

	(void)state;
	add_runs(&r, "########");
	assert_ok(array_push(&smaps.vmas, mapping(BLOCK, 512)));
	assert_ok(pagerec_derive_parts(&r, &smaps, PAGE));
	assert_int_equal(r.by_smaps, 0);
	assert_int_equal(r.runs.v[0].flags, PG_PRESENT);
	assert_ok(pagerec_derive_parts(&none, &empty, PAGE));
	assert_int_equal(none.by_smaps, 0);
	pagerec_fini(&r);
	array_free(&smaps.vmas);
}

/* A page table of 16 KiB pages maps blocks of 32 MiB. */
static void test_larger_pages(void **state)
{
	struct pagerec r = {.known = 0};
	struct smaps smaps = {.vmas = {0}};
	const u64 units = (u64)32 << 20 >> 12;
	struct smaps_vma v = {.lo = (u64)32 << 20, .hi = (u64)96 << 20, .path = ""};

	(void)state;
	v.anon_huge = (u64)32 << 20;
	assert_ok(array_push(&smaps.vmas, v));
	assert_ok(array_push(&r.runs, (struct record_run){units, units + 512, PG_PRESENT}));
	assert_ok(pagerec_derive_parts(&r, &smaps, 16384));
	assert_int_equal(r.runs.n, 2);
	assert_int_equal(r.runs.v[0].count, units);
	assert_int_equal(r.runs.v[0].flags, PG_PRESENT | PG_HUGE);
	assert_int_equal(r.runs.v[1].flags, PG_PRESENT);
	pagerec_fini(&r);
	array_free(&smaps.vmas);
}

/* Random mappings, whose truth is known: whatever is concluded is true. */
static void test_any(void **state)
{
	u64 seed = 7, sure = 0, unsure = 0;

	(void)state;
	for (int turn = 0; turn < 500; turn++) {
		struct pagerec r = {.known = 0};
		struct smaps smaps = {.vmas = {0}};
		char pages[LETTERS + 1] = "", text[LETTERS + 1];
		bool huge[4] = {false};
		u64 huge_pages = 0;

		for (size_t b = 0; b < 4; b++) {
			bool whole = test_random(&seed) % 3;
			const char *letters = whole ? "#" : "#.z";

			huge[b] = whole && test_random(&seed) % 2;
			huge_pages += huge[b] ? BLOCK : 0;
			for (size_t k = 0; k < 8; k++)
				pages[8 * b + k] = letters[test_random(&seed) % strlen(letters)];
		}
		add_runs(&r, pages);
		assert_ok(array_push(&smaps.vmas, mapping(huge_pages, 0)));
		assert_ok(pagerec_derive_parts(&r, &smaps, PAGE));
		describe(&r, text);
		for (size_t i = 0; i < LETTERS; i++) {
			if (text[i] == '?')
				unsure++;
			else if (pages[i] == '#')
				sure++;
			if (text[i] == 'H')
				assert_true(huge[i / 8]);
			if (text[i] == '-')
				assert_false(huge[i / 8]);
		}
		pagerec_fini(&r);
		array_free(&smaps.vmas);
	}
	assert_true(sure > 500 && unsure > 500);
}

TEST_MAIN(TEST(test_cases), TEST(test_known), TEST(test_larger_pages), TEST(test_any))
