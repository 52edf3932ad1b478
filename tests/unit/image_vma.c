/* The mapping table: loads cut at the borders of mapped files, and files without a load. */
#include "image/image.h"

#include "support/core.h"
#include "support/mkelf.h"
#include "support/test.h"

static size_t put_vma(char *out, size_t room, const struct vma *v)
{
	static const char *const kinds[] = {
		[VMA_ANON] = "anon",         [VMA_FILE] = "file", [VMA_SHM] = "shm",
		[VMA_STACK] = "stack",       [VMA_VDSO] = "vdso", [VMA_VVAR] = "vvar",
		[VMA_VSYSCALL] = "vsyscall",
	};
	char perm[4] = {v->perm & PERM_R ? 'r' : '-', v->perm & PERM_W ? 'w' : '-',
			v->perm & PERM_X ? 'x' : '-', 0};
	char file[40] = "";

	if (v->file >= 0)
		snprintf(file, sizeof(file), " f%d+%llx", v->file, (unsigned long long)v->offset);
	return (size_t)snprintf(out, room, "%llx-%llx %s%s %s%s\n", (unsigned long long)v->lo,
				(unsigned long long)v->hi, v->perm_known ? perm : "?",
				v->in_core ? "" : "!", kinds[v->kind], file);
}

/* One line a mapping: range, permissions ("?" unknown, "!" without a load), kind, file+offset. */
static void assert_vmas(const struct image *im, const char *expected)
{
	char text[2048] = "";
	size_t n = 0;

	for (size_t i = 0; i < im->vmas.n; i++)
		n += put_vma(text + n, sizeof(text) - n, &im->vmas.v[i]);
	assert_string_equal(text, expected);
}

static void test_merge(void **state)
{
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
	struct core c;

	(void)state;
	mkcore_load(mk, 0x10000, PF_R | PF_X, "####"); /* exactly a file */
	mkcore_file(mk, 0x10000, 0x14000, 0, "/a");
	mkcore_load(mk, 0x20000, PF_R | PF_W, "####"); /* a file in its middle */
	mkcore_file(mk, 0x21000, 0x23000, 0x7000, "/b");
	mkcore_load(mk, 0x31000, PF_R, "#"); /* the middle of a file */
	mkcore_file(mk, 0x30000, 0x33000, 0x2000, "/c");
	mkcore_file(mk, 0x40000, 0x41000, 0, "/d"); /* no load at all */
	mkcore_load(mk, 0x51000, PF_W, "##");       /* the end of one, the beginning of another */
	mkcore_file(mk, 0x50000, 0x52000, 0, "/e");
	mkcore_file(mk, 0x52000, 0x54000, 0x1000, "/f");
	c = core_open(mk);
	assert_vmas(&c.im, "10000-14000 r-x file f0+0\n"
			   "20000-21000 rw- anon\n"
			   "21000-23000 rw- file f1+7000\n"
			   "23000-24000 rw- anon\n"
			   "30000-31000 ?! file f2+2000\n"
			   "31000-32000 r-- file f2+3000\n"
			   "32000-33000 ?! file f2+4000\n"
			   "40000-41000 ?! file f3+0\n"
			   "50000-51000 ?! file f4+0\n"
			   "51000-52000 -w- file f4+1000\n"
			   "52000-53000 -w- file f5+1000\n"
			   "53000-54000 ?! file f5+2000\n");
	assert_true(c.im.files.v[0].code);
	assert_false(c.im.files.v[1].code);
	core_close(&c);
}

/* Overlapping entries: the first one counts, the rest keeps its own offsets. */
static void test_overlapping_entries(void **state)
{
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
	struct core c;

	(void)state;
	mkcore_load(mk, 0x50000, PF_R, "#");
	mkcore_file(mk, 0x12000, 0x16000, 0x5000, "/b");
	mkcore_file(mk, 0x10000, 0x14000, 0, "/a");
	mkcore_file(mk, 0x11000, 0x12000, 0, "/inside");
	c = core_open(mk);
	assert_vmas(&c.im, "10000-14000 ?! file f1+0\n"
			   "14000-16000 ?! file f0+7000\n"
			   "50000-51000 r-- anon\n");
	core_close(&c);
}

