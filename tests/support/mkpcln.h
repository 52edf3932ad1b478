/* Tables of functions as Go's linker writes them, in each of the four forms. */
#ifndef SUPPORT_MKPCLN_H
#define SUPPORT_MKPCLN_H

#include "base/types.h"

enum mkpcln_form { MKPCLN_1_15, MKPCLN_1_16, MKPCLN_1_18, MKPCLN_1_20, MKPCLN_FORMS };

/* A call that was inlined: the bytes [from, to) of the function. */
struct mkpcln_inlined {
	u32 from, to;
	const char *name, *file; /* of the callee */
	u32 line;                /* in the callee */
	u32 call;                /* offset of an instruction whose line is that of the call */
	u8 id;                   /* FuncID */
};

/* A function. Its frame is made by its first 4 bytes. Everything has the function's file and line,
 * but for what is inlined; later ones lie inside earlier ones. */
struct mkpcln_func {
	const char *name, *file;
	u32 bytes, frame, line;
	u8 id, flag;
	struct mkpcln_inlined inlined[2]; /* without a name: none */
};

struct mkpcln {
	u8 bytes[8192]; /* the table, and behind it the trees of inlined calls */
	u64 table_bytes, size;
	u64 funcs;  /* offset of the part that ends the table: moduledata.pclntable */
	u64 gofunc; /* offset of the trees */
};

/* Lays the functions one behind the other from text on; the table itself is to stand at base. */
void mkpcln(struct mkpcln *ret, enum mkpcln_form form, va_t base, va_t text,
	    const struct mkpcln_func *funcs, size_t n);

#endif
