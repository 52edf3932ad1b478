/* Packed cores: what is kept of the holes, what comes along, what is refused. */
#include "image/image.h"

#include "base/cleanup.h"
#include "image/binary.h"
#include "image/pack.h"
#include "image/sparse.h"
#include "support/core.h"
#include "support/mkelf.h"
#include "support/test.h"
#include "support/tmp.h"

#include <string.h>
#include <sys/stat.h>

#define PAGE 4096

static const struct mkelf program = {
	.go_id = "action/content/of/this",
	.entry = 0x400100,
	.bytes = 2 * PAGE,
	.phdrs = {{.p_type = PT_LOAD,
		   .p_flags = PF_R | PF_X,
		   .p_vaddr = 0x400000,
		   .p_filesz = PAGE,
		   .p_memsz = PAGE,
		   .p_align = PAGE}},
};

/* A core with pages of zeros and holes that a copy would lose. */
static struct mkcore *program_core(void)
{
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
	u8 header[PAGE];

	mkcore_load(mk, 0x400000, PF_R | PF_X, "#");
	mkelf_bytes(&program, 0, header, sizeof(header));
	mkcore_poke(mk, 0x400000, header, sizeof(header));
	mkcore_load(mk, 0x600000, PF_R | PF_W, "#0#.#..0#.");
	mkcore_file(mk, 0x400000, 0x401000, 0, "/gone/program");
	mkcore_auxv(mk, AT_ENTRY, 0x400100);
	mkcore_auxv(mk, AT_PAGESZ, PAGE);
	return mk;
}

/* Packs the core and, if there is one, the file beside it. */
static void pack(const char *path, const char *core, const char *beside, const char *name)
{
	struct os_file opened[2] = {0};
	struct pack_file files[] = {{&opened[0], "dir/core", 0}, {&opened[1], name, 0}};
	u64 bytes = 0;

	assert_ok(os_file_open(core, &opened[0]));
	if (beside)
		assert_ok(os_file_open(beside, &opened[1]));
	assert_ok(pack_write(path, true, files, beside ? 2 : 1, &bytes));
	assert_true(bytes > 0);
	os_file_close(&opened[0]);
	os_file_close(&opened[1]);
}

static void open_packed(struct core *c, const char *path)
{
	assert_ok(image_open(&c->im, path, &c->d));
	assert_ok(residency_build(&c->im, &c->d));
}

static void assert_same_runs(const struct image *a, const struct image *b)
{
	assert_int_equal(a->res.runs.n, b->res.runs.n);
	assert_memory_equal(a->res.runs.v, b->res.runs.v, a->res.runs.n * sizeof(*a->res.runs.v));
}

static void test_holes_are_kept(void **state)
{
	static const char *const names[] = {"p.tar",    "p.tar.zst", "p.tar.gz", "p.tgz",
					    "p.tar.xz", "p.tar.lz4", "p.tar.bz2"};
	struct core plain = core_open_pages(program_core());

	(void)state;
	if (!tmp_has_holes())
		skip();
	assert_true(plain.im.res.first_hand);
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		AUTO_FREE char *path = tmp_path(names[i]);
		struct core c = {.mk = program_core()};

		pack(path, plain.mk->path, NULL, NULL);
		open_packed(&c, path);
		assert_int_equal(c.im.core.size, plain.im.core.size);
		assert_memory_equal(c.im.core.data, plain.im.core.data, c.im.core.size);
		assert_string_equal(c.im.core.path, path);
		assert_string_equal(c.im.unpacked.member, "dir/core");
		assert_true(c.im.unpacked.keeps_holes);
		assert_true(c.im.res.first_hand);
		assert_same_runs(&c.im, &plain.im);
		core_close(&c);
	}
	core_close(&plain);
}

