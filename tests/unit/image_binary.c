/* Finding the executable and proving that it is the one that was running. */
#include "image/binary.h"

#include "base/cleanup.h"
#include "support/core.h"
#include "support/mkelf.h"
#include "support/test.h"
#include "support/tmp.h"

#include <unistd.h>

#define GNU_ID "\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11"
#define GNU_HEX "0a0b0c0d0e0f1011"
#define OTHER_GNU_ID "\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8"

static const u8 gnu_id[] = GNU_ID, other_gnu_id[] = OTHER_GNU_ID;

/* Text with its header page, and data, as the Go linker lays them out. */
static struct mkelf go_exe(void)
{
	return (struct mkelf){
		.go_id = "action/content",
		.entry = 0x401234,
		.bytes = 3 * MK_PAGE,
		.phdrs = {mkelf_load(0x400000, 0, 2 * MK_PAGE, 2 * MK_PAGE, PF_R | PF_X),
			  mkelf_load(0x402000, 2 * MK_PAGE, MK_PAGE, 2 * MK_PAGE, PF_R | PF_W)},
	};
}

/* A core of a process that ran this executable, moved by bias. */
static struct mkcore *core_of(const struct mkelf *e, const char *path, va_t bias)
{
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
	u8 page[MK_PAGE];

	mkelf_bytes(e, 0, page, sizeof(page));
	mkcore_load(mk, bias + 0x400000, PF_R | PF_X, "#")->ph.p_memsz = 2 * MK_PAGE;
	mkcore_poke(mk, bias + 0x400000, page, sizeof(page));
	mkcore_load(mk, bias + 0x402000, PF_R | PF_W, "##");
	mkcore_file(mk, bias + 0x400000, bias + 0x402000, 0, path);
	mkcore_file(mk, bias + 0x402000, bias + 0x403000, 0x2000, path);
	mkcore_auxv(mk, AT_ENTRY, bias + e->entry);
	mkcore_auxv(mk, AT_PHDR, bias + 0x400040);
	return mk;
}

/* The ids of the core's executable and of the file, and what comes out. */
static const struct {
	const char *core_go, *file_go;
	const u8 *core_gnu, *file_gnu;
	enum exe_match match;
	const char *message;
} matches[] = {
	{"a/b", "a/b", NULL, NULL, EXE_GO_BUILD_ID, NULL},
	{"a/b", "a/b", gnu_id, other_gnu_id, EXE_GO_BUILD_ID, NULL},
	{NULL, NULL, gnu_id, gnu_id, EXE_GNU_BUILD_ID, NULL},
	{"a/b", NULL, gnu_id, gnu_id, EXE_GNU_BUILD_ID, NULL},
	{NULL, "a/b", gnu_id, gnu_id, EXE_GNU_BUILD_ID, NULL},
	{NULL, NULL, NULL, NULL, EXE_PATH, NULL},
	{NULL, "a/b", NULL, gnu_id, EXE_PATH, NULL},
	{"a/b", "a/c", NULL, NULL, EXE_NONE, "build id a/c, the core's executable has a/b"},
	{"a/b", "a/c", gnu_id, gnu_id, EXE_NONE, "build id a/c, the core's executable has a/b"},
	{"a/b", "a/bc", NULL, NULL, EXE_NONE, "build id a/bc, the core's executable has a/b"},
	{NULL, NULL, other_gnu_id, gnu_id, EXE_NONE,
	 "build id " GNU_HEX ", the core's executable has fffefdfcfbfaf9f8"},
	{"a/b", NULL, NULL, gnu_id, EXE_NONE,
	 "build id " GNU_HEX ", the core's executable has a/b"},
	{"a/b", NULL, NULL, NULL, EXE_NONE, "has no build id, the core's executable has a/b"},
};

static struct mkelf exe_with(const char *go, const u8 *gnu)
{
	struct mkelf e = go_exe();

	e.go_id = go;
	e.gnu_id = gnu;
	e.gnu_id_bytes = sizeof(gnu_id) - 1;
	return e;
}

