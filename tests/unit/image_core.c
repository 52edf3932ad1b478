/* Opening cores: what kind they are, what is cut off, and what is refused with which words. */
#include "image/image.h"

#include "base/cleanup.h"
#include "support/core.h"
#include "support/test.h"
#include "support/tmp.h"

#include <string.h>

static struct mkcore *small_core(enum mkcore_layout layout)
{
	struct mkcore *mk = mkcore_new(layout);

	mkcore_load(mk, 0x400000, PF_R | PF_X, "#");
	mkcore_load(mk, 0x600000, PF_R | PF_W, "#0.#");
	mkcore_reserve(mk, 0x700000, 0x100000, 0);
	mkcore_thread(mk, (struct mkcore_thread){.tid = 7, .rip = 0x400010});
	mkcore_auxv(mk, AT_PAGESZ, 4096);
	return mk;
}

/* Nothing but NO_NOTES may have been found. */
static void assert_clean(const struct diags *d)
{
	for (int code = 0; code < DIAG_COUNT; code++)
		if (d->entries[code].count && code != DIAG_NO_NOTES)
			fail_msg("%s: %s", diag_id((enum diag_code)code),
				 d->entries[code].examples[0]);
}

static void assert_kind(struct mkcore *mk, enum core_kind kind)
{
	struct core c = core_open(mk);

	assert_string_equal(core_kind_name(image_kind(&c.im)), core_kind_name(kind));
	assert_false(c.im.truncated);
	assert_clean(&c.d);
	core_close(&c);
}

static void test_kinds(void **state)
{
	struct mkcore *mk;

	(void)state;
	assert_kind(small_core(MKCORE_KERNEL), CORE_KERNEL);
	assert_kind(small_core(MKCORE_GCORE), CORE_GCORE);

	mk = small_core(MKCORE_DELVE);
	assert_kind(mk, CORE_OTHER); /* without its header note it is anybody's */
	mk = small_core(MKCORE_DELVE);
	mkcore_note(mk, "Delve Header", 0x444C5645, "linux/amd64\n1.20", 16);
	assert_kind(mk, CORE_DELVE);
	mk = small_core(MKCORE_KERNEL);
	mkcore_note(mk, "SPANSCOPE", 1, "", 0);
	assert_kind(mk, CORE_SPANSCOPE);
}

static void test_kinds_of_odd_layouts(void **state)
{
	const u64 note = sizeof(Elf64_Ehdr), load = note + sizeof(Elf64_Phdr);
	struct mkcore *mk = small_core(MKCORE_KERNEL);

	(void)state;
	mk->no_note = true;
	assert_kind(mk, CORE_OTHER);
	/* Aligned, but something lies between headers and notes. */
	mk = small_core(MKCORE_KERNEL);
	mkcore_write(mk);
	mkcore_patch(mk, note + offsetof(Elf64_Phdr, p_offset), mk->note_off + 4, 8);
	mkcore_patch(mk, note + offsetof(Elf64_Phdr, p_filesz), 0, 8);
	assert_kind(mk, CORE_OTHER);
	/* The kernel's order with an offset that it never writes. */
	mk = small_core(MKCORE_KERNEL);
	mkcore_write(mk);
	mkcore_patch(mk, load + offsetof(Elf64_Phdr, p_offset), mkcore_offset(mk, 0) + 8, 8);
	mkcore_patch(mk, load + offsetof(Elf64_Phdr, p_filesz), MK_PAGE - 8, 8);
	assert_kind(mk, CORE_OTHER);
}

