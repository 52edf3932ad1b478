/* Stacks of goroutines and threads, by function tables and by frame pointers. */
#include "gort/rtget.h"
#include "stack/gounwind.h"
#include "support/mkgo.h"
#include "support/test.h"

#include <string.h>

#define TID 77
#define STACK ((u64)32768)
#define GOPARK_SP ((u64)0x6000) /* from the bottom of the stack, where its frames begin */

enum { GOEXIT, START, RECURSE, GOPARK, SIGPANIC, ASYNC, GOGO, MSTART, FUTEX, FUNCTIONS };

static const struct mkpcln_func functions[FUNCTIONS] = {
	[GOEXIT] = {.name = "runtime.goexit", .file = "/a.s", .bytes = 16, .flag = 1, .line = 1},
	[START] = {.name = "main.start", .file = "/m.go", .bytes = 64, .frame = 24, .line = 2},
	[RECURSE] = {.name = "main.recurse", .file = "/m.go", .bytes = 64, .frame = 40, .line = 3},
	[GOPARK] = {.name = "runtime.gopark", .file = "/p.go", .bytes = 64, .frame = 32, .line = 4},
	[SIGPANIC] =
		{.name = "runtime.sigpanic", .file = "/s.go", .bytes = 64, .frame = 56, .line = 5},
	[ASYNC] = {.name = "runtime.asyncPreempt",
		   .file = "/a.s",
		   .bytes = 64,
		   .frame = 128,
		   .line = 6},
	[GOGO] = {.name = "runtime.gogo", .file = "/a.s", .bytes = 64, .flag = 2, .line = 7},
	[MSTART] = {.name = "runtime.mstart", .file = "/a.s", .bytes = 64, .flag = 1, .line = 8},
	[FUTEX] = {.name = "runtime.futex", .file = "/a.s", .bytes = 64, .line = 9},
};

#define FLAGS_SINCE 16 /* the minor release whose table can say that a function switches stacks */
#define INSIDE 16      /* bytes into a function, where its frame is made */

static va_t entry_of(int function)
{
	va_t at = MKGO_TEXT;

	for (int i = 0; i < function; i++)
		at += functions[i].bytes;
	return at;
}

/* A return address in the function; goexit's is that behind its first instruction. */
static va_t return_to(int function)
{
	return entry_of(function) + (function == GOEXIT ? 1 : INSIDE);
}

struct process {
	struct mkgo *go;
	struct mkgo_core c;
	struct unwinder u;
	struct range stack, g0, gsignal;
	va_t g, m;
	bool arm64;
};

/* A process with one goroutine in this state, and a thread. */
static void begin(struct process *p, const struct mkgo_release *r, unsigned status)
{
	memset(p, 0, sizeof(*p));
	p->go = mkgo_new_on(r);
	p->arm64 = r->arch == ARCH_ARM64;
	p->stack = mkgo_stack(p->go, STACK);
	p->g0 = mkgo_stack(p->go, 16384);
	p->gsignal = mkgo_stack(p->go, 32768);
	mkgo_span(p->go, (struct mkgo_span){.npages = 3, .freeindex = 1});
	p->g = mkgo_goroutine(p->go, (struct mkgo_g){.status = status, .stack = p->stack});
	p->m = mkgo_m(p->go, (struct mkgo_m){.tid = TID,
					     .curg = status == G_RUNNING ? p->g : 0,
					     .g0 = p->g0,
					     .gsignal = p->gsignal});
	mkgo_finish(p->go);
	mkgo_functions(p->go, functions, FUNCTIONS);
}

/* Lays the frames of functions, the innermost first and ended by -1, from sp on: above each frame
 * is the return address, or, on arm64, at its lower end. A signal has kept the link register there.
 */
static void lay(struct process *p, va_t sp, const int *chain)
{
	for (int i = 0; chain[i + 1] >= 0; i++) {
		u32 frame = functions[chain[i]].frame;

		mkgo_poke_u64(p->go, p->arm64 ? sp : sp + frame, return_to(chain[i + 1]));
		sp += p->arm64 ? frame : frame + 8;
		if (p->arm64 && chain[i] == SIGPANIC)
			sp += 16;
	}
}

static void saved(struct process *p, va_t pc, va_t sp)
{
	mkgo_poke(p->go, p->g, RT_G_SCHED_PC, pc);
	mkgo_poke(p->go, p->g, RT_G_SCHED_SP, sp);
}

