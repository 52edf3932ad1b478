/* The runtime's Ps, as far as they hold memory (runtime/runtime2.go, mpagecache.go). */
#ifndef GORT_PROCS_H
#define GORT_PROCS_H

#include "gort/rt.h"

struct proc {
	va_t p, mcache;
	/* pageCache: 64 pages from base on; bit i of cache is a free page taken from the page
	 * allocator, bit i of scav says that it is released. */
	va_t cache_base;
	u64 cache_free, cache_released;
	u64 spare_mspans; /* length of mspancache */
};

struct procs {
	ARRAY(struct proc) v;
};

struct err *procs_read(const struct rt *rt, struct procs *ret) ERR_RESULT;

#endif
