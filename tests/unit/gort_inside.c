/* Threads inside the allocator: found by their frames, and what they explain. */
#include "gort/inside.h"
#include "gort/rtget.h"
#include "gort/verify.h"
#include "support/mkgo.h"
#include "support/test.h"

#include <string.h>

#define TID 77
#define STACK ((u64)16384)

/* Functions of 256 bytes each. */
enum { MAIN, ALLOC_SPAN, MALLOCGC, STACKALLOC, FUTEX, GROW, STKBUCKET, FUNCTIONS };
static const char *const names[FUNCTIONS] = {
	"main.main",     "runtime.(*mheap).allocSpan", "runtime.mallocgc",  "runtime.stackalloc",
	"runtime.futex", "runtime.(*mheap).grow",      "runtime.stkbucket",
};

static va_t pc_in(int function)
{
	return MKGO_TEXT + 256 * (u64)function + 16;
}

static void plant_functions(struct mkgo *go)
{
	struct mkpcln_func funcs[FUNCTIONS];

	for (size_t i = 0; i < FUNCTIONS; i++)
		funcs[i] = (struct mkpcln_func){
			.name = names[i], .file = "/go/file.go", .bytes = 256, .frame = 32};
	mkgo_functions(go, funcs, FUNCTIONS);
}

/* A thread whose frames are in these functions, the innermost first: `own` on its system stack,
 * `waiting` on the stack of the goroutine that it works for. */
struct plan {
	int own[4], waiting[4]; /* ended by -1 */
	int function;           /* what is found, or -1 */
	unsigned what;
};

/* Lays the return addresses of all but the first; returns the first frame's pointer. */
static va_t poke_frames(struct mkgo *go, va_t at, const int *functions)
{
	for (int i = 1; i < 4 && functions[i] >= 0; i++) {
		va_t fp = at + 0x40 * (u64)i;

		mkgo_poke_u64(go, fp, i < 3 && functions[i + 1] >= 0 ? fp + 0x40 : 0);
		mkgo_poke_u64(go, fp + 8, pc_in(functions[i]));
	}
	return at + 0x40;
}

/* A process with a span and some free pages, and that thread. */
static struct mkgo *plant_thread(const struct mkgo_release *r, const struct plan *p)
{
	struct mkgo *go = mkgo_new_on(r);
	struct range stack = mkgo_stack(go, STACK), g0 = mkgo_stack(go, STACK);
	va_t g, sp = stack.lo + 0x1000, fp;

	mkgo_span(go, (struct mkgo_span){.npages = 3, .freeindex = 1});
	mkgo_idle(go, MKGO_HEAP + 0x200000, 3, false);
	g = mkgo_goroutine(go,
			   (struct mkgo_g){.status = G_RUNNING, .stack = stack, .sched_sp = sp});
	mkgo_m(go, (struct mkgo_m){.tid = TID, .curg = g, .g0 = g0});
	mkgo_finish(go);
	plant_functions(go);
	mkgo_poke_u64(go, sp, pc_in(p->waiting[0]));
	mkgo_poke(go, g, RT_G_SCHED_BP, poke_frames(go, sp, p->waiting));
	fp = poke_frames(go, g0.lo + 0x1000, p->own);
	mkcore_thread(go->mk, (struct mkcore_thread){.tid = TID,
						     .rip = pc_in(p->own[0]),
						     .rsp = g0.lo + 0x1000,
						     .rbp = fp});
	return go;
}

/* The same, with a page that is in no span. */
static struct mkgo *plant(const struct mkgo_release *r, const struct plan *p)
{
	struct mkgo *go = plant_thread(r, p);

	mkgo_flip(go, RT_PALLOC_DATA_ALLOC, MKGO_HEAP + 0x200000);
	return go;
}

