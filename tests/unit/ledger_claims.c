/* Who claims what of the mappings: files, the executable's segments, libraries, thread stacks. */
#include "ledger/claim.h"

#include "base/cleanup.h"
#include "support/core.h"
#include "support/mkelf.h"
#include "support/test.h"
#include "support/tmp.h"

static const struct binary no_binary = {.file = -1};

/* "class bytes" of every class that has some, in order. */
static void assert_classes(const struct ledger *l, const char *expected)
{
	char text[1024] = "";
	size_t n = 0;

	for (int cat = 0; cat < CAT_COUNT; cat++) {
		u64 bytes = ledger_columns(l, (enum category)cat).virtual;

		if (bytes)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s %llx\n",
					      category_id((enum category)cat),
					      (unsigned long long)bytes);
	}
	assert_string_equal(text, expected);
}

static void claim_all(struct ledger *l, const struct core *c, const struct binary *bin)
{
	ledger_init(l, &c->im, NULL, (struct diags *)&c->d);
	assert_ok(claim_mappings(l, bin));
	assert_ok(claim_binary(l, bin));
	assert_ok(claim_libraries(l, bin));
	assert_ok(claim_threads(l));
	assert_ok(ledger_seal(l));
	core_assert_diag(c, DIAG_OVERLAP, 0, "");
}

static void test_mappings(void **state)
{
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
	struct core c;
	struct ledger l;

	(void)state;
	mkcore_load(mk, 0x100000, PF_R | PF_X, "#");
	mkcore_file(mk, 0x100000, 0x103000, 0, "/lib/x.so"); /* executable somewhere */
	mkcore_file(mk, 0x200000, 0x205000, 0, "/var/data");
	mkcore_file(mk, 0x300000, 0x307000, 0, "/memfd:ring");
	mkcore_reserve(mk, 0x400000, 0x11000, PF_R | PF_W); /* nobody's */
	mkcore_reserve(mk, 0x500000, 0x1000, PF_R | PF_W);
	mkcore_load(mk, 0x7ffe0000, PF_R | PF_W, "##");
	mkcore_load(mk, 0x7fff0000, PF_R, "....");
	mkcore_load(mk, 0x7fff4000, PF_R | PF_X, "##");
	mkcore_load(mk, 0xffffffffff600000, PF_X, "#");
	mkcore_auxv(mk, AT_SYSINFO_EHDR, 0x7fff4000);
	mkcore_auxv(mk, AT_RANDOM, 0x7ffe0100);
	c = core_open_pages(mk);
	claim_all(&l, &c, &no_binary);
	assert_classes(&l, "thread.stack 2000\n"
			   "file.lib 3000\n"
			   "file.data 5000\n"
			   "shm 7000\n"
			   "kernel.vdso 2000\n"
			   "kernel.vvar 4000\n"
			   "kernel.vsyscall 1000\n"
			   "anon 11000\n"
			   "unattributed 1000\n");
	ledger_fini(&l);
	core_close(&c);
}

/* Text, constants, and data whose beginning is made read-only and whose end is zero-filled. The
 * rest of its last page is nobody's variables, but the executable's. */
static struct mkelf app(void)
{
	return (struct mkelf){
		.go_id = "a/b",
		.entry = 0x401010,
		.bytes = 6 * MK_PAGE,
		.phdrs = {mkelf_load(0x400000, 0, 0x2000, 0x2000, PF_R | PF_X),
			  mkelf_load(0x402000, 0x2000, 0x1800, 0x1800, PF_R),
			  mkelf_load(0x404000, 0x4000, 0x1234, 0x2f00, PF_R | PF_W),
			  {.p_type = PT_GNU_RELRO, .p_vaddr = 0x404000, .p_memsz = 0x500}},
	};
}

static struct mkcore *core_of_app(const struct mkelf *e, const char *path, va_t bias)
{
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
	u8 page[MK_PAGE];

