#include "gort/module.h"

#include "gort/list.h"
#include "gort/rtget.h"

static struct err *read_range(const struct rt *rt, va_t m, enum rt_field lo, enum rt_field hi,
			      struct range *ret)
{
	TRY(rt_u(rt, m, lo, &ret->lo));
	TRY(rt_u(rt, m, hi, &ret->hi));
	if (ret->hi < ret->lo)
		return err_new(ERR_FORMAT, "a range of the module ends before it begins");
	return NULL;
}

/* The masks of data and bss are expanded at start, one bit a word; the runtime allocates
 * (n+7)/8 + 1 bytes (runtime/mbitmap.go progToPointerMask). */
static struct err *read_mask(const struct rt *rt, va_t m, enum rt_field n, enum rt_field bytes,
			     struct range *ret)
{
	u64 bits;

	TRY(rt_u(rt, m, n, &bits));
	TRY(rt_u(rt, m, bytes, &ret->lo));
	ret->hi = ret->lo ? va_plus(ret->lo, (bits + 7) / 8 + 1) : 0;
	return NULL;
}

static struct err *read_module(const struct rt *rt, va_t m, struct module *ret)
{
	struct go_slice pcln;

	ret->addr = m;
	TRY(read_range(rt, m, RT_MODULE_TEXT, RT_MODULE_ETEXT, &ret->text));
	TRY(read_range(rt, m, RT_MODULE_NOPTRDATA, RT_MODULE_ENOPTRDATA, &ret->noptrdata));
	TRY(read_range(rt, m, RT_MODULE_DATA, RT_MODULE_EDATA, &ret->data));
	TRY(read_range(rt, m, RT_MODULE_BSS, RT_MODULE_EBSS, &ret->bss));
	TRY(read_range(rt, m, RT_MODULE_NOPTRBSS, RT_MODULE_ENOPTRBSS, &ret->noptrbss));
	TRY(read_mask(rt, m, RT_MODULE_GCDATA_N, RT_MODULE_GCDATA_BYTES, &ret->gcdata_mask));
	TRY(read_mask(rt, m, RT_MODULE_GCBSS_N, RT_MODULE_GCBSS_BYTES, &ret->gcbss_mask));
	/* The table begins with its header; its last part, pclntable, ends it. Up to 1.15 the
	 * header is part of that. */
	TRY(rt_slice(rt, rt_addr(rt, m, RT_MODULE_PCLNTABLE), UINT32_MAX, &pcln));
	ret->pclntab.lo = pcln.ptr;
	if (rt_has(rt, RT_MODULE_PC_HEADER))
		TRY(rt_u(rt, m, RT_MODULE_PC_HEADER, &ret->pclntab.lo));
	ret->pclntab.hi = va_plus(pcln.ptr, pcln.len);
	if (ret->pclntab.hi < ret->pclntab.lo)
		return err_new(ERR_FORMAT, "the function table ends before it begins");
	return NULL;
}

struct err *modules_read(const struct rt *rt, struct modules *ret)
{
	struct list_guard guard = {0};
	va_t m = rt->globals[RT_G_FIRSTMODULEDATA];

	while (m) {
		struct module module = {0};

		if (!list_guard_step(&guard, m)) {
			diag(rt->d, DIAG_LIST, "the list of modules runs in a circle");
			break;
		}
		TRY(err_wrap(read_module(rt, m, &module), "module at 0x%llx",
			     (unsigned long long)m));
		TRY(array_push(&ret->v, module));
		TRY(rt_u(rt, m, RT_MODULE_NEXT, &m));
	}
	return NULL;
}
