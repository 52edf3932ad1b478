/* Names of a module's functions, by address: the linker's table of functions (runtime/symtab.go,
 * cmd/link/internal/ld/pcln.go), read in place from the core or from the executable. */
#ifndef GORT_FUNCTAB_H
#define GORT_FUNCTAB_H

#include "gort/module.h"

struct functab {
	const struct rt *rt;
	struct range text;
	const u8 *entries; /* pairs (offset of the function in text, of its record in funcs) */
	u64 count;         /* without the last, which ends the text */
	const u8 *funcs, *names;
	u64 func_bytes, name_bytes;
};

/* False when the table is neither in the core nor in an executable. ret lives as long as they. */
bool functab_open(const struct rt *rt, const struct module *m, struct functab *ret);

/* The name of the function that has pc, as the linker spells it ("runtime.(*mheap).alloc"), in
 * place; NULL when there is none. */
const char *functab_name(const struct functab *t, va_t pc);

#endif
