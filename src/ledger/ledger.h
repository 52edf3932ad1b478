/* The ledger: every byte of every mapping belongs to exactly one class.
 *
 * Claimers add byte ranges at levels; ledger_seal sweeps the address space once, gives each byte
 * to the highest level that claims it, and crosses the result with residency:
 *
 *   level      claims                                         example
 *   MAPPING    each mapping's default class                   file.lib, or nothing (anonymous)
 *   CONTAINER  memory that finer claims are cut out of        a heap arena, a persistent chunk
 *   PAGES      free pages of the heap                         go.idle.retained
 *   SPANS      spans in use: their slots; manual ones         go.heap.live, go.heap.free
 *   LEAF       single structures                              a goroutine's stack, an mspan
 *
 * Two claims of one level may not overlap, nor may PAGES and SPANS: that is a diagnostic, the
 * first class in order keeps the bytes, and the sums still hold. */
#ifndef LEDGER_LEDGER_H
#define LEDGER_LEDGER_H

#include "gort/gort.h"
#include "image/image.h"
#include "ledger/category.h"

struct claim {
	va_t lo, hi;
	enum category cat;
};

enum ledger_level {
	LEVEL_MAPPING,
	LEVEL_CONTAINER,
	LEVEL_PAGES,
	LEVEL_SPANS,
	LEVEL_LEAF,
	LEVEL_COUNT
};

/* Bytes of one class by kind of page. */
struct tally {
	u64 by_kind[PAGE_KIND_COUNT];
};

/* The four states of some bytes; their sum is the virtual size. */
struct columns {
	u64 virtual, state[STATE_COUNT];
	/* Of the resident ones, as far as residency_knows: in pages that are all zero, in huge
	 * pages, in pages given back by MADV_FREE. */
	u64 zero, huge, lazyfree;
	u64 huge_unsure,
		lazyfree_unsure; /* of these nobody knows whether they are in huge pages... */
	enum evidence evidence;
};

/* Bytes of one class and kind in one mapping; sorted by mapping, class, kind. */
struct ledger_cell {
	u32 vma;
	u16 cat, kind;
	u64 bytes;
};

/* A run of unclaimed anonymous memory of 64 KiB or more. */
struct anon_run {
	va_t lo, hi;
	u8 perm;
	bool perm_known;
	struct tally tally;
};

#define LEDGER_HEAP_CLASSES (CAT_HEAP_TAIL + 1)
#define LEDGER_SPANCLASSES 256 /* a span class is a byte */

struct ledger {
	const struct image *im;
	const struct gort *gort; /* NULL: mappings only */
	struct diags *d;
	ARRAY(struct claim) claims[LEVEL_COUNT]; /* PAGES and SPANS come from gort instead */
	struct tally totals[CAT_COUNT];
	/* Of these what spans in use with slots have, by span class, of go.heap.live to .tail. */
	struct tally (*heap)[LEDGER_HEAP_CLASSES];
	ARRAY(struct ledger_cell) cells;
	ARRAY(struct anon_run) anon;
	u64 unread; /* bit c: what would be claimed for class c could not be read */
};

/* A new, empty ledger; all three outlive it. */
void ledger_init(struct ledger *l, const struct image *im, const struct gort *gort,
		 struct diags *d);
void ledger_fini(struct ledger *l);

/* Claims [lo, hi) for a class. Empty ranges are ignored. */
struct err *ledger_claim(struct ledger *l, enum ledger_level level, va_t lo, va_t hi,
			 enum category cat) ERR_RESULT;

/* Gives every byte its class. No claims afterwards. */
struct err *ledger_seal(struct ledger *l) ERR_RESULT;

/* Whether a class's figures are known. They are not where it has no bytes because what would be
 * claimed for it could not be read: its bytes, if there are any, are another class's. */
bool ledger_knows(const struct ledger *l, enum category cat);

/* Figures of a sealed ledger. */
struct columns ledger_columns(const struct ledger *l, enum category cat);
struct columns ledger_total(const struct ledger *l);
/* Of one of the first LEDGER_HEAP_CLASSES classes, in spans of one span class. */
struct columns ledger_heap_columns(const struct ledger *l, u8 spanclass, enum category cat);
/* Of all bytes of one mapping; *owner is the class with most of them. */
struct columns ledger_vma_columns(const struct ledger *l, size_t vma, enum category *owner);
/* Resident bytes by what the kernel counts them as. */
struct ledger_counted {
	u64 anon, file, shm, swapped;
};
struct ledger_counted ledger_counted(const struct ledger *l);

/* Whether it is known how much of a class's resident bytes are parts of this sort. */
bool ledger_knows_part(const struct ledger *l, const struct columns *c, enum page_part part);

struct columns tally_columns(const struct tally *t, enum category cat);
void columns_add(struct columns *sum, const struct columns *c);

/* The cells of one mapping: [first, last) of l->cells. */
void ledger_vma_cells(const struct ledger *l, size_t vma, size_t *first, size_t *last);

#endif
