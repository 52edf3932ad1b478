/* A shipped core that is opened once and whose runtime is read again and again, each time with a
 * few words of it changed: by the built-in layout, which is a hundred times faster than DWARF.
 * What fails here ends the program. */
#ifndef SUPPORT_SHIPPED_H
#define SUPPORT_SHIPPED_H

#include "cli/session.h"
#include "support/memfile.h"

enum shipped_pool {
	POOL_GLOBALS, /* variables, and the fields that are read of them */
	POOL_SPANS,   /* mspans */
	POOL_OBJECTS, /* gs, ms, ps, mcaches, modules, profile buckets */
	POOL_TABLES,  /* heapArenas, allspans, address ranges, bitmaps of chunks */
	POOL_ANY,     /* whatever the process could write, outside the heap */
	POOL_COUNT,
};

/* Words of the core, by address. */
struct shipped_words {
	ARRAY(struct range) v;
	u64 count;
};

struct shipped {
	struct memfile file;
	struct session base; /* of the untouched core */
	u64 charged;         /* for it */
	struct shipped_words pools[POOL_COUNT];
	FILE *out;
	char *text;
	size_t text_bytes;
};

void shipped_open(struct shipped *s, const char *core, const char *exe);
void shipped_close(struct shipped *s);

/* Address of word i, modulo their number, of a pool; and what is there now. */
va_t shipped_word(const struct shipped *s, enum shipped_pool pool, u64 i);
u64 shipped_read(const struct shipped *s, va_t va);

/* Changes a word. */
struct memfile_change shipped_poke(struct shipped *s, va_t va, u64 word);

/* What one reading of the changed core gives, beside an error. */
struct shipped_result {
	bool has_heap;
	long written; /* bytes of the report */
	i64 leaked;   /* bytes that are still charged */
};

/* Reads the runtime, builds the ledger and writes the report, all within a budget. */
struct err *shipped_analyse(struct shipped *s, const struct opts *o, u64 budget,
			    struct shipped_result *ret) ERR_RESULT;

#endif
