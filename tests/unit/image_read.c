/* Reading target memory: across loads, at borders, and where there is nothing. */
#include "image/image.h"

#include "base/cleanup.h"
#include "support/core.h"
#include "support/test.h"

/* Three loads in a row, the second not dumped to its end, and one apart:
 * 10000 ## 12000 # 13000 (not dumped) 14000 ## 16000 ... 20000 # */
static void open_four(struct core *c, enum mkcore_layout layout)
{
	*c = (struct core){.mk = mkcore_new(layout)};
	mkcore_load(c->mk, 0x10000, PF_R, "##");
	mkcore_load(c->mk, 0x12000, PF_R | PF_W, "#")->ph.p_memsz = 2 * MK_PAGE;
	mkcore_load(c->mk, 0x14000, PF_R, "##");
	mkcore_load(c->mk, 0x20000, PF_R, "#");
	assert_ok(image_open(&c->im, mkcore_write(c->mk), &c->d));
}

static bool has_content(const u8 *p, va_t va, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != mkcore_byte(va + i))
			return false;
	return true;
}

static void test_read(void **state)
{
	static const enum mkcore_layout layouts[] = {MKCORE_KERNEL, MKCORE_GCORE, MKCORE_DELVE};
	static const struct {
		va_t va;
		size_t n;
		bool there;
	} cases[] = {
		{0x10000, 1, true},      {0x10000, 0x2000, true}, {0x10000, 0x3000, true},
		{0x11fff, 2, true},      {0x11ffc, 0x1004, true}, {0x12fff, 1, true},
		{0x12fff, 2, false},     {0x13000, 1, false},     {0x13fff, 2, false},
		{0x14000, 0x2000, true}, {0x15fff, 2, false},     {0x10000, 0x6000, false},
		{0x0ffff, 1, false},     {0x0ffff, 2, false},     {0x16000, 1, false},
		{0x20fff, 1, true},      {0x20fff, 2, false},     {0, 1, false},
		{UINT64_MAX, 1, false},  {UINT64_MAX, 8, false},  {0x1ffff, 1, false},
	};
	static u8 buf[0x6000];

	(void)state;
	for (size_t l = 0; l < COUNT_OF(layouts); l++) {
		struct core c;

		open_four(&c, layouts[l]);
		for (size_t i = 0; i < COUNT_OF(cases); i++) {
			struct err *err = image_read(&c.im, cases[i].va, buf, cases[i].n);

			assert_int_equal(!err, cases[i].there);
			if (err)
				assert_ptr_equal(err, err_fault());
			else
				assert_true(has_content(buf, cases[i].va, cases[i].n));
		}
		core_close(&c);
	}
}

static void test_read_nothing(void **state)
{
	struct core c;

	(void)state;
	open_four(&c, MKCORE_KERNEL);
	assert_ok(image_read(&c.im, 0, NULL, 0));
	core_close(&c);
}

/* In place only within one segment. */
static void test_view(void **state)
{
	static const struct {
		va_t va;
		size_t n;
		bool there;
	} cases[] = {
		{0x10000, 0x2000, true},    {0x10000, 0x2001, false}, {0x11fff, 1, true},
		{0x11fff, 2, false},        {0x12000, 0x1000, true},  {0x12000, 0x1001, false},
		{0x13000, 1, false},        {0x13800, 1, false},      {0x0ffff, 1, false},
		{0x16000, 1, false},        {0x20000, 0x1000, true},  {0x20000, SIZE_MAX, false},
		{0x20fff, SIZE_MAX, false}, {UINT64_MAX, 1, false},
	};
	struct core c;

	(void)state;
	open_four(&c, MKCORE_GCORE);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const u8 *p = image_view(&c.im, cases[i].va, cases[i].n);

		assert_int_equal(p != NULL, cases[i].there);
		if (p)
			assert_true(has_content(p, cases[i].va, cases[i].n));
	}
	core_close(&c);
}

static void test_u64(void **state)
{
	struct core c;
	u64 word = 0, expected;
	u8 bytes[8];

	(void)state;
	open_four(&c, MKCORE_KERNEL);
	for (va_t va = 0x11ff0; va < 0x12010; va++) { /* across the border too */
		for (size_t i = 0; i < 8; i++)
			bytes[i] = mkcore_byte(va + i);
		memcpy(&expected, bytes, 8);
		assert_true(image_u64(&c.im, va, &word));
		assert_int_equal(word, expected);
	}
	assert_true(image_u64(&c.im, 0x12ff8, &word));
	assert_false(image_u64(&c.im, 0x12ff9, &word));
	assert_false(image_u64(&c.im, 0x13000, &word));
	assert_false(image_u64(&c.im, 0, &word));
	assert_false(image_u64(&c.im, UINT64_MAX - 3, &word));
	core_close(&c);
}

