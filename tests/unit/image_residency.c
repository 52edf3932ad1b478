/* Which pages were in memory: by the kernel's holes, by content, by comparison with files. */
#include "image/image.h"

#include "base/cleanup.h"
#include "support/core.h"
#include "support/mkelf.h"
#include "support/test.h"
#include "support/tmp.h"

/* D data, O data of zeros, H hole, N nonzero, Z zero, U undumped, P no access, F differs from its
 * file, C clean, L lost, K the kernel's, - between mappings. */
static const char letters[] = {
	[PAGE_GAP] = '-',   [PAGE_DATA] = 'D',     [PAGE_HOLE] = 'H',      [PAGE_NONZERO] = 'N',
	[PAGE_ZERO] = 'Z',  [PAGE_UNDUMPED] = 'U', [PAGE_NO_ACCESS] = 'P', [PAGE_DIFFERS] = 'F',
	[PAGE_CLEAN] = 'C', [PAGE_LOST] = 'L',     [PAGE_KERNEL] = 'K',    [PAGE_DATA_ZERO] = 'O',
};

static enum page_kind kind_at(const struct image *im, va_t va)
{
	enum page_kind kind = PAGE_GAP;

	for (size_t i = 0; i < im->res.runs.n; i++)
		if ((u64)im->res.runs.v[i].page << PAGE_SHIFT <= va)
			kind = (enum page_kind)im->res.runs.v[i].kind;
	return kind;
}

/* The pages from lo on, a letter each. */
static void assert_pages(const struct image *im, va_t lo, const char *expected)
{
	char got[64] = "";

	for (size_t i = 0; expected[i]; i++)
		got[i] = letters[kind_at(im, lo + i * MK_PAGE)];
	assert_string_equal(got, expected);
}

/* Runs ascend, differ from their neighbours, begin with the space and end it in a gap. */
static void assert_runs(const struct image *im)
{
	const struct page_run *runs = im->res.runs.v;
	size_t n = im->res.runs.n;

	assert_true(n > 0);
	assert_int_equal(runs[0].page, 0);
	assert_int_equal(runs[n - 1].kind, PAGE_GAP);
	for (size_t i = 1; i < n; i++) {
		assert_true(runs[i - 1].page < runs[i].page);
		assert_int_not_equal(runs[i - 1].kind, runs[i].kind);
	}
}

static struct core open_pages(struct mkcore *mk)
{
	struct core c = core_open_pages(mk);

	assert_runs(&c.im);
	return c;
}

/* Both marks of a first-hand file: a zero page of data, holes at odd and even offsets. */
#define FIRST_HAND "#.0#.#"

#define LARGE_PAGE (16 * MK_PAGE)
#define SIXTEEN(c) c c c c c c c c c c c c c c c c

static void test_holes_kept(void **state)
{
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
	struct core c;

	(void)state;
	if (!tmp_has_holes())
		skip();
	mkcore_load(mk, 0x10000, PF_R | PF_W, FIRST_HAND);
	mkcore_load(mk, 0x16000, PF_R | PF_W, "..");
	mkcore_load(mk, 0x20000, PF_R | PF_W, ".#.00.")->ph.p_memsz = 8 * MK_PAGE;
	mkcore_reserve(mk, 0x40000, 2 * MK_PAGE, PF_R | PF_W);
	mkcore_reserve(mk, 0x50000, 2 * MK_PAGE, 0);
	c = open_pages(mk);
	assert_true(c.im.res.first_hand);
	assert_int_equal(c.im.res.evidence, EVIDENCE_POPULATED);
	assert_pages(&c.im, 0xf000, "-DHDDHDHH-");
	assert_pages(&c.im, 0x1f000, "-HDHDDHUU-");
	assert_pages(&c.im, 0x3f000, "-UU-");
	assert_pages(&c.im, 0x4f000, "-PP-");
	core_close(&c);
}

