/* A record of pages: what the kernel itself said of every page of the process.
 *
 * Three forms. `pages` is text, a line for each run of pages that are alike:
 *
 *     known zero guard huge lazyfree
 *     c000000000-c000002000 present
 *     55d0c8a41000-55d0c8a42000 present file
 *
 * `pagemap` is what /proc/PID/pagemap has for the mappings of smaps, 8 bytes a page: those of all
 * mappings in a row, or each at its place in a sparse file; the size tells which. In a core's note
 * runs are numbers of variable length (see pagerec_pack).
 *
 * Sources: Linux 6.18 Documentation/admin-guide/mm/pagemap.rst, fs/proc/task_mmu.c. */
#ifndef IMAGE_PAGEREC_H
#define IMAGE_PAGEREC_H

#include "base/array.h"
#include "base/flate.h"
#include "image/smaps.h"

/* What is said of a page; part of the note's format. */
enum {
	PG_PRESENT = 1,
	PG_SWAPPED = 2,
	PG_FILE = 4, /* of a file, or shared memory */
	PG_EXCLUSIVE = 8,
	PG_SOFT_DIRTY = 16,
	PG_ZERO = 32,      /* the kernel's shared page of zeros, which it does not count */
	PG_HUGE = 64,      /* mapped as part of a huge page */
	PG_GUARD = 128,    /* a guard marker, which is no page */
	PG_LAZYFREE = 256, /* given back by MADV_FREE, not yet taken */
	PG_UNSURE = 512,   /* present, but shared zero page or not cannot be told */
	PG_ALL = 1023,

	/* Not of the format: which pages are in huge ones, or lazily freed, was concluded from
	 * smaps (pagerec_derive_parts), and of these it could not be. */
	PG_HUGE_UNSURE = 1024,
	PG_LAZYFREE_UNSURE = 2048,
};

/* A run of 4 KiB units. */
struct record_run {
	u64 page, count;
	u16 flags;
};

/* Runs ascend and are disjoint; pages between them were absent. A zeroed one is empty. */
struct pagerec {
	ARRAY(struct record_run) runs;
	u16 known;    /* those of PG_ZERO, PG_GUARD, PG_HUGE, PG_LAZYFREE that the record tells */
	u16 by_smaps; /* of the last two, those that were concluded */
};

/* The text form. ERR_FORMAT names the line; pagerec_fini is due in any case. */
struct err *pagerec_parse_text(struct pagerec *r, const char *text, size_t n) ERR_RESULT;

/* The form of /proc/PID/pagemap. smaps: the mappings that it is of; page_bytes: the kernel's page.
 * pagemap does not tell the shared zero page from other pages that processes share: what smaps
 * counts in each mapping decides. */
struct err *pagerec_parse_pagemap(struct pagerec *r, const u8 *data, u64 n,
				  const struct smaps *smaps, u64 page_bytes) ERR_RESULT;

/* Concludes from smaps, of the same moment, which pages are in huge ones and which are lazily
 * freed, where the record does not tell. Nothing without smaps. */
struct err *pagerec_derive_parts(struct pagerec *r, const struct smaps *smaps,
				 u64 page_bytes) ERR_RESULT;

/* Runs as numbers of 7 bits a byte, the lowest first: pages since the end of the last run, pages,
 * flags. unpack reads them back: exactly `count` runs, ERR_FORMAT otherwise. */
struct err *pagerec_pack(const struct pagerec *r, flate_bytes *ret) ERR_RESULT;
struct err *pagerec_unpack(struct pagerec *r, const u8 *data, size_t n, u64 count) ERR_RESULT;

void pagerec_fini(struct pagerec *r);

#endif