static void test_given(void **state)
{
	AUTO_FREE char *path = tmp_path("given");
	const struct binary_options opt = {.given = path};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(matches); i++) {
		struct mkelf in_core = exe_with(matches[i].core_go, matches[i].core_gnu);
		struct mkelf file = exe_with(matches[i].file_go, matches[i].file_gnu);
		struct core c = core_open(core_of(&in_core, "/srv/app", 0));
		struct binary bin;
		struct err *err;

		mkelf_write(&file, path);
		err = binary_find(&bin, &c.im, &opt, &c.d);
		assert_int_equal(bin.match, matches[i].match);
		if (matches[i].message) {
			assert_err(err, ERR_USAGE, matches[i].message);
			assert_null(bin.exe.path);
		} else {
			assert_ok(err);
			assert_string_equal(bin.exe.path, path);
		}
		core_assert_diag(&c, DIAG_EXE_UNPROVED, matches[i].match == EXE_PATH, path);
		core_assert_diag(&c, DIAG_EXE_IGNORED, 0, "");
		core_assert_diag(&c, DIAG_NO_EXE, 0, "");
		binary_close(&bin);
		core_close(&c);
	}
}

/* Neither side has an id: the segments have to be mapped as the file has them. */
static void test_segments_must_fit(void **state)
{
	static const Elf64_Phdr loads[] = {
		{.p_type = PT_LOAD, .p_vaddr = 0x402000, .p_offset = 0x1000, .p_filesz = 1},
		{.p_type = PT_LOAD, .p_vaddr = 0x409000, .p_offset = 0x2000, .p_filesz = 1},
		{.p_type = PT_LOAD, .p_vaddr = 0x403000, .p_offset = 0x3000, .p_filesz = 1},
		{.p_type = PT_LOAD, .p_vaddr = 0x402000, .p_offset = 0x2000, .p_filesz = 0},
	};
	AUTO_FREE char *path = tmp_path("unfit");
	const struct binary_options opt = {.given = path};
	struct mkelf in_core = exe_with(NULL, NULL);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(loads); i++) {
		struct mkelf file = exe_with("x/y", NULL);
		struct core c = core_open(core_of(&in_core, "/srv/app", 0));
		struct binary bin;

		if (!loads[i].p_filesz) /* nothing in the file: that proves nothing */
			file.phdrs[0] = loads[i];
		file.phdrs[1] = loads[i];
		mkelf_write(&file, path);
		assert_err(binary_find(&bin, &c.im, &opt, &c.d), ERR_USAGE,
			   "has build id x/y, the core's executable has no build id");
		binary_close(&bin);
		core_close(&c);
	}
}

static void test_given_is_no_executable(void **state)
{
	AUTO_FREE char *text = tmp_path("text");
	struct mkelf e = go_exe();
	struct core c = core_open(core_of(&e, "/srv/app", 0));
	struct binary_options opt = {.given = text};
	struct binary bin;

	(void)state;
	tmp_write(text, "#!/bin/sh\nexec app\n", 19);
	assert_err(binary_find(&bin, &c.im, &opt, &c.d), ERR_USAGE, "text: not an ELF file");
	binary_close(&bin);
	opt.given = "/nowhere/app";
	assert_err(binary_find(&bin, &c.im, &opt, &c.d), ERR_USAGE,
		   "/nowhere/app: cannot be opened: No such file");
	binary_close(&bin);
	core_close(&c);
}

static void test_found_at_its_path(void **state)
{
	AUTO_FREE char *path = tmp_path("app1");
	struct mkelf e = go_exe();
	struct core c = core_open(core_of(&e, path, 0));
	struct binary bin;

	(void)state;
	mkelf_write(&e, path);
	assert_ok(binary_find(&bin, &c.im, &(struct binary_options){0}, &c.d));
	assert_int_equal(bin.match, EXE_GO_BUILD_ID);
	assert_string_equal(bin.core_path, path);
	assert_string_equal(bin.exe.path, path);
	assert_int_equal(bin.header, 0x400000);
	assert_string_equal(c.im.files.v[bin.file].path, path);
	assert_int_equal(bin.bias, 0);
	assert_false(diag_is_partial(&c.d));
	binary_close(&bin);
	core_close(&c);
}

