/* The ledger over hand-made claims: every byte once, the highest level, the first class. */
#include "ledger/ledger.h"

#include "support/core.h"
#include "support/test.h"

static void assert_class(const struct ledger *l, enum category cat, u64 bytes)
{
	u64 got = ledger_columns(l, cat).virtual;

	if (got != bytes)
		fail_msg("%s has %llu bytes, not %llu", category_id(cat), (unsigned long long)got,
			 (unsigned long long)bytes);
}

/* A claim at every mapping, as claim_mappings makes them; cat CAT_COUNT is nobody's. */
static void claim_all_mappings(struct ledger *l, enum category cat)
{
	for (size_t i = 0; i < l->im->vmas.n; i++)
		assert_ok(ledger_claim(l, LEVEL_MAPPING, l->im->vmas.v[i].lo, l->im->vmas.v[i].hi,
				       cat));
}

/* One dense mapping of a MiB at 0x100000. */
static struct core open_mib(void)
{
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);

	mkcore_reserve(mk, 0x100000, 0x100000, PF_R | PF_W);
	return core_open_pages(mk);
}

static void test_levels(void **state)
{
	struct core c = open_mib();
	struct ledger l;

	(void)state;
	ledger_init(&l, &c.im, NULL, &c.d);
	claim_all_mappings(&l, CAT_FILE_DATA);
	/* A leaf inside a container inside a mapping; and one that sticks out of all. */
	assert_ok(ledger_claim(&l, LEVEL_LEAF, 0x120010, 0x120013, CAT_META_MSPAN));
	assert_ok(ledger_claim(&l, LEVEL_CONTAINER, 0x120000, 0x130000, CAT_META_PERSISTENT));
	assert_ok(ledger_claim(&l, LEVEL_LEAF, 0x12fffd, 0x130005, CAT_META_BUCKET));
	assert_ok(ledger_claim(&l, LEVEL_LEAF, 0x1ffff0, 0x200500, CAT_META_MCACHE));
	assert_ok(ledger_claim(&l, LEVEL_CONTAINER, 0xf0000, 0x100001, CAT_ARENA_UNUSED));
	assert_ok(ledger_claim(&l, LEVEL_LEAF, 0x140000, 0x140000, CAT_SHM)); /* empty */
	assert_ok(ledger_claim(&l, LEVEL_LEAF, 0x150000, 0x140000, CAT_SHM));
	assert_ok(ledger_seal(&l));
	assert_class(&l, CAT_META_MSPAN, 3);
	assert_class(&l, CAT_META_PERSISTENT, 0x10000 - 3 - 3);
	assert_class(&l, CAT_META_BUCKET, 8);
	assert_class(&l, CAT_META_MCACHE, 16);
	assert_class(&l, CAT_ARENA_UNUSED, 1);
	assert_class(&l, CAT_SHM, 0);
	assert_class(&l, CAT_FILE_DATA, 0x100000 - 0x10000 - 5 - 16 - 1);
	assert_int_equal(ledger_total(&l).virtual, 0x100000);
	core_assert_diag(&c, DIAG_OVERLAP, 0, "");
	ledger_fini(&l);
	core_close(&c);
}

