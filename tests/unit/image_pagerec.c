/* Records of pages: as text, as /proc/PID/pagemap has them, packed; good and bad. */
#include "image/pagerec.h"

#include "support/test.h"

#include <string.h>

#define PRESENT ((u64)1 << 63)
#define SWAPPED ((u64)1 << 62)
#define FILE_PAGE ((u64)1 << 61)
#define GUARD ((u64)1 << 58)
#define EXCLUSIVE ((u64)1 << 56)

static void assert_run(const struct pagerec *r, size_t i, u64 page, u64 count, u16 flags)
{
	assert_true(i < r->runs.n);
	assert_int_equal(r->runs.v[i].page, page);
	assert_int_equal(r->runs.v[i].count, count);
	assert_int_equal(r->runs.v[i].flags, flags);
}

static void test_text(void **state)
{
	static const char text[] = "known zero huge\n"
				   "400000-402000 present file\n"
				   "402000-403000 present file\n"
				   "c000000000-c000200000 present huge lazyfree\n"
				   "c000200000-c000201000 swapped guard\n"
				   "c000202000-c000203000\n";
	struct pagerec r = {0};

	(void)state;
	assert_ok(pagerec_parse_text(&r, text, sizeof(text) - 1));
	assert_int_equal(r.known, PG_ZERO | PG_HUGE);
	assert_int_equal(r.runs.n, 4);
	assert_run(&r, 0, 0x400, 3, PG_PRESENT | PG_FILE);
	assert_run(&r, 1, 0xc000000, 0x200, PG_PRESENT | PG_HUGE | PG_LAZYFREE);
	assert_run(&r, 2, 0xc000200, 1, PG_SWAPPED | PG_GUARD);
	assert_run(&r, 3, 0xc000202, 1, 0);
	pagerec_fini(&r);
}

static void test_bad_text(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"", "line 1: does not say what is known"},
		{"1000-2000 present\n", "line 1: does not say what is known"},
		{"knownzero\n", "line 1: does not say what is known"},
		{"known zero", "the last line is cut off"},
		{"known zero\n1000-2000 present", "the last line is cut off"},
		{"known\n1000-2000 presence\n", "line 2: this is no run"},
		{"known\n1000-2000 presen\n", "line 2: this is no run"},
		{"known\n1000-2000 \n", "line 2: this is no run"},
		{"known\n1000-2000present\n", "line 2: this is no run"},
		{"known\n1000 present\n", "line 2: this is no run"},
		{"known\n\n", "line 2: this is no run"},
		{"known\n10000000000000000-20000000000000000\n", "line 2: this is no run"},
		{"known\n1000-1000 present\n", "line 2: a run that is not of whole pages"},
		{"known\n2000-1000 present\n", "line 2: a run that is not of whole pages"},
		{"known\n1000-2001 present\n", "line 2: a run that is not of whole pages"},
		{"known\n2000-3000 file\n1000-2000 file\n", "line 3: a run out of order"},
		{"known\n2000-4000 file\n3000-5000 file\n", "line 3: a run out of order"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct pagerec r = {0};

		assert_err(pagerec_parse_text(&r, cases[i].text, strlen(cases[i].text)), ERR_FORMAT,
			   cases[i].message);
		pagerec_fini(&r);
	}
}

/* Three pages of private memory at 0x10000, four of a file at 0x20000, and the vsyscall page. */
static void fill_smaps(struct smaps *s, u64 anonymous, const char *more)
{
	char text[600];

	snprintf(
		text, sizeof(text),
		"00010000-00013000 rw-p 00000000 00:00 0 \nRss: 0 kB\nAnonymous: %llu kB\n"
		"00020000-00024000 rw-p 00000000 08:01 7 /lib/x\nRss: 4 kB\nAnonymous: 4 kB\n"
		"%sffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\nRss: 0 kB\n",
		(unsigned long long)anonymous, more);
	assert_ok(smaps_parse(s, text, strlen(text)));
}

