/* The ledger against a second one, which gives every single byte its class.
 *
 * Random mappings, pages and claims; the figures of each mapping, class and kind of page have to
 * be the same, and so have the runs of unclaimed memory and whether anything overlapped. */
#include "ledger/ledger.h"

#include "base/cleanup.h"
#include "support/core.h"
#include "support/test.h"

#define BASE ((va_t)0x100000)
#define PAGES 64
#define SPACE (PAGES * MK_PAGE)
#define MAX_CLAIMS 12
#define NOBODY 0xff
#define UNMAPPED 0xfe

/* The second ledger: class by byte, then figures by mapping, class and kind. */
struct slow {
	u8 cat[SPACE];
	u32 cells[PAGES][CAT_COUNT][PAGE_KIND_COUNT];
	size_t anon_runs;
	bool overlap;
};

struct random_claims {
	struct claim v[2][MAX_CLAIMS]; /* containers, leaves */
	size_t n[2];
	enum category mapping[PAGES];
};

static const enum ledger_level levels[2] = {LEVEL_CONTAINER, LEVEL_LEAF};

static struct core random_core(u64 *seed)
{
	static const u32 flags[] = {PF_R | PF_W, PF_R | PF_W, PF_R, 0};
	static const char letters[] = "#0##0##0#00#0#####000##0##0#0#0##";
	struct mkcore *mk = mkcore_new(test_random(seed) % 2 ? MKCORE_KERNEL : MKCORE_GCORE);

	for (u64 page = 0; page < PAGES;) {
		u64 most = 1 + test_random(seed) % 20, n = MIN(most, PAGES - page);
		u64 dumped = test_random(seed) % 3 ? n : test_random(seed) % n;
		const char *pages = letters + sizeof(letters) - 1 - dumped;
		u32 flag = flags[test_random(seed) % COUNT_OF(flags)];

		mkcore_load(mk, BASE + page * MK_PAGE, flag, pages)->ph.p_memsz = n * MK_PAGE;
		page += n + (test_random(seed) % 4 == 0 ? test_random(seed) % 3 : 0);
	}
	mkcore_thread(mk, (struct mkcore_thread){.tid = 1});
	return core_open_pages(mk);
}

static struct random_claims random_claims(const struct image *im, u64 *seed)
{
	va_t end = im->vmas.v[im->vmas.n - 1].hi;
	u64 space = test_random(seed) % 2 ? end - BASE : 4 * MK_PAGE; /* crowded */
	struct random_claims r = {.n = {0}};

	for (int level = 0; level < 2; level++) {
		r.n[level] = test_random(seed) % MAX_CLAIMS;
		for (size_t i = 0; i < r.n[level]; i++) {
			u64 lo = BASE + test_random(seed) % space;
			u64 most = test_random(seed) % 2 ? 100 : 5 * MK_PAGE;
			u64 n = test_random(seed) % most;

			if (test_random(seed) % 3 == 0)
				lo = align_down(lo, MK_PAGE);
			r.v[level][i] = (struct claim){lo, MIN(lo + n, end),
						       (enum category)(test_random(seed) % 20)};
		}
	}
	for (size_t v = 0; v < im->vmas.n; v++)
		r.mapping[v] = test_random(seed) % 2 ? CAT_COUNT : CAT_SHM;
	return r;
}

static void slow_claims(struct slow *s, const struct random_claims *r)
{
	for (int level = 0; level < 2; level++) {
		AUTO_FREE u8 *taken = xcalloc(SPACE, 1);

		for (size_t i = 0; i < r->n[level]; i++)
			for (va_t va = r->v[level][i].lo; va < r->v[level][i].hi; va++) {
				u8 cat = (u8)r->v[level][i].cat;
				bool first = !taken[va - BASE];

				s->overlap |= !first;
				taken[va - BASE] = 1;
				if (s->cat[va - BASE] != UNMAPPED &&
				    (first || cat < s->cat[va - BASE]))
					s->cat[va - BASE] = cat;
			}
	}
}

static const struct vma *vma_of(const struct image *im, u64 offset)
{
	return image_vma(im, BASE + offset);
}

/* Whether unclaimed memory goes on from the byte before this one. */
static bool same_run(const struct slow *s, const struct image *im, u64 offset)
{
	const struct vma *a, *b;

	if (offset == 0 || s->cat[offset - 1] != NOBODY || s->cat[offset] != NOBODY)
		return false;
	a = vma_of(im, offset - 1);
	b = vma_of(im, offset);
	return a->perm == b->perm && a->perm_known == b->perm_known;
}

/* Names every unclaimed run; the bytes of large ones are anon. */
static void slow_runs(struct slow *s, const struct image *im)
{
	AUTO_FREE u8 *named = xcalloc(SPACE, 1);

	memcpy(named, s->cat, SPACE);
	for (u64 lo = 0, hi; lo < SPACE; lo = hi) {
		hi = lo + 1;
		if (s->cat[lo] != NOBODY)
			continue;
		while (hi < SPACE && same_run(s, im, hi))
			hi++;
		memset(named + lo, hi - lo >= 65536 ? CAT_ANON : CAT_UNATTRIBUTED, hi - lo);
		s->anon_runs += hi - lo >= 65536;
	}
	memcpy(s->cat, named, SPACE);
}

