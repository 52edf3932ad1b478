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
