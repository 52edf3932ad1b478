/* The loads of a core as a table of segments, and what is left of damaged ones. */
#include "image/image.h"

#include "support/core.h"
#include "support/test.h"

/* "lo-hi:file_bytes ..." of all segments, in hexadecimal. */
static void assert_segments(const struct image *im, const char *expected)
{
	char text[512] = "";
	size_t n = 0;

	for (size_t i = 0; i < im->segs.n; i++) {
		const struct segment *s = &im->segs.v[i];

		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%llx-%llx:%llx", i ? " " : "",
				      (unsigned long long)s->lo, (unsigned long long)s->hi,
				      (unsigned long long)s->file_bytes);
	}
	assert_string_equal(text, expected);
}

static void test_layouts(void **state)
{
	static const enum mkcore_layout layouts[] = {MKCORE_KERNEL, MKCORE_GCORE, MKCORE_DELVE};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(layouts); i++) {
		struct mkcore *mk = mkcore_new(layouts[i]);
		struct core c;

		mkcore_load(mk, 0x400000, PF_R | PF_X, "#");
		mkcore_load(mk, 0x600000, PF_R | PF_W, "#0.#")->ph.p_memsz = 0x8000;
		mkcore_reserve(mk, 0x700000, 0x100000, 0);
		c = core_open(mk);
		assert_segments(&c.im, "400000-401000:1000 600000-608000:4000 700000-800000:0");
		for (size_t s = 0; s < 2; s++) {
			assert_int_equal(c.im.segs.v[s].off, mkcore_offset(mk, s));
			assert_int_equal(c.im.segs.v[s].flags, mk->loads.v[s].ph.p_flags);
			assert_int_equal(c.im.segs.v[s].lost_bytes, 0);
		}
		core_assert_diag(&c, DIAG_SEGMENT, 0, "");
		core_close(&c);
	}
}

static void test_sorted(void **state)
{
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
	struct core c;

	(void)state;
	mkcore_load(mk, 0x30000, PF_R, "#");
	mkcore_load(mk, 0x10000, PF_R, "##");
	mkcore_reserve(mk, 0x50000, 0, 0); /* empty: no memory at all */
	mkcore_load(mk, 0x20000, PF_R, "#");
	c = core_open(mk);
	assert_segments(&c.im, "10000-12000:2000 20000-21000:1000 30000-31000:1000");
	core_assert_diag(&c, DIAG_SEGMENT, 0, "");
	core_close(&c);
}

/* Loads that make no sense, each beside a good one, and what is left. */
static const struct {
	Elf64_Phdr ph;
	const char *segments, *message;
} bad_loads[] = {
	{{.p_vaddr = UINT64_MAX - 0xfff, .p_memsz = 0x1000}, "10000-13000:3000", "wraps around"},
	{{.p_vaddr = 0x20000, .p_memsz = UINT64_MAX}, "10000-13000:3000", "wraps around"},
	{{.p_vaddr = 0x20000, .p_memsz = 0x1000, .p_offset = UINT64_MAX, .p_filesz = 0x1000},
	 "10000-13000:3000",
	 "0x20000 wraps around"},
	{{.p_vaddr = 0x20000, .p_memsz = 0x1000, .p_offset = 0x1000, .p_filesz = 0x2000},
	 "10000-13000:3000 20000-21000:1000",
	 "0x20000 has more bytes in the file than in memory"},
	{{.p_vaddr = 0x20000, .p_memsz = 0x1000, .p_offset = 0x1000, .p_filesz = UINT64_MAX / 2},
	 "10000-13000:3000 20000-21000:1000",
	 "more bytes in the file than in memory"},
};

static void test_bad_loads(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad_loads); i++) {
		struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
		Elf64_Phdr ph = bad_loads[i].ph;
		struct core c;

		ph.p_type = PT_LOAD;
		mkcore_load(mk, 0x10000, PF_R, "###");
		mkcore_phdr(mk, ph);
		c = core_open(mk);
		assert_segments(&c.im, bad_loads[i].segments);
		core_assert_diag(&c, DIAG_SEGMENT, 1, bad_loads[i].message);
		assert_true(diag_is_partial(&c.d));
		core_close(&c);
	}
}

/* The highest byte of the address space cannot be in a half-open range; below it all can. */
static void test_top_of_the_space(void **state)
{
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
	struct core c;
	u8 byte;

	(void)state;
	mkcore_load(mk, 0x10000, PF_R, "#");
	mkcore_load(mk, UINT64_MAX - 0x1fff, PF_R, "#")->ph.p_memsz = 0x1fff;
	c = core_open(mk);
	assert_segments(&c.im, "10000-11000:1000 ffffffffffffe000-ffffffffffffffff:1000");
	assert_ok(image_read(&c.im, UINT64_MAX - 0x1000, &byte, 1));
	assert_int_equal(byte, mkcore_byte(UINT64_MAX - 0x1000));
	assert_err(image_read(&c.im, UINT64_MAX, &byte, 1), ERR_FAULT, "");
	assert_ok(residency_build(&c.im, &c.d));
	core_close(&c);
}

