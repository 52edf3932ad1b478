/* DWARF of one executable: where its globals are and how its structures lie in memory.
 *
 * All of libdw stands behind this file. Names are the fully qualified ones of the Go linker
 * ("runtime.mspan", "runtime.mheap_"). */
#ifndef SYM_DW_H
#define SYM_DW_H

#include "base/os.h"

struct dw;

/* Opens the DWARF of an ELF file. ERR_MISSING when the file has none. The inflated sections are
 * charged to the memory budget until dw_close. */
struct err *dw_open(const char *path, struct dw **ret) ERR_RESULT;

/* The same of an open file, which may be closed before dw. */
struct err *dw_open_file(const struct os_file *f, struct dw **ret) ERR_RESULT;
void dw_close(struct dw *dw);

/* Looks the names up: first in the units whose name is the runtime's or one of its internal
 * packages, then in the others for as long as a name with needed[i] set is missing. The name arrays
 * must outlive dw. */
struct err *dw_find(struct dw *dw, const char *const *names, const bool *needed,
		    size_t n) ERR_RESULT;

/* Address of a variable (without the load bias); false when it is not there. */
bool dw_variable(const struct dw *dw, const char *name, u64 *ret);

struct dw_field {
	u64 offset; /* from the start of the structure or variable */
	u64 size;   /* of the field's type */
	u64 count;  /* elements, when the type is an array; else 1 */
};

/* Resolves a path of member names ("pages.inUse.ranges") in a structure type or in the type of a
 * variable; "[]" steps into an array's element, "*" through a pointer
 * (the offset starts again at 0 there); "" is the whole; "=" is the value of a constant, which
 * comes as the offset. Alternatives are separated by
 * '|' and tried in order. False when there is no such field. */
bool dw_field(const struct dw *dw, const char *name, const char *path, struct dw_field *ret);

#endif
