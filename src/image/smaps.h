/* /proc/PID/smaps: what the kernel itself counts in each mapping.
 *
 * Format: Linux 6.18, fs/proc/task_mmu.c (show_map_vma, show_smap, show_smap_vma_flags). Lines that
 * another release has more or less of do not matter; Rss is required. */
#ifndef IMAGE_SMAPS_H
#define IMAGE_SMAPS_H

#include "base/arena.h"
#include "base/array.h"

struct image;

/* Of VmFlags, what decides on dumping and on huge pages. */
enum {
	SMAPS_DONTDUMP = 1,   /* dd */
	SMAPS_HUGEPAGE = 2,   /* hg */
	SMAPS_NOHUGEPAGE = 4, /* nh */
	SMAPS_HUGETLB = 8,    /* ht */
};

struct smaps_vma {
	va_t lo, hi;
	u64 offset, inode;
	const char *path; /* as printed, " (deleted)" included; "" where there is none */
	u8 perm;          /* PERM_* */
	bool shared;
	u8 flags;                                      /* SMAPS_* */
	u64 rss, anonymous, swap, lazyfree, anon_huge; /* bytes */
	u64 file_huge, shm_huge;                       /* mapped as huge pages */
};

/* Ascending, disjoint. A zeroed one is empty. */
struct smaps {
	ARRAY(struct smaps_vma) vmas;
	struct arena arena; /* the paths */
};

/* Reads the text. ERR_FORMAT names the line that is wrong; smaps_fini is due in any case. */
struct err *smaps_parse(struct smaps *s, const char *text, size_t n) ERR_RESULT;

/* The same from a file: a copy, since what lies in /proc has no size. */
struct err *smaps_read(struct smaps *s, const char *path) ERR_RESULT;

void smaps_fini(struct smaps *s);

/* ERR_USAGE unless this is the process of the core: the vdso and the main thread's stack, which are
 * at random places, and the executable are where the core has them. */
struct err *smaps_check(const struct smaps *s, const struct image *im) ERR_RESULT;

/* The mapping that contains va, or NULL. */
const struct smaps_vma *smaps_find(const struct smaps *s, va_t va);

/* The process's RSS: the sum over all mappings. */
u64 smaps_rss(const struct smaps *s);

#endif
