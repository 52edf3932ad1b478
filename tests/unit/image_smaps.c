/* The kernel's text about each mapping, good and bad, and whether it is of the core's process. */
#include "image/smaps.h"

#include "support/core.h"
#include "support/test.h"
#include "support/tmp.h"

/* As Linux 6.18 prints them; what is not read is left out but for some. */
#define TEXT                                                                                       \
	"00400000-00490000 r-xp 00000000 fe:01 1234567                            /opt/my app\n"   \
	"Size:                576 kB\n"                                                            \
	"KernelPageSize:        4 kB\n"                                                            \
	"Rss:                 132 kB\n"                                                            \
	"Pss:                  66 kB\n"                                                            \
	"THPeligible:           0\n"                                                               \
	"ProtectionKey:         0\n"                                                               \
	"VmFlags: rd ex mr mw me \n"
#define HEAP                                                                                       \
	"c000000000-c000400000 rw-p 00000000 00:00 0                              [anon: Go: "     \
	"heap]\n"
#define HEAP_SIZES                                                                                 \
	"Rss:                4096 kB\n"                                                            \
	"Anonymous:          4092 kB\n"                                                            \
	"LazyFree:             12 kB\n"                                                            \
	"AnonHugePages:      2048 kB\n"                                                            \
	"Swap:                  8 kB\n"                                                            \
	"VmFlags: rd wr mr mw me ac dd hg nh \n"
#define STACK                                                                                      \
	"7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0                          [stack]\n"       \
	"Rss:                  16 kB\n"
#define VDSO                                                                                       \
	"7ffc00100000-7ffc00102000 r-xp 00000000 00:00 0                          [vdso]\n"        \
	"Rss:                   4 kB\n"
#define SHARED                                                                                     \
	"7fff00000000-7fff00001000 ---s 7f000 00:01 42 /dev/zero (deleted)\n"                      \
	"Rss:                   0 kB\n"

static void test_good(void **state)
{
	static const char text[] = TEXT HEAP HEAP_SIZES SHARED;
	struct smaps s = {0};
	const struct smaps_vma *v;

	(void)state;
	assert_ok(smaps_parse(&s, text, sizeof(text) - 1));
	assert_int_equal(s.vmas.n, 3);
	v = &s.vmas.v[0];
	assert_true(v->lo == 0x400000 && v->hi == 0x490000 && v->inode == 1234567);
	assert_true(v->perm == (PERM_R | PERM_X) && !v->shared && v->rss == 132 << 10);
	assert_string_equal(v->path, "/opt/my app");
	assert_int_equal(v->flags, 0);
	v = &s.vmas.v[1];
	assert_true(v->perm == (PERM_R | PERM_W) && v->rss == 4 << 20 && v->swap == 8 << 10);
	assert_true(v->anonymous == 4092 << 10 && v->lazyfree == 12 << 10);
	assert_int_equal(v->anon_huge, 2 << 20);
	assert_int_equal(v->flags, SMAPS_DONTDUMP | SMAPS_HUGEPAGE | SMAPS_NOHUGEPAGE);
	assert_string_equal(v->path, "[anon: Go: heap]");
	v = &s.vmas.v[2];
	assert_true(v->perm == 0 && v->shared && v->offset == 0x7f000 && v->rss == 0);
	assert_string_equal(v->path, "/dev/zero (deleted)");
	assert_int_equal(smaps_rss(&s), (132 + 4096) << 10);
	assert_ptr_equal(smaps_find(&s, 0xc000000000), &s.vmas.v[1]);
	assert_ptr_equal(smaps_find(&s, 0x48ffff), &s.vmas.v[0]);
	assert_null(smaps_find(&s, 0x490000));
	assert_null(smaps_find(&s, 0x3fffff));
	smaps_fini(&s);
}

