/* What the finders share: where they look, and what was proved so far. */
#ifndef GORT_FIND_PRIV_H
#define GORT_FIND_PRIV_H

#include "gort/find.h"
#include "gort/rtget.h"

#define FIND_GCRASH_STACK_BYTES 16384 /* runtime/proc.go schedinit (1.22) */
#define FIND_GCRASH_GUARD_BYTES 1000

#define FIND_MAX_RANGES 4
#define FIND_MAX_LISTS 128
#define FIND_MAX_SAMPLES 256

/* A variable that may be a pointer: its word is an address that was dumped. */
struct find_pointer {
	va_t at, to;
};

typedef ARRAY(struct find_pointer) find_pointers_v;

struct finder {
	struct rt *rt;
	struct range ranges[FIND_MAX_RANGES]; /* of the module's variables, disjoint */
	size_t range_count;
	size_t first_bss;      /* of the ranges: from here on variables began as zero */
	size_t first_noptrbss; /* from here on they have no pointers either */

	/* Words of zero-initialised variables by what they may be: the first of a slice; a pointer
	 * to an M; the stack of gcrash; a pointer to memory that is not of the heap. */
	find_pointers_v slices, machines, crash_stacks, outside;
	ARRAY(struct range) chunks; /* of persistent memory, sorted */
	ARRAY(va_t) ps, ms;         /* ms sorted */
	va_t m0;                    /* the M that is a variable itself */
	u64 max_mid, max_goid;      /* of all Ms, and of goroutines as far as they were tested */
	va_t lists[FIND_MAX_LISTS]; /* heads that manual spans without free stacks are on */
	size_t list_count;
	struct find_sample { /* mark and allocation bits of spans in use */
		va_t mark, alloc;
	} samples[FIND_MAX_SAMPLES];
	size_t sample_count;
};

/* One answer, or several. Answers whose value is the same are one: nobody could tell them apart. */
struct find_answer {
	const char *name;
	va_t va, other;
	u64 rank; /* of the answer; a higher one replaces it */
};

void find_take(struct find_answer *a, va_t va, u64 rank);

/* Sets the global to the one answer; ERR_FORMAT when there were two, or none and there must be. */
struct err *find_settle(struct finder *f, enum rt_global g, const struct find_answer *a,
			bool need) ERR_RESULT;

/* The module's variables as runs of words in the core; range is where to begin. */
struct find_words {
	const struct finder *f;
	size_t range;
	va_t va;     /* of the run */
	const u8 *p; /* its bytes */
	size_t n;    /* its words */
};

bool find_next_words(struct find_words *it);

static inline u64 find_word(const struct find_words *it, size_t i)
{
	u64 v;

	memcpy(&v, it->p + 8 * i, sizeof(v));
	return v;
}

static inline u32 find_half(u64 word, unsigned i)
{
	return (u32)(word >> (32 * i));
}

/* Whether va is one of the module's variables. */
bool find_in_variables(const struct finder *f, va_t va);

/* Whether va is in one of the large variables that were found already, and so is no other. */
bool find_is_part(const struct finder *f, va_t va);

/* Whether n bytes at va, which is aligned for a word, were dumped. */
bool find_dumped(const struct finder *f, va_t va, u64 n);

/* A field or word; false when it was not dumped. */
bool find_field(const struct finder *f, va_t base, enum rt_field field, u64 *ret);

/* The mspan that has the page of a heap address; 0 when none has. */
va_t find_span_of(const struct finder *f, va_t va);

/* The node that an lfstack's head points to (runtime/tagptr_64bit.go); 0 for an empty one. */
va_t find_lfstack_node(const struct finder *f, u64 head);

/* The chunk of persistent memory that has va, or NULL. */
const struct range *find_chunk(const struct finder *f, va_t va);

struct err *find_module(struct finder *f) ERR_RESULT;
struct err *find_heap(struct finder *f) ERR_RESULT;
struct err *find_pointers(struct finder *f) ERR_RESULT; /* needs mheap_ */
struct err *find_scheduler(struct finder *f) ERR_RESULT;
void find_settings(struct finder *f);
struct err *find_span_lists(struct finder *f) ERR_RESULT;
struct err *find_phase(struct finder *f) ERR_RESULT; /* needs work where there is one */
struct err *find_persistent(struct finder *f) ERR_RESULT;
struct err *find_buckets(struct finder *f) ERR_RESULT;
struct err *find_callbacks(struct finder *f) ERR_RESULT;
struct err *find_profile(struct finder *f) ERR_RESULT;

#endif
