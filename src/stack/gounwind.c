#include "stack/gounwind.h"

#include "gort/rtget.h"

#include <string.h>

#define WORD sizeof(va_t)
#define SEARCHED_WORDS 64 /* for a frame pointer, where none was kept */

/* What is known of an address, which thousands of goroutines may stand at. */
struct pc_info {
	va_t at; /* the byte to look up: see address_of */
	u64 frame_bytes;
	bool known; /* in a function of a table */
	bool top, switches;
	bool has_frame;
	bool injected; /* a signal put this call on the stack: its caller stands at an instruction
			*/
};

struct err *unwinder_open(struct unwinder *u, const struct gort *gort, struct diags *d)
{
	u->gort = gort;
	u->rt = &gort->rt;
	return symbols_open(&gort->rt, &gort->modules, d, &u->symbols);
}

void unwinder_close(struct unwinder *u)
{
	symbols_fini(&u->symbols);
	map_fini(&u->known);
	array_free(&u->infos);
}

/* Functions whose frames signals put on a stack (runtime/traceback.go unwinder.next). */
static bool is_injected(const char *name)
{
	return !strcmp(name, "runtime.sigpanic") || !strcmp(name, "runtime.asyncPreempt") ||
	       !strncmp(name, "runtime.debugCallV", strlen("runtime.debugCallV"));
}

static struct pc_info describe(const struct unwinder *u, va_t at)
{
	struct pc_info info = {.at = at};
	struct func f;

	if (!symbols_find(&u->symbols, at, &f))
		return info;
	info.known = true;
	info.top = func_is_top(&f);
	info.switches = func_writes_sp(&f);
	info.has_frame = func_frame_bytes(&f, at, &info.frame_bytes);
	info.injected = is_injected(func_name(&f));
	return info;
}

/* The address to look up for a frame: a return address is behind the call, which may be a
 * function's last instruction. The first byte of a function was never returned to: it stands for a
 * goroutine that has not run yet, or for systemstack_switch (runtime/asm_amd64.s
 * gosave_systemstack_switch). */
static va_t address_of(const struct unwinder *u, va_t pc, bool exact)
{
	struct func f;

	if (exact || pc == 0 || (symbols_find(&u->symbols, pc, &f) && f.entry == pc))
		return pc;
	return pc - 1;
}

static struct err *look_up(struct unwinder *u, va_t pc, bool exact, struct pc_info *ret)
{
	u64 key = pc << 1 | exact;
	bool fresh;
	u32 *index;

	TRY(map_at(&u->known, key ? key : 1, &index, &fresh));
	if (fresh) {
		TRY(array_push(&u->infos, describe(u, address_of(u, pc, exact))));
		*index = (u32)u->infos.n;
	}
	*ret = u->infos.v[*index - 1];
	return NULL;
}

/* A word of the stack. */
static bool stack_word(const struct unwinder *u, struct range stack, va_t at, va_t *ret)
{
	return at % WORD == 0 && at >= stack.lo && at < stack.hi && stack.hi - at >= WORD &&
	       image_u64(u->rt->im, at, ret);
}

/* One frame on the way from callees to callers. */
struct walk {
	va_t pc, sp, lr; /* lr: of the innermost function, which may not have saved it; else 0 */
	bool exact;
};

/* The caller's: a call has left the return address above the frame. */
static bool step_by_stack(const struct unwinder *u, struct range stack, u64 frame_bytes,
			  struct walk *w)
{
	va_t at;

	if (w->sp < stack.lo || __builtin_add_overflow(w->sp, frame_bytes, &at) ||
	    !stack_word(u, stack, at, &w->pc))
		return false;
	w->sp = at + WORD;
	return true;
}

/* The caller's where a call leaves the return address in a register, which a function with a frame
 * saves at its lower end (runtime/traceback.go resolveInternal). */
static bool step_by_register(const struct unwinder *u, struct range stack, u64 frame_bytes,
			     struct walk *w)
{
	va_t above;

	if (__builtin_add_overflow(w->sp, frame_bytes, &above) || above > stack.hi)
		return false;
	if ((frame_bytes || !w->lr) && !stack_word(u, stack, w->sp, &w->lr))
		return false;
	w->pc = w->lr;
	w->lr = 0;
	w->sp = above;
	return true;
}

#define INJECTED_BYTES 16 /* that sigctxt.preparePanic takes for the link register on arm64 */

/* The frame of the caller; false when it leads out of the stack. */
static bool step(const struct unwinder *u, struct range stack, const struct pc_info *info,
		 struct walk *w)
{
	bool by_register = u->rt->im->arch->prstatus.lr != 0;