/* Every byte of loads and entries is in exactly one mapping, whatever their borders. */
static void test_merge_of_anything(void **state)
{
	u64 seed = 11;

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
		u8 covered[64] = {0}, seen[64] = {0};
		struct core c;

		for (int i = 0; i < 12; i++) {
			u64 lo = test_random(&seed) % 60, n = 1 + test_random(&seed) % 4;

			for (u64 p = lo; p < lo + n; p++)
				covered[p] = 1;
			if (i < 6)
				mkcore_reserve(mk, 0x100000 + lo * MK_PAGE, n * MK_PAGE, PF_R);
			else
				mkcore_file(mk, 0x100000 + lo * MK_PAGE,
					    0x100000 + (lo + n) * MK_PAGE, 0, "/f");
		}
		c = core_open(mk);
		for (size_t i = 0; i < c.im.vmas.n; i++) {
			const struct vma *v = &c.im.vmas.v[i];

			assert_true(v->lo < v->hi);
			assert_true(i == 0 || c.im.vmas.v[i - 1].hi <= v->lo);
			assert_int_equal(v->in_core, image_segment(&c.im, v->lo) != NULL);
			for (va_t va = v->lo; va < v->hi; va += MK_PAGE)
				seen[(va - 0x100000) / MK_PAGE] = 1;
		}
		assert_memory_equal(covered, seen, sizeof(seen));
		core_close(&c);
	}
}

static void test_special_mappings(void **state)
{
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
	struct core c;

	(void)state;
	mkcore_load(mk, 0x7ffe0000, PF_R | PF_W, "#");
	mkcore_load(mk, 0x7fff0000, PF_R, ".");
	mkcore_load(mk, 0x7fff1000, PF_R, "....");
	mkcore_load(mk, 0x7fff5000, PF_R | PF_X, "##");
	mkcore_load(mk, 0xffffffffff600000, PF_X, "0");
	mkcore_auxv(mk, AT_SYSINFO_EHDR, 0x7fff5000);
	mkcore_auxv(mk, AT_RANDOM, 0x7ffe0019);
	c = core_open(mk);
	assert_vmas(&c.im, "7ffe0000-7ffe1000 rw- stack\n"
			   "7fff0000-7fff1000 r-- vvar\n"
			   "7fff1000-7fff5000 r-- vvar\n"
			   "7fff5000-7fff7000 r-x vdso\n"
			   "ffffffffff600000-ffffffffff601000 --x vsyscall\n");
	core_close(&c);
}

/* Neighbours of the vdso that are not the kernel's: another permission, too large, a gap, a file.
 */