	mkelf_bytes(e, 0, page, sizeof(page));
	mkcore_load(mk, bias + 0x400000, PF_R | PF_X, "#")->ph.p_memsz = 0x2000;
	mkcore_poke(mk, bias + 0x400000, page, sizeof(page));
	mkcore_reserve(mk, bias + 0x402000, 0x2000, PF_R);
	mkcore_load(mk, bias + 0x404000, PF_R | PF_W, "##");
	mkcore_load(mk, bias + 0x406000, PF_R | PF_W, "#");
	mkcore_file(mk, bias + 0x400000, bias + 0x402000, 0, path);
	mkcore_file(mk, bias + 0x402000, bias + 0x404000, 0x2000, path);
	mkcore_file(mk, bias + 0x404000, bias + 0x406000, 0x4000, path);
	mkcore_auxv(mk, AT_ENTRY, bias + e->entry);
	return mk;
}

/* By its segments, the same from the file and from the header page in the core. */
static void test_binary(void **state)
{
	static const va_t biases[] = {0, 0x555555000000};
	AUTO_FREE char *path = tmp_path("app");
	struct mkelf e = app();

	(void)state;
	mkelf_write(&e, path);
	for (size_t i = 0; i < COUNT_OF(biases) * 2; i++) {
		struct core c = core_open_pages(core_of_app(&e, path, biases[i / 2]));
		const struct binary_options opt = {.none = i % 2};
		struct binary bin;
		struct ledger l;

		assert_ok(binary_find(&bin, &c.im, &opt, &c.d));
		assert_int_equal(bin.match, i % 2 ? EXE_NONE : EXE_GO_BUILD_ID);
		claim_all(&l, &c, &bin);
		assert_classes(&l, "go.binary.text 2000\n"
				   "go.binary.rodata 1800\n"
				   "go.binary.relro 500\n"
				   "go.binary.data d34\n"
				   "go.binary.bss 1ccc\n"
				   "file.exec 900\n");
		ledger_fini(&l);
		binary_close(&bin);
		core_close(&c);
	}
}