/* The path is another machine's; beside the core lies the file. */
static void test_found_beside_the_core(void **state)
{
	AUTO_FREE char *path = tmp_path("app2");
	struct mkelf e = go_exe();
	struct core c = core_open(core_of(&e, "/nowhere/bin/app2", 0));
	struct binary bin;

	(void)state;
	mkelf_write(&e, path);
	assert_ok(binary_find(&bin, &c.im, &(struct binary_options){0}, &c.d));
	assert_int_equal(bin.match, EXE_GO_BUILD_ID);
	assert_string_equal(bin.core_path, "/nowhere/bin/app2");
	assert_string_equal(bin.exe.path, path);
	core_assert_diag(&c, DIAG_EXE_IGNORED, 0, "");
	binary_close(&bin);
	core_close(&c);
}

/* Another build stands at the path: it is named and left, and the one beside the core taken. */
static void test_other_build_at_the_path(void **state)
{
	AUTO_FREE char *dir = tmp_dir("srv");
	AUTO_FREE char *there = xasprintf("%s/app3", dir);
	AUTO_FREE char *beside = tmp_path("app3");
	struct mkelf e = go_exe(), other = go_exe();
	struct core c = core_open(core_of(&e, there, 0));
	struct binary bin;

	(void)state;
	other.go_id = "another/build";
	mkelf_write(&other, there);
	assert_ok(binary_find(&bin, &c.im, &(struct binary_options){0}, &c.d));
	assert_int_equal(bin.match, EXE_NONE);
	assert_null(bin.exe.path);
	core_assert_diag(&c, DIAG_EXE_IGNORED, 1,
			 "has build id another/build, the core's executable has action/content");
	core_assert_diag(&c, DIAG_NO_EXE, 1, "srv/app3 is another build; name the executable");
	binary_close(&bin);

	mkelf_write(&e, beside);
	assert_ok(binary_find(&bin, &c.im, &(struct binary_options){0}, &c.d));
	assert_int_equal(bin.match, EXE_GO_BUILD_ID);
	assert_string_equal(bin.exe.path, beside);
	core_assert_diag(&c, DIAG_EXE_IGNORED, 2, "another/build");
	core_assert_diag(&c, DIAG_NO_EXE, 1, "");
	binary_close(&bin);
	core_close(&c);
}

static void test_not_found(void **state)
{
	struct mkelf e = go_exe();
	struct core c = core_open(core_of(&e, "/nowhere/app4", 0));
	struct binary bin;

	(void)state;
	assert_ok(binary_find(&bin, &c.im, &(struct binary_options){0}, &c.d));
	assert_int_equal(bin.match, EXE_NONE);
	core_assert_diag(&c, DIAG_NO_EXE, 1, "/nowhere/app4 is not here");
	binary_close(&bin);
	core_close(&c);
}

static void test_none_wanted(void **state)
{
	AUTO_FREE char *path = tmp_path("app5");
	struct mkelf e = go_exe();
	struct core c = core_open(core_of(&e, path, 0));
	struct binary bin;
	Elf64_Phdr ph;

	(void)state;
	mkelf_write(&e, path);
	assert_ok(binary_find(&bin, &c.im, &(struct binary_options){.none = true}, &c.d));
	assert_int_equal(bin.match, EXE_NONE);
	core_assert_diag(&c, DIAG_NO_EXE, 1, "--no-exe");
	/* Its program headers are in the core all the same. */
	assert_int_equal(bin.header, 0x400000);
	assert_true(binary_phdr(&bin, &c.im, 1, &ph));
	assert_int_equal(ph.p_vaddr, 0x402000);
	assert_false(binary_phdr(&bin, &c.im, 3, &ph));
	assert_false(binary_phdr(&bin, &c.im, UINT64_MAX, &ph));
	binary_close(&bin);
	core_close(&c);
}

