/* Go versions as text, and the build information blob in a process. */
#include "gort/version.h"

#include "base/cleanup.h"
#include "support/core.h"
#include "support/mkelf.h"
#include "support/test.h"
#include "support/tmp.h"

static void test_parse(void **state)
{
	static const struct {
		const char *text;
		unsigned minor, patch;
		const char *release, *experiments;
	} cases[] = {
		{"go1.15.15", 15, 15, "go1.15.15", ""},
		{"go1.19.8", 19, 8, "go1.19.8", ""},
		{"go1.20", 20, 0, "go1.20", ""},
		{"go1.21rc2", 21, 0, "go1.21rc2", ""},
		{"go1.22beta1", 22, 0, "go1.22beta1", ""},
		{"go1.24.4", 24, 4, "go1.24.4", ""},
		/* A space up to 1.25, "-" from 1.26 on. */
		{"go1.25.12 X:greenteagc", 25, 12, "go1.25.12", "greenteagc"},
		{"go1.26.11-X:nogreenteagc", 26, 11, "go1.26.11", "nogreenteagc"},
		{"go1.21.13 X:arenas,loopvar", 21, 13, "go1.21.13", "arenas,loopvar"},
		{"go1.27-X:a,nob", 27, 0, "go1.27", "a,nob"},
		/* Distributions and vendors add their own. */
		{"go1.22.12 (Red Hat 1.22.12-1.el9)", 22, 12, "go1.22.12", ""},
		{"go1.24.4-fips", 24, 4, "go1.24.4-fips", ""},
		{"go1.19.8+deb", 19, 8, "go1.19.8+deb", ""},
		{"devel go1.27-a1b2c3d4 Tue Aug 5 10:00:00 2025 +0000", 27, 0, "go1.27-a1b2c3d4",
		 ""},
		{"devel go1.23-deadbeef Mon Jan 1 X:rangefunc", 23, 0, "go1.23-deadbeef",
		 "rangefunc"},
		{"go1.999", 999, 0, "go1.999", ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct go_version v;

		if (!version_parse(cases[i].text, &v))
			fail_msg("'%s' was refused", cases[i].text);
		assert_int_equal(v.minor, cases[i].minor);
		assert_int_equal(v.patch, cases[i].patch);
		assert_string_equal(v.text, cases[i].release);
		assert_string_equal(v.experiments, cases[i].experiments);
	}
}

static void test_parse_refuses(void **state)
{
	static const char *const bad[] = {
		"",
		"go",
		"go1",
		"go1.",
		"go1.x",
		"go2.1",
		"1.22",
		"Go1.22",
		" go1.22",
		"xgo1.22",
		"devel +abc",
		"devel",
		"go1-2",
		"go1.-5",
		"go1.+22",
		"go1. 22",
		"go1.1000",
		"go10.1",
		"gccgo",
		"go1.99999",
		"go1.4294967318",
		"go1.18446744073709551638",
	};
	struct go_version v = {.minor = 77};
	char long_text[GO_VERSION_MAX + 8] = "go1.22-";

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		if (version_parse(bad[i], &v))
			fail_msg("'%s' was taken as 1.%u", bad[i], v.minor);
	memset(long_text + 7, 'x', sizeof(long_text) - 8);
	assert_false(version_parse(long_text, &v));
	assert_int_equal(v.minor, 77); /* left alone */
	long_text[GO_VERSION_MAX - 1] = '\0';
	assert_true(version_parse(long_text, &v));
}

#define TEXT_LO 0x400000
#define DATA_LO 0x500000
#define MAGIC "\xff Go buildinf:"

/* A core whose executable has a page of text (not dumped) and two of data. */
static struct mkcore *go_core(const char *path)
{
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);

	mkcore_reserve(mk, TEXT_LO, MK_PAGE, PF_R | PF_X);
	mkcore_load(mk, DATA_LO, PF_R | PF_W, "##");
	mkcore_file(mk, TEXT_LO, TEXT_LO + MK_PAGE, 0, path);
	mkcore_file(mk, DATA_LO, DATA_LO + 2 * MK_PAGE, 0x1000, path);
	mkcore_auxv(mk, AT_ENTRY, TEXT_LO + 0x100);
	return mk;
}

/* Since 1.18: the strings follow, each behind its length. */
static void poke_inline(struct mkcore *mk, va_t va, const char *version)
{
	u8 blob[128] = MAGIC;

	blob[14] = 8;
	blob[15] = 2;
	blob[32] = (u8)strlen(version);
	memcpy(blob + 33, version, strlen(version));
	mkcore_poke(mk, va, blob, sizeof(blob));
}

/* Up to 1.17: a pointer to a string header, whose bytes are constants. */
static void poke_pointers(struct mkcore *mk, va_t va, va_t header, va_t bytes, u64 len)
{
	u8 blob[32] = MAGIC;

	blob[14] = 8;
	memcpy(blob + 16, &header, sizeof(header));
	mkcore_poke(mk, va, blob, sizeof(blob));
	mkcore_poke_u64(mk, header, bytes);
	mkcore_poke_u64(mk, header + 8, len);
}