/* One mark missing, and holes mean no more than zero. */
static void test_copies(void **state)
{
	static const struct {
		const char *what, *pages, *expected;
		enum mkcore_layout layout;
		bool first_hand;
	} cases[] = {
		{"original", "#.0##.#.", "DHDDDHDH", MKCORE_KERNEL, true},
		{"cp: no zero page of data", "#..##.#.", "NZZNNZNZ", MKCORE_KERNEL, false},
		{"zstd: holes of 8 KiB", "##..0#..", "NNZZZNZZ", MKCORE_KERNEL, false},
		{"cat: no holes", "#00##0#0", "NZZNNZNZ", MKCORE_KERNEL, false},
		{"nothing but a hole", "........", "ZZZZZZZZ", MKCORE_KERNEL, false},
		{"gcore", "#.0##.#.", "NZZNNZNZ", MKCORE_GCORE, false},
		{"delve", "#.0##.#.", "NZZNNZNZ", MKCORE_DELVE, false},
	};

	(void)state;
	if (!tmp_has_holes())
		skip();
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct mkcore *mk = mkcore_new(cases[i].layout);
		struct core c;

		mk->align = 2 * MK_PAGE;
		mkcore_load(mk, 0x10000, PF_R | PF_W, cases[i].pages);
		mkcore_thread(mk, (struct mkcore_thread){.tid = 1});
		c = open_pages(mk);
		if (c.im.res.first_hand != cases[i].first_hand)
			fail_msg("%s: first hand is %d", cases[i].what, c.im.res.first_hand);
		assert_int_equal(c.im.res.evidence,
				 cases[i].first_hand ? EVIDENCE_POPULATED : EVIDENCE_NONZERO);
		assert_pages(&c.im, 0x10000, cases[i].expected);
		core_close(&c);
	}
}

/* The same with pages of 16 KiB: blocks of less, too, leave no zero page, and of more no hole of an
 * odd number of pages. */
static void test_copies_of_large_pages(void **state)
{
	static const struct {
		const char *what, *pages;
		bool first_hand;
	} cases[] = {
		{"original", "####....0000########....####....", true},
		{"cp: no zero block of 4 KiB", "#.##....####..#.####....####....", false},
		{"xz: no zero block of 8 KiB", "#0##....###0########....####....", false},
		{"zstd: holes of 32 KiB", "########........0000####........", false},
	};

	(void)state;
	if (!tmp_has_holes())
		skip();
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
		struct core c;

		mk->align = 8 * MK_PAGE;
		mkcore_load(mk, 0x10000, PF_R | PF_W, cases[i].pages);
		mkcore_auxv(mk, AT_PAGESZ, 4 * MK_PAGE);
		c = open_pages(mk);
		if (c.im.res.first_hand != cases[i].first_hand)
			fail_msg("%s: first hand is %d", cases[i].what, c.im.res.first_hand);
		core_close(&c);
	}
}

/* A hole at the start of a load, or behind its end, is the layout's and proves nothing. */
static void test_holes_between_loads(void **state)
{
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
	struct core c;

	(void)state;
	mk->align = 5 * MK_PAGE;
	for (u64 i = 0; i < 6; i++)
		mkcore_load(mk, 0x10000 + i * 0x10000, PF_R | PF_W, i % 2 ? "0#" : "..#0");
	c = open_pages(mk);
	assert_false(c.im.res.first_hand);
	assert_pages(&c.im, 0x10000, "ZZNZ-");
	assert_pages(&c.im, 0x20000, "ZN-");
	core_close(&c);
}

/* One byte anywhere makes a page content. */
static void test_zero_test(void **state)
{
	static const u64 offsets[] = {0, 1, 7, 2048, 4094, 4095};

	(void)state;
	for (int layout = MKCORE_KERNEL; layout <= MKCORE_DELVE; layout++) {
		struct mkcore *mk = mkcore_new((enum mkcore_layout)layout);
		struct core c;

		for (size_t i = 0; i < COUNT_OF(offsets); i++) {
			va_t lo = 0x10000 + i * 0x10000;

			mkcore_load(mk, lo, PF_R | PF_W, "0.0");
			mkcore_poke(mk, lo + MK_PAGE + offsets[i], "\x01", 1);
		}
		c = open_pages(mk);
		for (size_t i = 0; i < COUNT_OF(offsets); i++)
			assert_pages(&c.im, 0x10000 + i * 0x10000, "ZNZ-");
		core_close(&c);
	}
}

