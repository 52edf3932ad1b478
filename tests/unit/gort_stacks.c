/* Stacks: how much of a goroutine's is in use, in every status; the threads' own; and that all
 * together are the stack spans. */
#include "gort/verify.h"
#include "support/mkgo.h"
#include "support/test.h"

#define STACK ((u64)8192)
#define SCAN 0x1000
#define TID 77

/* One goroutine whose M runs on the thread TID. Addresses are distances from the stack's low end;
 * `used_from` is where its used part begins. */
struct g_case {
	unsigned status;
	u64 sched_sp, syscallsp;
	u64 used_from;
};

static va_t inside(struct range stack, u64 distance)
{
	return distance ? stack.lo + distance : 0;
}

static void check_saved(const struct mkgo_release *r, const struct g_case *t)
{
	struct mkgo *go = mkgo_new_on(r);
	struct range stack = mkgo_stack(go, STACK);
	const struct goroutine *g;
	struct mkgo_core c;

	mkgo_goroutine(go, (struct mkgo_g){.status = t->status,
					   .stack = stack,
					   .sched_sp = inside(stack, t->sched_sp),
					   .syscallsp = inside(stack, t->syscallsp)});
	mkgo_open(&c, go);
	mkgo_assert_clean(&c);
	assert_int_equal(c.gort.gs.v.n, 1);
	g = &c.gort.gs.v.v[0];
	assert_int_equal(g->goid, 1);
	assert_int_equal(g->status, t->status & ~(unsigned)SCAN);
	assert_int_equal(g->stack.lo, stack.lo);
	assert_int_equal(g->stack.hi, stack.hi);
	assert_int_equal(g->sp - stack.lo, t->used_from);
	mkgo_assert_failed(&c, "");
	mkgo_close(&c);
}

static void test_saved(void **state)
{
	static const struct g_case cases[] = {
		{G_WAITING, 0x1800, 0, 0x1800},
		{G_WAITING | SCAN, 0x1800, 0, 0x1800},
		{G_RUNNABLE, 0x1ff8, 0, 0x1ff8},
		{G_PREEMPTED, 0x1010, 0, 0x1010},
		{G_LEAKED, 0x1800, 0, 0x1800},
		{G_COPYSTACK, 0x1800, 0, 0x1800},
		/* Nothing of it, all of it. */
		{G_WAITING, STACK, 0, STACK},
		{G_WAITING, 1, 0, 1},
		/* In a system call the other one counts; what was saved before is stale. */
		{G_SYSCALL, 0x1000, 0x1c00, 0x1c00},
		{G_SYSCALL | SCAN, 0x1000, 0x1c00, 0x1c00},
		/* No place on this stack: the whole of it counts as used. */
		{G_WAITING, 0, 0, 0},
		{G_WAITING, STACK + 8, 0, 0},
		{G_WAITING, (u64)-8, 0, 0},
		{G_SYSCALL, 0x1000, STACK + 8, 0},
		/* On no M. */
		{G_RUNNING, 0x1000, 0, 0},
		/* Dead ones use nothing, whatever is left in them. */
		{G_DEAD, 0x1000, 0, STACK},
		{G_DEAD | SCAN, 0x1000, 0, STACK},
		{G_DEADEXTRA, 0x1000, 0, STACK},
		{G_IDLE, 0x1000, 0x1000, STACK},
	};

	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++)
		for (size_t i = 0; i < COUNT_OF(cases); i++)
			check_saved(r, &cases[i]);
}

/* A running goroutine, its M, and the M's thread. */
struct running {
	struct mkgo *go;
	struct range stack, signal_stack, g0;
	va_t g, m;
};

static struct running run(const struct mkgo_release *r)
{
	struct running t = {.go = mkgo_new_on(r)};

	t.stack = mkgo_stack(t.go, STACK);
	t.signal_stack = mkgo_stack(t.go, 32768);
	t.g0 = mkgo_stack(t.go, 16384);
	t.g = mkgo_goroutine(t.go, (struct mkgo_g){.status = G_RUNNING,
						   .stack = t.stack,
						   .sched_sp = t.stack.lo + 0x1700});
	t.m = mkgo_m(t.go, (struct mkgo_m){
				   .tid = TID, .curg = t.g, .g0 = t.g0, .gsignal = t.signal_stack});
	return t;
}

