/* The finders on the shipped cores: what they find is what DWARF says; and a global whose proof was
 * damaged is refused, whatever else looks like it. */
#include "gort/find_priv.h"
#include "support/shipped.h"
#include "support/test.h"

#include <stdlib.h>

#define DAMAGED 500

static const char *const cores[] = {"quiet-go1.19/quiet", "fragmented-go1.26/fragmented"};

static void open_core(struct shipped *s, const char *exe)
{
	const char *folder = getenv("SPANSCOPE_TESTDATA");
	char core_path[512], exe_path[512];

	if (!folder)
		fail_msg("SPANSCOPE_TESTDATA must name the folder of unpacked cores");
	snprintf(exe_path, sizeof(exe_path), "%s/%s", folder, exe);
	snprintf(core_path, sizeof(core_path), "%s/%.*s/core", folder,
		 (int)(strchr(exe, '/') - exe), exe);
	shipped_open(s, core_path, exe_path);
}

/* The runtime as it is known before its globals are. */
static struct rt unplaced(const struct shipped *s, struct diags *d)
{
	struct rt rt = s->base.gort.rt;

	rt.d = d;
	rt.bin = NULL;
	rt.gcphase = 77;
	memset(rt.globals, 0, sizeof(rt.globals));
	return rt;
}

/* Closes a core as it was before the changes. */
static void close_changed(struct shipped *s, const struct memfile_change *changes, size_t n,
			  struct diags *d)
{
	while (n-- > 0)
		memfile_undo(&s->file, &changes[n]);
	diags_fini(d);
	shipped_close(s);
}

/* These have no place; a number among many cannot be proved. */
static bool is_derived(int g)
{
	return g == RT_G_GCPHASE || g == RT_G_MPROF_CYCLE || g == RT_G_MEM_PROFILE_RATE;
}

static void test_found(void **state)
{
	static struct shipped s;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cores); i++) {
		struct diags d = {0};
		struct rt rt;

		open_core(&s, cores[i]);
		rt = unplaced(&s, &d);
		assert_ok(find_globals(&rt));
		assert_int_equal(rt.gcphase, s.base.gort.rt.gcphase);
		for (int g = 0; g < RT_GLOBAL_COUNT; g++) {
			va_t known = s.base.gort.rt.globals[g], head = 0;

			/* What nothing hangs off has no place, and needs none. */
			if (is_derived(g) || (!rt.globals[g] &&
					      (!known || !image_u64(rt.im, known, &head) || !head)))
				continue;
			if (g == RT_G_SCAVENGE || g == RT_G_DEBUG)
				continue; /* any with the same values will do: see below */
			if (rt.globals[g] != known)
				fail_msg("%s: global %d is at 0x%llx, not 0x%llx", cores[i], g,
					 (unsigned long long)rt.globals[g],
					 (unsigned long long)known);
		}
		assert_int_equal(d.entries[DIAG_STRUCTURE].count, 0);
		diags_fini(&d);
		shipped_close(&s);
	}
}

/* A lock-free stack's head as the runtime packs it (tagptr_64bit.go): the address's lowest and
 * highest bits make place for a count. On arm64 addresses use all 48 bits. */
static void test_tagged_pointers(void **state)
{
	static const struct {
		unsigned minor, shift;
		va_t node;
	} cases[] = {
		{24, 16, 0xc000123458},
		{24, 16, 0xffff8a001238},
		{27, 15, 0xc000123400},
		{27, 15, 0xffff8a001200},
		{27, 15, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const struct go_version v = {.minor = cases[i].minor};
		struct rt rt = {.dialect = dialect_of(&v, arch_get(ARCH_ARM64))};
		struct finder f = {.rt = &rt};

		assert_int_equal(find_lfstack_node(&f, cases[i].node << cases[i].shift | 0x5a5),
				 cases[i].node);
	}
}

static void test_settings(void **state)
{
	static const struct {
		enum rt_global global;
		enum rt_field field;
	} settings[] = {
		{RT_G_SCAVENGE, RT_SCAVENGE_PERCENT_GOAL}, {RT_G_SCAVENGE, RT_SCAVENGE_LIMIT_GOAL},
		{RT_G_DEBUG, RT_DEBUG_MADVDONTNEED},       {RT_G_DEBUG, RT_DEBUG_HARDDECOMMIT},
		{RT_G_DEBUG, RT_DEBUG_GCSTOPTHEWORLD},
	};
	static struct shipped s;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cores); i++) {
		struct diags d = {0};
		struct rt rt;

		open_core(&s, cores[i]);
		rt = unplaced(&s, &d);
		assert_ok(find_globals(&rt));
		for (size_t j = 0; j < COUNT_OF(settings); j++) {
			const va_t *known = s.base.gort.rt.globals;
			u64 found, expected;

			assert_ok(rt_u(&rt, rt.globals[settings[j].global], settings[j].field,
				       &found));
			assert_ok(
				rt_u(&rt, known[settings[j].global], settings[j].field, &expected));
			assert_int_equal(found, expected);
		}
		diags_fini(&d);
		shipped_close(&s);
	}
}

