/* ELF cores of processes on x86-64 (or another architecture, see arch), described in code and
 *written to a temporary file.
 *
 *	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
 *
 *	mkcore_load(mk, 0x10000, PF_R | PF_W, "#0.#");
 *	mkcore_file(mk, 0x400000, 0x402000, 0, "/bin/app");
 *	mkcore_thread(mk, (struct mkcore_thread){.tid = 1, .rsp = 0x10800});
 *	err = image_open(&im, mkcore_write(mk), &diags);
 *	...
 *	mkcore_free(mk);
 *
 * A load's pages are one letter each, 4 KiB:
 *
 *	#   content: each byte is mkcore_byte() of its address, never 0
 *	0   zeros, written to the file
 *	.   a hole in the file; zeros where the file is dense
 *
 * Damage: program headers and notes are added as they are (mkcore_phdr, mkcore_raw_note); of the
 * finished file any field can be patched (mkcore_patch), and its end cut off (mkcore_truncate).
 * Whatever fails here fails the test. */
#ifndef SUPPORT_MKCORE_H
#define SUPPORT_MKCORE_H

#include "base/array.h"
#include "base/types.h"
#include "image/arch.h"

#include <elf.h>

#define MK_PAGE ((u64)4096)

enum mkcore_layout {
	MKCORE_KERNEL, /* notes behind the headers, offsets page aligned, holes */
	MKCORE_GCORE,  /* notes behind the memory, offsets unaligned, dense (up to gdb 14) */
	MKCORE_DELVE,  /* headers behind the memory, the note's last; dense */
};

struct mkcore_load {
	Elf64_Phdr ph;     /* p_offset is set by mkcore_write, the others may be changed before */
	const char *pages; /* what is in the file, whatever ph.p_filesz says */
};

struct mkcore_poke {
	va_t va;
	u8 *bytes;
	size_t n;
};

struct mkcore_file {
	va_t lo, hi;
	u64 offset;
	const char *path;
};

/* On arm64 these are pc, sp, x29 and the thread pointer, for which there is a note of its own. */
struct mkcore_thread {
	u32 tid;
	va_t rip, rsp, rbp, fs_base;
	va_t lr; /* arm64 */
};

struct mkcore {
	enum mkcore_layout layout;
	const struct arch *arch; /* x86-64; may be set before anything is added */
	u64 align;               /* kernel: of the loads' offsets; 4096 */
	u64 file_unit;           /* NT_FILE: bytes in a unit of the offsets; 4096 */
	bool xnum;               /* write the number of headers as PN_XNUM even if it is small */
	bool dense;              /* write zeros for holes; the kernel does not, unless told */
	bool no_note;            /* no PT_NOTE at all */

	ARRAY(struct mkcore_load) loads;
	ARRAY(Elf64_Phdr) phdrs; /* behind the loads, written as they are */
	ARRAY(struct mkcore_poke) pokes;
	ARRAY(struct mkcore_file) files;
	ARRAY(Elf64_auxv_t) auxv;
	ARRAY(u8) notes; /* threads and others; auxv and files are added by mkcore_write */

	/* Set by mkcore_write. */
	char *path;
	Elf64_Ehdr eh;
	u64 phdr_count, note_off, note_bytes, size;
};

struct mkcore *mkcore_new(enum mkcore_layout layout);

/* Removes the file too. */
void mkcore_free(struct mkcore *mk);

/* A PT_LOAD with these pages; memory and file size follow from them. "" dumps nothing: set
 * ph.p_memsz of what is returned, which is valid until the next load. */
struct mkcore_load *mkcore_load(struct mkcore *mk, va_t lo, u32 flags, const char *pages);

/* A PT_LOAD of which nothing is dumped. */
void mkcore_reserve(struct mkcore *mk, va_t lo, u64 memsz, u32 flags);

void mkcore_phdr(struct mkcore *mk, Elf64_Phdr ph);

/* Puts bytes at an address of a load; a hole that they touch becomes data. */
void mkcore_poke(struct mkcore *mk, va_t va, const void *bytes, size_t n);
void mkcore_poke_u64(struct mkcore *mk, va_t va, u64 value);

/* A mapping in NT_FILE; the path is kept, not copied. */
void mkcore_file(struct mkcore *mk, va_t lo, va_t hi, u64 offset, const char *path);

void mkcore_auxv(struct mkcore *mk, u64 type, u64 value);

/* NT_PRSTATUS of a thread. */
void mkcore_thread(struct mkcore *mk, struct mkcore_thread t);

/* Any other note, and bytes in place of one. */
void mkcore_note(struct mkcore *mk, const char *owner, u32 type, const void *desc, size_t n);
void mkcore_raw_note(struct mkcore *mk, const void *bytes, size_t n);

/* Writes the file, the first time; its path, valid until mkcore_free. */
const char *mkcore_write(struct mkcore *mk);

/* Overwrites a little-endian field of the finished file. */
void mkcore_patch(const struct mkcore *mk, u64 off, u64 value, size_t width);

/* Cuts the finished file. */
void mkcore_truncate(const struct mkcore *mk, u64 bytes);

/* The content of a '#' page at an address. */
u8 mkcore_byte(va_t va);

/* Offset in the file of load i. */
u64 mkcore_offset(const struct mkcore *mk, size_t i);

#endif