static struct err *find(struct core *c, struct mkcore *mk, const struct binary_options *opt,
			struct go_version *v)
{
	struct binary bin;
	struct err *err;

	*c = core_open(mk);
	assert_ok(binary_find(&bin, &c->im, opt, &c->d));
	err = version_find(&c->im, &bin, v);
	binary_close(&bin);
	return err;
}

static const struct binary_options no_exe = {.none = true};

static void test_find_inline(void **state)
{
	static const va_t places[] = {0, 16, 48, 4096 - 16, 8192 - 128};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(places); i++) {
		struct mkcore *mk = go_core("/srv/app");
		struct core c;
		struct go_version v;

		poke_inline(mk, DATA_LO + places[i], "go1.26.11-X:nogreenteagc");
		assert_ok(find(&c, mk, &no_exe, &v));
		assert_string_equal(v.text, "go1.26.11");
		assert_string_equal(v.experiments, "nogreenteagc");
		core_close(&c);
	}
}

static void test_find_by_pointer(void **state)
{
	struct mkcore *mk = go_core("/srv/app");
	struct core c;
	struct go_version v;

	(void)state;
	poke_pointers(mk, DATA_LO, DATA_LO + 0x100, DATA_LO + 0x1ff8, 8);
	mkcore_poke(mk, DATA_LO + 0x1ff8, "go1.15.9", 8);
	assert_ok(find(&c, mk, &no_exe, &v));
	assert_int_equal(v.minor, 15);
	assert_string_equal(v.text, "go1.15.9");
	core_close(&c);
}

/* The string's bytes are constants of the text, which is not dumped: the file has them. */
static void test_find_in_the_file(void **state)
{
	AUTO_FREE char *path = tmp_path("app");
	struct mkelf e = {.entry = TEXT_LO + 0x100,
			  .bytes = 4096,
			  .phdrs = {mkelf_load(TEXT_LO, 0, 4096, 4096, PF_R | PF_X)}};
	struct mkcore *mk = go_core(path);
	struct core c;
	struct go_version v;
	u8 file[4096];

	(void)state;
	mkelf_bytes(&e, 0, file, sizeof(file));
	memcpy(file + 0xf00, "go1.15.15", 9);
	tmp_write(path, file, sizeof(file));
	poke_pointers(mk, DATA_LO, DATA_LO + 0x100, TEXT_LO + 0xf00, 9);
	assert_ok(find(&c, mk, &(struct binary_options){0}, &v));
	assert_string_equal(v.text, "go1.15.15");
	core_close(&c);

	mk = go_core(path);
	poke_pointers(mk, DATA_LO, DATA_LO + 0x100, TEXT_LO + 0xf00, 9);
	assert_ok(find(&c, mk, &no_exe, &v));
	assert_true(v.nameless);
	assert_string_equal(v.text, "");
	core_close(&c);
}

/* The core is cut before its data: the executable's file has the initial one. */
static void test_find_in_a_cut_core(void **state)
{
	AUTO_FREE char *path = tmp_path("app_cut");
	struct mkelf e = {.go_id = "a/b",
			  .entry = TEXT_LO + 0x100,
			  .bytes = 3 * 4096,
			  .phdrs = {mkelf_load(TEXT_LO, 0, 4096, 4096, PF_R | PF_X),
				    mkelf_load(0x900000, UINT64_MAX - 8, 1, 1, PF_R),
				    mkelf_load(0x900000, 4096, UINT64_MAX, UINT64_MAX, PF_R),
				    mkelf_load(DATA_LO, 8192, 4096, 4096, PF_R | PF_W)}};
	AUTO_FREE u8 *file = xcalloc(e.bytes, 1);
	u8 page[4096];
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
	struct core c;
	struct go_version v;

	(void)state;
	mkelf_bytes(&e, 0, file, e.bytes);
	memcpy(page, file, sizeof(page));
	memcpy(file + 8192 + 64, MAGIC "\x08\x02", 16);
	memcpy(file + 8192 + 96, "\x08go1.24.1", 9);
	tmp_write(path, file, e.bytes);
	mkcore_load(mk, TEXT_LO, PF_R | PF_X, "#");
	mkcore_poke(mk, TEXT_LO, page, sizeof(page));
	mkcore_load(mk, DATA_LO, PF_R | PF_W, "#");
	mkcore_file(mk, TEXT_LO, TEXT_LO + MK_PAGE, 0, path);
	mkcore_file(mk, DATA_LO, DATA_LO + MK_PAGE, 0x2000, path);
	mkcore_auxv(mk, AT_ENTRY, TEXT_LO + 0x100);
	mkcore_write(mk);
	mkcore_truncate(mk, mkcore_offset(mk, 1));
	assert_ok(find(&c, mk, &(struct binary_options){0}, &v));
	assert_string_equal(v.text, "go1.24.1");
	assert_err(version_find(&c.im, &(struct binary){.file = -1}, &v), ERR_MISSING,
		   "no Go build information in what is left of its data");
	core_close(&c);
}