/* The word that a proof needs: a field of a variable, or of what it points to. */
struct proof {
	enum rt_global global;
	enum rt_field steps[2]; /* fields of variables inside the variable, then the word */
	bool pointed;           /* behind the first word of the slice or list */
	const char *text;       /* of the error; NULL when less may be found instead */
};

#define NO_STEP RT_FIELD_COUNT

static va_t proof_word(const struct shipped *s, const struct proof *p)
{
	const struct rt *rt = &s->base.gort.rt;
	va_t va = rt->globals[p->global];

	if (p->pointed) {
		va = shipped_read(s, va);
		if (p->global != RT_G_ALLM)
			va = shipped_read(s, va);
	}
	for (size_t i = 0; i < COUNT_OF(p->steps); i++)
		if (p->steps[i] != NO_STEP)
			va = rt_addr(rt, va, p->steps[i]);
	return align_down(va, 8);
}

static void test_refused(void **state)
{
	static const struct proof proofs[] = {
		{RT_G_FIRSTMODULEDATA,
		 {RT_MODULE_GCDATA_N, NO_STEP},
		 false,
		 "firstmoduledata was not"},
		{RT_G_FIRSTMODULEDATA,
		 {RT_MODULE_GCBSS_N, NO_STEP},
		 false,
		 "firstmoduledata was not"},
		{RT_G_FIRSTMODULEDATA,
		 {RT_MODULE_ETEXT, NO_STEP},
		 false,
		 "firstmoduledata was not"},
		{RT_G_MHEAP, {RT_MHEAP_SPANALLOC, RT_FIXALLOC_ARG}, false, "mheap_ was not"},
		{RT_G_MHEAP, {RT_MHEAP_SPANALLOC, RT_FIXALLOC_SIZE}, false, "mheap_ was not"},
		{RT_G_MHEAP, {RT_MHEAP_CACHEALLOC, RT_FIXALLOC_SIZE}, false, "mheap_ was not"},
		{RT_G_MHEAP, {RT_MHEAP_CACHEALLOC, RT_FIXALLOC_STAT}, false, "memstats was not"},
		{RT_G_GC_CONTROLLER, {RT_GCC_HEAP_MINIMUM, NO_STEP}, false, "gcController was not"},
		{RT_G_GC_CONTROLLER, {RT_GCC_MAPPED_READY, NO_STEP}, false, "gcController was not"},
		{RT_G_SIZE_CLASSES, {NO_STEP, NO_STEP}, false, "size classes was not"},
		{RT_G_ALLM, {RT_M_G0, NO_STEP}, true, NULL},
		{RT_G_ALLP, {RT_P_ID, NO_STEP}, true, "allp was not"},
		{RT_G_ALLP, {RT_P_MCACHE, NO_STEP}, true, "allp was not"},
		{RT_G_ALLGS, {RT_G_STACK_HI, NO_STEP}, true, "allgs was not"},
		{RT_G_SCHED, {RT_SCHED_MNEXT, NO_STEP}, false, "sched was not"},
		{RT_G_SCHED, {RT_SCHED_GOIDGEN, NO_STEP}, false, "sched was not"},
		{RT_G_GCBITS_ARENAS,
		 {RT_GCBITS_ARENAS_CURRENT, NO_STEP},
		 false,
		 "gcBitsArenas was not"},
		{RT_G_PERSISTENT_CHUNKS, {NO_STEP, NO_STEP}, false, NULL},
	};
	static struct shipped s;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cores); i++) {
		open_core(&s, cores[i]);
		for (size_t j = 0; j < COUNT_OF(proofs); j++) {
			va_t va = proof_word(&s, &proofs[j]);
			struct memfile_change change = shipped_poke(&s, va, ~shipped_read(&s, va));
			struct diags d = {0};
			struct rt rt = unplaced(&s, &d);
			struct err *err = find_globals(&rt);

			if (proofs[j].text && !err)
				fail_msg("%s: found without '%s'", cores[i], proofs[j].text);
			if (proofs[j].text)
				assert_err(err, ERR_FORMAT, proofs[j].text);
			else
				err_free(err);
			memfile_undo(&s.file, &change);
			diags_fini(&d);
		}
		shipped_close(&s);
	}
}

