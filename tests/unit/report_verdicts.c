/* Verdicts on processes that have several faults at once: each has the bytes of its classes, no
 * byte counts twice, and what was not planted is not found. */
#include "base/bits.h"
#include "cli/session.h"
#include "gort/rtget.h"
#include "report/verdicts.h"
#include "support/mkgo.h"
#include "support/test.h"
#include "support/tmp.h"

#include <stdlib.h>
#include <string.h>

#define MIB ((u64)1 << 20)
#define RETAINED (MKGO_HEAP + 0x2000000)
#define RELEASED (MKGO_HEAP + 0x2400000)
#define GARBAGE (MKGO_HEAP + 0x2800000)
#define CLEARED (MKGO_HEAP + 0x2c00000)
#define DEAD_SPANS 7800 /* more than 1 MiB of descriptors */
#define OUTSIDE ((va_t)0x7e0000000000)

static const struct binary no_binary = {.file = -1};

/* One judgement. */
struct judged {
	struct mkgo_core c;
	struct ledger l;
	struct doc d;
	struct verdict v[VERDICT_MAX];
	size_t n;
};

static void judge(struct judged *j, struct mkgo *go)
{
	struct snapshot s = {.bin = &no_binary};

	mkgo_open(&j->c, go);
	mkgo_ledger(&j->c, &j->l);
	s.im = &j->c.core.im;
	s.gort = &j->c.gort;
	s.ledger = &j->l;
	s.diags = &j->c.core.d;
	s.version = &j->c.gort.rt.version;
	j->d = (struct doc){.arena = {0}};
	assert_ok(verdicts_find(&s, &j->d, j->v, &j->n));
}

static void finish(struct judged *j)
{
	doc_fini(&j->d);
	ledger_fini(&j->l);
	mkgo_close(&j->c);
}

static u64 resident(const struct ledger *l, enum category c)
{
	return ledger_columns(l, c).state[STATE_RESIDENT];
}

static u64 resident_of(const struct ledger *l, u64 classes)
{
	u64 sum = 0;

	for (int c = 0; c < CAT_COUNT; c++)
		if (classes >> c & 1)
			sum += resident(l, (enum category)c);
	return sum;
}

static const struct verdict *find(const struct judged *j, const char *id)
{
	for (size_t i = 0; i < j->n; i++)
		if (!strcmp(j->v[i].id, id))
			return &j->v[i];
	return NULL;
}

static void assert_bytes(const struct judged *j, const char *id, u64 bytes)
{
	const struct verdict *v = find(j, id);

	if ((v ? v->bytes : 0) != bytes)
		fail_msg("%s: %s has %llu bytes, not %llu", j->c.go->rt.version.text, id,
			 (unsigned long long)(v ? v->bytes : 0), (unsigned long long)bytes);
}

/* Verdicts that are not a part of something are disjoint: any of them have together no more bytes
 * than their classes together. */
static void assert_disjoint(const struct ledger *l, const struct verdict *v, size_t n)
{
	u64 sum = 0, classes = 0;

	for (size_t i = 0; i < n; i++) {
		if (v[i].part)
			continue;
		sum += v[i].bytes;
		classes |= v[i].classes;
		assert_true(v[i].bytes <= resident_of(l, v[i].classes));
		assert_true(v[i].gain <= ledger_total(l).state[STATE_RESIDENT]);
		for (size_t k = 0; k < i; k++)
			if (!v[k].part)
				assert_true(v[i].bytes + v[k].bytes <=
					    resident_of(l, v[i].classes | v[k].classes));
	}
	assert_true(sum <= resident_of(l, classes));
	assert_true(sum <= ledger_total(l).state[STATE_RESIDENT]);
}

/* Pages of the heap that have come back. */
static void touch(struct mkgo *go, va_t va, u64 bytes, char letter)
{
	const char letters[] = {letter, '\0'};

	for (u64 at = 0; at < bytes; at += MK_PAGE)
		mkgo_pages(go, va + at, letters);
}

