/* Threads, auxiliary vector and mapped files out of the notes. */
#include "image/image.h"

#include "support/core.h"
#include "support/test.h"

static struct mkcore *core_with_memory(enum mkcore_layout layout)
{
	struct mkcore *mk = mkcore_new(layout);

	mkcore_load(mk, 0x10000, PF_R | PF_W, "#");
	return mk;
}

static void test_threads(void **state)
{
	static const enum mkcore_layout layouts[] = {MKCORE_KERNEL, MKCORE_GCORE, MKCORE_DELVE};

	(void)state;
	for (size_t l = 0; l < COUNT_OF(layouts) * ARCH_COUNT; l++) {
		struct mkcore *mk = core_with_memory(layouts[l / ARCH_COUNT]);
		struct core c;

		mk->arch = arch_get((enum arch_id)(l % ARCH_COUNT));
		for (u32 i = 1; i <= 3; i++)
			mkcore_thread(mk, (struct mkcore_thread){.tid = 100 * i,
								 .rip = 0x401000 + i,
								 .rsp = 0x7ffc0000 + i,
								 .rbp = 0x7ffd0000 + i,
								 .fs_base = 0x7f000000 + i});
		c = core_open(mk);
		assert_true(c.im.has_notes);
		assert_int_equal(c.im.threads.n, 3);
		for (u32 i = 1; i <= 3; i++) {
			const struct thread *t = &c.im.threads.v[i - 1];

			assert_int_equal(t->tid, 100 * i);
			assert_int_equal(t->pc, 0x401000 + i);
			assert_int_equal(t->sp, 0x7ffc0000 + i);
			assert_int_equal(t->fp, 0x7ffd0000 + i);
			assert_int_equal(t->tls, 0x7f000000 + i);
		}
		core_close(&c);
	}
}

static void test_short_thread_note(void **state)
{
	u8 desc[335] = {0};
	struct mkcore *mk = core_with_memory(MKCORE_KERNEL);
	struct core c;

	(void)state;
	mkcore_note(mk, "CORE", NT_PRSTATUS, desc, sizeof(desc));
	mkcore_thread(mk, (struct mkcore_thread){.tid = 5});
	c = core_open(mk);
	assert_int_equal(c.im.threads.n, 1);
	assert_int_equal(c.im.threads.v[0].tid, 5);
	core_assert_diag(&c, DIAG_NOTE, 1, "status note has only 335 bytes");
	core_close(&c);
}

static void test_auxv(void **state)
{
	struct mkcore *mk = core_with_memory(MKCORE_KERNEL);
	struct core c;

	(void)state;
	mkcore_auxv(mk, AT_ENTRY, 0x401000);
	mkcore_auxv(mk, AT_PHDR, 0x400040);
	mkcore_auxv(mk, AT_SYSINFO_EHDR, 0x7fff0000);
	mkcore_auxv(mk, AT_RANDOM, 0x7ffe0019);
	mkcore_auxv(mk, AT_EXECFN, 0x7ffe0fe0);
	mkcore_auxv(mk, AT_PAGESZ, 16384);
	c = core_open(mk);
	assert_int_equal(c.im.auxv.entry, 0x401000);
	assert_int_equal(c.im.auxv.phdr, 0x400040);
	assert_int_equal(c.im.auxv.vdso, 0x7fff0000);
	assert_int_equal(c.im.auxv.random, 0x7ffe0019);
	assert_int_equal(c.im.auxv.execfn, 0x7ffe0fe0);
	assert_int_equal(c.im.auxv.page_size, 16384);
	core_close(&c);
}

/* A page size that cannot be one is not taken. */
static void test_page_size(void **state)
{
	static const u64 bad[] = {0, 1, 2048, 4095, 12288, 131072, UINT64_MAX};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct mkcore *mk = core_with_memory(MKCORE_KERNEL);
		struct core c;

		mkcore_auxv(mk, AT_PAGESZ, bad[i]);
		c = core_open(mk);
		assert_int_equal(c.im.auxv.page_size, 4096);
		core_close(&c);
	}
}