/* What only looks like a profile bucket is in no table of them. */
static void test_bucket_in_no_table(void **state)
{
	static struct shipped s;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cores); i++) {
		struct memfile_change changes[3];
		struct diags d = {0};
		struct rt rt;
		const va_t *known = s.base.gort.rt.globals;
		va_t chunk, variable;

		open_core(&s, cores[i]);
		rt = unplaced(&s, &d);
		variable = known[RT_G_BBUCKETS];
		assert_int_equal(shipped_read(&s, variable), 0);
		chunk = shipped_read(&s, known[RT_G_PERSISTENT_CHUNKS]) + 4096;
		changes[0] = shipped_poke(&s, variable, chunk);
		changes[1] = shipped_poke(&s, rt_addr(&rt, chunk, RT_BUCKET_TYP), 2);
		changes[2] = shipped_poke(&s, rt_addr(&rt, chunk, RT_BUCKET_ALLNEXT), 0);
		assert_ok(find_globals(&rt));
		assert_int_equal(rt.globals[RT_G_BBUCKETS], 0);
		assert_int_equal(rt.globals[RT_G_BUCKHASH],
				 shipped_read(&s, known[RT_G_MBUCKETS]) ? known[RT_G_BUCKHASH] : 0);
		close_changed(&s, changes, COUNT_OF(changes), &d);
	}
}

/* The first of n words of the module's variables that are all zero. */
static va_t zero_words(const struct shipped *s, enum rt_field begin, enum rt_field end, u64 n)
{
	const struct rt *rt = &s->base.gort.rt;
	u64 lo, hi, zeros = 0;

	assert_ok(rt_u(rt, rt->globals[RT_G_FIRSTMODULEDATA], begin, &lo));
	assert_ok(rt_u(rt, rt->globals[RT_G_FIRSTMODULEDATA], end, &hi));
	for (va_t va = align_up(lo, 8); va < hi; va += 8) {
		zeros = shipped_read(s, va) ? 0 : zeros + 1;
		if (zeros == n)
			return va - 8 * (n - 1);
	}
	fail_msg("no %llu words of zeros", (unsigned long long)n);
	return 0;
}

static u64 percent_goal(const struct shipped *s, va_t scavenge)
{
	return shipped_read(s, rt_addr(&s->base.gort.rt, scavenge, RT_SCAVENGE_PERCENT_GOAL));
}

/* A program's own settings: some bytes, no limit, no time, an hour. With pointers beside them they
 * need no hour to be told from scavenge; 1.19's has no times. */
static void test_not_scavenge(void **state)
{
	static const struct {
		enum rt_field begin, end;
		u64 words[4];
	} settings[] = {
		{RT_MODULE_NOPTRBSS,
		 RT_MODULE_ENOPTRBSS,
		 {4096, UINT64_MAX, 0, 3600 * (u64)1000000000}},
		{RT_MODULE_BSS, RT_MODULE_EBSS, {4096, UINT64_MAX, 0, 0}},
	};
	static struct shipped s;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cores) * COUNT_OF(settings); i++) {
		const u64 *words = settings[i / COUNT_OF(cores)].words;
		struct memfile_change changes[COUNT_OF(settings->words)];
		struct diags d = {0};
		struct rt rt;
		va_t at;

		open_core(&s, cores[i % COUNT_OF(cores)]);
		if (words[3] && !rt_has(&s.base.gort.rt, RT_SCAVENGE_ASSIST)) {
			shipped_close(&s);
			continue;
		}
		at = zero_words(&s, settings[i / COUNT_OF(cores)].begin,
				settings[i / COUNT_OF(cores)].end, COUNT_OF(changes));
		for (size_t j = 0; j < COUNT_OF(changes); j++)
			changes[j] = shipped_poke(&s, at + 8 * j, words[j]);
		rt = unplaced(&s, &d);
		assert_ok(find_globals(&rt));
		assert_int_equal(d.entries[DIAG_STRUCTURE].count, 0);
		assert_int_equal(percent_goal(&s, rt.globals[RT_G_SCAVENGE]),
				 percent_goal(&s, s.base.gort.rt.globals[RT_G_SCAVENGE]));
		close_changed(&s, changes, COUNT_OF(changes), &d);
	}
}

