#include "gort/ms.h"

#include "gort/list.h"
#include "gort/rtget.h"

#define STACK_T_SIZE 16 /* stack_t {sp, flags, size} */

static bool in_range(struct range r, va_t va)
{
	return r.lo <= va && va < r.hi;
}

static struct err *g_stack(const struct rt *rt, va_t g, struct range *ret)
{
	*ret = (struct range){0, 0};
	if (!g)
		return NULL;
	TRY(rt_u(rt, g, RT_G_STACK_LO, &ret->lo));
	TRY(rt_u(rt, g, RT_G_STACK_HI, &ret->hi));
	if (ret->hi < ret->lo)
		return err_new(ERR_FORMAT, "stack ends before it begins");
	return NULL;
}

/* An M keeps a copy of its own signal stack when it adopts a C thread's. Afterwards the copy stays,
 * but only gsignal counts. */
static struct err *spare_signal_stack(const struct rt *rt, va_t m, struct range gsignal,
				      struct range *ret)
{
	struct range own;

	TRY(rt_u(rt, m, RT_M_GO_SIGNAL_STACK_LO, &own.lo));
	TRY(rt_u(rt, m, RT_M_GO_SIGNAL_STACK_HI, &own.hi));
	if (own.hi < own.lo)
		return err_new(ERR_FORMAT, "its spare signal stack ends before it begins");
	if (gsignal.lo != gsignal.hi && gsignal.lo != own.lo)
		*ret = own;
	return NULL;
}

static const struct thread *thread_by_tid(const struct image *im, u64 tid)
{
	for (size_t i = 0; i < im->threads.n; i++)
		if (im->threads.v[i].tid == tid)
			return &im->threads.v[i];
	return NULL;
}

static struct err *read_machine(const struct rt *rt, va_t m, struct machine *ret)
{
	va_t g0, gsignal;
	u64 tid;

	*ret = (struct machine){.m = m};
	TRY(rt_u(rt, m, RT_M_G0, &g0));
	TRY(rt_u(rt, m, RT_M_GSIGNAL, &gsignal));
	TRY(rt_u(rt, m, RT_M_CURG, &ret->curg));
	TRY(rt_u(rt, m, RT_M_PROCID, &tid));
	TRY(err_wrap(g_stack(rt, g0, &ret->g0), "its g0"));
	TRY(err_wrap(g_stack(rt, gsignal, &ret->gsignal), "its gsignal"));
	TRY(spare_signal_stack(rt, m, ret->gsignal, &ret->spare_signal));
	ret->thread = thread_by_tid(rt->im, tid);
	return NULL;
}

#define MAX_MACHINES 65536 /* runtime/debug.SetMaxThreads allows 10000 unless told otherwise */

static struct err *read_list(const struct rt *rt, va_t head, enum rt_field link,
			     struct machines *ret)
{
	struct list_guard guard = {0};
	va_t m;

	if (!image_u64(rt->im, head, &m))
		return err_new(ERR_FAULT, "the list of Ms is not in the core");
	while (m) {
		struct machine machine;
		struct err *err;

		if (!list_guard_step(&guard, m) || ret->v.n >= MAX_MACHINES) {
			diag(rt->d, DIAG_LIST, "a list of Ms runs in a circle");
			return NULL;
		}
		err = read_machine(rt, m, &machine);
		if (!err)
			TRY(array_push(&ret->v, machine));
		else
			diag_err(rt->d, DIAG_STRUCTURE,
				 err_wrap(err, "M at 0x%llx", (unsigned long long)m));
		err = rt_u(rt, m, link, &m);
		if (err) {
			diag_err(rt->d, DIAG_LIST, err_wrap(err, "a list of Ms"));
			return NULL;
		}
	}
	return NULL;
}

static struct machine *find_machine(struct machines *ms, va_t m)
{
	for (size_t i = 0; i < ms->v.n; i++)
		if (ms->v.v[i].m == m)
			return &ms->v.v[i];
	return NULL;
}

/* Marks those on the list of idle Ms (runtime/proc.go mput). What is wrong with the list is no loss
 * of memory, and ends it. */
static void mark_idle(const struct rt *rt, struct machines *ret)
{
	enum rt_field link = rt_has(rt, RT_M_IDLE_NEXT) ? RT_M_IDLE_NEXT : RT_M_SCHEDLINK;
	struct list_guard guard = {0};
	va_t m;
	struct err *err = rt_u(rt, rt->globals[RT_G_SCHED], RT_SCHED_MIDLE, &m);

	while (!err && m && list_guard_step(&guard, m)) {
		struct machine *machine = find_machine(ret, m);

		if (!machine)
			return;
		machine->idle = true;
		err = rt_u(rt, m, link, &m);
	}
	err_free(err);
}

struct err *machines_read(const struct rt *rt, struct machines *ret)
{
	va_t gcrash = rt->globals[RT_G_GCRASH];

	TRY(read_list(rt, rt->globals[RT_G_ALLM], RT_M_ALLLINK, ret));
	TRY(read_list(rt, rt_addr(rt, rt->globals[RT_G_SCHED], RT_SCHED_FREEM), RT_M_FREELINK,
		      ret));
	mark_idle(rt, ret);
	if (gcrash)
		diag_err(rt->d, DIAG_STRUCTURE, g_stack(rt, gcrash, &ret->gcrash));
	return NULL;
}

#define SIGNAL_FRAMES_MAX ((u64)1 << 20) /* a gsignal stack is 32 KiB; C's may be larger */

/* The context that a signal interrupted: the kernel left a ucontext on the signal stack, known by
 * the stack_t in it that describes this very stack. */
static bool interrupted(const struct rt *rt, struct range signal_stack, va_t from,
			struct context *ret)
{
	const struct arch_registers *uc = &rt->im->arch->ucontext;
	va_t end = MIN(signal_stack.hi,
		       MIN(image_dumped_end(rt->im, from), va_plus(from, SIGNAL_FRAMES_MAX)));

	for (va_t va = align_up(from, 8); va < end && end - va >= uc->pc + 8u; va += 8) {
		u64 base, size;

		if (image_u64(rt->im, va, &base) && base == signal_stack.lo &&
		    image_u64(rt->im, va + STACK_T_SIZE, &size) &&
		    size == signal_stack.hi - signal_stack.lo)
			return (!uc->lr || image_u64(rt->im, va + uc->lr, &ret->lr)) &&
			       image_u64(rt->im, va + uc->sp, &ret->sp) &&
			       image_u64(rt->im, va + uc->fp, &ret->fp) &&
			       image_u64(rt->im, va + uc->pc, &ret->pc);
	}
	return false;
}

struct context machine_context(const struct rt *rt, const struct machine *m)
{
	struct context c = {.pc = 0}, before = {.pc = 0};

	if (!m->thread)
		return c;
	c = (struct context){m->thread->pc, m->thread->sp, m->thread->fp, m->thread->lr};
	/* A handler may have been interrupted itself: in a crash each thread that prints its
	 * stacks tells all others to (runtime/signal_unix.go sighandler, GOTRACEBACK=crash). */
	while (in_range(m->gsignal, c.sp) && interrupted(rt, m->gsignal, c.sp, &before)) {
		bool outwards = before.sp > c.sp;

		c = before;
		if (!outwards)
			break;
	}
	return c;
}

va_t machine_sp(const struct rt *rt, const struct machine *m, struct range stack)
{
	struct context c = machine_context(rt, m);

	return in_range(stack, c.sp) ? c.sp : stack.lo;
}