/* Many bytes of one value are content too, unless the value is 0. */
static void test_zero_test_of_equal_bytes(void **state)
{
	struct mkcore *mk = mkcore_new(MKCORE_GCORE);
	u8 page[MK_PAGE];
	struct core c;

	(void)state;
	memset(page, 0xcc, sizeof(page));
	mkcore_load(mk, 0x10000, PF_R | PF_W, "000");
	mkcore_poke(mk, 0x11000, page, sizeof(page));
	c = open_pages(mk);
	assert_pages(&c.im, 0x10000, "ZNZ-");
	core_close(&c);
}

/* gdb 15 leaves holes, of blocks of the file: they begin and end inside pages. */
static void test_unaligned_holes(void **state)
{
	static const u64 offsets[] = {0, 4, 2048, 4000, 4095};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(offsets); i++)
		for (u64 page = 0; page < 6; page++) {
			char expected[] = "ZZZZZZ-";
			struct mkcore *mk = mkcore_new(MKCORE_GCORE);
			struct core c;

			mk->dense = false;
			mkcore_load(mk, 0x10000, PF_R | PF_W, "......");
			mkcore_poke(mk, 0x10000 + page * MK_PAGE + offsets[i], "\x01", 1);
			mkcore_thread(mk, (struct mkcore_thread){.tid = 1});
			c = open_pages(mk);
			assert_int_equal(c.im.kind, CORE_GCORE);
			expected[page] = 'N';
			assert_pages(&c.im, 0x10000, expected);
			core_close(&c);
		}
}

static void test_no_access_of_gcore(void **state)
{
	struct mkcore *mk = mkcore_new(MKCORE_GCORE);
	struct core c;

	(void)state;
	mkcore_load(mk, 0x10000, PF_R, "00"); /* dumped, readable as it seems */
	mkcore_load(mk, 0x20000, PF_R | PF_W, "#");
	mkcore_thread(mk, (struct mkcore_thread){.tid = 1});
	c = open_pages(mk);
	assert_pages(&c.im, 0x10000, "ZZ-");
	core_close(&c);
}

static void test_special_mappings(void **state)
{
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
	struct core c;

	(void)state;
	if (!tmp_has_holes())
		skip();
	mkcore_load(mk, 0x10000, PF_R | PF_W, FIRST_HAND);
	mkcore_load(mk, 0x7ffe0000, PF_R | PF_W, ".#")->ph.p_memsz = 3 * MK_PAGE; /* stack */
	mkcore_load(mk, 0x7fff0000, PF_R, "..");                                  /* vvar */
	mkcore_load(mk, 0x7fff2000, PF_R | PF_X, "##");
	mkcore_load(mk, 0xffffffffff600000, PF_X, "#");
	mkcore_load(mk, 0x50000, PF_R | PF_W, "#0#");
	mkcore_file(mk, 0x50000, 0x53000, 0, "/dev/zero (deleted)");
	mkcore_reserve(mk, 0x60000, MK_PAGE, PF_R | PF_W);
	mkcore_file(mk, 0x60000, 0x61000, 0, "/memfd:x");
	mkcore_file(mk, 0x70000, 0x71000, 0, "/nowhere/file");
	mkcore_auxv(mk, AT_SYSINFO_EHDR, 0x7fff2000);
	mkcore_auxv(mk, AT_EXECFN, 0x7ffe1ff0);
	c = open_pages(mk);
	assert_pages(&c.im, 0x10000, "DHDDHD-");
	assert_pages(&c.im, 0x7ffe0000, "HDU-");
	assert_pages(&c.im, 0x7fff0000, "KKCC-");
	assert_pages(&c.im, 0xffffffffff600000, "K-");
	assert_pages(&c.im, 0x50000, "CCC-");
	assert_pages(&c.im, 0x60000, "C-");
	assert_pages(&c.im, 0x70000, "C-");
	core_close(&c);
}

