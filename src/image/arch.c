/* NT_PRSTATUS begins with 112 bytes that are the same on both, pr_pid among them; then come the
 * registers (Linux include/linux/elfcore.h):
 *
 *   amd64   arch/x86/include/asm/user_64.h: r15 r14 r13 r12 rbp ... rip at 16, rsp at 19, fs_base
 *           at 21, 27 in all
 *   arm64   arch/arm64/include/uapi/asm/ptrace.h: x0 to x30, sp, pc, pstate; x29 is the frame
 *           pointer, x30 the link register
 *
 * A ucontext has flags, link, and the stack_t {sp, flags, size}, 24 bytes, from where the offsets
 * below count; behind it:
 *
 *   amd64   arch/x86/include/uapi/asm/sigcontext.h: r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx,
 *           rsp, rip
 *   arm64   arch/arm64/include/uapi/asm/ucontext.h: 128 bytes for the mask of signals, 8 to align
 *           to 16; then sigcontext.h: fault_address, x0 to x30, sp, pc */
#include "image/arch.h"

#include <elf.h>
#include <stddef.h>

enum { REGS = 112, STACK_T = 24, ARM64_UC_REGS = STACK_T + 128 + 8 + 8 };

static const struct arch archs[ARCH_COUNT] = {
	[ARCH_AMD64] = {.id = ARCH_AMD64,
			.elf_machine = EM_X86_64,
			.name = "amd64",
			.prstatus_bytes = REGS + 27 * 8 + 8,
			.prstatus = {.pc = REGS + 16 * 8, .sp = REGS + 19 * 8, .fp = REGS + 4 * 8},
			.prstatus_tls = REGS + 21 * 8,
			.ucontext = {.pc = STACK_T + 16 * 8,
				     .sp = STACK_T + 15 * 8,
				     .fp = STACK_T + 10 * 8}},
	[ARCH_ARM64] = {.id = ARCH_ARM64,
			.elf_machine = EM_AARCH64,
			.name = "arm64",
			.prstatus_bytes = REGS + 34 * 8 + 8,
			.prstatus = {.pc = REGS + 32 * 8,
				     .sp = REGS + 31 * 8,
				     .fp = REGS + 29 * 8,
				     .lr = REGS + 30 * 8},
			.ucontext = {.pc = ARM64_UC_REGS + 32 * 8,
				     .sp = ARM64_UC_REGS + 31 * 8,
				     .fp = ARM64_UC_REGS + 29 * 8,
				     .lr = ARM64_UC_REGS + 30 * 8},
			.pthread_below_tls = true},
};

const struct arch *arch_find(unsigned elf_machine)
{
	for (size_t i = 0; i < COUNT_OF(archs); i++)
		if (archs[i].elf_machine == elf_machine)
			return &archs[i];
	return NULL;
}

const struct arch *arch_get(enum arch_id id)
{
	return &archs[id];
}