static const u64 entries[] = {
	PRESENT | EXCLUSIVE, PRESENT, SWAPPED, /* private memory */
	PRESENT | FILE_PAGE, 0,       PRESENT | EXCLUSIVE,
	SWAPPED | GUARD, /* the file's */
};

static void test_pagemap(void **state)
{
	static const struct {
		u64 anonymous; /* KiB */
		u16 unsure;    /* what becomes of the page that nobody else tells of */
	} cases[] = {
		{4, PG_PRESENT | PG_ZERO},
		{8, PG_PRESENT},
		{12, PG_PRESENT | PG_UNSURE},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct pagerec r = {0};
		struct smaps s = {0};

		fill_smaps(&s, cases[i].anonymous, "");
		assert_ok(
			pagerec_parse_pagemap(&r, (const u8 *)entries, sizeof(entries), &s, 4096));
		assert_int_equal(r.known, PG_ZERO | PG_GUARD);
		assert_int_equal(r.runs.n, 6);
		assert_run(&r, 0, 0x10, 1, PG_PRESENT);
		assert_run(&r, 1, 0x11, 1, cases[i].unsure);
		assert_run(&r, 2, 0x12, 1, PG_SWAPPED);
		assert_run(&r, 3, 0x20, 1, PG_PRESENT | PG_FILE);
		assert_run(&r, 4, 0x22, 1, PG_PRESENT);
		assert_run(&r, 5, 0x23, 1, PG_SWAPPED | PG_GUARD);
		pagerec_fini(&r);
		smaps_fini(&s);
	}
}

/* Each mapping at its place, as a sparse file has it; and larger pages. */
static void test_pagemap_in_place(void **state)
{
	u64 sparse[0x24 + 3] = {0};
	static const char large_text[] = "10000-20000 rw-p 0 0:0 0 \nRss: 64 kB\n";
	const u64 large[] = {PRESENT | EXCLUSIVE};
	struct pagerec r = {0}, l = {0};
	struct smaps s = {0}, huge = {0};

	(void)state;
	memcpy(sparse + 0x10, entries, 3 * sizeof(u64));
	memcpy(sparse + 0x20, entries + 3, 4 * sizeof(u64));
	sparse[0x24] = PRESENT; /* nobody's */
	fill_smaps(&s, 4, "");
	assert_ok(pagerec_parse_pagemap(&r, (const u8 *)sparse, sizeof(sparse), &s, 4096));
	assert_int_equal(r.runs.n, 6);
	assert_run(&r, 5, 0x23, 1, PG_SWAPPED | PG_GUARD);
	pagerec_fini(&r);
	smaps_fini(&s);
	assert_ok(smaps_parse(&huge, large_text, sizeof(large_text) - 1));
	assert_ok(pagerec_parse_pagemap(&l, (const u8 *)large, sizeof(large), &huge, 65536));
	assert_int_equal(l.runs.n, 1);
	assert_run(&l, 0, 0x10, 16, PG_PRESENT);
	pagerec_fini(&l);
	smaps_fini(&huge);
}

/* In private memory a page of a file is the huge page of zeros; in shared memory it is not. */
static void test_huge_zero_page(void **state)
{
	static const u64 words[] = {0, 0, PRESENT | FILE_PAGE, 0, 0, 0, 0, PRESENT | FILE_PAGE};
	struct pagerec r = {0};
	struct smaps s = {0};

	(void)state;
	fill_smaps(&s, 0, "00030000-00031000 rw-s 0 00:01 9 /dev/zero (deleted)\nRss: 4 kB\n");
	assert_ok(pagerec_parse_pagemap(&r, (const u8 *)words, sizeof(words), &s, 4096));
	assert_int_equal(r.runs.n, 2);
	assert_run(&r, 0, 0x12, 1, PG_PRESENT | PG_FILE | PG_ZERO);
	assert_run(&r, 1, 0x30, 1, PG_PRESENT | PG_FILE);
	pagerec_fini(&r);
	smaps_fini(&s);
}