/* Where in the header, what, and the answer. */
static const struct {
	u64 off, value;
	size_t width;
	enum err_code code;
	const char *message;
} bad_headers[] = {
	{0, 0, 4, ERR_FORMAT, "not an ELF file"},
	{EI_CLASS, ELFCLASS32, 1, ERR_UNSUPPORTED, "a 32-bit ELF file; only 64-bit cores are read"},
	{EI_DATA, ELFDATA2MSB, 1, ERR_UNSUPPORTED, "a big-endian ELF file"},
	{offsetof(Elf64_Ehdr, e_type), ET_EXEC, 2, ERR_FORMAT,
	 "an executable, not a core; the core is the first argument"},
	{offsetof(Elf64_Ehdr, e_type), ET_DYN, 2, ERR_FORMAT, "an executable, not a core"},
	{offsetof(Elf64_Ehdr, e_type), ET_REL, 2, ERR_FORMAT, "an ELF file, but not a core"},
	{offsetof(Elf64_Ehdr, e_machine), EM_RISCV, 2, ERR_UNSUPPORTED,
	 "a foreign architecture (ELF machine 243); those of x86-64 and AArch64 are read"},
	{offsetof(Elf64_Ehdr, e_machine), EM_386, 2, ERR_UNSUPPORTED, "a foreign architecture"},
	{offsetof(Elf64_Ehdr, e_phentsize), 32, 2, ERR_FORMAT, "a core without program headers"},
	{offsetof(Elf64_Ehdr, e_phoff), 0, 8, ERR_FORMAT, "a core without program headers"},
	{offsetof(Elf64_Ehdr, e_phoff), UINT64_MAX - 7, 8, ERR_FORMAT, "a core without memory"},
	{offsetof(Elf64_Ehdr, e_phnum), 0, 2, ERR_FORMAT, "a core without memory"},
	{offsetof(Elf64_Ehdr, e_phnum), 1, 2, ERR_FORMAT, "a core without memory"},
	{0, 0xfd2fb528, 4, ERR_FORMAT, "damaged"},
	{0, 0x00088b1f, 4, ERR_FORMAT, "damaged"},
	{0, 0x5a587a37fd, 6, ERR_FORMAT, "damaged"},
	{0, 0x184d2204, 4, ERR_FORMAT, "damaged"},
	{0, 0x39685a42, 4, ERR_FORMAT, "damaged"},
};

static void test_bad_headers(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad_headers); i++) {
		struct mkcore *mk = small_core(MKCORE_KERNEL);
		struct core c = {.mk = mk};

		mkcore_write(mk);
		mkcore_patch(mk, bad_headers[i].off, bad_headers[i].value, bad_headers[i].width);
		assert_err(image_open(&c.im, mk->path, &c.d), bad_headers[i].code,
			   bad_headers[i].message);
		core_close(&c);
	}
}

/* The message begins with the path. */
static void test_bad_files(void **state)
{
	AUTO_FREE char *text = tmp_path("notes.txt");
	AUTO_FREE char *dir = tmp_dir("dir");
	struct image im = {0};

	(void)state;
	tmp_write(text, "goroutine 1 [running]:\n", 23);
	assert_err(image_open(&im, text, NULL), ERR_FORMAT, "notes.txt: not an ELF file");
	image_close(&im);
	assert_err(image_open(&im, dir, NULL), ERR_FORMAT, "dir: is a directory");
	image_close(&im);
	assert_err(image_open(&im, "/nowhere/core", NULL), ERR_OS,
		   "/nowhere/core: cannot be opened");
	image_close(&im);
}

static void test_truncated_memory(void **state)
{
	struct mkcore *mk = small_core(MKCORE_KERNEL);
	struct core c;

	(void)state;
	mkcore_write(mk);
	mkcore_truncate(mk, mk->size - 0x2000 - 100);
	c = core_open(mk);
	assert_true(c.im.truncated);
	assert_int_equal(c.im.expected_bytes, mk->size);
	assert_int_equal(c.im.segs.v[0].lost_bytes, 0);
	assert_int_equal(c.im.segs.v[1].file_bytes, 0x2000 - 100);
	assert_int_equal(c.im.segs.v[1].lost_bytes, 0x2000 + 100);
	assert_int_equal(c.im.segs.v[2].lost_bytes, 0);
	core_assert_diag(&c, DIAG_TRUNCATED, 1, "are there");
	core_close(&c);
}

static void test_truncated_headers(void **state)
{
	struct mkcore *mk = small_core(MKCORE_KERNEL);
	struct core c;

	(void)state;
	mkcore_write(mk);
	mkcore_truncate(mk, sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr) + 20);
	c = core_open(mk);
	assert_true(c.im.truncated);
	assert_int_equal(c.im.segs.n, 1);
	assert_contains(c.d.entries[DIAG_TRUNCATED].examples[0],
			"2 of 4 program headers are missing");
	core_assert_diag(&c, DIAG_NOTE, 0, ""); /* said already */
	core_close(&c);
}