	if (!by_register ? !step_by_stack(u, stack, info->frame_bytes, w)
			 : !step_by_register(u, stack, info->frame_bytes, w))
		return false;
	w->exact = info->injected;
	if (by_register && w->exact) {
		if (!stack_word(u, stack, w->sp, &w->lr))
			return false;
		w->sp += INJECTED_BYTES;
	}
	return true;
}

static void end_at(struct stack *s, enum stack_end end, va_t stop)
{
	s->end = end;
	s->stop = end == STACK_DAMAGED ? stop : 0;
}

static void add_frame(struct stack *s, va_t pc, va_t sp)
{
	s->pc[s->n] = pc;
	s->sp[s->n++] = sp;
}

/* Whether the caller of this frame can be found by the tables. */
static bool ends_here(struct stack *s, const struct pc_info *info, bool exact)
{
	/* A function that switches stacks had not begun to when it was left by a call of its own.
	 */
	bool switched = info->switches && (s->n > 1 || exact);

	if (!info->known)
		end_at(s, STACK_FOREIGN, 0);
	else if (info->top)
		end_at(s, STACK_BOTTOM, 0);
	else if (switched || !info->has_frame)
		end_at(s, STACK_SWITCHED, 0);
	else
		return false;
	return true;
}

static struct err *unwind_by_tables(struct unwinder *u, const struct stack_start *start,
				    struct range stack, struct stack *ret)
{
	struct walk w = {start->at.pc, start->at.sp, start->at.lr, start->exact};

	for (;;) {
		struct pc_info info;
		va_t before = w.sp;

		if (ret->n == STACK_FRAMES_MAX) {
			end_at(ret, STACK_DEEP, 0);
			return NULL;
		}
		TRY(look_up(u, w.pc, w.exact, &info));
		add_frame(ret, info.at, w.sp);
		if (ends_here(ret, &info, w.exact))
			return NULL;
		if (!step(u, stack, &info, &w)) {
			end_at(ret, STACK_DAMAGED, before);
			return NULL;
		}
	}
}

static bool in_some_text(const struct gort *gort, va_t pc)
{
	for (size_t i = 0; i < gort->modules.v.n; i++)
		if (pc >= gort->modules.v.v[i].text.lo && pc < gort->modules.v.v[i].text.hi)
			return true;
	return false;
}

/* Follows frame pointers: each points to the saved one of the caller, above which is the return
 * address. The function that a goroutine began with saved 0 (runtime/asm_amd64.s gogo). */
static void follow(const struct unwinder *u, struct range stack, va_t fp, struct stack *ret)
{
	while (ret->n < STACK_FRAMES_MAX) {
		va_t caller, pc;

		if (fp < stack.lo || fp >= stack.hi) { /* C's, on its own stack */
			end_at(ret, STACK_FOREIGN, 0);
			return;
		}
		if (fp % WORD != 0 || stack.hi - fp < 2 * WORD ||
		    !image_u64(u->rt->im, fp, &caller) || !image_u64(u->rt->im, fp + WORD, &pc) ||
		    !in_some_text(u->gort, pc)) {
			end_at(ret, STACK_DAMAGED, fp);
			return;
		}
		add_frame(ret, pc - 1, fp + 2 * WORD);
		if (caller == 0) {
			end_at(ret, STACK_BOTTOM, 0);
			return;
		}
		if (caller <= fp && caller >= stack.lo) {
			end_at(ret, STACK_DAMAGED, fp);
			return;
		}
		fp = caller;
	}
	end_at(ret, STACK_DEEP, 0);
}

/* Where the frame pointer was not kept, the first word that begins a chain to the bottom is one. */
static void search_frame(const struct unwinder *u, va_t sp, struct range stack, struct stack *ret)
{
	size_t n = ret->n;

	sp = align_up(sp, WORD);
	for (int i = 0; i < SEARCHED_WORDS && sp < stack.hi; i++, sp += WORD) {
		va_t saved;

		ret->n = n;
		if (!image_u64(u->rt->im, sp, &saved) || (saved && saved <= sp))
			continue;
		follow(u, stack, sp, ret);
		if (ret->end == STACK_BOTTOM && ret->n > n)
			return;
	}
	ret->n = n;
	end_at(ret, STACK_DAMAGED, sp);
}

