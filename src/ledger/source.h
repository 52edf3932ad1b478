/* One level of the ledger as an ascending stream of disjoint pieces. */
#ifndef LEDGER_SOURCE_H
#define LEDGER_SOURCE_H

#include "ledger/ledger.h"

#define SOURCE_MAX_ACTIVE 16 /* claims of one level over the same byte; more are dropped */

/* The current piece of a source. */
struct piece {
	va_t lo, hi;
	int cat;                 /* enum category, or CAT_COUNT for an unclaimed mapping */
	const struct span *span; /* an in-use span: bytes go by its slots */
	struct slots slots;
};

struct source {
	struct ledger *l;
	enum ledger_level level;
	struct piece piece;
	size_t next;  /* index of the next claim, span or mapping */
	va_t covered; /* everything below has been given out */
	struct claim active[SOURCE_MAX_ACTIVE];
	size_t active_count;
	struct free_walk walk;
};

/* Sorts the claims that a level has so far by address, then class, then end. */
void source_sort(struct ledger *l, enum ledger_level level);

/* Sorts the level's claims and stands before the first piece. */
struct err *source_init(struct source *s, struct ledger *l, enum ledger_level level) ERR_RESULT;
void source_fini(struct source *s);

/* Advances to the first piece that ends behind pos. At the end, piece.lo is UINT64_MAX. */
struct err *source_seek(struct source *s, va_t pos) ERR_RESULT;

#endif