/* Refused with words, or opened as truncated; and no byte is read that is not there. */
static void open_truncated(const struct mkcore *mk)
{
	struct image im = {0};
	struct diags d = {0};
	struct err *err = image_open(&im, mk->path, &d);

	if (err) {
		assert_err(err, ERR_FORMAT, mk->path);
	} else {
		assert_true(im.truncated);
		assert_true(diag_is_partial(&d));
		assert_ok(residency_build(&im, &d));
	}
	image_close(&im);
	diags_fini(&d);
}

static void test_truncated_anywhere(void **state)
{
	static const enum mkcore_layout layouts[] = {MKCORE_KERNEL, MKCORE_GCORE, MKCORE_DELVE};

	(void)state;
	for (size_t l = 0; l < COUNT_OF(layouts); l++) {
		struct mkcore *mk = small_core(layouts[l]);
		u64 bytes;

		mkcore_write(mk);
		for (bytes = mk->size - 1; bytes > 1600; bytes -= MIN(bytes, 509)) {
			mkcore_truncate(mk, bytes);
			open_truncated(mk);
		}
		for (; bytes > 0; bytes--) {
			mkcore_truncate(mk, bytes);
			open_truncated(mk);
		}
		mkcore_free(mk);
	}
}

static void test_extended_numbering(void **state)
{
	const u64 count = 70000;
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
	struct core c;

	(void)state;
	for (u64 i = 0; i < count; i++)
		mkcore_reserve(mk, 0x100000 + i * 0x2000, 0x1000, PF_R);
	mkcore_load(mk, 0x100000 + count * 0x2000, PF_R, "#");
	c = core_open(mk);
	assert_int_equal(mk->eh.e_phnum, PN_XNUM);
	assert_int_equal(c.im.segs.n, count + 1);
	assert_int_equal(c.im.vmas.n, count + 1);
	assert_int_equal(c.im.segs.v[count].file_bytes, 0x1000);
	assert_int_equal(c.im.kind, CORE_KERNEL);
	assert_false(c.im.truncated);
	assert_clean(&c.d);
	core_close(&c);
}

static void test_extended_numbering_of_few(void **state)
{
	struct mkcore *mk = small_core(MKCORE_KERNEL);

	(void)state;
	mk->xnum = true;
	assert_kind(mk, CORE_KERNEL);
}

/* The number of headers stands at the file's end. Where it is cut off the kernel's layout tells it
 * all the same; of another layout, loads may be missing. */
static void test_extended_numbering_cut(void **state)
{
	static const struct {
		enum mkcore_layout layout;
		enum core_kind kind;
		u64 loads;
	} cases[] = {
		{MKCORE_KERNEL, CORE_KERNEL, PN_XNUM + 1},
		{MKCORE_GCORE, CORE_GCORE, PN_XNUM - 1},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct mkcore *mk = mkcore_new(cases[i].layout);
		struct core c;

		mkcore_load(mk, 0x10000, PF_R, "#");
		for (u64 k = 0; k < PN_XNUM; k++)
			mkcore_reserve(mk, 0x100000 + k * 0x2000, 0x1000, PF_R);
		mkcore_write(mk);
		mkcore_truncate(mk, mk->size - 1);
		c = core_open(mk);
		assert_int_equal(c.im.segs.n, cases[i].loads);
		assert_int_equal(c.im.kind, cases[i].kind);
		assert_true(c.im.truncated);
		core_assert_diag(&c, DIAG_TRUNCATED, 1, "are there");
		core_close(&c);
	}
}

/* A number that the file cannot hold ends with the file. */
static void test_number_out_of_bounds(void **state)
{
	struct mkcore *mk = small_core(MKCORE_GCORE);
	struct core c;

	(void)state;
	mk->xnum = true;
	mkcore_write(mk);
	mkcore_patch(mk, mk->eh.e_shoff + offsetof(Elf64_Shdr, sh_info), UINT32_MAX, 4);
	c = core_open(mk);
	assert_true(c.im.truncated);
	assert_true(c.d.entries[DIAG_TRUNCATED].count > 0);
	core_close(&c);
}

TEST_MAIN(TEST(test_kinds), TEST(test_kinds_of_odd_layouts), TEST(test_bad_headers),
	  TEST(test_bad_files), TEST(test_truncated_memory), TEST(test_truncated_headers),
	  TEST(test_truncated_anywhere), TEST(test_extended_numbering),
	  TEST(test_extended_numbering_of_few), TEST(test_extended_numbering_cut),
	  TEST(test_number_out_of_bounds))