/* Nothing tells of segments: constants are known by the function table that is among them. */
static void test_constants(void **state)
{
	static const struct {
		u32 flags;
		const char *path, *classes;
	} cases[] = {
		{PF_R, NULL, "go.binary.rodata 2800\ngo.binary.pclntab 800\nunattributed 1000\n"},
		{PF_R | PF_W, NULL, "go.binary.pclntab 800\nunattributed 3800\n"},
		{PF_R, "/app", "go.binary.pclntab 800\nfile.data 2800\nunattributed 1000\n"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const struct module m = {.pclntab = {0x20c800, 0x20d000}};
		struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
		struct gort gort = {.rt = {.im = NULL}};
		struct core c;
		struct ledger l;

		mkcore_load(mk, 0x20c000, cases[i].flags, "###");
		mkcore_load(mk, 0x20f000, PF_R | PF_X, "#");
		if (cases[i].path)
			mkcore_file(mk, 0x20c000, 0x20f000, 0x1000, cases[i].path);
		c = core_open_pages(mk);
		assert_ok(array_push(&gort.modules.v, m));
		ledger_init(&l, &c.im, &gort, &c.d);
		assert_ok(claim_mappings(&l, &no_binary));
		assert_ok(claim_binary(&l, &no_binary));
		assert_ok(ledger_seal(&l));
		assert_classes(&l, cases[i].classes);
		ledger_fini(&l);
		array_free(&gort.modules.v);
		core_close(&c);
	}
}

/* The read-only part in the middle, at the end, and reaching into zero-filled memory. */
static void test_relro(void **state)
{
	static const struct {
		va_t lo;
		u64 bytes, data, relro;
	} cases[] = {
		{0x404100, 0x100, 0x1134, 0x100},  {0x404234, 0x1000, 0x234, 0x1000},
		{0x405000, 0x2000, 0x1000, 0x234}, {0x403f00, 0x200, 0x1134, 0x100},
		{0x404000, 0x3000, 0, 0x1234},     {0x408000, 0x1000, 0x1234, 0},
		{0x404000, UINT64_MAX, 0, 0x1234}, {0x404800, 0, 0x1234, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct mkelf e = app();
		struct core c;
		struct binary bin;
		struct ledger l;

		e.phdrs[3].p_vaddr = cases[i].lo;
		e.phdrs[3].p_memsz = cases[i].bytes;
		c = core_open_pages(core_of_app(&e, "/nowhere/relro", 0));
		assert_ok(binary_find(&bin, &c.im, &(struct binary_options){0}, &c.d));
		claim_all(&l, &c, &bin);
		assert_int_equal(ledger_columns(&l, CAT_BINARY_DATA).virtual, cases[i].data);
		assert_int_equal(ledger_columns(&l, CAT_BINARY_RELRO).virtual, cases[i].relro);
		assert_int_equal(ledger_columns(&l, CAT_BINARY_BSS).virtual, 0x2f00 - 0x1234);
		ledger_fini(&l);
		binary_close(&bin);
		core_close(&c);
	}
}

/* Zero-initialised data of a library is anonymous memory behind its data, up to its last page. */
static void test_libraries(void **state)
{
	const va_t base = 0x7f0000000000;
	struct mkelf lib = {.type = ET_DYN,
			    .phdrs = {mkelf_load(0, 0, 0x1000, 0x1000, PF_R),
				      mkelf_load(0x1000, 0x1000, 0x1000, 0x1000, PF_R | PF_X),
				      mkelf_load(0x2000, 0x2000, 0x800, 0x2800, PF_R | PF_W)}};
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
	u8 page[MK_PAGE];
	struct core c;
	struct ledger l;

	(void)state;
	mkelf_bytes(&lib, 0, page, sizeof(page));
	mkcore_load(mk, base, PF_R, "#");
	mkcore_poke(mk, base, page, sizeof(page));
	mkcore_reserve(mk, base + 0x1000, 0x1000, PF_R | PF_X);
	mkcore_load(mk, base + 0x2000, PF_R | PF_W, "####");
	mkcore_file(mk, base, base + 0x1000, 0, "/lib/x.so");
	mkcore_file(mk, base + 0x1000, base + 0x2000, 0x1000, "/lib/x.so");
	mkcore_file(mk, base + 0x2000, base + 0x3000, 0x2000, "/lib/x.so");
	c = core_open_pages(mk);
	claim_all(&l, &c, &no_binary);
	assert_classes(&l, "file.lib 5000\n"
			   "unattributed 1000\n");
	ledger_fini(&l);
	core_close(&c);
}

/* Pages of glibc's descriptor: {stackblock, stackblock_size, guardsize} somewhere in it. */
static const struct {
	u64 at, block, size, guard; /* offset in the descriptor; the rest as glibc has it */
	u64 stack, guarded;
} threads[] = {
	{0x690, 0x200000, 0x10000, 0x1000, 0xf000, 0x1000},
	{0x000, 0x200000, 0x10000, 0x2000, 0xe000, 0x2000},
	{0x9f8, 0x200000, 0x10000, 0x1000, 0xf000, 0x1000},
	{0xa00, 0x200000, 0x10000, 0x1000, 0, 0},  /* behind the descriptor */
	{0x690, 0x200000, 0x10000, 0, 0x10000, 0}, /* no guard */
	{0x690, 0x200000, 0x8000, 0x1000, 0, 0},   /* ends before the descriptor */
	{0x690, 0x20e000, 0x2000, 0x1000, 0, 0},   /* begins behind it */
	{0x690, 0x200000, 0x10000, 0x10000, 0, 0}, /* nothing but guard */
	{0x690, 0x200800, 0x10000, 0x1000, 0, 0},  /* not pages */
	{0x690, 0x200000, 0x10800, 0x1000, 0, 0},
	{0x690, 0x200000, 0x10000, 0x800, 0, 0},
	{0x690, 0x200000, 0x20000, 0x1000, 0, 0}, /* not mapped to its end */
	{0x690, 0x1ff000, 0x11000, 0x1000, 0, 0}, /* not from its beginning */
	{0x690, 0x200000, UINT64_MAX - 0xfff, 0x1000, 0, 0},
	{0x690, 0, 0x300000, 0x1000, 0, 0},
};

#define TLS 0x20c700

static void test_threads(void **state)
{
	static const u8 zeros[0x3000];

	(void)state;
	for (size_t n = 0; n < COUNT_OF(threads) * ARCH_COUNT; n++) {
		struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
		const size_t i = n / ARCH_COUNT;
		struct core c;
		struct ledger l;

		/* On arm64 the thread pointer is at the descriptor's end. */
		mk->arch = arch_get((enum arch_id)(n % ARCH_COUNT));
		const va_t tls = TLS + (mk->arch->id == ARCH_ARM64 ? 0xa00 : 0);
		mkcore_load(mk, 0x200000, PF_R | PF_W, "################");
		mkcore_poke(mk, 0x20c700, zeros, sizeof(zeros));
		mkcore_poke_u64(mk, TLS + threads[i].at, threads[i].block);
		mkcore_poke_u64(mk, TLS + threads[i].at + 8, threads[i].size);
		mkcore_poke_u64(mk, TLS + threads[i].at + 16, threads[i].guard);
		mkcore_thread(mk, (struct mkcore_thread){.tid = 2, .fs_base = tls});
		mkcore_thread(mk, (struct mkcore_thread){.tid = 3}); /* not a pthread */
		mkcore_thread(mk, (struct mkcore_thread){.tid = 4, .fs_base = TLS + 4});
		mkcore_thread(mk, (struct mkcore_thread){.tid = 5, .fs_base = UINT64_MAX - 7});
		c = core_open_pages(mk);
		claim_all(&l, &c, &no_binary);
		assert_int_equal(ledger_columns(&l, CAT_THREAD_STACK).virtual, threads[i].stack);
		assert_int_equal(ledger_columns(&l, CAT_THREAD_GUARD).virtual, threads[i].guarded);
		assert_int_equal(ledger_total(&l).virtual, 0x10000);
		ledger_fini(&l);
		core_close(&c);
	}
}

/* The ids are the contract of the JSON result: none may go. */
static void test_category_ids(void **state)
{
	static const char *const contract[] = {
		"go.heap.live",
		"go.heap.fresh",
		"go.heap.dead",
		"go.heap.undecided",
		"go.heap.free",
		"go.heap.tail",
		"go.idle.retained",
		"go.idle.released",
		"go.arena.unused",
		"go.stack.used",
		"go.stack.unused",
		"go.stack.system",
		"go.stack.cached",
		"go.meta.mspan",
		"go.meta.mcache",
		"go.meta.heaparena",
		"go.meta.gcbits",
		"go.meta.pagealloc",
		"go.meta.gcwork",
		"go.meta.special",
		"go.meta.bucket",
		"go.meta.allspans",
		"go.meta.trace",
		"go.meta.persistent",
		"go.meta.reserved",
		"go.binary.text",
		"go.binary.rodata",
		"go.binary.pclntab",
		"go.binary.relro",
		"go.binary.data",
		"go.binary.bss",
		"c.heap.used",
		"c.heap.free",
		"c.heap.meta",
		"c.heap.reserved",
		"thread.stack",
		"thread.guard",
		"file.exec",
		"file.lib",
		"file.data",
		"shm",
		"kernel.vdso",
		"kernel.vvar",
		"kernel.vsyscall",
		"anon",
		"unattributed",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(contract); i++) {
		unsigned found = 0;

		for (int cat = 0; cat < CAT_COUNT; cat++)
			found += !strcmp(category_id((enum category)cat), contract[i]);
		if (found != 1)
			fail_msg("%s is there %u times", contract[i], found);
	}
	for (int cat = 0; cat < CAT_COUNT; cat++) {
		assert_non_null(category_twin((enum category)cat));
		assert_true(*category_meaning((enum category)cat));
	}
}

/* What was not dumped or is zero means something else in each kind of class. */
static void test_category_states(void **state)
{
	(void)state;
	assert_int_equal(category_state(CAT_HEAP_FREE, PAGE_UNDUMPED), STATE_ABSENT);
	assert_int_equal(category_state(CAT_ARENA_UNUSED, PAGE_UNDUMPED), STATE_ABSENT);
	assert_int_equal(category_state(CAT_ANON, PAGE_UNDUMPED), STATE_UNKNOWN);
	assert_int_equal(category_state(CAT_HEAP_FREE, PAGE_ZERO), STATE_UNKNOWN);
	assert_int_equal(category_state(CAT_ARENA_UNUSED, PAGE_ZERO), STATE_ABSENT);
	assert_int_equal(category_state(CAT_META_RESERVED, PAGE_ZERO), STATE_ABSENT);
	assert_int_equal(category_state(CAT_ANON, PAGE_ZERO), STATE_UNKNOWN);
	assert_int_equal(category_state(CAT_SHM, PAGE_CLEAN), STATE_UNKNOWN);
}

TEST_MAIN(TEST(test_mappings), TEST(test_binary), TEST(test_constants), TEST(test_relro),
	  TEST(test_libraries), TEST(test_threads), TEST(test_category_ids),
	  TEST(test_category_states))