static void test_executable_comes_along(void **state)
{
	AUTO_FREE char *path = tmp_path("with.tar.gz"), *exe = tmp_path("executable");
	AUTO_FREE char *other = tmp_path("other");
	struct mkelf another = program;
	struct mkcore *mk = program_core();
	struct core c = {.mk = mk};
	struct binary bin;

	(void)state;
	mkelf_write(&program, exe);
	pack(path, mkcore_write(mk), exe, "somewhere/else");
	open_packed(&c, path);
	assert_ok(binary_find(&bin, &c.im, &(struct binary_options){0}, &c.d));
	assert_int_equal(bin.match, EXE_GO_BUILD_ID);
	assert_contains(bin.exe.path, "with.tar.gz: somewhere/else");
	binary_close(&bin);
	image_close(&c.im);

	another.go_id = "of/another/build/it";
	mkelf_write(&another, other);
	pack(path, mk->path, other, "dir/program");
	c.im = (struct image){0};
	open_packed(&c, path);
	assert_ok(binary_find(&bin, &c.im, &(struct binary_options){0}, &c.d));
	assert_int_equal(bin.match, EXE_NONE);
	core_assert_diag(&c, DIAG_EXE_IGNORED, 1, "with.tar.gz: dir/program has build id");
	binary_close(&bin);
	core_close(&c);
}

/* Not a core, and not a kind of file that belongs to one. */
static void test_other_files_are_left(void **state)
{
	AUTO_FREE char *path = tmp_path("other.tar"), *text = tmp_path("text");
	struct mkcore *mk = program_core();
	struct core c = {.mk = mk};

	(void)state;
	tmp_write(text, "hello", 5);
	pack(path, mkcore_write(mk), text, "notes/text");
	open_packed(&c, path);
	assert_int_equal(c.im.unpacked.files.n, 0);
	image_close(&c.im);
	pack(path, mk->path, text, "dir/core.d/status");
	c.im = (struct image){0};
	open_packed(&c, path);
	assert_int_equal(c.im.unpacked.files.n, 1);
	assert_string_equal(c.im.unpacked.files.v[0].name, "dir/core.d/status");
	assert_memory_equal(c.im.unpacked.files.v[0].file.data, "hello", 5);
	core_close(&c);
}

static void test_two_cores(void **state)
{
	AUTO_FREE char *path = tmp_path("two.tar");
	struct core c = {.mk = program_core()};

	(void)state;
	mkcore_write(c.mk);
	pack(path, c.mk->path, c.mk->path, "again");
	assert_err(image_open(&c.im, path, &c.d), ERR_FORMAT, "two cores, dir/core and again");
	core_close(&c);
}

static void test_replacing(void **state)
{
	AUTO_FREE char *path = tmp_path("there.tar");
	struct os_file f = {0};
	struct pack_file files[] = {{&f, "f", 0}};
	u64 bytes;

	(void)state;
	tmp_write(path, "old", 3);
	assert_ok(os_file_open(path, &f));
	assert_err(pack_write(path, false, files, 1, &bytes), ERR_OS, "is there already");
	assert_ok(pack_write(path, true, files, 1, &bytes));
	assert_int_equal(bytes % 512, 0);
	assert_err(pack_write("/nowhere/x.tar", true, files, 1, &bytes), ERR_OS, "cannot be made");
	assert_err(pack_check_name("core.zst"), ERR_USAGE, ".tar.zst");
	assert_err(pack_check_name(".tar"), ERR_USAGE, ".tar: the name tells");
	os_file_close(&f);
}

static u64 blocks_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return (u64)st.st_blocks * 512;
}

