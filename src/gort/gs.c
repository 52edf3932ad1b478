#include "gort/gs.h"

#include "gort/rtget.h"

#define MAX_GOROUTINES ((u64)1 << 28)
#define STATUS_SCAN_BIT 0x1000
#define POINTERS_AT_ONCE 512

static va_t goroutine_sp(const struct rt *rt, const struct machines *ms, const u8 *rec,
			 const struct goroutine *g)
{
	va_t sp = rec_u(rt, rec, RT_G_SYSCALLSP);

	if (sp == 0 && g->status == G_RUNNING) {
		for (size_t i = 0; i < ms->v.n; i++)
			if (ms->v.v[i].curg == g->g)
				return machine_sp(rt, &ms->v.v[i], g->stack);
		return g->stack.lo;
	}
	if (sp == 0)
		sp = rec_u(rt, rec, RT_G_SCHED_SP);
	/* A pointer from elsewhere says nothing: the whole stack counts as used. */
	return sp >= g->stack.lo && sp <= g->stack.hi ? sp : g->stack.lo;
}

static struct err *read_goroutine(const struct rt *rt, const struct machines *ms, va_t va,
				  struct goroutines *ret)
{
	u8 buf[RT_RECORD_MAX];
	const u8 *rec = rt_record(rt, va, RT_G, buf);
	struct goroutine g = {.g = va};

	if (!rec) {
		diag(rt->d, DIAG_STRUCTURE, "the g at 0x%llx is not in the core",
		     (unsigned long long)va);
		return NULL;
	}
	g.goid = rec_u(rt, rec, RT_G_GOID);
	g.status = (u16)(rec_u(rt, rec, RT_G_STATUS) & ~(u64)STATUS_SCAN_BIT);
	g.stack.lo = rec_u(rt, rec, RT_G_STACK_LO);
	g.stack.hi = rec_u(rt, rec, RT_G_STACK_HI);
	if (g.stack.hi < g.stack.lo || g.stack.hi > GO_MAX_ADDR) {
		diag(rt->d, DIAG_STRUCTURE, "the stack of the g at 0x%llx makes no sense",
		     (unsigned long long)va);
		return NULL;
	}
	g.sp = goroutine_is_dead(&g) ? g.stack.hi : goroutine_sp(rt, ms, rec, &g);
	return array_push(&ret->v, g);
}

struct err *goroutines_read(const struct rt *rt, const struct machines *ms, struct goroutines *ret)
{
	struct go_slice all;
	va_t batch[POINTERS_AT_ONCE];

	TRY(err_wrap(rt_slice(rt, rt->globals[RT_G_ALLGS], MAX_GOROUTINES, &all), "allgs"));
	if (image_dumped_end(rt->im, all.ptr) < va_plus(all.ptr, all.len * sizeof(va_t)))
		return err_new(ERR_FAULT, "the table of %llu goroutines is not in the core",
			       (unsigned long long)all.len);
	TRY(array_reserve(&ret->v, all.len));
	for (u64 i = 0; i < all.len; i += POINTERS_AT_ONCE) {
		u64 n = MIN(all.len - i, POINTERS_AT_ONCE);

		TRY(image_read(rt->im, all.ptr + i * sizeof(va_t), batch, n * sizeof(va_t)));
		for (u64 j = 0; j < n; j++)
			TRY(read_goroutine(rt, ms, batch[j], ret));
	}
	return NULL;
}

bool goroutine_detail(const struct rt *rt, const struct goroutine *g, struct goroutine_detail *ret)
{
	u8 buf[RT_RECORD_MAX];
	const u8 *rec = rt_record(rt, g->g, RT_G, buf);

	if (!rec)
		return false;
	*ret = (struct goroutine_detail){
		.saved = {.pc = rec_u(rt, rec, RT_G_SCHED_PC),
			  .sp = rec_u(rt, rec, RT_G_SCHED_SP),
			  .fp = rec_u(rt, rec, RT_G_SCHED_BP),
			  .lr = rec_u(rt, rec, RT_G_SCHED_LR)},
		.in_syscall = {.pc = rec_u(rt, rec, RT_G_SYSCALLPC),
			       .sp = rec_u(rt, rec, RT_G_SYSCALLSP),
			       .fp = rec_u(rt, rec, RT_G_SYSCALLBP)},
		.wait_reason = (u8)rec_u(rt, rec, RT_G_WAITREASON),
		.waitsince = rec_u(rt, rec, RT_G_WAITSINCE),
		.gopc = rec_u(rt, rec, RT_G_GOPC),
		.startpc = rec_u(rt, rec, RT_G_STARTPC),
		.parent = rec_u(rt, rec, RT_G_PARENT),
		.labels = rec_u(rt, rec, RT_G_LABELS),
		.lockedm = rec_u(rt, rec, RT_G_LOCKEDM),
	};
	return true;
}

/* runtime/traceback.go gStatusStrings */
const char *goroutine_status_name(unsigned status)
{
	static const char *const names[] = {
		[G_IDLE] = "idle",           [G_RUNNABLE] = "runnable",   [G_RUNNING] = "running",
		[G_SYSCALL] = "syscall",     [G_WAITING] = "waiting",     [G_DEAD] = "dead",
		[G_COPYSTACK] = "copystack", [G_PREEMPTED] = "preempted", [G_LEAKED] = "leaked",
		[G_DEADEXTRA] = "dead",
	};

	return status < COUNT_OF(names) && names[status] ? names[status] : "unknown";
}

static const struct {
	const char *name;
	enum wait_kind kind;
	u8 number[WAIT_COLUMNS];
} wait_reasons[] = {
#define W(name, kind, ...) {name, WAIT_##kind, {__VA_ARGS__}},
#include "gort/waitreasons.def"
#undef W
};

const char *wait_reason_name(const struct rt *rt, u8 reason, enum wait_kind *kind)
{
	*kind = WAIT_UNKNOWN;
	for (size_t i = 0; i < COUNT_OF(wait_reasons) && reason; i++)
		if (wait_reasons[i].number[rt->dialect.wait_numbers] == reason) {
			*kind = wait_reasons[i].kind;
			return wait_reasons[i].name;
		}
	return NULL;
}

static void see_time(const struct rt *rt, va_t base, enum rt_field f, u64 *latest)
{
	u64 time;
	struct err *err = base && rt_has(rt, f) ? rt_u(rt, base, f, &time) : err_fault();

	if (!err && time < INT64_MAX)
		*latest = MAX(*latest, time);
	err_free(err);
}

u64 goroutines_clock(const struct rt *rt, const struct procs *procs)
{
	u64 latest = 0;

	see_time(rt, rt->globals[RT_G_MEMSTATS], RT_MSTATS_LAST_GC_NANOTIME, &latest);
	see_time(rt, rt->globals[RT_G_SCHED], RT_SCHED_LASTPOLL, &latest);
	for (size_t i = 0; i < procs->v.n; i++)
		see_time(rt, procs->v.v[i].p, RT_P_SYSMON_WHEN, &latest);
	return latest;
}