/* Blobs that are none: nothing of them is believed. */
static const struct {
	u64 off;
	u8 at, value;
	const char *version;
} bad_blobs[] = {
	{8, 0, 0xff, "go1.22.1"},      /* not aligned */
	{0, 14, 4, "go1.22.1"},        /* 32-bit */
	{0, 1, 'g', "go1.22.1"},       /* not the magic */
	{0, 15, 0, "go1.22.1"},        /* pointers, but there are none */
	{0, 32, 0, "go1.22.1"},        /* empty */
	{0, 32, 96, "go1.22.1"},       /* too long */
	{0, 32, 0xff, "go1.22.1"},     /* a length of several bytes */
	{0, 0, 0xff, "ruby 3.2"},      /* not a version of Go */
	{0, 0, 0xff, "go1.22\x1b[2J"}, /* would reach a terminal */
	{8192 - 32, 0, 0xff, ""},      /* the string is not in the core */
};

static void test_find_refuses(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad_blobs); i++) {
		struct mkcore *mk = go_core("/srv/app");
		struct core c;
		struct go_version v;

		if (bad_blobs[i].off > 4096)
			poke_pointers(mk, DATA_LO + bad_blobs[i].off, DATA_LO, UINT64_MAX - 3, 8);
		else
			poke_inline(mk, DATA_LO + bad_blobs[i].off, bad_blobs[i].version);
		mkcore_poke(mk, DATA_LO + bad_blobs[i].off + bad_blobs[i].at, &bad_blobs[i].value,
			    1);
		assert_err(find(&c, mk, &no_exe, &v), ERR_MISSING, "no Go build information");
		core_close(&c);
	}
}

/* A Go runtime in a library of a C process counts, but the executable's own comes first. */
static void test_find_in_a_library(void **state)
{
	(void)state;
	for (int own = 0; own < 2; own++) {
		struct mkcore *mk = go_core("/srv/app");
		struct core c;
		struct go_version v;

		mkcore_load(mk, 0x100000, PF_R | PF_W, "#");
		mkcore_file(mk, 0x100000, 0x101000, 0x1000, "/lib/plugin.so");
		poke_inline(mk, 0x100000, "go1.23.5");
		if (own)
			poke_inline(mk, DATA_LO, "go1.27.4");
		assert_ok(find(&c, mk, &no_exe, &v));
		assert_string_equal(v.text, own ? "go1.27.4" : "go1.23.5");
		core_close(&c);
	}
}

/* Without build info the variable that has the name will do, if there is one name. */
static void test_find_variable(void **state)
{
	static const struct {
		const char *first, *second; /* two strings among the variables */
		const char *expected;       /* NULL: none is taken */
	} cases[] = {
		{"go1.25.4", "text", "go1.25.4"},
		{"go1.25.4", "go1.25.4", "go1.25.4"},
		{"x", "go1.26.1-X:nogreenteagc", "go1.26.1"},
		{"go1.25.4", "go1.25.5", NULL}, /* which of them? */
		{"go1.", "go2.1", NULL},
		{"", "", NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct mkcore *mk = go_core("/srv/app");
		const char *const texts[] = {cases[i].first, cases[i].second};
		struct core c;
		struct go_version v;

		for (size_t k = 0; k < COUNT_OF(texts); k++) {
			va_t header = DATA_LO + 0x100 + 0x40 * k,
			     text = DATA_LO + 0x800 + 0x100 * k;

			mkcore_poke_u64(mk, header, text);
			mkcore_poke_u64(mk, header + 8, strlen(texts[k]));
			mkcore_poke(mk, text, texts[k], strlen(texts[k]) + 1);
		}
		if (cases[i].expected) {
			assert_ok(find(&c, mk, &no_exe, &v));
			assert_string_equal(v.text, cases[i].expected);
		} else {
			assert_err(find(&c, mk, &no_exe, &v), ERR_MISSING,
				   "no Go build information");
		}
		core_close(&c);
	}
}

/* Anonymous memory is not searched: a heap may hold another program's file. */
static void test_find_not_in_the_heap(void **state)
{
	struct mkcore *mk = go_core("/srv/app");
	struct core c;
	struct go_version v;

	(void)state;
	mkcore_load(mk, 0xc000000000, PF_R | PF_W, "#");
	poke_inline(mk, 0xc000000000, "go1.22.1");
	assert_err(find(&c, mk, &no_exe, &v), ERR_MISSING, "no Go build information");
	core_close(&c);
}

TEST_MAIN(TEST(test_parse), TEST(test_parse_refuses), TEST(test_find_inline),
	  TEST(test_find_by_pointer), TEST(test_find_in_the_file), TEST(test_find_in_a_cut_core),
	  TEST(test_find_refuses), TEST(test_find_in_a_library), TEST(test_find_variable),
	  TEST(test_find_not_in_the_heap))