static void registers(struct process *p, va_t pc, va_t sp, va_t lr)
{
	mkcore_thread(p->go->mk,
		      (struct mkcore_thread){.tid = TID, .rip = pc, .rsp = sp, .lr = lr});
}

static void unwind(struct process *p, struct stack *ret)
{
	struct goroutine_detail detail;
	const struct goroutine *g = NULL;

	mkgo_open(&p->c, p->go);
	assert_ok(unwinder_open(&p->u, &p->c.gort, NULL));
	for (size_t i = 0; i < p->c.gort.gs.v.n; i++)
		if (p->c.gort.gs.v.v[i].g == p->g)
			g = &p->c.gort.gs.v.v[i];
	assert_non_null(g);
	assert_true(goroutine_detail(&p->c.gort.rt, g, &detail));
	assert_ok(unwind_goroutine(&p->u, g, &detail, ret));
}

static void end(struct process *p)
{
	unwinder_close(&p->u);
	mkgo_close(&p->c);
}

/* The stack has these functions, the innermost first. */
static void check_chain(struct process *p, const struct stack *s, const int *chain,
			enum stack_end how)
{
	size_t n = 0;

	for (; chain[n] >= 0; n++) {
		assert_true(n < s->n);
		assert_string_equal(symbols_name(&p->u.symbols, s->pc[n]),
				    functions[chain[n]].name);
	}
	assert_int_equal(s->n, n);
	assert_int_equal(s->end, how);
	assert_int_equal(s->stop != 0, how == STACK_DAMAGED);
}

#define EACH_RELEASE for (const struct mkgo_release *r = mkgo_everywhere; r->minor; r++)

static void test_parked(void **state)
{
	static const int chain[] = {GOPARK, RECURSE, RECURSE, START, GOEXIT, -1};

	(void)state;
	EACH_RELEASE
	{
		struct process p;
		struct stack s;
		va_t sp;

		begin(&p, r, G_WAITING);
		sp = p.stack.lo + GOPARK_SP;
		saved(&p, return_to(GOPARK), sp);
		lay(&p, sp, chain);
		unwind(&p, &s);
		check_chain(&p, &s, chain, STACK_BOTTOM);
		assert_int_equal(s.pc[1], return_to(RECURSE) - 1);
		end(&p);
	}
}

/* It stands at its function's first byte, and goexit called it. */
static void test_new(void **state)
{
	static const int chain[] = {START, GOEXIT, -1};

	(void)state;
	EACH_RELEASE
	{
		struct process p;
		struct stack s;

		begin(&p, r, G_RUNNABLE);
		saved(&p, entry_of(START), p.stack.hi - 64);
		if (p.arm64)
			mkgo_poke(p.go, p.g, RT_G_SCHED_LR, return_to(GOEXIT));
		else
			mkgo_poke_u64(p.go, p.stack.hi - 64, return_to(GOEXIT));
		unwind(&p, &s);
		check_chain(&p, &s, chain, STACK_BOTTOM);
		assert_int_equal(s.pc[0], entry_of(START));
		end(&p);
	}
}

static void test_syscall(void **state)
{
	static const int chain[] = {RECURSE, START, GOEXIT, -1};

	(void)state;
	EACH_RELEASE
	{
		struct process p;
		struct stack s;
		va_t sp;

		begin(&p, r, G_SYSCALL);
		sp = p.stack.lo + GOPARK_SP;
		saved(&p, 1, 1);
		mkgo_poke(p.go, p.g, RT_G_SYSCALLPC, return_to(RECURSE));
		mkgo_poke(p.go, p.g, RT_G_SYSCALLSP, sp);
		lay(&p, sp, chain);
		unwind(&p, &s);
		check_chain(&p, &s, chain, STACK_BOTTOM);
		end(&p);
	}
}

/* By the registers, which may stand before the frame is made. */
static void test_running(void **state)
{
	static const int chain[] = {RECURSE, START, GOEXIT, -1};

	(void)state;
	EACH_RELEASE
	for (int prologue = 0; prologue < 2; prologue++) {
		struct process p;
		struct stack s;
		va_t sp;

		begin(&p, r, G_RUNNING);
		sp = p.stack.lo + GOPARK_SP;
		saved(&p, 1, 1);
		lay(&p, sp, prologue && p.arm64 ? chain + 1 : chain);
		registers(&p, entry_of(RECURSE) + (prologue ? 2 : INSIDE),
			  sp + (prologue && !p.arm64 ? functions[RECURSE].frame : 0),
			  return_to(START));
		unwind(&p, &s);
		check_chain(&p, &s, chain, STACK_BOTTOM);
		assert_int_equal(s.pc[0], entry_of(RECURSE) + (prologue ? 2 : INSIDE));
		end(&p);
	}
}