static void check_detail(const struct mkgo_core *c, const char *function)
{
	struct verification v = {.arena = {0}};
	char expected[100];

	snprintf(expected, sizeof(expected), "thread %d was inside %s", TID, function);
	assert_ok(verify_run(&c->gort, &v));
	assert_int_equal(v.explained, 1);
	for (size_t i = 0; i < v.checks.n; i++)
		if (!strcmp(v.checks.v[i].name, "pages neither free nor in a span"))
			assert_string_equal(v.checks.v[i].detail, expected);
	verify_fini(&v);
}

static void check_plan(const struct mkgo_release *r, const struct plan *p)
{
	struct insiders in = {.unknown = true};
	struct mkgo_core c;
	const struct insider *first;

	mkgo_open(&c, plant(r, p));
	assert_ok(insiders_find(&c.gort, &in));
	assert_false(in.unknown);
	assert_int_equal(insiders_count(&in, UINT32_MAX, &first), p->what ? 1 : 0);
	if (p->what) {
		assert_int_equal(first->tid, TID);
		assert_int_equal(first->what, p->what);
		assert_string_equal(first->function, names[p->function]);
	}
	array_free(&in.v);
	if (p->what & INSIDE_PAGES) {
		mkgo_assert_failed(&c, "");
		check_detail(&c, names[p->function]);
	} else {
		mkgo_assert_failed(&c, "pages neither free nor in a span\n");
	}
	mkgo_close(&c);
}

static void test_frames(void **state)
{
	static const struct plan plans[] = {
		{{FUTEX, MAIN, -1}, {MAIN, -1}, -1, 0},
		{{ALLOC_SPAN, MAIN, -1}, {MAIN, -1}, ALLOC_SPAN, INSIDE_PAGES},
		{{FUTEX, MAIN, ALLOC_SPAN, -1}, {MAIN, -1}, ALLOC_SPAN, INSIDE_PAGES},
		{{FUTEX, MAIN, -1}, {MALLOCGC, MAIN, -1}, MALLOCGC, INSIDE_OBJECTS},
		{{FUTEX, MAIN, -1}, {MAIN, MAIN, STACKALLOC, -1}, STACKALLOC, INSIDE_STACKS},
		{{FUTEX, STKBUCKET, -1}, {MAIN, -1}, STKBUCKET, INSIDE_BUCKETS},
		{{FUTEX, ALLOC_SPAN, -1},
		 {MAIN, MALLOCGC, -1},
		 ALLOC_SPAN,
		 INSIDE_PAGES | INSIDE_OBJECTS},
	};

	(void)state;
	for (const struct mkgo_release *r = mkgo_everywhere; r->minor; r++)
		for (size_t i = 0; i < COUNT_OF(plans); i++)
			check_plan(r, &plans[i]);
}

static void add(struct mkgo *go, va_t base, enum rt_field f, u64 bytes)
{
	mkgo_poke(go, base, f, mkgo_peek(go, base, f) + bytes);
}

/* runtime/mheap.go mheap.grow, step by step: a chunk is cut off the reserved rest of the arena,
 * counted as released twice, listed by the page allocator, and only then marked in its bitmap. */
static void grow(struct mkgo *go, int steps)
{
	const struct mkgo_sample none = {0};
	va_t mheap = mkgo_part(go, &none, PART_MHEAP);
	va_t ranges = rt_addr(&go->rt, mheap, RT_MHEAP_IN_USE_RANGES);

	if (steps > 0)
		add(go, mheap, RT_MHEAP_CUR_ARENA_BASE, GO_CHUNK_BYTES);
	if (steps > 1)
		add(go, mkgo_part(go, &none, PART_GCC), RT_GCC_HEAP_RELEASED, GO_CHUNK_BYTES);
	if (steps > 2)
		add(go, mkgo_part(go, &none, PART_DELTA), RT_DELTA_RELEASED, GO_CHUNK_BYTES);
	if (steps > 3) { /* the limit of the first range */
		va_t limit = mkgo_peek_u64(go, ranges) + 8;

		mkgo_poke_u64(go, limit, mkgo_peek_u64(go, limit) + GO_CHUNK_BYTES);
	}
}