static enum page_kind kind_at(const struct image *im, va_t va)
{
	enum page_kind kind = PAGE_GAP;

	for (size_t i = 0; i < im->res.runs.n; i++)
		if ((u64)im->res.runs.v[i].page << PAGE_SHIFT <= va)
			kind = (enum page_kind)im->res.runs.v[i].kind;
	return kind;
}

static struct slow *slow_ledger(const struct image *im, const struct random_claims *r)
{
	struct slow *s = xcalloc(1, sizeof(*s));

	memset(s->cat, UNMAPPED, SPACE);
	for (size_t v = 0; v < im->vmas.n; v++)
		memset(s->cat + (im->vmas.v[v].lo - BASE),
		       r->mapping[v] == CAT_COUNT ? NOBODY : (int)r->mapping[v],
		       im->vmas.v[v].hi - im->vmas.v[v].lo);
	slow_claims(s, r);
	slow_runs(s, im);
	for (size_t v = 0; v < im->vmas.n; v++)
		for (va_t page = im->vmas.v[v].lo; page < im->vmas.v[v].hi; page += MK_PAGE) {
			enum page_kind kind = kind_at(im, page);

			for (va_t va = page; va < page + MK_PAGE; va++)
				s->cells[v][s->cat[va - BASE]][kind]++;
		}
	return s;
}

static void fill_ledger(struct ledger *l, const struct random_claims *r)
{
	for (size_t v = 0; v < l->im->vmas.n; v++)
		assert_ok(ledger_claim(l, LEVEL_MAPPING, l->im->vmas.v[v].lo, l->im->vmas.v[v].hi,
				       r->mapping[v]));
	for (int level = 0; level < 2; level++)
		for (size_t i = 0; i < r->n[level]; i++)
			assert_ok(ledger_claim(l, levels[level], r->v[level][i].lo,
					       r->v[level][i].hi, r->v[level][i].cat));
	assert_ok(ledger_seal(l));
}

/* Takes the cells out of the second ledger: nothing may be left, nothing be there twice. */
static void compare_cells(const struct ledger *l, struct slow *s)
{
	u64 totals[CAT_COUNT][PAGE_KIND_COUNT] = {{0}};

	for (size_t i = 0; i < l->cells.n; i++) {
		const struct ledger_cell *cell = &l->cells.v[i];

		assert_true(cell->bytes > 0);
		assert_int_equal(cell->bytes, s->cells[cell->vma][cell->cat][cell->kind]);
		s->cells[cell->vma][cell->cat][cell->kind] = 0;
		totals[cell->cat][cell->kind] += cell->bytes;
		assert_true(i == 0 || cell[-1].vma <= cell->vma);
	}
	for (size_t v = 0; v < PAGES; v++)
		for (size_t c = 0; c < CAT_COUNT; c++)
			for (size_t k = 0; k < PAGE_KIND_COUNT; k++)
				assert_int_equal(s->cells[v][c][k], 0);
	for (size_t c = 0; c < CAT_COUNT; c++)
		assert_memory_equal(totals[c], l->totals[c].by_kind, sizeof(totals[c]));
}

/* The anonymous runs ascend, are large, and together are the class. */
static void check_runs(const struct ledger *l, const struct slow *s)
{
	u64 sum = 0;

	assert_int_equal(l->anon.n, s->anon_runs);
	for (size_t i = 0; i < l->anon.n; i++) {
		const struct anon_run *run = &l->anon.v[i];
		u64 bytes = run->hi - run->lo;

		assert_true(bytes >= 65536);
		assert_true(i == 0 || run[-1].hi <= run->lo);
		assert_int_equal(tally_columns(&run->tally, CAT_ANON).virtual, bytes);
		sum += bytes;
	}
	assert_int_equal(ledger_columns(l, CAT_ANON).virtual, sum);
}

static void check_mappings(const struct ledger *l)
{
	u64 mapped = 0;

	for (size_t v = 0; v < l->im->vmas.n; v++) {
		u64 bytes = l->im->vmas.v[v].hi - l->im->vmas.v[v].lo, states = 0;
		enum category owner;
		struct columns c = ledger_vma_columns(l, v, &owner);

		for (int state = 0; state < STATE_COUNT; state++)
			states += c.state[state];
		assert_int_equal(c.virtual, bytes);
		assert_int_equal(states, bytes);
		mapped += bytes;
	}
	assert_int_equal(ledger_total(l).virtual, mapped);
}

static void test_against_single_bytes(void **state)
{
	u64 seed = 77;

	(void)state;
	for (int round = 0; round < 60; round++) {
		struct core c = random_core(&seed);
		struct random_claims r = random_claims(&c.im, &seed);
		struct slow *s = slow_ledger(&c.im, &r);
		struct ledger l;

		ledger_init(&l, &c.im, NULL, &c.d);
		fill_ledger(&l, &r);
		assert_int_equal(c.d.entries[DIAG_OVERLAP].count > 0, s->overlap);
		compare_cells(&l, s);
		check_runs(&l, s);
		check_mappings(&l);
		ledger_fini(&l);
		free(s);
		core_close(&c);
	}
}

TEST_MAIN(TEST(test_against_single_bytes))