/* Its thread works for it on the system stack, or calls the vdso from there. */
static void test_on_system_stack(void **state)
{
	static const int chain[] = {RECURSE, START, GOEXIT, -1};

	(void)state;
	EACH_RELEASE
	for (int vdso = 0; vdso < 2; vdso++) {
		struct process p;
		struct stack s;
		va_t sp;

		begin(&p, r, G_RUNNING);
		sp = p.stack.lo + GOPARK_SP;
		lay(&p, sp, chain);
		if (vdso) {
			mkgo_poke(p.go, p.m, RT_M_VDSO_PC, return_to(RECURSE));
			mkgo_poke(p.go, p.m, RT_M_VDSO_SP, sp);
		} else {
			saved(&p, return_to(RECURSE), sp);
		}
		registers(&p, entry_of(FUTEX), p.g0.hi - 256, 0);
		unwind(&p, &s);
		check_chain(&p, &s, chain, STACK_BOTTOM);
		end(&p);
	}
}

static void test_no_registers(void **state)
{
	(void)state;
	EACH_RELEASE
	{
		struct process p;
		struct stack s;

		begin(&p, r, G_RUNNING);
		saved(&p, return_to(RECURSE), p.stack.lo + GOPARK_SP);
		unwind(&p, &s);
		assert_int_equal(s.n, 0);
		assert_int_equal(s.end, STACK_NOT_SAVED);
		end(&p);
	}
}

/* Below a signal's frame the caller stands at its own instruction, the last one here. */
static void test_injected(void **state)
{
	static const int chain[] = {GOPARK, SIGPANIC, RECURSE, START, GOEXIT, -1};

	(void)state;
	EACH_RELEASE
	{
		struct process p;
		struct stack s;
		va_t sp, fault = entry_of(RECURSE) + functions[RECURSE].bytes - 1;

		begin(&p, r, G_WAITING);
		sp = p.stack.lo + GOPARK_SP;
		saved(&p, return_to(GOPARK), sp);
		lay(&p, sp, chain);
		mkgo_poke_u64(p.go,
			      sp + functions[GOPARK].frame +
				      (p.arm64 ? 0 : 8 + functions[SIGPANIC].frame),
			      fault);
		unwind(&p, &s);
		check_chain(&p, &s, chain, STACK_BOTTOM);
		assert_int_equal(s.pc[2], fault);
		end(&p);
	}
}

static void test_ends(void **state)
{
	static const struct {
		int chain[4];
		va_t last; /* instead of the last return address */
		enum stack_end end;
		size_t n;
	} cases[] = {
		{{GOPARK, START, -1}, 0x1234, STACK_FOREIGN, 2},
		{{GOPARK, START, -1}, 0, STACK_FOREIGN, 2},
		{{RECURSE, GOGO, -1}, 0, STACK_SWITCHED, 2},
	};

	(void)state;
	EACH_RELEASE
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct process p;
		struct stack s;
		va_t sp;

		if (cases[i].end == STACK_SWITCHED && r->minor < FLAGS_SINCE)
			continue;
		begin(&p, r, G_WAITING);
		sp = p.stack.lo + GOPARK_SP;
		saved(&p, return_to(cases[i].chain[0]), sp);
		lay(&p, sp, cases[i].chain);
		if (cases[i].end == STACK_FOREIGN)
			mkgo_poke_u64(p.go, sp + (p.arm64 ? 0 : functions[cases[i].chain[0]].frame),
				      cases[i].last);
		unwind(&p, &s);
		assert_int_equal(s.n, cases[i].n);
		assert_int_equal(s.end, cases[i].end);
		end(&p);
	}
}

static void test_damage(void **state)
{
	(void)state;
	EACH_RELEASE
	for (int i = 0; i < 4; i++) {
		struct process p;
		struct stack s;

		begin(&p, r, G_WAITING);
		saved(&p, return_to(RECURSE),
		      (const va_t[]){p.stack.hi - 16, p.stack.lo - 8, 3,
				     p.stack.lo + GOPARK_SP + 4}[i]);
		unwind(&p, &s);
		assert_int_equal(s.n, i == 0 || i == 3 ? 1 : 0);
		assert_int_equal(s.end, STACK_DAMAGED);
		assert_int_not_equal(s.stop, 0);
		end(&p);
	}
}