static void test_growing(void **state)
{
	static const struct plan growing = {
		{GROW, ALLOC_SPAN, -1}, {MALLOCGC, MAIN, -1}, GROW, INSIDE_PAGES | INSIDE_OBJECTS};
	static const struct plan idle = {{FUTEX, MAIN, -1}, {MAIN, -1}, -1, 0};
	/* Checks that do not hold by themselves, and how much of the arena is in a chunk. */
	static const struct {
		const char *failed;
		u64 unused;
	} steps[] = {
		{"", GO_ARENA_BYTES - GO_CHUNK_BYTES},
		{"", GO_ARENA_BYTES - GO_CHUNK_BYTES},
		{"HeapIdle\nHeapReleased\nheapStats released = heapReleased\n",
		 GO_ARENA_BYTES - GO_CHUNK_BYTES},
		{"HeapIdle\nHeapReleased\n", GO_ARENA_BYTES - GO_CHUNK_BYTES},
		{"HeapReleased\n", GO_ARENA_BYTES - 2 * GO_CHUNK_BYTES},
	};

	(void)state;
	for (const struct mkgo_release *r = mkgo_everywhere; r->minor; r++)
		for (int i = 0; i < 2 * (int)COUNT_OF(steps) && r->minor >= 19; i++) {
			struct mkgo *go = plant_thread(r, i % 2 ? &growing : &idle);
			struct mkgo_core c;
			struct ledger l;

			grow(go, i / 2);
			mkgo_open(&c, go);
			mkgo_assert_failed(&c, i % 2 ? "" : steps[i / 2].failed);
			mkgo_ledger(&c, &l);
			assert_int_equal(ledger_columns(&l, CAT_ARENA_UNUSED).virtual,
					 steps[i / 2].unused);
			ledger_fini(&l);
			mkgo_close(&c);
		}
}

/* runtime/mprof.go stkbucket: a bucket is counted before it is in its list. */
static void test_making_a_bucket(void **state)
{
	static const struct plan making = {
		{FUTEX, MAIN, -1}, {STKBUCKET, MALLOCGC, -1}, STKBUCKET, INSIDE_BUCKETS};
	static const struct plan idle = {{FUTEX, MAIN, -1}, {MALLOCGC, -1}, -1, INSIDE_OBJECTS};
	const struct mkgo_sample none = {0};

	(void)state;
	for (const struct mkgo_release *r = mkgo_everywhere; r->minor; r++)
		for (int i = 0; i < 2; i++) {
			struct mkgo *go = plant_thread(r, i ? &making : &idle);
			struct mkgo_core c;

			add(go, mkgo_part(go, &none, PART_MEMSTATS), RT_MSTATS_BUCKHASH_SYS, 264);
			mkgo_open(&c, go);
			mkgo_assert_failed(&c, i ? "" : "BuckHashSys\n");
			mkgo_close(&c);
		}
}

/* Damage in the table of functions: nobody is found, nothing is read outside. */
static void test_damage(void **state)
{
	static const struct plan plan = {{ALLOC_SPAN, MAIN, -1}, {MAIN, -1}, -1, 0};

	(void)state;
	for (const struct mkgo_release *r = mkgo_everywhere; r->minor; r++)
		for (int i = 0; i < 2; i++) {
			struct mkgo *go = plant(r, &plan);
			struct insiders in = {.unknown = false};
			struct mkgo_core c;

			if (i == 0)
				mkgo_poke_u64(go, MKGO_TABLES, 0);
			else
				mkgo_poke_u64(go, MKGO_TABLES + 8, (u64)1 << 40);
			mkgo_open(&c, go);
			assert_ok(insiders_find(&c.gort, &in));
			assert_true(in.unknown);
			assert_int_equal(in.v.n, 0);
			array_free(&in.v);
			mkgo_close(&c);
		}
}

TEST_MAIN(TEST(test_frames), TEST(test_growing), TEST(test_making_a_bucket), TEST(test_damage))
