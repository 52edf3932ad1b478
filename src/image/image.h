/* A core file as an address space: mappings, memory, threads, residency. Knows no Go.
 *
 * Opened once, const afterwards; the image owns everything that hangs off it. */
#ifndef IMAGE_IMAGE_H
#define IMAGE_IMAGE_H

#include "base/arena.h"
#include "base/array.h"
#include "base/diag.h"
#include "base/os.h"
#include "image/arch.h"
#include "image/residency.h"
#include "image/unpack.h"

enum core_kind { CORE_KERNEL, CORE_GCORE, CORE_DELVE, CORE_SPANSCOPE, CORE_OTHER };

/* One PT_LOAD with memory. Sorted by lo, disjoint. */
struct segment {
	va_t lo, hi;
	u64 off;        /* file offset of lo */
	u64 file_bytes; /* dumped bytes from lo on that the file really has */
	u64 lost_bytes; /* dumped bytes that lie beyond the end of the file */
	u32 flags;      /* PF_* */
};

/* A file that was mapped, from NT_FILE; one entry a path. */
struct mapped_file {
	const char *path; /* as in the note, without " (deleted)" */
	bool deleted;
	bool shm;          /* memfd, /dev/shm, SysV, shared anonymous: memory without a file */
	bool code;         /* mapped executable somewhere, or an ELF file */
	bool private_data; /* pages behind its first are in the core */
	bool unnamed;      /* the core does not name its files: the executable, by its headers */
	bool opened, proved;
	struct os_file file; /* valid when proved: the bytes that were mapped */
};

enum vma_kind { VMA_ANON, VMA_FILE, VMA_SHM, VMA_STACK, VMA_VDSO, VMA_VVAR, VMA_VSYSCALL };

enum { PERM_X = 1, PERM_W = 2, PERM_R = 4 };

/* One mapping: a PT_LOAD, or a piece of NT_FILE that no PT_LOAD covers. Sorted, disjoint. */
struct vma {
	va_t lo, hi;
	u64 offset; /* in the file */
	int file;   /* index of the mapped_file, or -1 */
	u8 kind;    /* enum vma_kind */
	u8 perm;
	bool perm_known;
	bool in_core; /* has a PT_LOAD */
};

struct thread {
	u32 tid;
	va_t pc, sp, fp, lr, tls; /* lr: arm64; tls: the thread pointer; 0 without one */
	u64 cpu_us; /* CPU time, of the process's first thread that of all; 0: not known */
};

struct auxv {
	va_t entry, phdr, vdso, random, execfn;
	u64 page_size;
};

/* A note of ours, in place; its types and their contents: image/note.h. */
struct record_note {
	u32 type;
	const u8 *desc;
	u64 n;
};

struct sidecar;

struct image {
	const char *temp_dir;     /* where packed cores are unpacked; NULL: the system's folder */
	struct unpacked unpacked; /* what the core came out of, if it was packed */
	struct os_file core;      /* named like the archive if it was */
	enum core_kind kind; /* who wrote the file, as far as a note of ours leaves it to be told */
	const struct arch *arch;
	ARRAY(struct segment) segs;
	ARRAY(struct vma) vmas;
	ARRAY(struct mapped_file) files;
	ARRAY(struct thread) threads;
	struct auxv auxv;
	const u8 *auxv_note; /* NT_AUXV in place, or NULL */
	u64 auxv_bytes;
	u32 pid;                                /* of the process; 0: not known */
	ARRAY(struct record_note) record_notes; /* owner SPANSCOPE */
	const struct sidecar *sidecar;          /* what else is known of its pages, or NULL */
	bool has_notes;
	bool truncated;
	u64 expected_bytes;    /* file size that the headers promise */
	const char *cut_cause; /* why it is truncated, most likely; NULL: it is not */
	struct residency res;
	struct arena arena;
};

/* Opens a core: headers, notes and the mapping table; residency is a later step of its own
 * (residency_build). ERR_FORMAT, ERR_UNSUPPORTED, ERR_OS when it is nothing to analyse.
 * A packed core is unpacked. *im must be zeroed but for temp_dir; image_close is due in any case.
 */
struct err *image_open(struct image *im, const char *path, struct diags *d) ERR_RESULT;
void image_close(struct image *im);

/* What kind of core it is: CORE_SPANSCOPE when it has a note of ours, whoever wrote it. */
enum core_kind image_kind(const struct image *im);
const char *core_kind_name(enum core_kind kind);

/* Copies n bytes of target memory, across borders of segments. The static fault error when one
 * of them was not dumped. */
struct err *image_read(const struct image *im, va_t va, void *buf, size_t n) ERR_RESULT;

/* The bytes in place; NULL when they are not all in one segment. */
const u8 *image_view(const struct image *im, va_t va, size_t n);

/* What a mapped file has for n bytes of the process at va, in place, where residency_build proved
 * the file to be the one that was mapped; NULL elsewhere. */
const u8 *image_file_view(const struct image *im, va_t va, size_t n);

/* Little-endian words; false when not in the core. */
bool image_u64(const struct image *im, va_t va, u64 *ret);

/* The segment or mapping that contains va, or NULL. */
const struct segment *image_segment(const struct image *im, va_t va);
const struct vma *image_vma(const struct image *im, va_t va);

/* The end of the run of dumped memory that starts at va (va itself when there is none). */
va_t image_dumped_end(const struct image *im, va_t va);

#endif