static void unwind_by_frames(const struct unwinder *u, const struct stack_start *start,
			     struct range stack, struct stack *ret)
{
	add_frame(ret, start->exact ? start->at.pc : start->at.pc - 1, start->at.sp);
	if (!in_some_text(u->gort, ret->pc[0])) {
		end_at(ret, STACK_FOREIGN, 0);
		return;
	}
	if (start->at.fp >= start->at.sp && start->at.fp < stack.hi)
		follow(u, stack, start->at.fp, ret);
	else
		search_frame(u, start->at.sp, stack, ret);
}

struct err *unwind_from(struct unwinder *u, const struct stack_start *start, struct range stack,
			struct stack *ret)
{
	ret->n = 0;
	end_at(ret, STACK_NOT_SAVED, 0);
	if (start->at.pc == 0 && start->at.sp == 0)
		return NULL;
	if (start->at.sp < stack.lo || start->at.sp > stack.hi) {
		end_at(ret, STACK_DAMAGED, start->at.sp);
		return NULL;
	}
	if (u->symbols.v.n)
		return unwind_by_tables(u, start, stack, ret);
	unwind_by_frames(u, start, stack, ret);
	return NULL;
}

static const struct machine *machine_of(const struct gort *gort, va_t g)
{
	for (size_t i = 0; i < gort->ms.v.n; i++)
		if (gort->ms.v.v[i].curg == g && gort->ms.v.v[i].thread)
			return &gort->ms.v.v[i];
	return NULL;
}

static bool contains(struct range r, va_t va)
{
	return r.lo <= va && va < r.hi;
}

/* A call into the kernel's vdso runs on the system stack; the runtime keeps where it was made
 * (runtime/sys_linux_amd64.s nanotime1). */
static bool in_vdso(const struct rt *rt, const struct machine *m, struct range stack,
		    struct context *ret)
{
	struct err *err = rt_u(rt, m->m, RT_M_VDSO_SP, &ret->sp);

	ret->fp = ret->lr = 0;
	if (!err)
		err = rt_u(rt, m->m, RT_M_VDSO_PC, &ret->pc);
	err_free(err);
	return !err && contains(stack, ret->sp);
}

/* Of a running goroutine: its thread's registers, or, while the thread works for it on another
 * stack, what was saved when it left this one. */
static struct stack_start running_start(const struct unwinder *u, const struct goroutine *g,
					const struct goroutine_detail *detail)
{
	const struct machine *m = machine_of(u->gort, g->g);
	struct stack_start start = {.exact = false};

	if (!m)
		return start;
	start.at = machine_context(u->rt, m);
	start.exact = contains(g->stack, start.at.sp);
	if (!start.exact && !in_vdso(u->rt, m, g->stack, &start.at))
		start.at = detail->saved;
	return start;
}

struct err *unwind_goroutine(struct unwinder *u, const struct goroutine *g,
			     const struct goroutine_detail *detail, struct stack *ret)
{
	struct stack_start start = {.at = detail->saved};

	ret->n = 0;
	end_at(ret, STACK_BOTTOM, 0);
	if (goroutine_is_dead(g))
		return NULL;
	if (detail->in_syscall.sp)
		start.at = detail->in_syscall;
	else if (g->status == G_RUNNING)
		start = running_start(u, g, detail);
	return unwind_from(u, &start, g->stack, ret);
}

struct err *unwind_machine(struct unwinder *u, const struct machine *m, struct range *on,
			   struct stack *ret)
{
	struct stack_start start = {.at = machine_context(u->rt, m), .exact = true};

	*on = m->g0;
	ret->n = 0;
	end_at(ret, STACK_NOT_SAVED, 0);
	if (!m->thread)
		return NULL;
	if (contains(m->gsignal, start.at.sp))
		*on = m->gsignal;
	else if (!contains(m->g0, start.at.sp))
		return NULL;
	return unwind_from(u, &start, *on, ret);
}

static const struct {
	const char *name, *text;
} ends[STACK_END_COUNT] = {
	[STACK_BOTTOM] = {"bottom", ""},
	[STACK_SWITCHED] = {"switched", "a change of stacks, which is not followed"},
	[STACK_FOREIGN] = {"foreign", "code that is not Go's, which is not followed"},
	[STACK_DAMAGED] = {"damaged", "no return address here: the rest is lost"},
	[STACK_DEEP] = {"deep", "more frames, which are not shown"},
	[STACK_NOT_SAVED] = {"not-saved", "its registers are not in the core"},
};

const char *stack_end_text(enum stack_end end)
{
	return ends[end].text;
}

const char *stack_end_name(enum stack_end end)
{
	return ends[end].name;
}