/* One object in each of so many spans of 64-byte slots. */
static void plant_gaps(struct mkgo *go, unsigned spans)
{
	for (unsigned i = 0; i < spans; i++)
		mkgo_span(go, (struct mkgo_span){.spanclass = 2 * 6, .freeindex = 1, .alloc = {1}});
}

/* A large object that no GC has seen yet. */
static void plant_fresh(struct mkgo *go, va_t start, u64 bytes, bool pointers)
{
	mkgo_span(go, (struct mkgo_span){.start = start,
					 .npages = (u32)(bytes / GO_PAGE_BYTES),
					 .spanclass = pointers ? 0 : 1,
					 .freeindex = 1});
}

/* Goroutines that wait in large stacks, of which they use nearly nothing, or all. */
static void plant_stacks(struct mkgo *go, unsigned n, bool deep)
{
	for (unsigned i = 0; i < n; i++) {
		struct range stack = mkgo_stack(go, 65536);

		mkgo_goroutine(
			go, (struct mkgo_g){.status = G_WAITING,
					    .stack = stack,
					    .sched_sp = deep ? stack.lo + 1024 : stack.hi - 600});
	}
}

static void plant_buckets(struct mkgo *go, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		mkgo_bucket(go, MKGO_MEM, 64);
}

/* Memory of the process that is not Go's. */
static void plant_outside(struct mkgo *go, u64 bytes)
{
	static char letters[4 * MIB / MK_PAGE + 1];

	memset(letters, '#', bytes / MK_PAGE);
	letters[bytes / MK_PAGE] = '\0';
	mkcore_load(go->mk, OUTSIDE, PF_R | PF_W, letters);
}

static void plant_all(struct mkgo *go)
{
	plant_gaps(go, 300);
	plant_stacks(go, 32, false);
	plant_buckets(go, 2500);
	mkgo_dead_mspans(go, DEAD_SPANS, false);
	mkgo_idle(go, RETAINED, 256, false);
	mkgo_idle(go, RELEASED, 256, true);
	touch(go, RELEASED, 2 * MIB, '#');
	plant_fresh(go, GARBAGE, 4 * MIB, false);
	touch(go, GARBAGE, 4 * MIB, '#');
	plant_fresh(go, CLEARED, 2 * MIB, true);
	plant_outside(go, 2 * MIB);
}

/* All at once. What Go 1.24 alone clears for nothing is new memory of the others. */
static void test_all(void **state)
{
	static struct judged j;

	(void)state;
	if (!tmp_has_holes())
		skip();
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++) {
		struct mkgo *go = mkgo_new(r->minor, r->patch);
		bool clears = r->minor == 24;
		u64 mspans;

		plant_all(go);
		judge(&j, go);
		mspans = DEAD_SPANS * rt_size(&j.c.gort.rt, RT_MSPAN);
		assert_bytes(&j, "idle-retained", 2 * MIB);
		assert_bytes(&j, "released-resident", 2 * MIB);
		assert_bytes(&j, "fragmentation", resident(&j.l, CAT_HEAP_FREE));
		assert_bytes(&j, "garbage", clears ? 4 * MIB : 6 * MIB);
		assert_bytes(&j, "never-written", clears ? 2 * MIB : 0);
		assert_bytes(&j, "goroutine-stacks", 2 * MIB);
		assert_bytes(&j, "profile-buckets", resident(&j.l, CAT_META_BUCKET));
		assert_bytes(&j, "old-metadata", mspans);
		assert_bytes(&j, "anonymous", 2 * MIB);
		assert_int_equal(j.n, clears ? 9 : 8);
		assert_disjoint(&j.l, j.v, j.n);
		finish(&j);
	}
}

/* A process with some of everything, and nothing of note. */
static void test_none(void **state)
{
	static struct judged j;

	(void)state;
	if (!tmp_has_holes())
		skip();
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++) {
		struct mkgo *go = mkgo_new(r->minor, r->patch);

		mkgo_sample(go);
		judge(&j, go);
		assert_int_equal(j.n, 0);
		finish(&j);
	}
}