static void test_no_vvar(void **state)
{
	static const struct {
		u64 bytes, gap;
		u32 flags;
		bool file;
	} cases[] = {
		{0x1000, 0, PF_R | PF_W, false},
		{0x11000, 0, PF_R, false},
		{0x1000, 0x1000, PF_R, false},
		{0x1000, 0, PF_R, true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
		va_t vdso = 0x7fff0000, lo = vdso - cases[i].gap - cases[i].bytes;
		struct core c;

		mkcore_reserve(mk, lo, cases[i].bytes, cases[i].flags);
		mkcore_load(mk, vdso, PF_R | PF_X, "#");
		mkcore_auxv(mk, AT_SYSINFO_EHDR, vdso);
		if (cases[i].file)
			mkcore_file(mk, lo, lo + cases[i].bytes, 0, "/f");
		c = core_open(mk);
		assert_int_equal(c.im.vmas.n, 2);
		assert_int_equal(c.im.vmas.v[0].kind, cases[i].file ? VMA_FILE : VMA_ANON);
		assert_int_equal(c.im.vmas.v[1].kind, VMA_VDSO);
		core_close(&c);
	}
}

static void test_stack_by_execfn_first(void **state)
{
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
	struct core c;

	(void)state;
	mkcore_load(mk, 0x10000, PF_R | PF_W, "#");
	mkcore_load(mk, 0x20000, PF_R | PF_W, "#");
	mkcore_auxv(mk, AT_EXECFN, 0x20ff0);
	mkcore_auxv(mk, AT_RANDOM, 0x10010);
	c = core_open(mk);
	assert_vmas(&c.im, "10000-11000 rw- anon\n"
			   "20000-21000 rw- stack\n");
	core_close(&c);
}

/* Without a vector nothing is a stack, not even what lies at address 0. */
static void test_no_auxv(void **state)
{
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
	struct core c;

	(void)state;
	mkcore_load(mk, 0, PF_R | PF_W, "#");
	mkcore_load(mk, 0x10000, PF_R | PF_W, "#");
	c = core_open(mk);
	assert_vmas(&c.im, "0-1000 rw- anon\n"
			   "10000-11000 rw- anon\n");
	core_close(&c);
}

/* A vector that points into files or nowhere names no special mapping. */
static void test_auxv_into_files(void **state)
{
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
	struct core c;

	(void)state;
	mkcore_load(mk, 0x10000, PF_R | PF_X, "#");
	mkcore_file(mk, 0x10000, 0x11000, 0x1000, "/a");
	mkcore_auxv(mk, AT_SYSINFO_EHDR, 0x10000);
	mkcore_auxv(mk, AT_EXECFN, 0x99000);
	c = core_open(mk);
	assert_vmas(&c.im, "10000-11000 r-x file f0+1000\n");
	core_close(&c);
}

/* gdb writes memory without access as readable: r-- of anonymous memory may be either. */
static void test_permissions_of_gcore(void **state)
{
	struct mkcore *mk = mkcore_new(MKCORE_GCORE);
	struct core c;

	(void)state;
	mkcore_load(mk, 0x10000, PF_R, "0");
	mkcore_load(mk, 0x20000, PF_R | PF_W, "#");
	mkcore_load(mk, 0x30000, PF_R, "#");
	mkcore_file(mk, 0x30000, 0x31000, 0x1000, "/a");
	mkcore_thread(mk, (struct mkcore_thread){.tid = 1});
	c = core_open(mk);
	assert_int_equal(c.im.kind, CORE_GCORE);
	assert_vmas(&c.im, "10000-11000 ? anon\n"
			   "20000-21000 rw- anon\n"
			   "30000-31000 r-- file f0+1000\n");
	core_close(&c);
}

/* A library whose code is not in the core is known by its header page. */
static void test_code_files(void **state)
{
	struct mkcore *mk = mkcore_new(MKCORE_GCORE);
	struct core c;

	(void)state;
	mkcore_load(mk, 0x10000, PF_R, "#");
	mkcore_poke(mk, 0x10000, ELFMAG, SELFMAG);
	mkcore_file(mk, 0x10000, 0x11000, 0, "/lib/x.so");
	mkcore_load(mk, 0x20000, PF_R, "#");
	mkcore_file(mk, 0x20000, 0x21000, 0, "/data");
	mkcore_load(mk, 0x30000, PF_R, "#");
	mkcore_poke(mk, 0x30000, ELFMAG, SELFMAG);
	mkcore_file(mk, 0x30000, 0x31000, 0x1000, "/not/its/header");
	mkcore_file(mk, 0x40000, 0x41000, 0, "/not/dumped");
	mkcore_load(mk, 0x50000, PF_R, "#");
	mkcore_poke(mk, 0x50000, ELFMAG, SELFMAG);
	mkcore_file(mk, 0x50000, 0x51000, 0, "/memfd:elf");
	c = core_open(mk);
	assert_true(c.im.files.v[0].code);
	for (size_t i = 1; i < c.im.files.n; i++)
		assert_false(c.im.files.v[i].code);
	core_close(&c);
}

/* dlv names no file: the executable's own headers say what is mapped of it. */
static struct mkcore *delve_core(void)
{
	static const struct mkelf program = {
		.entry = 0x400100,
		.bytes = 0x4000,
		.phdrs = {{.p_type = PT_LOAD,
			   .p_vaddr = 0x400000,
			   .p_filesz = 0x1800,
			   .p_memsz = 0x1800},
			  {.p_type = PT_LOAD,
			   .p_offset = 0x2010,
			   .p_vaddr = 0x402010,
			   .p_filesz = 0x800,
			   .p_memsz = 0x2800}},
	};
	struct mkcore *mk = mkcore_new(MKCORE_DELVE);
	u8 header[MK_PAGE];

	mkelf_bytes(&program, 0, header, sizeof(header));
	mkcore_load(mk, 0x500000, PF_R | PF_X, "##");
	mkcore_poke(mk, 0x500000, header, sizeof(header));
	mkcore_load(mk, 0x502000, PF_R | PF_W, "###");
	mkcore_note(mk, "Delve Header", 0x444c5645, "x", 1);
	mkcore_auxv(mk, AT_PHDR, 0x500000 + sizeof(Elf64_Ehdr));
	mkcore_auxv(mk, AT_ENTRY, 0x500100);
	return mk;
}

static void test_executable_of_delve(void **state)
{
	struct mkcore *mk = delve_core();
	struct core c = core_open(mk);

	(void)state;
	assert_vmas(&c.im, "500000-502000 r-x file f0+0\n"
			   "502000-503000 rw- file f0+2000\n"
			   "503000-505000 rw- anon\n");
	assert_string_equal(c.im.files.v[0].path, "[executable]");
	assert_true(c.im.files.v[0].unnamed);
	core_close(&c);

	mk = delve_core();
	mkcore_file(mk, 0x500000, 0x502000, 0, "/bin/app"); /* a name counts more */
	c = core_open(mk);
	assert_string_equal(c.im.files.v[0].path, "/bin/app");
	assert_int_equal(c.im.files.n, 1);
	core_close(&c);

	mk = delve_core();
	mkcore_poke_u64(mk, 0x500000, 0); /* no header */
	c = core_open(mk);
	assert_int_equal(c.im.files.n, 0);
	core_close(&c);
}

TEST_MAIN(TEST(test_executable_of_delve), TEST(test_merge), TEST(test_overlapping_entries),
	  TEST(test_merge_of_anything), TEST(test_special_mappings), TEST(test_no_vvar),
	  TEST(test_stack_by_execfn_first), TEST(test_no_auxv), TEST(test_auxv_into_files),
	  TEST(test_permissions_of_gcore), TEST(test_code_files))