/* Of two claims over the same byte the first class in order has it, and it is said. */
static void test_overlap(void **state)
{
	static const struct {
		va_t lo, hi; /* beside [0x120000, 0x130000) of go.meta.mspan */
		enum category cat;
		u64 mspan, other, findings;
	} cases[] = {
		{0x12f000, 0x138000, CAT_META_BUCKET, 0x10000, 0x8000, 1},
		{0x118000, 0x121000, CAT_META_BUCKET, 0x10000, 0x8000, 1},
		{0x12f000, 0x138000, CAT_STACK_USED, 0xf000, 0x9000, 1},
		{0x124000, 0x125000, CAT_STACK_USED, 0xf000, 0x1000, 1},
		{0x124000, 0x125000, CAT_META_BUCKET, 0x10000, 0, 1},
		{0x110000, 0x140000, CAT_META_BUCKET, 0x10000, 0x20000, 1},
		{0x110000, 0x140000, CAT_STACK_USED, 0, 0x30000, 1},
		{0x120000, 0x130000, CAT_STACK_USED, 0, 0x10000, 1},
		{0x130000, 0x140000, CAT_STACK_USED, 0x10000, 0x10000, 0},
		{0x110000, 0x120000, CAT_STACK_USED, 0x10000, 0x10000, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases) * 2; i++) {
		struct core c = open_mib();
		struct ledger l;

		ledger_init(&l, &c.im, NULL, &c.d);
		claim_all_mappings(&l, CAT_SHM);
		if (i % 2) /* the order of claiming does not matter */
			assert_ok(ledger_claim(&l, LEVEL_LEAF, 0x120000, 0x130000, CAT_META_MSPAN));
		assert_ok(ledger_claim(&l, LEVEL_LEAF, cases[i / 2].lo, cases[i / 2].hi,
				       cases[i / 2].cat));
		if (!(i % 2))
			assert_ok(ledger_claim(&l, LEVEL_LEAF, 0x120000, 0x130000, CAT_META_MSPAN));
		assert_ok(ledger_seal(&l));
		assert_class(&l, CAT_META_MSPAN, cases[i / 2].mspan);
		assert_class(&l, cases[i / 2].cat, cases[i / 2].other);
		assert_int_equal(ledger_total(&l).virtual, 0x100000);
		core_assert_diag(&c, DIAG_OVERLAP, cases[i / 2].findings, "go.");
		assert_int_equal(diag_is_partial(&c.d), cases[i / 2].findings > 0);
		ledger_fini(&l);
		core_close(&c);
	}
}

/* More claims over one byte than are kept apart: the sums hold all the same. */
static void test_many_overlaps(void **state)
{
	struct core c = open_mib();
	struct ledger l;

	(void)state;
	ledger_init(&l, &c.im, NULL, &c.d);
	claim_all_mappings(&l, CAT_SHM);
	for (u64 i = 0; i < 200; i++)
		assert_ok(ledger_claim(&l, LEVEL_LEAF, 0x110000 + i, 0x120000 - i, CAT_META_MSPAN));
	assert_ok(ledger_seal(&l));
	assert_class(&l, CAT_META_MSPAN, 0x10000);
	assert_class(&l, CAT_SHM, 0xf0000);
	assert_int_equal(c.d.entries[DIAG_OVERLAP].count, 199);
	ledger_fini(&l);
	core_close(&c);
}

static struct ledger seal_unclaimed(struct core *c)
{
	struct ledger l;

	ledger_init(&l, &c->im, NULL, &c->d);
	claim_all_mappings(&l, CAT_COUNT);
	return l;
}

/* An unclaimed run of 64 KiB is anon, a smaller one unattributed. */
static void test_unclaimed_runs(void **state)
{
	static const struct {
		u64 bytes, anon;
	} cases[] = {{0xffff, 0}, {0x10000, 0x10000}, {0x10001, 0x10001}, {1, 0}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct core c = open_mib();
		struct ledger l = seal_unclaimed(&c);

		/* All but bytes [0x120000, 0x120000 + n). */
		assert_ok(ledger_claim(&l, LEVEL_LEAF, 0x100000, 0x120000, CAT_SHM));
		assert_ok(
			ledger_claim(&l, LEVEL_LEAF, 0x120000 + cases[i].bytes, 0x200000, CAT_SHM));
		assert_ok(ledger_seal(&l));
		assert_class(&l, CAT_ANON, cases[i].anon);
		assert_class(&l, CAT_UNATTRIBUTED, cases[i].bytes - cases[i].anon);
		assert_int_equal(l.anon.n, cases[i].anon != 0);
		if (l.anon.n) {
			assert_int_equal(l.anon.v[0].lo, 0x120000);
			assert_int_equal(l.anon.v[0].hi, 0x120000 + cases[i].bytes);
			assert_int_equal(l.anon.v[0].perm, PERM_R | PERM_W);
			assert_true(l.anon.v[0].perm_known);
		}
		ledger_fini(&l);
		core_close(&c);
	}
}