/* The bias of a position independent executable, by its entry point. */
static void test_bias(void **state)
{
	static const va_t biases[] = {0, 0x555555154000, 0x7f0000000000};
	AUTO_FREE char *path = tmp_path("pie");
	struct mkelf e = go_exe();

	(void)state;
	e.type = ET_DYN;
	mkelf_write(&e, path);
	for (size_t i = 0; i < COUNT_OF(biases); i++) {
		struct core c = core_open(core_of(&e, path, biases[i]));
		struct binary bin;

		assert_ok(binary_find(&bin, &c.im, &(struct binary_options){0}, &c.d));
		assert_int_equal(bin.match, EXE_GO_BUILD_ID);
		assert_int_equal(bin.bias, biases[i]);
		binary_close(&bin);
		assert_ok(binary_find(&bin, &c.im, &(struct binary_options){.none = true}, &c.d));
		assert_int_equal(bin.bias, biases[i]);
		binary_close(&bin);
		core_close(&c);
	}
}

/* An emulator's core: no file is named, no code is dumped, and with it no header. */
static struct mkcore *core_without_header(const struct mkelf *e, const char *constants, va_t bias)
{
	struct mkcore *mk = mkcore_new(MKCORE_GCORE);
	const Elf64_Phdr *ph = &e->phdrs[1];
	u64 bytes = strlen(constants) * MK_PAGE;
	u8 buf[8 * MK_PAGE];

	mkcore_reserve(mk, bias + 0x400000, 2 * MK_PAGE, PF_R | PF_X);
	mkelf_bytes(e, ph->p_offset, buf, bytes);
	mkcore_load(mk, bias + ph->p_vaddr, PF_R, constants)->ph.p_memsz = ph->p_memsz;
	mkcore_poke(mk, bias + ph->p_vaddr, buf, bytes);
	mkcore_auxv(mk, AT_ENTRY, bias + e->entry);
	mkcore_auxv(mk, AT_PHDR, bias + 0x400040);
	return mk;
}

static void test_constants(void **state)
{
	static const struct {
		const char *constants;
		va_t bias;
		u64 other_at; /* of a byte that differs */
		bool match;
	} cases[] = {
		{"#######", 0, 0, true},       {"#######", 0x555555154000, 0, true},
		{"####", 0, 0, true},          {"###", 0, 0, false}, /* too few to tell */
		{"#######", 0, 0x2345, false}, {"#######", 0, 0x5fff, false},
		{"#######", 0, 0x6000, true}, /* behind the file's */
	};
	AUTO_FREE char *path = tmp_path("constants");
	const struct mkelf e = {
		.go_id = "a/b",
		.type = ET_DYN,
		.entry = 0x401234,
		.bytes = 8 * MK_PAGE,
		.phdrs = {mkelf_load(0x400000, 0, 2 * MK_PAGE, 2 * MK_PAGE, PF_R | PF_X),
			  mkelf_load(0x410000, 2 * MK_PAGE, 6 * MK_PAGE, 7 * MK_PAGE, PF_R)},
	};

	(void)state;
	mkelf_write(&e, path);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct mkcore *mk = core_without_header(&e, cases[i].constants, cases[i].bias);
		struct core c;
		struct binary bin;
		struct err *err;

		if (cases[i].other_at)
			mkcore_poke(mk, 0x410000 + cases[i].other_at, "", 1);
		c = core_open(mk);
		err = binary_find(&bin, &c.im, &(struct binary_options){.given = path}, &c.d);
		if (cases[i].match) {
			assert_ok(err);
			assert_int_equal(bin.bias, cases[i].bias);
		} else {
			assert_err(err, ERR_USAGE, "the core's executable has no build id");
		}
		assert_int_equal(bin.match, cases[i].match ? EXE_PATH : EXE_NONE);
		core_assert_diag(&c, DIAG_EXE_UNPROVED, 0, "");
		binary_close(&bin);
		core_close(&c);
	}
}

/* A core whose notes are cut off does not say where its executable is; a given one that is not
 * position independent has its place. */