/* The text of the only verdict on what was planted into go. */
static void assert_says(struct mkgo *go, const char *id, const char *summary, const char *remedy)
{
	static struct judged j;

	judge(&j, go);
	assert_int_equal(j.n, 1);
	assert_string_equal(j.v[0].id, id);
	assert_contains(j.v[0].summary, summary);
	assert_contains(j.v[0].remedy, remedy);
	finish(&j);
}

static struct mkgo *with_released(u64 madvdontneed)
{
	struct mkgo *go = mkgo_new(26, 0);

	mkgo_idle(go, RELEASED, 256, true);
	touch(go, RELEASED, 2 * MIB, '#');
	mkgo_finish(go);
	mkgo_poke(go, go->rt.globals[RT_G_DEBUG], RT_DEBUG_MADVDONTNEED, madvdontneed);
	return go;
}

static void test_released(void **state)
{
	(void)state;
	if (!tmp_has_holes())
		skip();
	assert_says(with_released(0), "released-resident", "2.00 MiB were given back by MADV_FREE",
		    "GODEBUG=madvdontneed=1");
	assert_says(with_released(1), "released-resident", "resident again", "huge pages");
}

/* The classes are named, those with pointers apart from those without. */
static void test_gaps(void **state)
{
	struct mkgo *go = mkgo_new(26, 0);

	(void)state;
	if (!tmp_has_holes())
		skip();
	plant_gaps(go, 300);
	for (unsigned i = 0; i < 100; i++)
		mkgo_span(go, (struct mkgo_span){
				      .spanclass = 2 * 32 + 1, .freeindex = 2, .alloc = {3}});
	mkgo_finish(go);
	assert_says(go, "fragmentation",
		    "64 bytes (300 spans, 0.8 % used), 1024 bytes without pointers (100 spans, 25 "
		    "% used)",
		    "would be whole free spans");
}

/* Stacks that the next collections would cut down, and such as are in use. */
static void test_stacks(void **state)
{
	static struct judged j;

	(void)state;
	if (!tmp_has_holes())
		skip();
	for (int deep = 0; deep < 2; deep++) {
		struct mkgo *go = mkgo_new(26, 0);
		const struct verdict *v;

		plant_stacks(go, 32, deep);
		mkgo_finish(go);
		judge(&j, go);
		v = find(&j, "goroutine-stacks");
		assert_non_null(v);
		/* 600 + 800 bytes are a quarter of 8 KiB, not of 4. */
		assert_int_equal(v->gain, deep ? 0 : 32 * (65536 - 4096));
		finish(&j);
	}
}

/* Large objects with pointers and zeros in them: only one release, and only pages that are in
 * memory and were not written to; of live objects as well as of new ones. */
static void test_cleared(void **state)
{
	static const struct {
		bool alloc;
		int sweep;
		u64 garbage;
	} spans[] = {
		{false, 0, MIB}, /* new */
		{true, 0, 0},    /* live */
		{true, -2, MIB}, /* dead */
	};
	static struct judged j;

	(void)state;
	if (!tmp_has_holes())
		skip();
	for (size_t i = 0; i < COUNT_OF(spans); i++) {
		struct mkgo *go = mkgo_new(24, 0);

		mkgo_span(go, (struct mkgo_span){.start = CLEARED,
						 .npages = 512,
						 .sweep = spans[i].sweep,
						 .freeindex = 1,
						 .alloc = {spans[i].alloc}});
		touch(go, CLEARED, MIB, '#');
		touch(go, CLEARED + MIB, MIB, '.');
		mkgo_finish(go);
		judge(&j, go);
		assert_bytes(&j, "never-written", 2 * MIB);
		assert_bytes(&j, "garbage", spans[i].garbage);
		assert_disjoint(&j.l, j.v, j.n);
		finish(&j);
	}
}

/* Objects that were never touched. */
static void test_absent(void **state)
{
	struct mkgo *go = mkgo_new(26, 0);

	(void)state;
	if (!tmp_has_holes())
		skip();
	go->untouched = true;
	plant_fresh(go, GARBAGE, 4 * MIB, false);
	mkgo_finish(go);
	assert_says(go, "in-use-absent", "4.00 MiB of the objects (HeapAlloc)", "cost nothing");
}