/* What gcPaceScavenger (runtime/mgcscavenge.go) computes for a goal. */
static u64 computed_goal(const struct rt *rt, u64 goal, u64 last)
{
	u64 in_use, kept;

	assert_ok(rt_u(rt, rt->globals[RT_G_MEMSTATS], RT_MSTATS_LAST_HEAP_IN_USE, &in_use));
	kept = (u64)((double)in_use * ((double)goal / (double)last));
	return align_up(kept + kept / 10, 4096);
}

/* A mask of the program, all ones, looks like scavenge without goals (syncthing 1.19 with cgo has
 * one): the goal that was computed tells. */
static void test_mask_is_not_scavenge(void **state)
{
	static struct shipped s;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cores); i++) {
		const struct rt *base = &s.base.gort.rt;
		struct memfile_change changes[4];
		struct diags d = {0};
		struct rt rt;
		va_t at, gcc, scavenge;
		u64 last, goal;

		open_core(&s, cores[i]);
		at = zero_words(&s, RT_MODULE_NOPTRBSS, RT_MODULE_ENOPTRBSS, 4);
		gcc = base->globals[RT_G_GC_CONTROLLER];
		scavenge = base->globals[RT_G_SCAVENGE];
		assert_ok(rt_u(base, gcc, RT_GCC_LAST_HEAP_GOAL, &last));
		goal = last / 8 * 7; /* these have none, by GOGC=off */
		changes[0] = shipped_poke(&s, at, UINT64_MAX);
		changes[1] = shipped_poke(&s, at + 8, UINT64_MAX);
		changes[2] = shipped_poke(&s, rt_addr(base, gcc, RT_GCC_PERCENT_HEAP_GOAL), goal);
		changes[3] = shipped_poke(&s, rt_addr(base, scavenge, RT_SCAVENGE_PERCENT_GOAL),
					  computed_goal(base, goal, last));
		rt = unplaced(&s, &d);
		assert_ok(find_globals(&rt));
		assert_int_equal(d.entries[DIAG_STRUCTURE].count, 0);
		assert_int_equal(rt.globals[RT_G_SCAVENGE], scavenge);
		close_changed(&s, changes, COUNT_OF(changes), &d);
	}
}

/* Words of a goroutine's stack that are in order as a module's bounds are: seen in cores of
 * qemu-user, which do not tell what memory is a file's. Pointers into a slice of 16 bits that begin
 * after an address of code, or into one of words between two. */
static void test_stack_is_no_module(void **state)
{
	static const enum rt_field fields[] = {
		RT_MODULE_TEXT,       RT_MODULE_ETEXT,     RT_MODULE_NOPTRDATA,
		RT_MODULE_ENOPTRDATA, RT_MODULE_DATA,      RT_MODULE_EDATA,
		RT_MODULE_BSS,        RT_MODULE_EBSS,      RT_MODULE_NOPTRBSS,
		RT_MODULE_ENOPTRBSS,  RT_MODULE_PC_HEADER, RT_MODULE_FUNCNAMETAB,
		RT_MODULE_PCLNTABLE,  RT_MODULE_GCDATA_N,  RT_MODULE_GCBSS_N,
	};
	static const struct {
		u64 step, text_bytes, mask; /* no text_bytes: to the first pointer */
	} patterns[] = {{2, 0, 0}, {8, 4096, 1}};
	static struct shipped s;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cores) * COUNT_OF(patterns); i++) {
		const u64 step = patterns[i % COUNT_OF(patterns)].step;
		const u64 text_bytes = patterns[i % COUNT_OF(patterns)].text_bytes;
		const u64 mask = patterns[i % COUNT_OF(patterns)].mask;
		struct memfile_change changes[COUNT_OF(fields)];
		struct diags d = {0};
		struct image bare;
		struct rt rt;
		u64 text;
		va_t at;

		open_core(&s, cores[i / COUNT_OF(patterns)]);
		rt = unplaced(&s, &d);
		bare = *rt.im;
		bare.files.n = 0;
		rt.im = &bare;
		at = zero_words(&s, RT_MODULE_NOPTRBSS, RT_MODULE_ENOPTRBSS,
				rt_size(&rt, RT_MODULE) / 8);
		assert_ok(rt_u(&rt, s.base.gort.rt.globals[RT_G_FIRSTMODULEDATA], RT_MODULE_TEXT,
			       &text));
		text += 0x734;
		for (size_t j = 0; j < COUNT_OF(fields); j++) {
			u64 word = at + step * j;

			if (fields[j] == RT_MODULE_TEXT)
				word = text;
			else if (fields[j] == RT_MODULE_ETEXT && text_bytes)
				word = text + text_bytes;
			else if (fields[j] == RT_MODULE_GCDATA_N || fields[j] == RT_MODULE_GCBSS_N)
				word = mask;
			changes[j] = shipped_poke(&s, rt_addr(&rt, at, fields[j]), word);
		}
		assert_ok(find_single_runtime(&rt));
		close_changed(&s, changes, COUNT_OF(changes), &d);
	}
}