static void test_cut_notes(void **state)
{
	static const struct {
		const char *file_id;
		bool header_dumped;
		enum exe_match match;
	} cases[] = {
		{"a/b", true, EXE_GO_BUILD_ID}, {"a/c", true, EXE_NONE}, {"a/b", false, EXE_NONE}};
	AUTO_FREE char *path = tmp_path("cut");
	const struct binary_options opt = {.given = path};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct mkelf in_core = exe_with("a/b", NULL),
			     file = exe_with(cases[i].file_id, NULL);
		struct mkcore *mk = mkcore_new(MKCORE_GCORE);
		struct core c = {.mk = mk};
		struct binary bin;
		struct err *err;
		u8 page[MK_PAGE];

		mkelf_bytes(&in_core, 0, page, sizeof(page));
		mkelf_write(&file, path);
		mkcore_load(mk, cases[i].header_dumped ? 0x400000 : 0x600000, PF_R | PF_X, "##");
		mkcore_poke(mk, mk->loads.v[0].ph.p_vaddr, page, sizeof(page));
		mkcore_auxv(mk, AT_ENTRY, in_core.entry);
		mkcore_write(mk);
		mkcore_truncate(mk, mk->note_off);
		assert_ok(image_open(&c.im, mk->path, &c.d));
		err = binary_find(&bin, &c.im, &opt, &c.d);
		assert_int_equal(bin.match, cases[i].match);
		/* Only an id that is there can tell that it is another build. */
		if (cases[i].match == EXE_NONE && cases[i].header_dumped)
			assert_err(err, ERR_USAGE, "a/c, the core's executable has a/b");
		else
			assert_ok(err);
		core_assert_diag(&c, DIAG_NO_EXE, !cases[i].header_dumped, "no build id");
		binary_close(&bin);
		core_close(&c);
	}
}

/* A core without NT_FILE and entry point: the program headers' address leads to the header. */
static void test_bias_by_header(void **state)
{
	const va_t base = 0x555555554000;
	AUTO_FREE char *path = tmp_path("pie2");
	struct mkelf e = go_exe();
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
	u8 page[MK_PAGE];
	struct core c;
	struct binary bin;

	(void)state;
	mkelf_write(&e, path);
	mkelf_bytes(&e, 0, page, sizeof(page));
	mkcore_load(mk, base, PF_R | PF_X, "#");
	mkcore_poke(mk, base, page, sizeof(page));
	mkcore_auxv(mk, AT_PHDR, base + sizeof(Elf64_Ehdr));
	c = core_open(mk);
	assert_ok(binary_find(&bin, &c.im, &(struct binary_options){0}, &c.d));
	assert_null(bin.core_path);
	assert_int_equal(bin.file, -1);
	core_assert_diag(&c, DIAG_NO_EXE, 1, "the core does not name it");
	binary_close(&bin);
	assert_ok(binary_find(&bin, &c.im, &(struct binary_options){.given = path}, &c.d));
	assert_int_equal(bin.match, EXE_GO_BUILD_ID);
	assert_int_equal(bin.header, base);
	assert_int_equal(bin.bias, base - 0x400000);
	binary_close(&bin);
	core_close(&c);
}

/* The header page runs into the next load, or is cut: the ids are read as far as they are there. */
static void test_header_page(void **state)
{
	struct mkelf e = go_exe();
	AUTO_FREE char *path = tmp_path("app6");
	struct core c = {.mk = core_of(&e, path, 0)};
	struct binary bin;

	(void)state;
	mkelf_write(&e, path);
	mkcore_write(c.mk);
	mkcore_truncate(c.mk, mkcore_offset(c.mk, 0) + 1000); /* headers, no notes */
	assert_ok(image_open(&c.im, c.mk->path, &c.d));
	assert_ok(binary_find(&bin, &c.im, &(struct binary_options){0}, &c.d));
	assert_int_equal(bin.match, EXE_PATH);
	core_assert_diag(&c, DIAG_EXE_UNPROVED, 1, path);
	binary_close(&bin);
	core_close(&c);
}

static void test_empty_core(void **state)
{
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
	struct core c;
	struct binary bin;
	Elf64_Phdr ph;

	(void)state;
	mkcore_load(mk, 0x10000, PF_R, "#");
	c = core_open(mk);
	assert_ok(binary_find(&bin, &c.im, &(struct binary_options){0}, &c.d));
	assert_int_equal(bin.match, EXE_NONE);
	assert_int_equal(bin.header, 0);
	assert_false(binary_phdr(&bin, &c.im, 0, &ph));
	binary_close(&bin);
	core_close(&c);
}