static void test_bad(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"", "no Rss: not smaps, or cut off"},
		{HEAP, "no Rss: not smaps, or cut off"},
		{HEAP "Size: 4 kB\n", "no Rss: not smaps, or cut off"},
		{HEAP VDSO, "line 2: the mapping before has no Rss"},
		{"Rss: 4 kB\n", "line 1: no mapping yet"},
		{"\n", "line 1: no mapping yet"},
		{HEAP "Rss: 4 kB", "line 2: cut off"},
		{HEAP "Rss: 4097 kB\n", "line 2: this is no figure"},
		{HEAP "Rss: 4 kB\nSwap: 18446744073709551616 kB\n", "line 3: this is no figure"},
		{HEAP "Rss: 18014398509481984 kB\n", "line 2: this is no figure"},
		{HEAP "Rss: kB\n", "line 2: this is no figure"},
		{HEAP "Rss: -4 kB\n", "line 2: this is no figure"},
		{HEAP "Rss: 4 kB 4\n", "line 2: this is no figure"},
		{HEAP "Rss: 4\n", "line 2: this is no figure"},
		{HEAP "\n", "line 2: this is no figure"},
		{HEAP "Rss\n", "line 2: this is no figure"},
		{VDSO HEAP, "line 3: a mapping out of order"},
		{HEAP "Rss: 4 kB\n" HEAP, "line 3: a mapping out of order"},
		{"1000-1000 rw-p 0 0:0 0\nRss: 0 kB\n", "line 1: a mapping out of order"},
		{"2000-1000 rw-p 0 0:0 0\nRss: 0 kB\n", "line 1: a mapping out of order"},
		{"1000-10000000000000000 rw-p 0 0:0 0\n", "line 1: this is no mapping"},
		{"1000 2000 rw-p 0 0:0 0\n", "line 1: this is no mapping"},
		{"1000-2000 rwzp 0 0:0 0\n", "line 1: this is no mapping"},
		{"1000-2000 rw-q 0 0:0 0\n", "line 1: this is no mapping"},
		{"1000-2000 rw-p 0 00 0\n", "line 1: this is no mapping"},
		{"1000-2000 rw-p 0 0:0\n", "line 1: this is no mapping"},
		{"1000-2000 rw-p 0 0:0 1f\n", "line 1: this is no mapping"},
		{"1000-2000\n", "line 1: this is no mapping"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct smaps s = {0};

		assert_err(smaps_parse(&s, cases[i].text, strlen(cases[i].text)), ERR_FORMAT,
			   cases[i].message);
		smaps_fini(&s);
	}
}

/* A byte that no text has, and a text that ends anywhere. */
static void test_cut(void **state)
{
	static const char text[] = TEXT HEAP HEAP_SIZES;
	struct smaps s = {0};

	(void)state;
	assert_err(smaps_parse(&s, HEAP "Rss:\0 4 kB\n", sizeof(HEAP "Rss:\0 4 kB\n") - 1),
		   ERR_FORMAT, "line 2: this is no text");
	smaps_fini(&s);
	for (size_t n = 0; n < sizeof(text) - 1; n++) {
		struct err *err = smaps_parse(&s, text, n);
		bool whole_line = n && text[n - 1] == '\n';

		if (!whole_line)
			assert_non_null(err);
		err_free(err);
		smaps_fini(&s);
	}
}

static void test_file(void **state)
{
	char *path = tmp_path("smaps");
	struct smaps s = {0};

	(void)state;
	tmp_write(path, TEXT, sizeof(TEXT) - 1);
	assert_ok(smaps_read(&s, path));
	assert_int_equal(smaps_rss(&s), 132 << 10);
	smaps_fini(&s);
	tmp_write(path, HEAP, sizeof(HEAP) - 1);
	assert_err(smaps_read(&s, path), ERR_FORMAT, "smaps: the last mapping has no Rss");
	smaps_fini(&s);
	assert_err(smaps_read(&s, "/nowhere"), ERR_OS, "/nowhere: cannot be opened");
	free(path);
}

/* The core of the process whose smaps are above, but for what a case changes. */
static struct core open_process(u64 vdso, u64 random, const char *exe)
{
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);

	mkcore_load(mk, 0x400000, PF_R | PF_X, "#");
	mkcore_load(mk, 0x7ffc00020000, PF_R | PF_W, "#");
	mkcore_load(mk, 0x7ffc00100000, PF_R | PF_X, "#");
	mkcore_file(mk, 0x400000, 0x401000, 0, exe);
	mkcore_auxv(mk, AT_ENTRY, 0x400080);
	mkcore_auxv(mk, AT_SYSINFO_EHDR, vdso);
	mkcore_auxv(mk, AT_RANDOM, random);
	return core_open(mk);
}

static void test_process(void **state)
{
	static const struct {
		u64 vdso, random;
		const char *exe, *message;
	} cases[] = {
		{0x7ffc00100000, 0x7ffc00020010, "/opt/my app", NULL},
		{0x7ffc00100000, 0x7ffc00020010, "/opt/my app (deleted)", NULL},
		{0x7ffc00100000, 0x7ffc00020010, "/opt/my", "of another process"},
		{0x7ffc00103000, 0x7ffc00020010, "/opt/my app", "of another process"},
		{0x7ffc00100000, 0x7ffc00021010, "/opt/my app", "of another process"},
		{0x7ffc00100000, 0x7ffc00020010, "/opt/your app", "of another process"},
		{0, 0x7ffc00020010, "/opt/my app", "does not tell"},
		{0x7ffc00100000, 0, "/opt/my app", "does not tell"},
	};
	static const char text[] = TEXT STACK VDSO;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct core c = open_process(cases[i].vdso, cases[i].random, cases[i].exe);
		struct smaps s = {0};

		assert_ok(smaps_parse(&s, text, sizeof(text) - 1));
		if (cases[i].message)
			assert_err(smaps_check(&s, &c.im), ERR_USAGE, cases[i].message);
		else
			assert_ok(smaps_check(&s, &c.im));
		smaps_fini(&s);
		core_close(&c);
	}
}

TEST_MAIN(TEST(test_good), TEST(test_bad), TEST(test_cut), TEST(test_file), TEST(test_process))
