/* What several reports share: the columns of the ledger and their evidence. */
#ifndef REPORT_COMMON_H
#define REPORT_COMMON_H

#include "report/report.h"

/* The eight size columns of the contract, as keys and titles. Text hides those of which nothing is
 * known, or that are 0 everywhere (report_hide_sizes). */
#define REPORT_SIZE_COLUMNS                                                                        \
	{"virtual", "virtual"}, {"resident", "resident"}, {"swapped", "swapped"},                  \
		{"absent", "absent"}, {"unknown", "unknown"}, {"zero", "zero"}, {"huge", "huge"},  \
	{                                                                                          \
		"lazyfree", "lazyfree"                                                             \
	}

#define REPORT_SIZE_COUNT 8

/* Fills the eight values. A column without evidence is null, never 0. */
void report_sizes(const struct ledger *l, const struct columns *c,
		  struct doc_value values[static REPORT_SIZE_COUNT]);

/* The same of a class: all null where it is not known what it has (ledger_knows). */
void report_class_sizes(const struct ledger *l, enum category cat,
			struct doc_value values[static REPORT_SIZE_COUNT]);

/* Names the classes of which nothing is known, and where their bytes are, for people; a group by
 * its name where all of it is. Nothing where there are none. */
void report_unread(struct doc *d, const struct ledger *l);

/* Keeps those columns of a table out of the text that the ledger has no figures for, or only 0;
 * `first` is the first of the eight. */
void report_hide_sizes(struct doc_table *t, size_t first, const struct ledger *l);

/* The answer in one line: how much was mapped, and what is known of it. */
void report_headline(struct doc *d, const struct ledger *l);

/* The `total` object and `evidence`, for programs. */
void report_total(struct doc *d, const struct ledger *l);

/* "at least " where some residency is not known or only a lower bound, else "". */
const char *report_at_least(const struct columns *c);

/* Resident bytes of memory that the Go runtime mapped. */
u64 report_resident(const struct image *im, va_t lo, va_t hi);

#define REPORT_PERCENT_BUF 24

/* A share: "93 %", "2.6 %", "<0.1 %", "0 %". Returns buf. */
const char *report_percent(u64 part, u64 whole, char buf[static REPORT_PERCENT_BUF]);

/* A mapping's permissions: "rw-", or "???" where the core hides them. */
const char *report_perm(u8 perm, bool known, char buf[static 4]);

/* What a mapping is called that no file backs: "[stack]"; NULL where nothing tells. */
const char *report_special_name(enum vma_kind kind);

/* Classes by resident bytes, then virtual, then id. */
void report_sort_classes(const struct ledger *l, enum category order[static CAT_COUNT]);

#endif