static void test_bad_pagemap(void **state)
{
	static const u64 sizes[] = {0, 8, 48, 64, 0x24 * 8 - 8, 0x24 * 8 + 1};
	static const char odd_text[] = "10000-10800 rw-p 0 0:0 0 \nRss: 0 kB\n";
	u8 bytes[0x30 * 8] = {0};
	struct smaps s = {0}, odd = {0};
	struct pagerec r = {0};

	(void)state;
	fill_smaps(&s, 0, "");
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		assert_err(pagerec_parse_pagemap(&r, bytes, sizes[i], &s, 4096), ERR_FORMAT,
			   "bytes, but the mappings of smaps have 56 in a row, or end at 288");
		pagerec_fini(&r);
	}
	smaps_fini(&s);
	assert_ok(smaps_parse(&odd, odd_text, sizeof(odd_text) - 1));
	assert_err(pagerec_parse_pagemap(&r, bytes, 8, &odd, 4096), ERR_FORMAT,
		   "not of whole pages");
	smaps_fini(&odd);
}

static void fill_random(struct pagerec *r, u64 *seed)
{
	u64 page = 0;

	for (size_t i = test_random(seed) % 300; i > 0; i--) {
		u64 gap = test_random(seed) % 3 ? test_random(seed) % 200 : test_random(seed) >> 34;
		u64 count = 1 + (test_random(seed) >> (test_random(seed) % 2 ? 60 : 40));

		page += gap;
		assert_ok(array_push(
			&r->runs,
			(struct record_run){page, count, (u16)(test_random(seed) & PG_ALL)}));
		page += count;
	}
}

static void test_packed(void **state)
{
	u64 seed = 0x5eed;

	(void)state;
	for (int turn = 0; turn < 100; turn++) {
		struct pagerec r = {0}, again = {0}, cut = {0};
		flate_bytes bytes = {0};

		fill_random(&r, &seed);
		assert_ok(pagerec_pack(&r, &bytes));
		assert_ok(pagerec_unpack(&again, bytes.v, bytes.n, r.runs.n));
		assert_int_equal(again.runs.n, r.runs.n);
		for (size_t i = 0; i < r.runs.n; i++)
			assert_run(&again, i, r.runs.v[i].page, r.runs.v[i].count,
				   r.runs.v[i].flags);
		if (bytes.n) {
			assert_err(pagerec_unpack(&cut, bytes.v, bytes.n - 1, r.runs.n), ERR_FORMAT,
				   "runs of pages are there");
			pagerec_fini(&cut);
			assert_err(pagerec_unpack(&cut, bytes.v, bytes.n, r.runs.n - 1), ERR_FORMAT,
				   "more than");
		}
		pagerec_fini(&cut);
		pagerec_fini(&again);
		pagerec_fini(&r);
		array_free(&bytes);
	}
}

static void test_bad_packed(void **state)
{
	static const struct {
		u8 bytes[12];
		size_t n;
		const char *message;
	} cases[] = {
		{{0}, 0, "0 of 1 runs"},
		{{1, 1}, 2, "0 of 1 runs"},
		{{1, 0, 1}, 3, "run 0 of the pages makes no sense"},
		{{1, 1, 0x80, 0x08}, 4, "run 0 of the pages makes no sense"},
		{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1, 1},
		 11,
		 "run 0 of the pages makes no sense"},
		{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 1, 1},
		 12,
		 "0 of 1 runs"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct pagerec r = {0};

		assert_err(pagerec_unpack(&r, cases[i].bytes, cases[i].n, 1), ERR_FORMAT,
			   cases[i].message);
		pagerec_fini(&r);
	}
}

TEST_MAIN(TEST(test_text), TEST(test_bad_text), TEST(test_pagemap), TEST(test_pagemap_in_place),
	  TEST(test_huge_zero_page), TEST(test_bad_pagemap), TEST(test_packed),
	  TEST(test_bad_packed))