/* A variable of the program with numbers like those of sched, where the program has changed the
 * limit of threads (dockerd): the lists of idle Ms and Ps tell. */
static void test_not_sched(void **state)
{
	static struct shipped s;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cores); i++) {
		struct memfile_change changes[4];
		struct diags d = {0};
		struct rt rt;
		va_t known, like;

		open_core(&s, cores[i]);
		rt = unplaced(&s, &d);
		known = s.base.gort.rt.globals[RT_G_SCHED];
		like = zero_words(&s, RT_MODULE_BSS, RT_MODULE_EBSS, 60);
		changes[0] = shipped_poke(&s, rt_addr(&rt, like, RT_SCHED_MNEXT),
					  shipped_read(&s, rt_addr(&rt, known, RT_SCHED_MNEXT)));
		changes[1] = shipped_poke(&s, rt_addr(&rt, like, RT_SCHED_GOIDGEN),
					  shipped_read(&s, rt_addr(&rt, known, RT_SCHED_GOIDGEN)));
		for (size_t j = 2; j < COUNT_OF(changes); j++) {
			va_t at = rt_addr(&rt, j == 2 ? like : known, RT_SCHED_MAXMCOUNT);
			u64 word = shipped_read(&s, align_down(at, 8));
			u32 limit = j == 2 ? 20000 : 9000;

			memcpy((u8 *)&word + at % 8, &limit, sizeof(limit));
			changes[j] = shipped_poke(&s, align_down(at, 8), word);
		}
		assert_ok(find_globals(&rt));
		assert_int_equal(rt.globals[RT_G_SCHED], known);
		close_changed(&s, changes, COUNT_OF(changes), &d);
	}
}

/* Whatever a word holds, the search ends. */
static void test_damage(void **state)
{
	static struct shipped s;
	u64 seed = 20;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cores); i++) {
		open_core(&s, cores[i]);
		for (int j = 0; j < DAMAGED; j++) {
			enum shipped_pool pool =
				(enum shipped_pool)(test_random(&seed) % POOL_COUNT);
			va_t va = shipped_word(&s, pool, test_random(&seed));
			va_t other = shipped_word(&s, pool, test_random(&seed));
			/* Another word of the kind, a pointer to one, or anything. */
			const u64 words[] = {shipped_read(&s, other), other, test_random(&seed), 0};
			struct memfile_change change =
				shipped_poke(&s, va, words[test_random(&seed) % COUNT_OF(words)]);
			struct diags d = {0};
			struct rt rt = unplaced(&s, &d);

			err_free(find_globals(&rt));
			memfile_undo(&s.file, &change);
			diags_fini(&d);
		}
		shipped_close(&s);
	}
}

TEST_MAIN(TEST(test_found), TEST(test_tagged_pointers), TEST(test_settings), TEST(test_refused),
	  TEST(test_bucket_in_no_table), TEST(test_mask_is_not_scavenge),
	  TEST(test_stack_is_no_module), TEST(test_not_scavenge), TEST(test_not_sched),
	  TEST(test_damage))
