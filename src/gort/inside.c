#include "gort/inside.h"

#include "gort/pclntab.h"
#include "gort/rtget.h"

#include <string.h>

#define MAX_FRAMES 100

/* Functions by the beginnings of their names, and what a thread inside may have half done. */
static const struct {
	const char *prefix;
	unsigned what;
} functions[] = {
	{"runtime.(*mheap).", INSIDE_PAGES},
	{"runtime.(*pageAlloc).", INSIDE_PAGES},
	{"runtime.(*pageCache).", INSIDE_PAGES},
	{"runtime.(*consistentHeapStats).", INSIDE_PAGES},
	{"runtime.(*mcache).", INSIDE_OBJECTS},
	{"runtime.(*mcentral).", INSIDE_OBJECTS},
	{"runtime.(*sweepLocked).", INSIDE_OBJECTS},
	{"runtime.sweepone", INSIDE_OBJECTS},
	{"runtime.malloc", INSIDE_OBJECTS},
	{"runtime.stackalloc", INSIDE_STACKS},
	{"runtime.stackfree", INSIDE_STACKS},
	{"runtime.stackcache", INSIDE_STACKS},
	{"runtime.stackpool", INSIDE_STACKS},
	{"runtime.freeStackSpans", INSIDE_STACKS},
	{"runtime.newstack", INSIDE_STACKS},
	{"runtime.shrinkstack", INSIDE_STACKS},
	{"runtime.copystack", INSIDE_STACKS},
	{"runtime.malg", INSIDE_STACKS},
	{"runtime.newproc", INSIDE_STACKS},
	{"runtime.gfget", INSIDE_STACKS},
	{"runtime.gfput", INSIDE_STACKS},
	{"runtime.gfpurge", INSIDE_STACKS},
	{"runtime.gdestroy", INSIDE_STACKS},
	{"runtime.goexit0", INSIDE_STACKS},
	{"runtime.allocm", INSIDE_STACKS},
	{"runtime.getempty", INSIDE_STACKS},
	{"runtime.prepareFreeWorkbufs", INSIDE_STACKS},
	{"runtime.freeSomeWbufs", INSIDE_STACKS},
	{"runtime.stkbucket", INSIDE_BUCKETS},
};

/* Takes a frame into account. Callers come after callees. */
static void see_frame(const struct symbols *t, va_t pc, struct insider *in)
{
	const char *name = symbols_name(t, pc);

	for (size_t i = 0; *name && i < COUNT_OF(functions); i++) {
		if (strncmp(name, functions[i].prefix, strlen(functions[i].prefix)) != 0)
			continue;
		if (!in->what)
			in->function = name;
		in->what |= functions[i].what;
	}
}

/* Follows the frame pointers of one stack: each points to the saved one of the caller, above which
 * is the return address. A function that has not saved it yet, or never does, hides its caller
 * only. */
static void see_stack(const struct symbols *t, struct range stack, va_t pc, va_t fp,
		      struct insider *in)
{
	see_frame(t, pc, in);
	for (int i = 0; i < MAX_FRAMES && fp >= stack.lo && fp < stack.hi; i++) {
		va_t caller;

		/* A return address is behind the call, which may be a function's last word. */
		if (!image_u64(t->rt->im, fp + 8, &pc) || !image_u64(t->rt->im, fp, &caller))
			return;
		see_frame(t, pc - 1, in);
		if (caller <= fp)
			return;
		fp = caller;
	}
}

static struct range goroutine_stack(const struct rt *rt, va_t g)
{
	struct range stack = {0, 0};

	err_free(rt_u(rt, g, RT_G_STACK_LO, &stack.lo));
	err_free(rt_u(rt, g, RT_G_STACK_HI, &stack.hi));
	return stack;
}

/* A thread on its system stack works for a goroutine that waits in a call of systemstack
 * (runtime/asm_amd64.s), or that was switched from: its context is in g.sched. */
static void see_goroutine(const struct symbols *t, va_t g, struct insider *in)
{
	const struct rt *rt = t->rt;
	va_t sp, fp, pc;
	struct err *err = rt_u(rt, g, RT_G_SCHED_SP, &sp);

	if (!err)
		err = rt_u(rt, g, RT_G_SCHED_BP, &fp);
	if (!err && image_u64(rt->im, sp, &pc))
		see_stack(t, goroutine_stack(rt, g), pc - 1, fp, in);
	err_free(err);
}

static void see_thread(const struct symbols *t, const struct machine *m, struct insider *in)
{
	struct range own = m->curg ? goroutine_stack(t->rt, m->curg) : (struct range){0, 0};
	struct context c = machine_context(t->rt, m);

	if (c.sp >= own.lo && c.sp < own.hi) {
		see_stack(t, own, c.pc, c.fp, in);
		return;
	}
	see_stack(t, m->g0, c.pc, c.fp, in);
	if (m->curg)
		see_goroutine(t, m->curg, in);
}

struct err *insiders_find(const struct gort *gort, struct insiders *ret)
{
	struct symbols symbols = {.rt = NULL};
	struct err *err = symbols_open(&gort->rt, &gort->modules, NULL, &symbols);

	ret->unknown = !symbols.v.n;
	for (size_t i = 0; i < gort->ms.v.n && !ret->unknown && !err; i++) {
		const struct machine *m = &gort->ms.v.v[i];
		struct insider in = {0};

		if (!m->thread)
			continue;
		in.tid = m->thread->tid;
		see_thread(&symbols, m, &in);
		if (in.what)
			err = array_push(&ret->v, in);
	}
	symbols_fini(&symbols);
	return err;
}

size_t insiders_count(const struct insiders *in, unsigned what, const struct insider **first)
{
	size_t n = 0;

	*first = NULL;
	for (size_t i = 0; i < in->v.n; i++) {
		if (!(in->v.v[i].what & what))
			continue;
		if (!n++)
			*first = &in->v.v[i];
	}
	return n;
}