static void test_deep(void **state)
{
	struct process p;
	struct stack s;
	va_t sp;

	(void)state;
	begin(&p, &mkgo_releases[0], G_WAITING);
	sp = p.stack.lo + 64;
	saved(&p, return_to(RECURSE), sp);
	for (va_t at = sp; at + 48 < p.stack.hi; at += 48)
		mkgo_poke_u64(p.go, at + 40, return_to(RECURSE));
	unwind(&p, &s);
	assert_int_equal(s.n, STACK_FRAMES_MAX);
	assert_int_equal(s.end, STACK_DEEP);
	end(&p);
}

static void test_machine(void **state)
{
	static const int chain[] = {FUTEX, START, MSTART, -1};

	(void)state;
	EACH_RELEASE
	{
		struct process p;
		struct stack s;
		struct range on;
		const struct machine *m = NULL;

		begin(&p, r, G_WAITING);
		saved(&p, return_to(RECURSE), p.stack.lo + GOPARK_SP);
		lay(&p, p.g0.hi - 512, p.arm64 ? chain + 1 : chain);
		registers(&p, entry_of(FUTEX) + 8, p.g0.hi - 512, return_to(START));
		unwind(&p, &s);
		for (size_t i = 0; i < p.c.gort.ms.v.n; i++)
			if (p.c.gort.ms.v.v[i].m == p.m)
				m = &p.c.gort.ms.v.v[i];
		assert_non_null(m);
		assert_ok(unwind_machine(&p.u, m, &on, &s));
		check_chain(&p, &s, chain, STACK_BOTTOM);
		assert_int_equal(on.lo, p.g0.lo);
		end(&p);
	}
}

/* Without tables: frame pointers, kept or found. */
static void test_frame_pointers(void **state)
{
	static const int chain[] = {GOPARK, RECURSE, START, GOEXIT};

	(void)state;
	EACH_RELEASE
	for (int kept = 0; kept < 2; kept++) {
		struct process p;
		struct stack s;
		va_t sp, fp;

		begin(&p, r, G_WAITING);
		mkgo_poke_u64(p.go, MKGO_TABLES, 0); /* no table of functions */
		sp = p.stack.lo + GOPARK_SP;
		fp = sp + 32;
		saved(&p, return_to(GOPARK), sp);
		if (kept)
			mkgo_poke(p.go, p.g, RT_G_SCHED_BP, fp);
		for (size_t i = 1; i < COUNT_OF(chain); i++, fp += 48) {
			mkgo_poke_u64(p.go, fp, i < 3 ? fp + 48 : 0);
			mkgo_poke_u64(p.go, fp + 8, return_to(chain[i]));
		}
		unwind(&p, &s);
		assert_int_equal(s.n, COUNT_OF(chain));
		for (size_t i = 0; i < s.n; i++)
			assert_int_equal(s.pc[i], return_to(chain[i]) - 1);
		assert_int_equal(s.end, STACK_BOTTOM);
		end(&p);
	}
}

/* The chain goes round, leads to C's stack, or to nothing. */
static void test_bad_frame_pointers(void **state)
{
	static const enum stack_end ends[] = {STACK_DAMAGED, STACK_FOREIGN, STACK_DAMAGED};

	(void)state;
	EACH_RELEASE
	for (size_t i = 0; i < COUNT_OF(ends); i++) {
		struct process p;
		struct stack s;
		va_t fp;

		begin(&p, r, G_WAITING);
		mkgo_poke_u64(p.go, MKGO_TABLES, 0);
		fp = p.stack.lo + GOPARK_SP + 32;
		saved(&p, return_to(GOPARK), p.stack.lo + GOPARK_SP);
		mkgo_poke(p.go, p.g, RT_G_SCHED_BP, fp);
		mkgo_poke_u64(p.go, fp, (const va_t[]){fp, MKGO_OS_STACK + 64, 0}[i]);
		mkgo_poke_u64(p.go, fp + 8, i == 2 ? 5 : return_to(START));
		unwind(&p, &s);
		assert_int_equal(s.end, ends[i]);
		assert_int_equal(s.n, i == 2 ? 1 : 2);
		end(&p);
	}
}

TEST_MAIN(TEST(test_parked), TEST(test_new), TEST(test_syscall), TEST(test_running),
	  TEST(test_on_system_stack), TEST(test_no_registers), TEST(test_injected), TEST(test_ends),
	  TEST(test_damage), TEST(test_deep), TEST(test_machine), TEST(test_frame_pointers),
	  TEST(test_bad_frame_pointers))
