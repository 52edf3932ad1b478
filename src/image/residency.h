/* Which pages were in memory when the core was written, as far as the file can tell.
 *
 * The file gives each page a kind; what the kind means may depend on who owns the page, so the
 * ledger asks residency_state. Kinds and their error were measured on kernel 6.18 with gdb 13:
 * see the table in the README. */
#ifndef IMAGE_RESIDENCY_H
#define IMAGE_RESIDENCY_H

#include "base/array.h"
#include "base/diag.h"

enum page_kind {
	PAGE_GAP,       /* between mappings */
	PAGE_DATA,      /* data in a first-hand kernel core: resident or swapped */
	PAGE_DATA_ZERO, /* the same, all zero; told apart when asked for (test_zero) */
	PAGE_HOLE,      /* hole in a first-hand kernel core: absent, or the shared zero page */
	PAGE_NONZERO,   /* zero-tested: has content, so it was resident (or swapped) */
	PAGE_ZERO,      /* zero-tested: nothing can be said */
	PAGE_UNDUMPED,  /* a load without bytes: never touched, or left out of the dump */
	PAGE_NO_ACCESS, /* PROT_NONE without bytes: absent */
	PAGE_DIFFERS,   /* private page of a file that differs from the file: resident */
	PAGE_CLEAN,     /* page of a file, or shared: residency not in the core */
	PAGE_LOST,      /* beyond the end of a truncated core */
	PAGE_KERNEL,    /* vvar, vsyscall: not counted by the kernel */

	/* By a record of what the kernel said of each page (exact.c). */
	PAGE_RECORD_UNKNOWN, /* not in the record, or it cannot tell */
	PAGE_RECORD_ABSENT,  /* the shared zero page and guard markers too */
	PAGE_RECORD_SWAPPED,
	PAGE_RECORD_RESIDENT, /* and the 63 behind it: a bit each of enum page_part */
	PAGE_KIND_COUNT = PAGE_RECORD_RESIDENT + 64,
};

/* What more is known of a page that the record calls resident. */
enum page_part {
	PART_HUGE = 1,     /* mapped as part of a huge page */
	PART_LAZYFREE = 2, /* MADV_FREE, not taken yet */
	PART_ZERO = 4,     /* all zero; told apart when asked for (test_zero) */
	PART_FILE = 8,     /* of a file or shared memory, not private memory */

	/* Of these it is not known whether they are parts of the first two sorts. */
	PART_HUGE_UNSURE = 16,
	PART_LAZYFREE_UNSURE = 32,
};

enum page_state { STATE_RESIDENT, STATE_SWAPPED, STATE_ABSENT, STATE_UNKNOWN, STATE_COUNT };

enum evidence {
	EVIDENCE_UNKNOWN,
	EVIDENCE_NONZERO,
	EVIDENCE_POPULATED,
	EVIDENCE_EXACT,
	EVIDENCE_MIXED,
};

#define PAGE_SHIFT 12

/* A run of 4 KiB units of one kind; it ends where the next begins. The last one is a PAGE_GAP.
 * Larger kernel pages are whole multiples, so one unit serves all, though each page is of one
 * kind. */
struct page_run {
	u64 page : 52; /* address >> PAGE_SHIFT */
	u64 kind : 12;
};

struct residency {
	ARRAY(struct page_run) runs;
	enum evidence evidence; /* of private anonymous memory */
	bool first_hand;        /* the holes are those that the kernel left */
	bool test_zero;         /* asked for: tell resident pages of zeros apart, which reads all */
};

struct image;
struct os_file;

/* Says which file on this machine a mapped file is (the executable, matched by build id): its
 * private pages are compared with it. Call before residency_build. */
void residency_set_file(struct image *im, int file, const struct os_file *f);

/* Builds the runs. Kernel cores whose holes are their own are read by SEEK_DATA alone; others
 * have every dumped page tested for zero. */
struct err *residency_build(struct image *im, struct diags *d) ERR_RESULT;

/* Adds the bytes of [lo, hi) to the kinds of their pages. */
void residency_tally(const struct residency *res, va_t lo, va_t hi,
		     u64 by_kind[static PAGE_KIND_COUNT]);

/* Whether the page at va was resident (or swapped) for certain, whatever its content. */
bool residency_proves(const struct residency *res, va_t va);

/* The column of a page. reserved: the owner is address space that the Go runtime reserved without
 * access; runtime: the owner is any memory that the runtime mapped itself. */
enum page_state residency_state(enum page_kind kind, bool reserved, bool runtime);

/* Whether a page of this kind is known to be resident and to be such a part of it. PART_ZERO is
 * known of kinds without a record too. */
bool residency_kind_has(enum page_kind kind, enum page_part part);

/* Whether it is known which resident pages are parts of this sort, but for those of which a kind
 * says that it is not. */
bool residency_knows(const struct image *im, enum page_part part);

/* What a kind's column rests on. */
enum evidence residency_kind_evidence(enum page_kind kind);

const char *evidence_name(enum evidence e);

#endif
