/* Why a core was cut, by its size and what of it was written. */
#include "image/image.h"

#include "support/core.h"
#include "support/test.h"
#include "support/tmp.h"

#include <string.h>

#define PAGES 600
#define MIB_PAGES 256

/* A core whose memory begins with a hole of some pages, cut so many bytes behind the beginning of
 * its memory. */
static struct core cut_with_hole(enum mkcore_layout layout, bool dense, size_t hole, u64 bytes)
{
	static char letters[PAGES + 1];
	struct mkcore *mk = mkcore_new(layout);

	memset(letters, '#', PAGES);
	memset(letters, '.', hole);
	mk->dense = dense;
	mkcore_load(mk, 0x600000, PF_R | PF_W, letters);
	mkcore_write(mk);
	mkcore_truncate(mk,
			layout == MKCORE_KERNEL && !dense ? mkcore_offset(mk, 0) + bytes : bytes);
	return core_open(mk);
}

static struct core cut_core(enum mkcore_layout layout, bool dense, u64 bytes)
{
	return cut_with_hole(layout, dense, 1, bytes);
}

static void assert_cause(struct core c, const char *part)
{
	assert_true(c.im.truncated);
	assert_contains(c.im.cut_cause, part);
	core_assert_diag(&c, DIAG_TRUNCATED, 1, part);
	core_close(&c);
}

static void test_limit_of_what_is_written(void **state)
{
	const u64 mib = MIB_PAGES * MK_PAGE;

	(void)state;
	if (!tmp_has_holes())
		skip();
	/* A page of headers and 255 of memory behind one that is a hole. */
	assert_cause(cut_core(MKCORE_KERNEL, false, mib), "RLIMIT_CORE (ulimit -c): 1.00 MiB");
	assert_cause(cut_core(MKCORE_KERNEL, false, mib - MK_PAGE), "RLIMIT_CORE");
	assert_cause(cut_core(MKCORE_KERNEL, false, mib + MK_PAGE), "RLIMIT_CORE");
	/* 1000 KiB */
	assert_cause(cut_core(MKCORE_KERNEL, false, (u64)1000 << 10), "(ulimit -c): 1000 KiB");
	assert_cause(cut_core(MKCORE_KERNEL, false, mib + 10 * MK_PAGE),
		     "when the kernel wrote it");
	assert_cause(cut_core(MKCORE_KERNEL, false, mib - 3 * MK_PAGE), "when the kernel wrote it");
	assert_cause(cut_core(MKCORE_KERNEL, false, 100 * MK_PAGE),
		     "disk was full when the kernel");
}

static void test_round_sizes(void **state)
{
	(void)state;
	assert_cause(cut_core(MKCORE_KERNEL, true, MIB_PAGES * MK_PAGE),
		     "(systemd's ProcessSizeMax, ulimit -c): 1.00 MiB is round");
	assert_cause(cut_core(MKCORE_GCORE, true, MIB_PAGES * MK_PAGE), "is round");
	assert_cause(cut_core(MKCORE_KERNEL, true, 300 * MK_PAGE), "interrupted");
	assert_cause(cut_core(MKCORE_GCORE, true, 300 * MK_PAGE + 17), "interrupted");
}

/* A size is round by chance, too. */
static void test_round_size_of_what_has_holes(void **state)
{
	(void)state;
	if (!tmp_has_holes())
		skip();
	/* a page of headers */
	assert_cause(cut_with_hole(MKCORE_KERNEL, false, 20, (MIB_PAGES - 1) * MK_PAGE),
		     "1.00 MiB is round; else the disk was full when the kernel wrote it");
}

TEST_MAIN(TEST(test_limit_of_what_is_written), TEST(test_round_sizes),
	  TEST(test_round_size_of_what_has_holes))