/* Garbage that the sweeper has not come to yet, beside what is live. */
static void test_dead(void **state)
{
	struct mkgo *go = mkgo_new(26, 0);

	(void)state;
	if (!tmp_has_holes())
		skip();
	for (u64 live = 0; live < 2; live++)
		mkgo_span(go, (struct mkgo_span){.start = live ? CLEARED : GARBAGE,
						 .npages = 512,
						 .spanclass = 1,
						 .sweep = -2,
						 .freeindex = 1,
						 .alloc = {1},
						 .marks = {live}});
	mkgo_finish(go);
	assert_says(go, "garbage",
		    "up to 4.00 MiB may be garbage: 4.00 MiB found dead, 0 B allocated", "GOGC");
}

static struct mkgo *with_limit(u64 limit, u64 mapped)
{
	struct mkgo *go = mkgo_new(26, 0);
	va_t gcc = go->rt.globals[RT_G_GC_CONTROLLER];

	mkgo_finish(go);
	mkgo_poke(go, gcc, RT_GCC_MEMORY_LIMIT, limit);
	mkgo_poke(go, gcc, RT_GCC_MAPPED_READY, mapped);
	return go;
}

static void test_limit(void **state)
{
	static struct judged j;

	(void)state;
	if (!tmp_has_holes())
		skip();
	assert_says(with_limit(100 * MIB, 95 * MIB), "memory-limit",
		    "95.0 MiB (Sys-HeapReleased), 95 % of its memory limit of 100 MiB",
		    "raise the limit");
	assert_says(with_limit(100 * MIB, 120 * MIB), "memory-limit", "120 %", "GOMEMLIMIT");
	judge(&j, with_limit(100 * MIB, 89 * MIB));
	assert_int_equal(j.n, 0);
	finish(&j);
}

/* The shipped cores. */
static void assert_shipped(const char *name, const char *program, const char *id)
{
	const char *folder = getenv("SPANSCOPE_TESTDATA");
	char core[256], exe[256];
	const char *argv[] = {"spanscope", "overview", core, exe};
	struct session s = {.has_gort = false};
	struct verdict v[VERDICT_MAX];
	struct snapshot snapshot;
	struct doc d = {.arena = {0}};
	struct opts o;
	size_t n;

	assert_non_null(folder);
	snprintf(core, sizeof(core), "%s/%s/core", folder, name);
	snprintf(exe, sizeof(exe), "%s/%s/%s", folder, name, program);
	assert_ok(opts_parse(COUNT_OF(argv), (char **)argv, &o));
	assert_ok(session_open(&s, &o));
	snapshot = session_snapshot(&s);
	assert_ok(verdicts_find(&snapshot, &d, v, &n));
	assert_true(n > 0);
	assert_string_equal(v[0].id, id);
	assert_disjoint(&s.ledger, v, n);
	doc_fini(&d);
	session_close(&s);
}

static void test_shipped(void **state)
{
	(void)state;
	assert_shipped("fragmented-go1.26", "fragmented", "fragmentation");
	assert_shipped("quiet-go1.19", "quiet", "goroutine-stacks");
}

#define NOW ((u64)10000000000000)
#define LEAKED 110

/* The release's number of a wait reason. */
static u8 reason_number(const struct mkgo *go, const char *name)
{
	const struct rt rt = {.dialect = dialect_of(&go->rt.version, arch_get(ARCH_AMD64))};

	for (u8 n = 1; n < 60; n++) {
		enum wait_kind kind;
		const char *found = wait_reason_name(&rt, n, &kind);

		if (found && !strcmp(found, name))
			return n;
	}
	fail_msg("there is no wait reason %s", name);
	return 0;
}

/* Goroutines without a word about who they are: a stack of 16 KiB, a reason, and since when. */
static struct mkgo *with_waiting(const struct mkgo_release *r, const char *reason, u64 seconds)
{
	struct mkgo *go = mkgo_new(r->minor, r->patch);
	va_t gs[LEAKED];