static void check_running(struct running *t, u64 used_from)
{
	struct mkgo_core c;

	mkgo_open(&c, t->go);
	mkgo_assert_clean(&c);
	assert_int_equal(c.gort.gs.v.v[0].sp - t->stack.lo, used_from);
	mkgo_assert_failed(&c, "");
	mkgo_close(&c);
}

static void test_running(void **state)
{
	static const u64 distances[] = {0, 8, 0x1234, STACK - 8};

	(void)state;
	for (const struct mkgo_release *r = mkgo_everywhere; r->minor; r++) {
		struct running t;

		for (size_t i = 0; i < COUNT_OF(distances); i++) {
			t = run(r);
			mkcore_thread(t.go->mk, (struct mkcore_thread){.tid = 1000});
			mkcore_thread(t.go->mk,
				      (struct mkcore_thread){.tid = TID,
							     .rsp = t.stack.lo + distances[i]});
			check_running(&t, distances[i]);
		}
		/* On its M's own stack. */
		t = run(r);
		mkcore_thread(t.go->mk, (struct mkcore_thread){.tid = TID, .rsp = t.g0.hi - 0x100});
		check_running(&t, 0);
		/* The thread is not in the core. */
		t = run(r);
		mkcore_thread(t.go->mk,
			      (struct mkcore_thread){.tid = TID + 1, .rsp = t.stack.lo + 8});
		check_running(&t, 0);
		/* The M runs another goroutine. */
		t = run(r);
		mkgo_poke(t.go, t.m, RT_M_CURG, t.g + 0x1000);
		mkcore_thread(t.go->mk, (struct mkcore_thread){.tid = TID, .rsp = t.stack.lo + 8});
		check_running(&t, 0);
	}
}

/* struct ucontext as the kernel leaves it on a signal stack: flags, link, the stack's base, flags
 * and size, then
 *   amd64   r8..r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip
 *   arm64   128 bytes of masks, 8 to align, the fault's address, x0..x30, sp, pc */
static const struct {
	u64 sp, bytes;
} ucontexts[ARCH_COUNT] = {{40 + 15 * 8, 176}, {176 + 8 + 31 * 8, 448}};

static void put_ucontext(struct running *t, va_t at, va_t base, u64 size, va_t sp)
{
	mkgo_poke_u64(t->go, at + 16, base);
	mkgo_poke_u64(t->go, at + 32, size);
	mkgo_poke_u64(t->go, at + ucontexts[t->go->mk->arch->id].sp, sp);
}

static void test_signal(void **state)
{
	(void)state;
	for (const struct mkgo_release *r = mkgo_everywhere; r->minor; r++)
		for (int variant = 0; variant < 10; variant++) {
			struct running t = run(r);
			va_t base = t.signal_stack.lo, sp = t.signal_stack.hi - 0x1000;
			u64 size = t.signal_stack.hi - base, expected = 0;
			va_t last = t.signal_stack.hi - ucontexts[r->arch].bytes;

			mkcore_thread(t.go->mk, (struct mkcore_thread){.tid = TID, .rsp = sp});
			switch (variant) {
			case 0:
				put_ucontext(&t, sp + 0x200, base, size, t.stack.lo + 0x1510);
				expected = 0x1510;
				break;
			case 1: /* the last place that it fits in */
				put_ucontext(&t, last, base, size, t.stack.lo + 8);
				expected = 8;
				break;
			case 2: /* one word further: its end is missing */
				put_ucontext(&t, last + 8, base, size, t.stack.lo + 8);
				break;
			case 3: /* another stack's */
				put_ucontext(&t, sp + 0x200, base + 8, size, t.stack.lo + 8);
				break;
			case 4:
				put_ucontext(&t, sp + 0x200, base, size + 8, t.stack.lo + 8);
				break;
			case 5: /* the signal came while the M was on its own stack */
				put_ucontext(&t, sp + 0x200, base, size, t.g0.lo + 0x800);
				break;
			case 6: /* of an earlier signal, below the stack pointer */
				put_ucontext(&t, sp - 0x200, base, size, t.stack.lo + 8);
				break;
			case 7: /* a second signal, while the handler of the first ran */
				put_ucontext(&t, sp + 0x200, base, size, sp + 0x600);
				put_ucontext(&t, sp + 0x800, base, size, t.stack.lo + 0x1510);
				expected = 0x1510;
				break;
			case 8: /* signals in a circle */
				put_ucontext(&t, sp + 0x200, base, size, sp + 0x600);
				put_ucontext(&t, sp + 0x800, base, size, sp + 0x600);
				break;
			default: /* none */
				break;
			}
			check_running(&t, expected);
		}
}

