/* Small ELF64 executables and libraries for tests: headers, build ids and patterned content. */
#ifndef SUPPORT_MKELF_H
#define SUPPORT_MKELF_H

#include "base/types.h"

#include <elf.h>

#define MKELF_MAX_PHDRS 8

struct mkelf {
	const char *go_id; /* NULL: no note */
	const u8 *gnu_id;  /* NULL: no note */
	size_t gnu_id_bytes;
	u16 type; /* ET_EXEC unless set */
	va_t entry;
	u64 bytes;                         /* of the file; at least a page */
	Elf64_Phdr phdrs[MKELF_MAX_PHDRS]; /* up to the first without a type; the note's is added */
};

/* The file's bytes [off, off + n). All headers and notes are in the first page; behind them each
 * byte is mkelf_byte() of its offset. */
void mkelf_bytes(const struct mkelf *e, u64 off, void *buf, size_t n);

/* Writes the file. */
void mkelf_write(const struct mkelf *e, const char *path);

u8 mkelf_byte(u64 off);

/* A load for the table above. */
static inline Elf64_Phdr mkelf_load(va_t vaddr, u64 off, u64 filesz, u64 memsz, u32 flags)
{
	return (Elf64_Phdr){.p_type = PT_LOAD,
			    .p_flags = flags,
			    .p_offset = off,
			    .p_vaddr = vaddr,
			    .p_filesz = filesz,
			    .p_memsz = memsz,
			    .p_align = 4096};
}

#endif