static void test_overlaps(void **state)
{
	/* A second load beside [0x10000, 0x14000), whose first two pages are dumped. */
	static const struct {
		va_t lo;
		u64 memsz, filesz;
		const char *segments;
	} cases[] = {
		{0x10000, 0x4000, 0, "10000-14000:2000"},
		{0x11000, 0x1000, 0x1000, "10000-14000:2000"},
		{0x13000, 0x4000, 0x3000, "10000-14000:2000 14000-17000:2000"},
		{0x13000, 0x4000, 0x1000, "10000-14000:2000 14000-17000:0"},
		{0x13800, 0x1800, 0x1800, "10000-14000:2000 14000-15000:1000"},
		{0x0f000, 0x2000, 0x2000, "f000-11000:2000 11000-14000:1000"},
		{0x0f000, 0x4000, 0x4000, "f000-13000:4000 13000-14000:0"},
		{0x0f000, 0x9000, 0x1000, "f000-18000:1000"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
		struct mkcore_load *second;
		struct core c;

		mkcore_load(mk, 0x10000, PF_R, "##")->ph.p_memsz = 0x4000;
		second = mkcore_load(mk, cases[i].lo, PF_R, "####");
		second->ph.p_memsz = cases[i].memsz;
		second->ph.p_filesz = cases[i].filesz;
		c = core_open(mk);
		assert_segments(&c.im, cases[i].segments);
		core_assert_diag(&c, DIAG_SEGMENT, 1, "loads overlap at 0x1");
		core_close(&c);
	}
}

/* What is left of an overlapping load still has its own bytes. */
static void test_overlap_keeps_content(void **state)
{
	struct mkcore *mk = mkcore_new(MKCORE_GCORE);
	struct core c;
	u8 byte;

	(void)state;
	mkcore_load(mk, 0x10000, PF_R, "##");
	mkcore_load(mk, 0x11000, PF_R, "00##");
	c = core_open(mk);
	assert_segments(&c.im, "10000-12000:2000 12000-15000:3000");
	assert_ok(image_read(&c.im, 0x12000, &byte, 1));
	assert_int_equal(byte, 0);
	assert_ok(image_read(&c.im, 0x13007, &byte, 1));
	assert_int_equal(byte, mkcore_byte(0x13007));
	core_close(&c);
}

static void test_overlap_with_a_cut(void **state)
{
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
	struct core c = {.mk = mk};
	const struct segment *s;

	(void)state;
	mkcore_load(mk, 0x10000, PF_R, "##");
	mkcore_load(mk, 0x11000, PF_R, "####");
	mkcore_write(mk);
	mkcore_truncate(mk, mkcore_offset(mk, 1) + 0x800);
	assert_ok(image_open(&c.im, mk->path, &c.d));
	assert_segments(&c.im, "10000-12000:2000 12000-15000:0");
	s = &c.im.segs.v[1];
	assert_int_equal(s->lost_bytes, 0x3000);
	assert_ok(residency_build(&c.im, &c.d));
	core_close(&c);
}

/* Many loads of the same bytes: the first ones have them, a few times what there is in all. */
static void test_shared_bytes(void **state)
{
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
	const u64 bytes = 64 * MK_PAGE;
	struct core c;
	u64 dumped = 0, lost = 0;

	(void)state;
	mkcore_load(mk, 0x10000, PF_R, "#")->ph.p_memsz = bytes;
	for (u64 i = 1; i <= 60; i++)
		mkcore_phdr(mk, (Elf64_Phdr){.p_type = PT_LOAD,
					     .p_offset = MK_PAGE,
					     .p_vaddr = i << 20,
					     .p_filesz = 2 * MK_PAGE,
					     .p_memsz = 2 * MK_PAGE});
	c = core_open(mk);
	for (size_t i = 0; i < c.im.segs.n; i++) {
		dumped += c.im.segs.v[i].file_bytes;
		lost += c.im.segs.v[i].lost_bytes;
	}
	assert_int_equal(c.im.segs.n, 61);
	assert_int_equal(dumped, 8 * mk->size);
	assert_true(lost > 0);
	assert_contains(c.d.entries[DIAG_SEGMENT].examples[0], "that others have");
	assert_ok(residency_build(&c.im, &c.d));
	core_close(&c);
}

/* Every budget below what is needed is an error, none a crash or a leak. */
static void test_budgets(void **state)
{
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
	unsigned failures = 0;

	(void)state;
	for (u64 i = 0; i < 40; i++)
		mkcore_load(mk, 0x10000 * (i + 1), PF_R, i % 2 ? "#.#" : "0.");
	mkcore_file(mk, 0x10000, 0x12000, 0, "/bin/app");
	mkcore_thread(mk, (struct mkcore_thread){.tid = 1});
	mkcore_write(mk);
	for (u64 budget = 16;; budget += 48) {
		struct image im = {0};
		struct err *err;

		mem_set_limit(mem_used() + budget);
		err = image_open(&im, mk->path, NULL);
		if (!err)
			err = residency_build(&im, NULL);
		image_close(&im);
		mem_set_limit(0);
		if (!err)
			break;
		assert_err(err, ERR_LIMIT, "--max-memory");
		failures++;
	}
	assert_true(failures > 20);
	mkcore_free(mk);
}

TEST_MAIN(TEST(test_layouts), TEST(test_sorted), TEST(test_bad_loads), TEST(test_top_of_the_space),
	  TEST(test_overlaps), TEST(test_overlap_keeps_content), TEST(test_overlap_with_a_cut),
	  TEST(test_shared_bytes), TEST(test_budgets))