/* Pages of zeros are no data, unless the archive says that they are. */
static void test_sparse_files(void **state)
{
	AUTO_FREE char *folder = tmp_dir("sparse");
	static u8 bytes[16 * PAGE];
	struct os_file f = {0};

	(void)state;
	if (!tmp_has_holes())
		skip();
	memset(bytes + 3 * PAGE + 100, 'x', PAGE); /* on two pages */
	for (int keep = 0; keep < 2; keep++) {
		struct sparse s;
		char head[8] = "????????";

		assert_ok(sparse_begin(&s, folder, 0));
		s.keep_zeros = keep;
		assert_ok(sparse_write(&s, 0, bytes, 100)); /* unaligned pieces */
		assert_int_equal(sparse_head(&s, head, sizeof(head)), sizeof(head));
		assert_memory_equal(head, "\0\0\0\0\0\0\0", sizeof(head));
		assert_ok(sparse_write(&s, 100, bytes + 100, sizeof(bytes) - 100));
		assert_int_equal(s.size, sizeof(bytes));
		assert_ok(sparse_take(&s, sizeof(bytes) + PAGE, "name", &f));
		assert_int_equal(f.size, sizeof(bytes) + PAGE);
		assert_memory_equal(f.data, bytes, sizeof(bytes));
		assert_int_equal(blocks_of(f.fd), keep ? sizeof(bytes) : 2 * PAGE);
		os_file_close(&f);
	}
}

static void test_no_room(void **state)
{
	AUTO_FREE char *folder = tmp_dir("room");
	struct sparse s;

	(void)state;
	assert_err(sparse_begin(&s, folder, (u64)1 << 60), ERR_OS, "set TMPDIR to a folder with");
	assert_err(sparse_begin(&s, folder, UINT64_MAX), ERR_OS, "set TMPDIR to a folder with");
	assert_err(sparse_begin(&s, "/nowhere", 0), ERR_OS, "/nowhere: no file can be made in it");
	assert_ok(sparse_begin(&s, folder, 0));
	assert_err(sparse_write(&s, UINT64_MAX - 1, "ab", 2), ERR_FORMAT, "too large");
	assert_err(sparse_write(&s, INT64_MAX, "ab", 2), ERR_FORMAT, "too large");
	sparse_drop(&s);
}

static void test_windows(void **state)
{
	static const struct {
		const char *bytes;
		u64 n, window;
	} cases[] = {
		{"\x28\xb5\x2f\xfd\x00\x58\0\0", 8, (u64)2 << 20}, /* zstd -3 */
		{"\x28\xb5\x2f\xfd\x00\x8f\0\0", 8, ((u64)1 << 27) + ((u64)7 << 24)},
		{"\x28\xb5\x2f\xfd\x00\xff\0\0", 8, ((u64)1 << 41) + ((u64)7 << 38)},
		{"\x28\xb5\x2f\xfd\x20\x05", 6, 5}, /* a single segment of 5 bytes */
		{"\x28\xb5\x2f\xfd\xa1\x99\x00\x00\x01\x00", 10, 65536}, /* with a dictionary */
		{"\x28\xb5\x2f\xfd", 4, 1024},
		{"\xfd\x37\x7a\x58\x5a\0\0\4\0\0\0\0\x02\x00\x21\x01\x16\0", 18, (u64)8 << 20},
		{"\xfd\x37\x7a\x58\x5a\0\0\4\0\0\0\0\x02\xc0\x80\x01\x05\x21\x01\x1c", 20,
		 (u64)64 << 20},
		{"\xfd\x37\x7a\x58\x5a\0\0\4\0\0\0\0\x02\x00\x21\x01\x28", 17, UINT32_MAX},
		{"\xfd\x37\x7a\x58\x5a\0\0\4\0\0\0\0\x02\x00\x21\x01\x29", 17, (u64)8 << 20},
		{"\xfd\x37\x7a\x58\x5a\0\0\4\0\0\0\0\x02\xc0\xff\xff\xff", 17, (u64)8 << 20},
		{"\xfd\x37\x7a\x58\x5a", 5, (u64)8 << 20},
		{"BZh9", 4, (u64)10 << 20},
		{"ELF", 3, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_int_equal(unpack_window((const u8 *)cases[i].bytes, cases[i].n),
				 cases[i].window);
}

TEST_MAIN(TEST(test_holes_are_kept), TEST(test_executable_comes_along),
	  TEST(test_other_files_are_left), TEST(test_two_cores), TEST(test_replacing),
	  TEST(test_sparse_files), TEST(test_no_room), TEST(test_windows))