/* Neighbours of 32 KiB make one run when their permissions are the same, and they touch. */
static void test_runs_across_mappings(void **state)
{
	static const struct {
		va_t second;
		u32 flags;
		u64 anon;
	} cases[] = {
		{0x108000, PF_R | PF_W, 0x10000},
		{0x108000, PF_R, 0},
		{0x108000, 0, 0},
		{0x109000, PF_R | PF_W, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
		struct core c;
		struct ledger l;

		mkcore_reserve(mk, 0x100000, 0x8000, PF_R | PF_W);
		mkcore_reserve(mk, cases[i].second, 0x8000, cases[i].flags);
		c = core_open_pages(mk);
		l = seal_unclaimed(&c);
		assert_ok(ledger_seal(&l));
		assert_class(&l, CAT_ANON, cases[i].anon);
		assert_class(&l, CAT_UNATTRIBUTED, 0x10000 - cases[i].anon);
		for (size_t v = 0; v < 2; v++) {
			enum category owner;

			assert_int_equal(ledger_vma_columns(&l, v, &owner).virtual, 0x8000);
			assert_int_equal(owner, cases[i].anon ? CAT_ANON : CAT_UNATTRIBUTED);
		}
		ledger_fini(&l);
		core_close(&c);
	}
}

/* gdb hides whether r-- can be accessed: unknown permissions are no run with known ones. */
static void test_runs_of_unknown_permissions(void **state)
{
	struct mkcore *mk = mkcore_new(MKCORE_GCORE);
	struct core c;
	struct ledger l;

	(void)state;
	mkcore_load(mk, 0x100000, PF_R, "00000000");
	mkcore_load(mk, 0x108000, PF_R, "00000000");
	mkcore_thread(mk, (struct mkcore_thread){.tid = 1});
	c = core_open_pages(mk);
	assert_false(c.im.vmas.v[0].perm_known);
	c.im.vmas.v[1].perm_known = true;
	l = seal_unclaimed(&c);
	assert_ok(ledger_seal(&l));
	assert_class(&l, CAT_UNATTRIBUTED, 0x10000);
	ledger_fini(&l);

	c.im.vmas.v[1].perm_known = false;
	l = seal_unclaimed(&c);
	assert_ok(ledger_seal(&l));
	assert_class(&l, CAT_ANON, 0x10000);
	assert_false(l.anon.v[0].perm_known);
	ledger_fini(&l);
	core_close(&c);
}

/* Bytes go by the pages that they lie on, to the byte. */
static void test_pages_are_shared_by_bytes(void **state)
{
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
	struct core c;
	struct ledger l;
	const u64 *mspan, *shm;

	(void)state;
	mkcore_load(mk, 0x100000, PF_R | PF_W, "#0#0")->ph.p_memsz = 6 * MK_PAGE;
	c = core_open_pages(mk);
	ledger_init(&l, &c.im, NULL, &c.d);
	claim_all_mappings(&l, CAT_SHM);
	assert_ok(ledger_claim(&l, LEVEL_LEAF, 0x100ff0, 0x102008, CAT_META_MSPAN));
	assert_ok(ledger_claim(&l, LEVEL_LEAF, 0x103fff, 0x104001, CAT_META_MSPAN));
	assert_ok(ledger_seal(&l));
	mspan = l.totals[CAT_META_MSPAN].by_kind;
	shm = l.totals[CAT_SHM].by_kind;
	assert_int_equal(mspan[PAGE_NONZERO], 16 + 8);
	assert_int_equal(mspan[PAGE_ZERO], 0x1000 + 1);
	assert_int_equal(mspan[PAGE_UNDUMPED], 1);
	assert_int_equal(shm[PAGE_NONZERO], 0x2000 - 24);
	assert_int_equal(shm[PAGE_ZERO], 0x1000 - 1);
	assert_int_equal(shm[PAGE_UNDUMPED], 0x2000 - 1);
	assert_int_equal(ledger_columns(&l, CAT_META_MSPAN).state[STATE_RESIDENT], 24);
	assert_int_equal(ledger_columns(&l, CAT_META_MSPAN).state[STATE_UNKNOWN], 0x1001);
	assert_int_equal(ledger_columns(&l, CAT_META_MSPAN).state[STATE_ABSENT], 1);
	ledger_fini(&l);
	core_close(&c);
}

static void test_cells_of_a_mapping(void **state)
{
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
	enum category owner;
	size_t first, last;
	struct core c;
	struct ledger l;

	(void)state;
	for (u64 i = 0; i < 3; i++)
		mkcore_load(mk, 0x100000 + i * 0x10000, PF_R | PF_W, "#0");
	c = core_open_pages(mk);
	l = seal_unclaimed(&c);
	assert_ok(ledger_claim(&l, LEVEL_LEAF, 0x111000, 0x111800, CAT_STACK_USED));
	assert_ok(ledger_claim(&l, LEVEL_LEAF, 0x110000, 0x110fff, CAT_STACK_USED));
	assert_ok(ledger_seal(&l));
	ledger_vma_cells(&l, 1, &first, &last);
	assert_int_equal(last - first, 4); /* two classes on two kinds of pages */
	for (size_t i = first; i < last; i++)
		assert_int_equal(l.cells.v[i].vma, 1);
	assert_int_equal(ledger_vma_columns(&l, 1, &owner).virtual, 0x2000);
	assert_int_equal(owner, CAT_STACK_USED);
	assert_int_equal(ledger_vma_columns(&l, 2, &owner).virtual, 0x2000);
	assert_int_equal(owner, CAT_UNATTRIBUTED);
	ledger_vma_cells(&l, 3, &first, &last);
	assert_int_equal(first, last);
	ledger_fini(&l);
	core_close(&c);
}

static void test_columns(void **state)
{
	struct tally t = {{0}};
	struct columns sum = {.evidence = EVIDENCE_UNKNOWN}, one;

	(void)state;
	assert_int_equal(tally_columns(&t, CAT_ANON).virtual, 0);
	assert_int_equal(tally_columns(&t, CAT_ANON).evidence, EVIDENCE_UNKNOWN);
	t.by_kind[PAGE_DATA] = 1;
	t.by_kind[PAGE_HOLE] = 2;
	t.by_kind[PAGE_UNDUMPED] = 4;
	t.by_kind[PAGE_CLEAN] = 8;
	one = tally_columns(&t, CAT_ANON);
	assert_int_equal(one.virtual, 15);
	assert_int_equal(one.state[STATE_RESIDENT], 1);
	assert_int_equal(one.state[STATE_ABSENT], 2);
	assert_int_equal(one.state[STATE_UNKNOWN], 12);
	assert_int_equal(one.evidence, EVIDENCE_POPULATED); /* bytes without any do not weaken it */
	assert_int_equal(tally_columns(&t, CAT_HEAP_FREE).state[STATE_ABSENT], 6);
	columns_add(&sum, &one);
	assert_int_equal(sum.evidence, EVIDENCE_POPULATED);
	t.by_kind[PAGE_ZERO] = 16;
	one = tally_columns(&t, CAT_META_RESERVED);
	assert_int_equal(one.state[STATE_ABSENT], 22);
	assert_int_equal(one.evidence, EVIDENCE_MIXED);
	columns_add(&sum, &one);
	assert_int_equal(sum.virtual, 15 + 31);
	assert_int_equal(sum.evidence, EVIDENCE_MIXED);
}

static void test_no_mappings(void **state)
{
	struct image im = {0};
	struct ledger l;

	(void)state;
	ledger_init(&l, &im, NULL, NULL);
	assert_ok(ledger_seal(&l));
	assert_int_equal(ledger_total(&l).virtual, 0);
	ledger_fini(&l);
}

/* Every budget below what is needed is an error, none a crash or a leak. */
static void test_budgets(void **state)
{
	struct core c = open_mib();
	unsigned failures = 0;

	(void)state;
	for (u64 budget = 8;; budget += 40) {
		struct ledger l;
		struct err *err = NULL;

		ledger_init(&l, &c.im, NULL, NULL);
		mem_set_limit(mem_used() + budget);
		err = ledger_claim(&l, LEVEL_MAPPING, 0x100000, 0x200000, CAT_COUNT);
		for (u64 i = 0; i < 20 && !err; i++)
			err = ledger_claim(&l, LEVEL_LEAF, 0x100000 + i * 0x3000,
					   0x101000 + i * 0x3000, (enum category)i);
		if (!err)
			err = ledger_seal(&l);
		mem_set_limit(0);
		ledger_fini(&l);
		if (!err)
			break;
		assert_err(err, ERR_LIMIT, "--max-memory");
		failures++;
	}
	assert_true(failures > 10);
	core_close(&c);
}

TEST_MAIN(TEST(test_levels), TEST(test_overlap), TEST(test_many_overlaps),
	  TEST(test_unclaimed_runs), TEST(test_runs_across_mappings),
	  TEST(test_runs_of_unknown_permissions), TEST(test_pages_are_shared_by_bytes),
	  TEST(test_cells_of_a_mapping), TEST(test_columns), TEST(test_no_mappings),
	  TEST(test_budgets))