/* Stacks of Ms, living and waiting to be freed; with cgo a g0 is no memory of the heap. */
static void test_machines(void **state)
{
	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++) {
		struct mkgo *go = mkgo_new_on(r);
		struct range g0 = mkgo_stack(go, 16384), gsignal = mkgo_stack(go, 32768);
		struct range freed = mkgo_stack(go, 16384), gcrash = mkgo_stack(go, 16384);
		struct mkgo_core c;
		const struct machine *m;

		mkgo_m(go, (struct mkgo_m){.tid = 1, .g0 = g0, .gsignal = gsignal, .curg = 0x99});
		mkgo_m(go, (struct mkgo_m){.tid = 2, .g0 = freed, .freed = true});
		if (!mkgo_gcrash(go, gcrash))
			mkgo_goroutine(go, (struct mkgo_g){.status = G_DEAD, .stack = gcrash});
		mkcore_thread(go->mk, (struct mkcore_thread){.tid = 1, .rsp = g0.lo + 64});
		mkgo_open(&c, go);
		mkgo_assert_clean(&c);
		/* The newest first, then the main thread's, whose stack the system made. */
		assert_int_equal(c.gort.ms.v.n, 3);
		m = c.gort.ms.v.v;
		assert_int_equal(m[0].g0.lo, g0.lo);
		assert_int_equal(m[0].g0.hi, g0.hi);
		assert_int_equal(m[0].gsignal.lo, gsignal.lo);
		assert_int_equal(m[0].curg, 0x99);
		assert_int_equal(m[0].thread->tid, 1);
		assert_int_equal(machine_sp(&c.gort.rt, &m[0], g0), g0.lo + 64);
		assert_int_equal(m[1].m, go->m0);
		assert_int_equal(m[1].g0.lo, MKGO_OS_STACK);
		assert_int_equal(m[1].gsignal.hi, 0);
		assert_null(m[1].thread);
		assert_int_equal(m[2].g0.lo, freed.lo);
		if (go->rt.globals[RT_G_GCRASH])
			assert_int_equal(c.gort.ms.gcrash.hi, gcrash.hi);
		mkgo_assert_failed(&c, "");
		mkgo_close(&c);
	}
}

/* What the check of stacks says to so many bytes of stacks that nobody has. */
static void check_lost(struct mkgo *go, const char *failed, const char *detail)
{
	struct verification v = {.arena = {0}};
	struct mkgo_core c;

	mkgo_open(&c, go);
	mkgo_assert_failed(&c, failed);
	assert_ok(verify_run(&c.gort, &v));
	for (size_t i = 0; i < v.checks.n; i++)
		if (!strcmp(v.checks.v[i].name, "stacks by owner = stack spans") && detail)
			assert_string_equal(v.checks.v[i].detail, detail);
	verify_fini(&v);
	mkgo_close(&c);
}

static void test_balance_of_stacks(void **state)
{
	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++) {
		struct mkgo *go = mkgo_new_on(r);

		/* A stack that was handed out to nobody. */
		mkgo_stack(go, 4096);
		check_lost(go, "stacks by owner = stack spans\n", NULL);
		/* The new stack of a goroutine that moves. */
		go = mkgo_new_on(r);
		mkgo_goroutine(
			go, (struct mkgo_g){.status = G_COPYSTACK, .stack = mkgo_stack(go, 4096)});
		mkgo_stack(go, 8192);
		check_lost(go, "", "a stack was being copied");
		/* More than it can need. */
		go = mkgo_new_on(r);
		mkgo_goroutine(
			go, (struct mkgo_g){.status = G_COPYSTACK, .stack = mkgo_stack(go, 4096)});
		mkgo_stack(go, 16384);
		check_lost(go, "stacks by owner = stack spans\n", NULL);
	}
}

TEST_MAIN(TEST(test_saved), TEST(test_running), TEST(test_signal), TEST(test_machines),
	  TEST(test_balance_of_stacks))