	for (size_t i = 0; i < LEAKED; i++) {
		struct range stack = mkgo_stack(go, 16384);

		gs[i] = mkgo_goroutine(go, (struct mkgo_g){.status = G_WAITING,
							   .stack = stack,
							   .sched_sp = stack.lo + 8192});
	}
	mkgo_finish(go);
	mkgo_poke(go, go->rt.globals[RT_G_SCHED], RT_SCHED_LASTPOLL, NOW);
	for (size_t i = 0; i < LEAKED; i++) {
		mkgo_poke(go, gs[i], RT_G_WAITREASON, reason_number(go, reason));
		mkgo_poke(go, gs[i], RT_G_WAITSINCE, NOW - seconds * 1000000000);
		mkgo_poke(go, gs[i], RT_G_GOPC, i % 4 ? 0x401234 : 0x401300);
	}
	return go;
}

static void test_leak(void **state)
{
	static const struct {
		const char *reason;
		u64 seconds;
		bool leaked;
	} cases[] = {
		{"chan receive", 60, true}, {"select", 3600, true}, {"chan receive", 59, false},
		{"IO wait", 3600, false},   {"sleep", 3600, false},
	};
	static struct judged j;

	(void)state;
	if (!tmp_has_holes())
		skip();
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++)
		for (size_t i = 0; i < COUNT_OF(cases); i++) {
			const struct verdict *v;

			judge(&j, with_waiting(r, cases[i].reason, cases[i].seconds));
			assert_non_null(find(&j, "goroutine-stacks"));
			v = find(&j, "goroutine-leak");
			assert_int_equal(v != NULL, cases[i].leaked);
			if (v) {
				assert_int_equal(v->bytes, LEAKED * 16384);
				assert_contains(v->summary, "110 goroutines that may be leaked");
				assert_contains(v->remedy, "were started by 0x401233");
				assert_contains(v->summary, cases[i].reason);
				assert_string_equal(v->part, "StackInuse");
			}
			finish(&j);
		}
}

#define THREADS 7

static struct mkgo *with_threads(const struct mkgo_release *r, size_t idle)
{
	struct mkgo *go = mkgo_new(r->minor, r->patch);
	enum rt_field link =
		go->rt.slots[RT_M_IDLE_NEXT].offset >= 0 ? RT_M_IDLE_NEXT : RT_M_SCHEDLINK;
	va_t ms[THREADS];

	for (unsigned i = 0; i < THREADS; i++) {
		ms[i] = mkgo_m(go, (struct mkgo_m){.tid = 100 + i,
						   .g0 = mkgo_stack(go, 16384),
						   .gsignal = mkgo_stack(go, 262144)});
		mkcore_thread(go->mk, (struct mkcore_thread){.tid = 100 + i});
	}
	mkgo_finish(go);
	for (size_t i = 0; i < idle; i++)
		mkgo_poke(go, ms[i], link, i + 1 < idle ? ms[i + 1] : 0);
	if (idle)
		mkgo_poke(go, go->rt.globals[RT_G_SCHED], RT_SCHED_MIDLE, ms[0]);
	return go;
}

static void test_idle_threads(void **state)
{
	static struct judged j;

	(void)state;
	if (!tmp_has_holes())
		skip();
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++)
		for (int idle = 0; idle < 2; idle++) {
			const struct verdict *v;

			judge(&j, with_threads(r, idle ? THREADS - 1 : 0));
			v = find(&j, "idle-threads");
			assert_int_equal(v != NULL, idle);
			if (v) {
				assert_int_equal(v->bytes, (THREADS - 1) * (16384 + 262144));
				assert_contains(v->summary, "6 threads that have nothing to do");
			}
			finish(&j);
		}
}

TEST_MAIN(TEST(test_all), TEST(test_none), TEST(test_released), TEST(test_gaps), TEST(test_stacks),
	  TEST(test_cleared), TEST(test_absent), TEST(test_dead), TEST(test_limit), TEST(test_leak),
	  TEST(test_idle_threads), TEST(test_shipped))
