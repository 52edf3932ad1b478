/* What depends on the processor architecture: the registers in a core's notes, and what the kernel
 * leaves on a signal stack.
 *
 * To add one: a line in arch.c; what Go has otherwise there, in gort/dialect.c and the layouts. */
#ifndef IMAGE_ARCH_H
#define IMAGE_ARCH_H

#include "base/types.h"

enum arch_id { ARCH_AMD64, ARCH_ARM64, ARCH_COUNT };

/* Where the registers are that a stack is read with: in a note, or from an address on. */
struct arch_registers {
	u16 pc, sp, fp;
	u16 lr; /* 0: a call leaves the return address on the stack, not in a register */
};

struct arch {
	enum arch_id id;
	u16 elf_machine;
	const char *name; /* as GOARCH has it */

	/* NT_PRSTATUS. */
	u16 prstatus_bytes;
	struct arch_registers prstatus;
	u16 prstatus_tls; /* the thread pointer; 0: it has a note of its own, NT_ARM_TLS */

	/* The ucontext of a signal, from its stack_t on. */
	struct arch_registers ucontext;

	/* The descriptor of a C thread ends at the thread pointer, or begins there. */
	bool pthread_below_tls;
};

/* The architecture by its number in ELF headers, NULL when it is none that is read; by its place
 * in the enum. */
const struct arch *arch_find(unsigned elf_machine);
const struct arch *arch_get(enum arch_id id);

#endif
