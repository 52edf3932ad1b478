/* Functions, files, lines and frames of a module's code: the linker's table (runtime/symtab.go,
 * cmd/link/internal/ld/pcln.go), read in place from the core or from the executable. It is there in
 * stripped executables too, and needs no DWARF.
 *
 * The table's first word tells its form:
 *
 *	0xfffffffb  1.2 to 1.15   one table, all offsets from its start; addresses are absolute
 *	0xfffffffa  1.16, 1.17    a header with the offsets of five parts
 *	0xfffffff0  1.18, 1.19    addresses are offsets from the text, in 32 bits
 *	0xfffffff1  1.20 on       a function's first line; smaller records of inlined calls
 *
 * A function's record is followed by numbers of pcdata (offsets of tables of values by address) and
 * of funcdata (addresses; one of them is its tree of inlined calls). Everything that is kept here
 * points into the core or the file, and lives as long as they. */
#ifndef GORT_PCLNTAB_H
#define GORT_PCLNTAB_H

#include "gort/module.h"

struct pcln_form;

struct pclntab {
	const struct rt *rt;
	const struct pcln_form *form;
	struct range text;
	va_t gofunc;     /* what offsets of funcdata count from (1.18) */
	va_t bias;       /* of addresses in it, which are not relocated in a file (up to 1.17) */
	const u8 *bytes; /* the whole table */
	u64 size;
	u32 quantum;                                    /* of addresses in tables of values */
	u64 count;                                      /* of functions */
	u64 file_count;                                 /* entries of the files' table (1.15) */
	u64 functab, funcs, names, cutab, files, pctab; /* offsets of its parts */
};

/* The tables of all modules, as far as they can be read. */
struct symbols {
	const struct rt *rt;
	ARRAY(struct pclntab) v;
};

/* One function. */
struct func {
	const struct pclntab *t;
	va_t entry, end;
	u64 rec; /* offset of its record in the table */
};

/* One call: of a function that was compiled as such, or of one that was inlined into it. */
struct call {
	const char *func, *file; /* "" where the table does not say */
	u32 line;                /* 0 likewise */
	u32 start_line;          /* of the function; 0 where the table does not say (up to 1.19) */
	va_t pc;                 /* inside the call: of an inlined one where it was inlined */
	bool inlined;
	bool wrapper; /* made by the compiler to call another: the runtime does not show it */
};

#define CALLS_MAX 64 /* inlined into each other at one address; the compiler stops far earlier */

/* Opens one module's table. ERR_MISSING when it is neither in the core nor in an executable,
 * ERR_FORMAT when it is not one that is known. */
struct err *pclntab_open(const struct rt *rt, const struct module *m,
			 struct pclntab *ret) ERR_RESULT;

/* Opens those of all modules. A module whose table cannot be read is left out; with d that is a
 * diagnostic, unless it only says once more that there is no executable. ERR_LIMIT is the only
 * error. symbols_fini is due. */
struct err *symbols_open(const struct rt *rt, const struct modules *modules, struct diags *d,
			 struct symbols *ret) ERR_RESULT;
void symbols_fini(struct symbols *s);

/* The function that has pc; false when none has. */
bool symbols_find(const struct symbols *s, va_t pc, struct func *ret);
bool pclntab_find(const struct pclntab *t, va_t pc, struct func *ret);

/* Its name as the linker spells it ("runtime.(*mheap).alloc"); "" when the table is damaged. */
const char *func_name(const struct func *f);

/* Same by address; "" when there is none. */
const char *symbols_name(const struct symbols *s, va_t pc);

/* Bytes of the frame at pc: from the stack pointer to the return address (amd64), or to the
 * caller's stack pointer. False when the table does not say. */
bool func_frame_bytes(const struct func *f, va_t pc, u64 *ret);

/* Whether nothing called it: the bottom of a stack. */
bool func_is_top(const struct func *f);

/* Whether it switches stacks in a way that no table describes. */
bool func_writes_sp(const struct func *f);

/* The calls that were under way at pc in f, the innermost first: those inlined there, and last f
 * itself. At least one. */
size_t func_calls(const struct func *f, va_t pc, struct call ret[static CALLS_MAX]);

#endif