#define LIBRARY ((va_t)0x7f1200000000)

/* A library with its header page and data. */
static struct mkelf library(const char *go_id)
{
	return (struct mkelf){
		.go_id = go_id,
		.gnu_id = gnu_id,
		.gnu_id_bytes = sizeof(gnu_id) - 1,
		.bytes = 3 * MK_PAGE,
		.phdrs = {mkelf_load(0, 0, 2 * MK_PAGE, 2 * MK_PAGE, PF_R | PF_X),
			  mkelf_load(0x4000, 2 * MK_PAGE, MK_PAGE, MK_PAGE, PF_R | PF_W)},
	};
}

static void load_library(struct mkcore *mk, const struct mkelf *e, va_t lo, const char *path)
{
	u8 page[MK_PAGE];

	mkelf_bytes(e, 0, page, sizeof(page));
	mkcore_load(mk, lo, PF_R | PF_X, "#")->ph.p_memsz = 2 * MK_PAGE;
	mkcore_poke(mk, lo, page, sizeof(page));
	mkcore_load(mk, lo + 0x4000, PF_R | PF_W, "#");
	mkcore_file(mk, lo, lo + 2 * MK_PAGE, 0, path);
	mkcore_file(mk, lo + 0x4000, lo + 0x5000, 0x2000, path);
}

/* A process with two libraries; of the second one the file exists. */
static struct core core_with_libraries(const char *exe_go, const char *go, const char *path)
{
	struct mkelf exe = exe_with(exe_go, other_gnu_id), c_library = library(NULL);
	struct mkelf go_library = library(go);
	struct mkcore *mk = core_of(&exe, "/srv/app", 0);

	load_library(mk, &c_library, LIBRARY, "/lib/libc.so");
	load_library(mk, &go_library, LIBRARY + 0x10000, path);
	mkelf_write(&go_library, path);
	return core_open(mk);
}

/* Go is in a library of a C program; a Go program's own libraries (plugins) do not matter. */
static void test_go_library(void **state)
{
	AUTO_FREE char *path = tmp_path("library.so");
	static const struct {
		const char *exe_go, *library_go;
		bool library;
	} cases[] = {{NULL, "a/b", true}, {"c/d", "a/b", false}, {NULL, NULL, false}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct core c = core_with_libraries(cases[i].exe_go, cases[i].library_go, path);
		struct binary bin;

		assert_ok(binary_find(&bin, &c.im, &(struct binary_options){0}, &c.d));
		assert_int_equal(bin.library, cases[i].library);
		if (cases[i].library) {
			assert_int_equal(bin.match, EXE_GO_BUILD_ID);
			assert_string_equal(bin.exe.path, path);
			assert_string_equal(c.im.files.v[bin.file].path, path);
			assert_int_equal(bin.header, LIBRARY + 0x10000);
			assert_int_equal(bin.bias, LIBRARY + 0x10000);
		} else {
			assert_int_equal(bin.match, EXE_NONE);
			assert_string_equal(bin.core_path, "/srv/app");
			assert_int_equal(bin.header, 0x400000);
		}
		binary_close(&bin);
		core_close(&c);
	}
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(exe_match_name(EXE_NONE), "none");
	assert_string_equal(exe_match_name(EXE_PATH), "path");
	assert_string_equal(exe_match_name(EXE_GNU_BUILD_ID), "gnu-build-id");
	assert_string_equal(exe_match_name(EXE_GO_BUILD_ID), "go-build-id");
}

TEST_MAIN(TEST(test_given), TEST(test_segments_must_fit), TEST(test_given_is_no_executable),
	  TEST(test_found_at_its_path), TEST(test_found_beside_the_core),
	  TEST(test_other_build_at_the_path), TEST(test_not_found), TEST(test_none_wanted),
	  TEST(test_bias), TEST(test_constants), TEST(test_cut_notes), TEST(test_bias_by_header),
	  TEST(test_header_page), TEST(test_empty_core), TEST(test_go_library), TEST(test_names))