static const struct mapped_file *file_of(const struct image *im, va_t va)
{
	const struct vma *v = image_vma(im, va);

	assert_non_null(v);
	assert_true(v->file >= 0);
	return &im->files.v[v->file];
}

static void test_files(void **state)
{
	struct mkcore *mk = core_with_memory(MKCORE_KERNEL);
	const struct mapped_file *app, *gone;
	struct core c;

	(void)state;
	mkcore_file(mk, 0x400000, 0x401000, 0, "/bin/app");
	mkcore_file(mk, 0x401000, 0x403000, 0x1000, "/bin/app");
	mkcore_file(mk, 0x500000, 0x501000, 0, "/lib/x.so (deleted)");
	mkcore_file(mk, 0x501000, 0x502000, 0, "/lib/x.so");
	mkcore_file(mk, 0x600000, 0x601000, 0, "/tmp/a (deleted) file");
	mkcore_file(mk, 0x700000, 0x701000, 0, "");
	c = core_open(mk);
	assert_int_equal(c.im.files.n, 5);
	app = file_of(&c.im, 0x400000);
	assert_string_equal(app->path, "/bin/app");
	assert_ptr_equal(app, file_of(&c.im, 0x402fff));
	assert_int_equal(image_vma(&c.im, 0x402fff)->offset, 0x1000);
	gone = file_of(&c.im, 0x500000);
	assert_string_equal(gone->path, "/lib/x.so");
	assert_true(gone->deleted);
	assert_false(file_of(&c.im, 0x501000)->deleted);
	assert_string_equal(file_of(&c.im, 0x600000)->path, "/tmp/a (deleted) file");
	assert_string_equal(file_of(&c.im, 0x700000)->path, "");
	core_assert_diag(&c, DIAG_NOTE, 0, "");
	core_close(&c);
}

static void test_offsets_have_a_unit(void **state)
{
	struct mkcore *mk = core_with_memory(MKCORE_KERNEL);
	struct core c;

	(void)state;
	mk->file_unit = 1; /* gdb and delve count in bytes */
	mkcore_file(mk, 0x400000, 0x401000, 0x5000, "/bin/app");
	c = core_open(mk);
	assert_int_equal(image_vma(&c.im, 0x400000)->offset, 0x5000);
	core_close(&c);
}

