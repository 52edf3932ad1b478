/* Modules: the executable and its plugins, as the linker laid them out (runtime/symtab.go). */
#ifndef GORT_MODULE_H
#define GORT_MODULE_H

#include "gort/rt.h"

struct module {
	va_t addr; /* of the moduledata */
	struct range text, pclntab, noptrdata, data, bss, noptrbss;
	struct range gcdata_mask, gcbss_mask; /* expanded pointer masks, in persistent memory */
};

struct modules {
	ARRAY(struct module) v;
};

struct err *modules_read(const struct rt *rt, struct modules *ret) ERR_RESULT;

#endif