/* Pages that are partly or wholly behind the end of the file are lost, those before are not. */
static void test_truncated(void **state)
{
	static const struct {
		u64 cut;
		const char *expected;
	} cases[] = {
		{4 * MK_PAGE, "NZNNUU-"},
		{4 * MK_PAGE - 1, "NZNLUU-"},
		{3 * MK_PAGE + 1, "NZNLUU-"},
		{3 * MK_PAGE, "NZNLUU-"},
		{2 * MK_PAGE, "NZLLUU-"},
		{1, "LLLLUU-"},
		{0, "LLLLUU-"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
		struct core c;

		mkcore_load(mk, 0x10000, PF_R | PF_W, "#0##")->ph.p_memsz = 6 * MK_PAGE;
		mkcore_write(mk);
		mkcore_truncate(mk, mkcore_offset(mk, 0) + cases[i].cut);
		c = open_pages(mk);
		assert_pages(&c.im, 0x10000, cases[i].expected);
		core_close(&c);
	}
}

/* The kernel's own core, cut by a limit, keeps what its holes say. */
static void test_truncated_first_hand(void **state)
{
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
	struct core c;

	(void)state;
	if (!tmp_has_holes())
		skip();
	mkcore_load(mk, 0x10000, PF_R | PF_W, FIRST_HAND);
	mkcore_load(mk, 0x20000, PF_R | PF_W, "#.##");
	mkcore_load(mk, 0x30000, PF_R | PF_W, "##");
	mkcore_write(mk);
	mkcore_truncate(mk, mkcore_offset(mk, 1) + 2 * MK_PAGE + 10);
	c = open_pages(mk);
	assert_true(c.im.res.first_hand);
	assert_pages(&c.im, 0x10000, "DHDDHD-");
	assert_pages(&c.im, 0x20000, "DHLL-");
	assert_pages(&c.im, 0x30000, "LL-");
	core_close(&c);
}

/* A library of five pages: header and constants, code, and three pages of data. */
static const struct mkelf library = {
	.type = ET_DYN,
	.bytes = 5 * 4096 - 100,
	.phdrs = {{.p_type = PT_LOAD, .p_filesz = 4096, .p_memsz = 4096, .p_flags = PF_R}},
};

/* Puts bytes of the library where the core has them mapped; what is behind its end is zero. */
static void map_library(struct mkcore *mk, va_t va, u64 off, u64 n)
{
	AUTO_FREE u8 *bytes = xcalloc(n, 1);

	mkelf_bytes(&library, off, bytes, off < library.bytes ? MIN(n, library.bytes - off) : 0);
	mkcore_poke(mk, va, bytes, n);
}

static struct mkcore *core_with_library(const char *path)
{
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);

	mkcore_load(mk, 0x400000, PF_R, "#");
	map_library(mk, 0x400000, 0, MK_PAGE);
	mkcore_load(mk, 0x401000, PF_R | PF_X, "#");
	mkcore_load(mk, 0x402000, PF_R | PF_W, "####");
	map_library(mk, 0x402000, 2 * MK_PAGE, 3 * MK_PAGE);
	mkcore_poke(mk, 0x403fff, "\0", 1); /* one byte of the second data page */
	mkcore_file(mk, 0x400000, 0x401000, 0, path);
	mkcore_file(mk, 0x401000, 0x402000, 0x1000, path);
	mkcore_file(mk, 0x402000, 0x405000, 0x2000, path);
	return mk;
}