static void test_shared_memory_is_no_file(void **state)
{
	static const struct {
		const char *path;
		bool shm;
	} cases[] = {
		{"/dev/zero (deleted)", true}, {"/memfd:jit (deleted)", true},
		{"/dev/shm/ring", true},       {"/SYSV00000000 (deleted)", true},
		{"/dev/shmoo", false},         {"/tmp/memfd:x", false},
		{"/devices", false},           {"/srv/SYSV", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct mkcore *mk = core_with_memory(MKCORE_KERNEL);
		struct core c;

		mkcore_file(mk, 0x400000, 0x401000, 0, cases[i].path);
		c = core_open(mk);
		assert_int_equal(file_of(&c.im, 0x400000)->shm, cases[i].shm);
		assert_int_equal(image_vma(&c.im, 0x400000)->kind,
				 cases[i].shm ? VMA_SHM : VMA_FILE);
		core_close(&c);
	}
}

#define DAMAGED "the note of mapped files is damaged"

/* NT_FILE notes whose sizes lie: count, unit, one entry, and names. */
static const struct {
	u64 words[5];
	size_t bytes; /* of the note; the rest is "/a" and what follows */
	size_t entries;
	const char *message;
} bad_files[] = {
	{{1, 4096, 0x400000, 0x401000, 0}, 43, 1, NULL},
	{{1, 4096, 0x400000, 0x401000, 0}, 42, 1, NULL}, /* no NUL behind the name */
	{{1, 4096, 0x400000, 0x401000, 0}, 40, 0, DAMAGED " at entry 0"},
	{{2, 4096, 0x400000, 0x401000, 0}, 43, 0, DAMAGED},
	{{UINT64_MAX, 4096, 0x400000, 0x401000, 0}, 43, 0, DAMAGED},
	{{UINT64_MAX / 24 + 1, 4096, 0x400000, 0x401000, 0}, 43, 0, DAMAGED},
	{{1, 0, 0x400000, 0x401000, 0}, 43, 0, DAMAGED},
	{{1, 131072, 0x400000, 0x401000, 0}, 43, 0, DAMAGED},
	{{1, 4096, 0x400000, 0x400000, 0}, 43, 0, DAMAGED " at entry 0"},
	{{1, 4096, 0x401000, 0x400000, 0}, 43, 0, DAMAGED " at entry 0"},
	{{1, 4096, 0x400000, 0x401000, UINT64_MAX / 4095}, 43, 0, DAMAGED " at entry 0"},
	{{0, 4096, 0, 0, 0}, 16, 0, NULL},
	{{0, 4096, 0, 0, 0}, 15, 0, NULL},
	{{0, 4096, 0, 0, 0}, 0, 0, NULL},
};

static void test_damaged_files(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad_files); i++) {
		struct mkcore *mk = core_with_memory(MKCORE_KERNEL);
		u8 desc[48] = {0};
		struct core c;

		memcpy(desc, bad_files[i].words, 40);
		memcpy(desc + 40, "/a\0bcd", 6);
		mkcore_note(mk, "CORE", NT_FILE, desc, bad_files[i].bytes);
		c = core_open(mk);
		assert_int_equal(c.im.files.n, bad_files[i].entries);
		assert_int_equal(c.im.vmas.n, 1 + bad_files[i].entries);
		assert_int_equal(c.d.entries[DIAG_NOTE].count, bad_files[i].message != NULL);
		if (bad_files[i].message)
			assert_string_equal(c.d.entries[DIAG_NOTE].examples[0],
					    bad_files[i].message);
		else if (bad_files[i].entries)
			assert_string_equal(c.im.files.v[0].path, "/a");
		core_close(&c);
	}
}

/* The same number means something else under another owner. */
static void test_foreign_owners(void **state)
{
	static const char *const owners[] = {"LINUX", "COR", "CORES", "core", "GDB"};
	u8 status[336] = {0};
	struct mkcore *mk = core_with_memory(MKCORE_KERNEL);
	struct core c;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(owners); i++) {
		mkcore_note(mk, owners[i], NT_PRSTATUS, status, sizeof(status));
		mkcore_note(mk, owners[i], NT_FILE, status, 3);
	}
	mkcore_note(mk, "CORE", 0x12345, status, 8); /* a type that is not known */
	c = core_open(mk);
	assert_int_equal(c.im.threads.n, 0);
	assert_true(c.im.has_notes);
	core_assert_diag(&c, DIAG_NOTE, 0, "");
	core_close(&c);
}

/* The thread pointer of an arm64 thread is in a note behind the thread's own. */
static void test_arm64_thread_pointer(void **state)
{
	static const u64 tls = 0x123456789000;
	struct mkcore *mk = core_with_memory(MKCORE_KERNEL);
	struct core c;

	(void)state;
	mk->arch = arch_get(ARCH_ARM64);
	mkcore_note(mk, "LINUX", NT_ARM_TLS, &tls, sizeof(tls)); /* of no thread */
	mkcore_thread(mk, (struct mkcore_thread){.tid = 1, .fs_base = 7});
	mkcore_note(mk, "CORE", NT_ARM_TLS, &tls, sizeof(tls)); /* another's number */
	mkcore_thread(mk, (struct mkcore_thread){.tid = 2});
	mkcore_note(mk, "LINUX", NT_ARM_TLS, &tls, sizeof(tls) - 1);
	mkcore_thread(mk, (struct mkcore_thread){.tid = 3});
	mkcore_note(mk, "LINUX", NT_ARM_TLS, &tls, sizeof(tls));
	c = core_open(mk);
	assert_int_equal(c.im.threads.n, 3);
	assert_int_equal(c.im.threads.v[0].tls, 7);
	assert_int_equal(c.im.threads.v[1].tls, 0);
	assert_int_equal(c.im.threads.v[2].tls, tls);
	core_close(&c);
}

