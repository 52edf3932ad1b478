/* ELF64 little-endian headers and notes, read with bounds from bytes in memory.
 *
 * Used on whole files (cores, executables) and on the single header page of an executable that
 * a core carries. Formats: <elf.h>; gABI for extended numbering and notes. */
#ifndef IMAGE_ELF64_H
#define IMAGE_ELF64_H

#include "base/err.h"

#include <elf.h>

struct elf_bytes {
	const u8 *data;
	u64 size;
};

/* Copies the header; ERR_FORMAT or ERR_UNSUPPORTED (32-bit, big-endian) says what is wrong. */
struct err *elf_header(struct elf_bytes e, Elf64_Ehdr *ret) ERR_RESULT;

/* Number of program headers, PN_XNUM resolved through section header 0. */
u64 elf_phdr_count(struct elf_bytes e, const Elf64_Ehdr *eh);

/* Program header i; false when it lies outside the bytes. */
bool elf_phdr(struct elf_bytes e, const Elf64_Ehdr *eh, u64 i, Elf64_Phdr *ret);

struct elf_note {
	u32 type;
	const char *name; /* not terminated */
	u64 name_len;     /* without the terminating NUL */
	const u8 *desc;
	u64 desc_len;
};

/* Steps through the notes in [*pos, end) of the bytes. False at the end or at a damaged note;
 * *pos is then the offset where it stopped. */
bool elf_note_next(struct elf_bytes e, u64 *pos, u64 end, struct elf_note *ret);

bool elf_note_is(const struct elf_note *note, const char *owner, u32 type);

#define ELF_ID_MAX 200

/* The two build ids that a Go executable may carry; empty strings where there is none. */
struct elf_ids {
	char go[ELF_ID_MAX];
	char gnu[ELF_ID_MAX]; /* hexadecimal */
};

/* Reads the ids from the PT_NOTEs whose bytes are present; e starts at file offset 0. */
void elf_build_ids(struct elf_bytes e, struct elf_ids *ret);

/* Whether two files are of one build: by Go's ids where both have one, else by GNU's. */
bool elf_ids_match(const struct elf_ids *a, const struct elf_ids *b);

/* The ids in words, for a message. */
const char *elf_ids_text(const struct elf_ids *ids);

#endif