static void test_file_comparison(void **state)
{
	AUTO_FREE char *path = tmp_path("lib.so");
	struct core c;

	(void)state;
	mkelf_write(&library, path);
	c = open_pages(core_with_library(path));
	assert_true(c.im.files.v[0].code);
	assert_true(c.im.files.v[0].proved);
	/* Code is never compared; the last page's end is zero in memory, as behind the file. */
	assert_pages(&c.im, 0x400000, "CCCFCN-");
	core_assert_diag(&c, DIAG_FILE_UNPROVED, 0, "");
	core_close(&c);
}

/* The bytes behind the end of the file count too. */
static void test_file_comparison_behind_the_end(void **state)
{
	AUTO_FREE char *path = tmp_path("lib2.so");
	struct mkcore *mk = core_with_library(path);
	struct core c;

	(void)state;
	mkelf_write(&library, path);
	mkcore_poke(mk, 0x404fff, "\x01", 1);
	c = open_pages(mk);
	assert_pages(&c.im, 0x400000, "CCCFFN-");
	core_close(&c);
}

static void test_other_file(void **state)
{
	AUTO_FREE char *path = tmp_path("lib3.so");
	struct mkelf other = library;
	struct core c;

	(void)state;
	other.entry = 0x1234; /* its header page is another */
	mkelf_write(&other, path);
	c = open_pages(core_with_library(path));
	assert_false(c.im.files.v[0].proved);
	assert_pages(&c.im, 0x400000, "CCCCCN-");
	core_assert_diag(&c, DIAG_FILE_UNPROVED, 1, path);
	assert_false(diag_is_partial(&c.d));
	core_close(&c);

	c = open_pages(core_with_library("/nowhere/lib.so"));
	assert_pages(&c.im, 0x400000, "CCCCCN-");
	core_assert_diag(&c, DIAG_FILE_UNPROVED, 1, "/nowhere/lib.so");
	core_close(&c);
}

/* The executable was matched by its build id: the file to compare with is given. */
static void test_given_file(void **state)
{
	AUTO_FREE char *path = tmp_path("elsewhere");
	const struct os_file closed = {.path = path, .fd = -1};
	struct os_file file = {0};
	struct core c;

	(void)state;
	mkelf_write(&library, path);
	c = core_open(core_with_library("/nowhere/app"));
	assert_ok(os_file_open(path, &file));
	residency_set_file(&c.im, 0, &file);
	os_file_close(&file);
	residency_set_file(&c.im, 0, &closed); /* the first one counts */
	assert_ok(residency_build(&c.im, &c.d));
	assert_runs(&c.im);
	assert_pages(&c.im, 0x400000, "CCCFCN-");
	core_assert_diag(&c, DIAG_FILE_UNPROVED, 0, "");
	core_close(&c);

	c = core_open(core_with_library("/nowhere/app"));
	residency_set_file(&c.im, 0, &closed);
	assert_ok(residency_build(&c.im, &c.d));
	assert_pages(&c.im, 0x400000, "CCCCCN-");
	core_close(&c);
}

/* Loads that are not made of whole pages are damaged: still one kind a page, and an end. */
static void test_odd_addresses(void **state)
{
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
	struct core c;

	(void)state;
	mkcore_load(mk, 0x10100, PF_R | PF_W, "##")->ph.p_filesz = 0x1234;
	mkcore_reserve(mk, 0x13010, 0x10, PF_R | PF_W);
	mkcore_reserve(mk, 0x13020, 0x10, 0);
	mkcore_reserve(mk, 0x13ff8, 0x10, PF_R);
	c = core_open(mk);
	assert_ok(residency_build(&c.im, &c.d));
	for (size_t i = 1; i < c.im.res.runs.n; i++)
		assert_true(c.im.res.runs.v[i - 1].page < c.im.res.runs.v[i].page);
	core_close(&c);
}