static void test_dumped_end(void **state)
{
	struct core c;

	(void)state;
	open_four(&c, MKCORE_KERNEL);
	assert_int_equal(image_dumped_end(&c.im, 0x10000), 0x13000);
	assert_int_equal(image_dumped_end(&c.im, 0x11fff), 0x13000);
	assert_int_equal(image_dumped_end(&c.im, 0x12fff), 0x13000);
	assert_int_equal(image_dumped_end(&c.im, 0x13000), 0x13000);
	assert_int_equal(image_dumped_end(&c.im, 0x14001), 0x16000);
	assert_int_equal(image_dumped_end(&c.im, 0x16000), 0x16000);
	assert_int_equal(image_dumped_end(&c.im, 0x20000), 0x21000);
	assert_int_equal(image_dumped_end(&c.im, 5), 5);
	core_close(&c);
}

static void test_lookup(void **state)
{
	struct core c;

	(void)state;
	open_four(&c, MKCORE_KERNEL);
	assert_null(image_segment(&c.im, 0xffff));
	assert_ptr_equal(image_segment(&c.im, 0x10000), &c.im.segs.v[0]);
	assert_ptr_equal(image_segment(&c.im, 0x11fff), &c.im.segs.v[0]);
	assert_ptr_equal(image_segment(&c.im, 0x12000), &c.im.segs.v[1]);
	assert_ptr_equal(image_segment(&c.im, 0x13fff), &c.im.segs.v[1]);
	assert_ptr_equal(image_vma(&c.im, 0x15fff), &c.im.vmas.v[2]);
	assert_null(image_segment(&c.im, 0x16000));
	assert_null(image_vma(&c.im, 0x1ffff));
	assert_ptr_equal(image_vma(&c.im, 0x20fff), &c.im.vmas.v[3]);
	assert_null(image_vma(&c.im, 0x21000));
	assert_null(image_vma(&c.im, UINT64_MAX));
	core_close(&c);
}

/* What was cut off cannot be read, the byte before can. */
static void test_read_truncated(void **state)
{
	struct core c = {.mk = mkcore_new(MKCORE_KERNEL)};
	u8 byte;

	(void)state;
	mkcore_load(c.mk, 0x10000, PF_R, "##");
	mkcore_load(c.mk, 0x12000, PF_R, "#");
	mkcore_write(c.mk);
	mkcore_truncate(c.mk, mkcore_offset(c.mk, 0) + 0x1234);
	assert_ok(image_open(&c.im, c.mk->path, &c.d));
	assert_ok(image_read(&c.im, 0x11233, &byte, 1));
	assert_int_equal(byte, mkcore_byte(0x11233));
	assert_err(image_read(&c.im, 0x11234, &byte, 1), ERR_FAULT, "not in the core");
	assert_null(image_view(&c.im, 0x11233, 2));
	assert_err(image_read(&c.im, 0x12000, &byte, 1), ERR_FAULT, "");
	assert_int_equal(image_dumped_end(&c.im, 0x10000), 0x11234);
	core_close(&c);
}

/* Any range of any table of loads, against the loads themselves. */
static void test_read_anything(void **state)
{
	u64 seed = 17;

	(void)state;
	for (int round = 0; round < 30; round++) {
		struct core c = {.mk = mkcore_new(MKCORE_KERNEL)};
		AUTO_FREE u8 *buf = xcalloc(20 * MK_PAGE, 1);
		bool there[40] = {false};

		for (u64 page = 0; page < 36;) {
			u64 pages = 1 + test_random(&seed) % 4, gap = test_random(&seed) % 3;

			mkcore_load(c.mk, 0x10000 + page * MK_PAGE, PF_R, &"####"[4 - pages]);
			for (u64 p = page; p < page + pages; p++)
				there[p] = true;
			page += pages + (gap == 2);
		}
		assert_ok(image_open(&c.im, mkcore_write(c.mk), &c.d));
		for (int i = 0; i < 200; i++) {
			u64 off = test_random(&seed) % (36 * MK_PAGE);
			u64 n = 1 + test_random(&seed) % (i % 2 ? 16 : 3 * MK_PAGE);
			bool all = true;
			struct err *err;

			for (u64 p = off / MK_PAGE; p <= (off + n - 1) / MK_PAGE; p++)
				all &= there[p];
			err = image_read(&c.im, 0x10000 + off, buf, n);
			assert_int_equal(!err, all);
			assert_true(err || has_content(buf, 0x10000 + off, n));
		}
		core_close(&c);
	}
}

TEST_MAIN(TEST(test_read), TEST(test_read_nothing), TEST(test_view), TEST(test_u64),
	  TEST(test_dumped_end), TEST(test_lookup), TEST(test_read_truncated),
	  TEST(test_read_anything))