/* qemu's core is laid out as the kernel's, but has no note of the signal. */
static void test_emulator(void **state)
{
	static const struct {
		u32 first, second;
		enum core_kind kind;
	} cases[] = {
		{NT_PRPSINFO, NT_AUXV, CORE_OTHER},
		{NT_PRPSINFO, NT_SIGINFO, CORE_KERNEL},
		{NT_PRSTATUS, NT_AUXV, CORE_KERNEL},
	};
	static const u8 zeros[400];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct mkcore *mk = core_with_memory(MKCORE_KERNEL);
		struct core c;

		mkcore_note(mk, "CORE", cases[i].first, zeros, sizeof(zeros));
		mkcore_note(mk, "CORE", cases[i].second, zeros, 16);
		mkcore_auxv(mk, AT_PAGESZ, 4096);
		c = core_open(mk);
		assert_int_equal(c.im.kind, cases[i].kind);
		core_close(&c);
	}
}

static void test_damaged_note_list(void **state)
{
	static const Elf64_Nhdr endless = {.n_namesz = 4, .n_descsz = 1u << 30, .n_type = 1};
	struct mkcore *mk = core_with_memory(MKCORE_KERNEL);
	struct core c;

	(void)state;
	mkcore_thread(mk, (struct mkcore_thread){.tid = 1});
	mkcore_raw_note(mk, &endless, sizeof(endless));
	mkcore_thread(mk, (struct mkcore_thread){.tid = 2});
	c = core_open(mk);
	assert_int_equal(c.im.threads.n, 1);
	assert_int_equal(c.im.threads.v[0].tid, 1);
	core_assert_diag(&c, DIAG_NOTE, 1, "a note at file offset ");
	assert_true(diag_is_partial(&c.d));
	core_close(&c);
}

static void assert_no_notes(struct mkcore *mk)
{
	struct core c = core_open(mk);

	assert_false(c.im.has_notes);
	assert_int_equal(c.im.threads.n, 0);
	assert_int_equal(c.im.auxv.page_size, 4096);
	assert_int_equal(c.d.entries[DIAG_NO_NOTES].count, 1);
	assert_false(diag_is_partial(&c.d));
	core_close(&c);
}

static void test_no_notes(void **state)
{
	struct mkcore *mk = core_with_memory(MKCORE_KERNEL);

	(void)state;
	assert_no_notes(mk); /* an empty note segment */
	mk = core_with_memory(MKCORE_KERNEL);
	mk->no_note = true;
	assert_no_notes(mk);
}

/* More note segments than are read, and some that lie outside the file. */
static void test_many_note_segments(void **state)
{
	struct mkcore *mk = core_with_memory(MKCORE_KERNEL);
	struct core c;

	(void)state;
	mkcore_thread(mk, (struct mkcore_thread){.tid = 1});
	for (u64 i = 0; i < 30; i++)
		mkcore_phdr(mk, (Elf64_Phdr){.p_type = PT_NOTE,
					     .p_offset = i % 2 ? 1u << 20 : UINT64_MAX - 8,
					     .p_filesz = i % 3 ? 64 : UINT64_MAX});
	c = core_open(mk);
	assert_int_equal(c.im.threads.n, 1);
	assert_true(c.im.truncated);
	core_close(&c);
}

TEST_MAIN(TEST(test_threads), TEST(test_short_thread_note), TEST(test_auxv), TEST(test_page_size),
	  TEST(test_files), TEST(test_offsets_have_a_unit), TEST(test_shared_memory_is_no_file),
	  TEST(test_damaged_files), TEST(test_foreign_owners), TEST(test_arm64_thread_pointer),
	  TEST(test_emulator), TEST(test_damaged_note_list), TEST(test_no_notes),
	  TEST(test_many_note_segments))