static void test_states(void **state)
{
	static const struct {
		enum page_kind kind;
		enum page_state plain, runtime, reserved;
		enum evidence evidence;
	} cases[PAGE_RECORD_RESIDENT + 1] = {
		{PAGE_GAP, STATE_UNKNOWN, STATE_UNKNOWN, STATE_UNKNOWN, EVIDENCE_UNKNOWN},
		{PAGE_DATA, STATE_RESIDENT, STATE_RESIDENT, STATE_RESIDENT, EVIDENCE_POPULATED},
		{PAGE_DATA_ZERO, STATE_RESIDENT, STATE_RESIDENT, STATE_RESIDENT,
		 EVIDENCE_POPULATED},
		{PAGE_HOLE, STATE_ABSENT, STATE_ABSENT, STATE_ABSENT, EVIDENCE_POPULATED},
		{PAGE_NONZERO, STATE_RESIDENT, STATE_RESIDENT, STATE_RESIDENT, EVIDENCE_NONZERO},
		{PAGE_ZERO, STATE_UNKNOWN, STATE_UNKNOWN, STATE_ABSENT, EVIDENCE_NONZERO},
		{PAGE_UNDUMPED, STATE_UNKNOWN, STATE_ABSENT, STATE_ABSENT, EVIDENCE_POPULATED},
		{PAGE_NO_ACCESS, STATE_ABSENT, STATE_ABSENT, STATE_ABSENT, EVIDENCE_POPULATED},
		{PAGE_DIFFERS, STATE_RESIDENT, STATE_RESIDENT, STATE_RESIDENT, EVIDENCE_POPULATED},
		{PAGE_CLEAN, STATE_UNKNOWN, STATE_UNKNOWN, STATE_UNKNOWN, EVIDENCE_UNKNOWN},
		{PAGE_LOST, STATE_UNKNOWN, STATE_UNKNOWN, STATE_UNKNOWN, EVIDENCE_UNKNOWN},
		{PAGE_KERNEL, STATE_ABSENT, STATE_ABSENT, STATE_ABSENT, EVIDENCE_POPULATED},
		{PAGE_RECORD_UNKNOWN, STATE_UNKNOWN, STATE_UNKNOWN, STATE_UNKNOWN,
		 EVIDENCE_UNKNOWN},
		{PAGE_RECORD_ABSENT, STATE_ABSENT, STATE_ABSENT, STATE_ABSENT, EVIDENCE_EXACT},
		{PAGE_RECORD_SWAPPED, STATE_SWAPPED, STATE_SWAPPED, STATE_SWAPPED, EVIDENCE_EXACT},
		{PAGE_RECORD_RESIDENT, STATE_RESIDENT, STATE_RESIDENT, STATE_RESIDENT,
		 EVIDENCE_EXACT},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		enum page_kind kind = cases[i].kind;

		assert_int_equal(kind, i);
		assert_int_equal(residency_state(kind, false, false), cases[i].plain);
		assert_int_equal(residency_state(kind, false, true), cases[i].runtime);
		assert_int_equal(residency_state(kind, true, false), cases[i].reserved);
		assert_int_equal(residency_kind_evidence(kind), cases[i].evidence);
	}
	assert_string_equal(evidence_name(EVIDENCE_POPULATED), "populated");
	assert_string_equal(evidence_name(EVIDENCE_NONZERO), "nonzero");
	assert_string_equal(evidence_name(EVIDENCE_UNKNOWN), "unknown");
	assert_string_equal(evidence_name(EVIDENCE_EXACT), "exact");
	assert_string_equal(evidence_name(EVIDENCE_MIXED), "mixed");
}

static struct core open_zero(struct mkcore *mk)
{
	struct core c = core_open(mk);

	c.im.res.test_zero = true;
	assert_ok(residency_build(&c.im, &c.d));
	assert_runs(&c.im);
	return c;
}

/* Pages of zeros are told apart where data means resident, by the kernel's pages, and not where
 * a page of zeros says nothing. */
static void test_zero_pages(void **state)
{
	struct core c;

	(void)state;
	if (!tmp_has_holes())
		skip();
	for (int gcore = 0; gcore < 2; gcore++) {
		struct mkcore *mk = mkcore_new(gcore ? MKCORE_GCORE : MKCORE_KERNEL);

		mkcore_load(mk, 0x10000, PF_R | PF_W, FIRST_HAND "00##00..");
		c = open_zero(mk);
		assert_pages(&c.im, 0x10000, gcore ? "NZZNZNZZNNZZZZ-" : "DHODHDOODDOOHH-");
		core_close(&c);
	}
}

