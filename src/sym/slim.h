/* A copy of an ELF file that has only the DWARF sections that layouts and globals need.
 *
 * libdw inflates every .debug section of a file when it opens it; of a large Go executable that is
 * mostly line tables and location lists, which nobody here reads. */
#ifndef SYM_SLIM_H
#define SYM_SLIM_H

#include "base/array.h"

#include <libelf.h>

typedef ARRAY(u8) slim_bytes;

/* Builds the copy of elf in ret. *inflated is what its sections will need when they are inflated.
 * ERR_MISSING when the file has no DWARF. */
struct err *slim_elf(Elf *elf, slim_bytes *ret, u64 *inflated) ERR_RESULT;

#endif
