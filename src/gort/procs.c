#include "gort/procs.h"

#include "gort/rtget.h"

#define MAX_PROCS 65536 /* GOMAXPROCS is limited to 1024 by the runtime; be generous */
#define CACHE_PAGES 64
#define MAX_SPARE_MSPANS 128 /* runtime/runtime2.go p.mspancache.buf */

static struct err *read_proc(const struct rt *rt, va_t p, struct proc *ret)
{
	*ret = (struct proc){.p = p};
	TRY(rt_u(rt, p, RT_P_MCACHE, &ret->mcache));
	TRY(rt_u(rt, p, RT_P_PCACHE_BASE, &ret->cache_base));
	TRY(rt_u(rt, p, RT_P_PCACHE_CACHE, &ret->cache_free));
	TRY(rt_u(rt, p, RT_P_PCACHE_SCAV, &ret->cache_released));
	TRY(rt_u(rt, p, RT_P_MSPANCACHE_LEN, &ret->spare_mspans));
	ret->cache_released &= ret->cache_free;
	if (ret->spare_mspans > MAX_SPARE_MSPANS ||
	    (ret->cache_free && ret->cache_base % (CACHE_PAGES * GO_PAGE_BYTES) != 0))
		return err_new(ERR_FORMAT, "its caches make no sense");
	return NULL;
}

struct err *procs_read(const struct rt *rt, struct procs *ret)
{
	struct go_slice allp;

	TRY(err_wrap(rt_slice(rt, rt->globals[RT_G_ALLP], MAX_PROCS, &allp), "allp"));
	for (u64 i = 0; i < allp.len; i++) {
		struct proc proc;
		va_t p;
		struct err *err = image_read(rt->im, allp.ptr + 8 * i, &p, sizeof(p));

		if (!err)
			err = read_proc(rt, p, &proc);
		if (err)
			diag_err(rt->d, DIAG_STRUCTURE,
				 err_wrap(err, "P number %llu", (unsigned long long)i));
		else
			TRY(array_push(&ret->v, proc));
	}
	return NULL;
}