static void test_zero_pages_that_are_large(void **state)
{
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
	struct core c;

	(void)state;
	if (!tmp_has_holes())
		skip();
	mkcore_auxv(mk, AT_PAGESZ, LARGE_PAGE);
	mkcore_load(mk, 0x100000, PF_R | PF_W, "000#000000000000" SIXTEEN(".") SIXTEEN("0"));
	mkcore_load(mk, 0x200000, PF_R | PF_W, SIXTEEN(".") "000000000000000#" SIXTEEN("."));
	c = open_zero(mk);
	assert_true(c.im.res.first_hand);
	assert_pages(&c.im, 0x100000, SIXTEEN("D") SIXTEEN("H") SIXTEEN("O"));
	assert_pages(&c.im, 0x200000, SIXTEEN("H") SIXTEEN("D") SIXTEEN("H"));
	core_close(&c);
}

/* A core with nothing but files says nothing of private memory. */
static void test_no_anonymous_memory(void **state)
{
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
	struct core c;

	(void)state;
	mkcore_load(mk, 0x10000, PF_R, "#");
	mkcore_file(mk, 0x10000, 0x11000, 0x1000, "/nowhere/a");
	c = open_pages(mk);
	assert_int_equal(c.im.res.evidence, EVIDENCE_UNKNOWN);
	core_close(&c);
}

/* With pages of 64 KiB, one byte has the whole page in memory, whichever way that shows. */
static void test_large_pages(void **state)
{
	for (int gcore = 0; gcore < 2; gcore++) {
		struct mkcore *mk = mkcore_new(gcore ? MKCORE_GCORE : MKCORE_KERNEL);
		struct core c;

		(void)state;
		if (!gcore && !tmp_has_holes())
			continue;
		mkcore_auxv(mk, AT_PAGESZ, LARGE_PAGE);
		mkcore_load(mk, 0x100000, PF_R | PF_W,
			    gcore ? "000#000000000000" SIXTEEN("0") SIXTEEN("#")
				  : "000#000000000000" SIXTEEN(".") SIXTEEN("0"));
		mkcore_load(mk, 0x200000, PF_R | PF_W,
			    gcore ? SIXTEEN(".") "...............#" SIXTEEN(".")
				  : SIXTEEN(".") "000000000000000#" SIXTEEN("."));
		c = open_pages(mk);
		assert_int_equal(c.im.res.first_hand, !gcore);
		assert_pages(&c.im, 0x100000,
			     gcore ? SIXTEEN("N") SIXTEEN("Z") SIXTEEN("N")
				   : SIXTEEN("D") SIXTEEN("H") SIXTEEN("D"));
		assert_pages(&c.im, 0x200000,
			     gcore ? SIXTEEN("Z") SIXTEEN("N") SIXTEEN("Z")
				   : SIXTEEN("H") SIXTEEN("D") SIXTEEN("H"));
		core_close(&c);
	}
}

TEST_MAIN(TEST(test_holes_kept), TEST(test_large_pages), TEST(test_copies),
	  TEST(test_copies_of_large_pages), TEST(test_holes_between_loads), TEST(test_zero_test),
	  TEST(test_zero_test_of_equal_bytes), TEST(test_unaligned_holes),
	  TEST(test_no_access_of_gcore), TEST(test_special_mappings), TEST(test_truncated),
	  TEST(test_truncated_first_hand), TEST(test_file_comparison),
	  TEST(test_file_comparison_behind_the_end), TEST(test_other_file), TEST(test_given_file),
	  TEST(test_odd_addresses), TEST(test_states), TEST(test_zero_pages),
	  TEST(test_zero_pages_that_are_large), TEST(test_no_anonymous_memory))
