/* Go processes, described in code and laid out as any release with a built-in layout would have
 * them in memory: heap, stacks, the runtime's structures, and counters that fit to the byte.
 *
 *	struct mkgo *go = mkgo_new(26, 0);
 *	struct mkgo_core c;
 *	va_t mspan;
 *
 *	mspan = mkgo_span(go, (struct mkgo_span){.spanclass = 2 * 5, .freeindex = 7});
 *	mkgo_goroutine(go, (struct mkgo_g){.status = G_WAITING, .stack = mkgo_stack(go, 2048)});
 *	mkgo_idle(go, MKGO_HEAP + 0x200000, 10, false);
 *	mkgo_finish(go);
 *	mkgo_poke(go, mspan, RT_MSPAN_NPAGES, 0);       damage, where the test wants it
 *	mkgo_open(&c, go);                              c.gort is what src/gort reads of it
 *	...
 *	mkgo_close(&c);
 *
 * Where things lie (all of it in loads of a kernel core with holes):
 *
 *	MKGO_BINARY    text, constants, data; then bss with all globals, Ps, Ms, gs and their tables
 *	MKGO_HEAP      arenas of 64 MiB, as many as are touched. The page allocator has a chunk of
 *	               4 MiB wherever something was planted; pages of it that nobody asked for are
 *	               free and released. What is behind the last chunk of an arena is PROT_NONE
 *	MKGO_RUNTIME   persistent chunks, heapArenas, gcBits arenas and the big tables: only
 *	               their touched pages are mapped (of summaries all, without access). On arm64,
 *	               where processes have twice the addresses, they are in the upper half
 *	MKGO_OS_STACK  the main thread's stack
 *
 * Memory stays open to change until mkgo_open: mkgo_finish only computes the counters from what
 * was planted. Whatever makes no sense here (two owners of a page, say) fails the test. */
#ifndef SUPPORT_MKGO_H
#define SUPPORT_MKGO_H

#include "gort/gort.h"
#include "gort/mstats.h"
#include "ledger/ledger.h"
#include "support/core.h"
#include "support/mkpcln.h"

#define MKGO_BINARY ((va_t)0x400000)
#define MKGO_DATA ((va_t)0x408000) /* behind 16 KiB of text and 16 KiB of constants */
#define MKGO_TEXT (MKGO_BINARY + 0x1000)
#define MKGO_TABLES (MKGO_DATA + 0x2000) /* of mkgo_functions */
#define MKGO_BSS ((va_t)0x40c000)
#define MKGO_BSS_BYTES ((u64)0x90000)
#define MKGO_HEAP ((va_t)0xc000000000)
#define MKGO_RUNTIME ((va_t)0x7f0000000000)
#define MKGO_RUNTIME_HIGH ((va_t)0xffff00000000)
#define MKGO_OS_STACK ((va_t)0x7ffc00000000)
#define MKGO_OS_STACK_BYTES ((u64)0x10000)

/* The heap's sweepgen (a span's is this plus its `sweep`). */
#define MKGO_SWEEPGEN 42

/* A span in use. Bits beyond the last slot may be set: the runtime leaves rubbish there too. */
struct mkgo_span {
	va_t start;    /* 0: behind what was placed so last */
	u32 npages;    /* 0: as the size class has it; large objects need it */
	u8 spanclass;  /* size class * 2 + noscan; 0 and 1 are large objects */
	int sweep;     /* sweepgen minus the heap's: 0 swept, -2 unswept, 3 cached, ... */
	u16 freeindex; /* all slots below are allocated */
	u64 alloc[SLOT_WORDS], marks[SLOT_WORDS]; /* the two bitmaps, as they stand in memory */
	bool inline_marks; /* Green Tea: the mark bits stand at the end of the span's page */
	bool specials;     /* has a list of two, of different kinds */
	va_t p;            /* of the P whose mcache holds it, or 0; */
	u16 reported;      /*   then: allocCountBeforeCache */
};

struct mkgo_g {
	unsigned status; /* may carry the scan bit, 0x1000 */
	struct range stack;
	va_t sched_sp, syscallsp;
};

struct mkgo_m {
	u32 tid;
	va_t curg;
	struct range g0, gsignal; /* of mkgo_stack, or elsewhere; empty: it has no such g */
	struct range own_signal;  /* the runtime's signal stack, when gsignal was C's once */
	bool freed;               /* waits on sched.freem instead of being on allm */
};

/* Kinds of profile buckets (runtime/mprof.go). */
enum mkgo_bucket { MKGO_MEM = 1, MKGO_BLOCK, MKGO_MUTEX };

/* One page of the process under construction. */
struct mkgo_page {
	va_t va;
	u8 *bytes;
};

/* One mapping. */
struct mkgo_region {
	va_t lo, hi;
	u32 flags;
	bool sparse;   /* only touched pages are mapped */
	char *letters; /* pages as mkcore takes them; NULL: nothing of it is dumped */
};

/* A chunk of the page allocator, and what its pages are. */
enum mkgo_use {
	MKGO_RELEASED,
	MKGO_RETAINED,
	MKGO_SPAN,
	MKGO_PCACHE_RETAINED,
	MKGO_PCACHE_RELEASED,
	MKGO_PADDING,
};

struct mkgo_chunk {
	va_t base;
	u8 use[GO_CHUNK_PAGES]; /* enum mkgo_use */
	char letters[GO_CHUNK_BYTES / MK_PAGE + 1];
};

/* A span as planted. */
struct mkgo_planted {
	va_t mspan, start;
	u32 npages;
	u8 state, spanclass;
	bool workbuf;
	u64 elemsize;
	unsigned nelems, alloc_count;
	int unreported; /* objects that the mcache has not counted yet; negative: has counted ahead
			 */
	struct mkgo_span how;
};

/* Bump allocation out of blocks of one kind. */
struct mkgo_pool {
	va_t pos, end;
};

struct mkgo_release {
	unsigned minor, patch;
	enum arch_id arch;
};

struct mkgo {
	/* The layout, and where the globals are: for gort_open_layout, rt_addr and the like. */
	struct rt rt;

	/* What runtime.MemStats is to say; set by mkgo_finish. */
	struct mstats expect;

	struct mkcore *mk; /* threads and other notes may be added */
	bool split;        /* each page a load of its own: records cross borders of loads */
	bool untouched;    /* pages of what is planted from now on are '.' */
	bool finished;
	va_t cut; /* the core ends in front of the first load from here on; 0: it is whole */
	u32 gcphase;
	u64 spare_mspans, parked_mspans, quarantined_pages, mcaches;
	va_t p0, m0;
	u64 buckhash_bytes, special_bytes, queue_bytes, trace_bytes; /* planted outside the heap */

	ARRAY(struct mkgo_planted) spans;
	ARRAY(struct mkgo_page) pages; /* touched ones, ascending */
	ARRAY(struct mkgo_region) regions;
	ARRAY(struct mkgo_chunk) chunks; /* ascending */
	ARRAY(struct heap_arena) arenas; /* in the order of the runtime's list */
	ARRAY(struct heap_arena) user_arenas;
	ARRAY(char *) texts; /* letters of loads */
	ARRAY(va_t) ps, gs;
	struct mkgo_pool bss, persistent, mspans, mcache_pool, alloc_bits, mark_bits;
	va_t next_start, next_window;
	u64 span_count, mspan_chunks, mcache_chunks;
};

/* A process with one P and main's M, and no heap yet. The release must have a layout. mkgo_new_on
 * makes one on any architecture, mkgo_new on amd64. */
struct mkgo *mkgo_new(unsigned minor, unsigned patch);
struct mkgo *mkgo_new_on(const struct mkgo_release *r);

/* For one that is not opened; mkgo_close does it for the others. */
void mkgo_free(struct mkgo *go);

/* --- Heap. Addresses are of the structures in the target, for mkgo_poke. --- */

/* Adds an arena to the list; done for the others when they are touched. Returns the heapArena. */
va_t mkgo_arena(struct mkgo *go, va_t base);

/* A chunk of the arena experiment: an arena of its own, which up to 1.24 no list names, and one
 * span over all of it. Freed ones wait on a list: until nothing points into them any more, and
 * then, dead, to be used again. */
enum mkgo_user_arena { MKGO_USED, MKGO_READY, MKGO_QUARANTINE };
va_t mkgo_user_arena(struct mkgo *go, va_t base, enum mkgo_user_arena state);

/* The part of it that objects do not get. */
#define MKGO_USER_ARENA_RESERVE ((u64)1 << 20)

/* A span in use; its mspan. */
va_t mkgo_span(struct mkgo *go, struct mkgo_span s);

/* Spans of work buffers, on one of the two lists; the mspan. */
va_t mkgo_workbuf(struct mkgo *go, bool busy);

/* Dead mspans. Spare ones wait in the cache of the first P and count as in use. */
void mkgo_dead_mspans(struct mkgo *go, unsigned n, bool spare);

/* Free pages: kept, or (as all that nobody plants in) given back. */
void mkgo_idle(struct mkgo *go, va_t lo, u32 npages, bool released);

/* Allocated and scavenged pages that nobody owns: the random start of the heap (1.26). */
void mkgo_padding(struct mkgo *go, va_t lo, u32 npages);

/* Gives the first module these functions, from MKGO_TEXT on; to be called after mkgo_finish. */
void mkgo_functions(struct mkgo *go, const struct mkpcln_func *funcs, size_t n);

/* Which of the pages at va (4 KiB, a letter each as in mkcore) were in memory. Spans and retained
 * pages are '0' otherwise, all others '.'. */
void mkgo_pages(struct mkgo *go, va_t va, const char *letters);

/* --- Stacks and who has them. --- */

/* A stack from the heap: 2 KiB to 16 KiB out of pool spans, larger ones in spans of their own. */
struct range mkgo_stack(struct mkgo *go, u64 bytes);

va_t mkgo_goroutine(struct mkgo *go, struct mkgo_g g);
va_t mkgo_m(struct mkgo *go, struct mkgo_m m);

/* Gives the stack to gcrash, where the release has it. */
bool mkgo_gcrash(struct mkgo *go, struct range stack);

/* A free stack in the mcache of a P; one of 32 KiB or more on the lists of large stacks (mspan). */
void mkgo_cached_stack(struct mkgo *go, va_t p, u64 bytes);
va_t mkgo_free_stack(struct mkgo *go, u64 bytes);

/* --- The rest. --- */

/* Another P, with an mcache or without; its first cache of pages is empty. */
va_t mkgo_p(struct mkgo *go, bool with_mcache);

/* Gives the P a cache of the 64 pages from base on: free ones, and of them released ones. */
void mkgo_pcache(struct mkgo *go, va_t p, va_t base, u64 cache, u64 scav);

/* An mcache on the free list of its allocator. */
void mkgo_free_mcache(struct mkgo *go);

va_t mkgo_bucket(struct mkgo *go, enum mkgo_bucket type, unsigned nstk);

/* Another module behind the first, with masks of so many bits. */
va_t mkgo_module(struct mkgo *go, unsigned gcdata_bits, unsigned gcbss_bits);

/* Finalizer and cleanup blocks, queues of the marker, trace buffers, a freed special: of each that
 * the release has, some. */
void mkgo_extras(struct mkgo *go);

void mkgo_gcphase(struct mkgo *go, u32 phase);

/* Bytes out of the persistent chunks. */
va_t mkgo_persistent(struct mkgo *go, u64 bytes);

/* How allocations are sampled, and where the profile's cycle stands. */
void mkgo_sampling(struct mkgo *go, u64 rate, u32 cycle);

/* A site that allocates objects of `size` bytes, by the return addresses of its stack; counts at
 * it in the active cycle (-1), or in one of the three that are to come. */
va_t mkgo_site(struct mkgo *go, u64 size, const va_t *returns, unsigned depth);
void mkgo_count(struct mkgo *go, va_t site, int cycle, u64 allocs, u64 frees);

/* Makes the object at an offset of a span with specials one that was sampled at a site. */
void mkgo_sampled(struct mkgo *go, va_t mspan, u64 offset, va_t site);

/* --- Writing and reading. --- */

/* Computes all counters, tables and lists. Nothing may be planted afterwards. */
void mkgo_finish(struct mkgo *go);

/* A field of the structure at base, and a word anywhere. Fields that the release lacks fail. */
void mkgo_poke(struct mkgo *go, va_t base, enum rt_field f, u64 value);
u64 mkgo_peek(struct mkgo *go, va_t base, enum rt_field f);
void mkgo_poke_u64(struct mkgo *go, va_t va, u64 value);
u64 mkgo_peek_u64(struct mkgo *go, va_t va);

/* Turns over the bit of the page at va in one of the bitmaps of its chunk (PALLOC_DATA_ALLOC,
 * PALLOC_DATA_SCAVENGED) or arena (HEAP_ARENA_PAGE_IN_USE, _PAGE_SPECIALS, _INLINE_MARKS). */
void mkgo_flip(struct mkgo *go, enum rt_field bitmap, va_t va);

/* Address of the arena's pointer to the span of the page at va. */
va_t mkgo_arena_entry(const struct mkgo *go, va_t va);

/* Address of the pointer to the chunk table for va. */
va_t mkgo_chunk_entry(const struct mkgo *go, va_t va);

/* Whether the release has a field. */
bool mkgo_has(const struct mkgo *go, enum rt_field f);

/* Slot size and pages of a size class. */
/* What is left of the newest arena, where it counts as released; else 0. */
u64 mkgo_released_rest(const struct mkgo *go);

/* Classes have the numbers of today's table here and in mkgo_span; 1.15 has none of 24 bytes, and
 * numbers the others one less: that is what it has of a class, and of how many. */
u32 mkgo_class_bytes(unsigned size_class);
unsigned mkgo_own_class(const struct mkgo *go, unsigned size_class);
unsigned mkgo_class_of_own(const struct mkgo *go, unsigned own);
unsigned mkgo_last_own_class(const struct mkgo *go);
u32 mkgo_class_pages(unsigned size_class);

/* Some of everything above, in three chunks of which two are neighbours. What it has is in
 * mkgo_sample.c; these are the parts that tests change. */
struct mkgo_sample {
	va_t swept, unswept, cached, large, special; /* mspans in use */
	va_t inline_marks;                           /* 0 where there are none */
	va_t stack_pool, workbuf, free_stack;        /* manual ones */
	va_t second_p, g, dead_g, m, freed_m, bucket, module;
	va_t retained, cached_page, padding; /* pages that are free */
};

struct mkgo_sample mkgo_sample(struct mkgo *go);

/* The structures of a sample by name, for tables of changes. */
enum mkgo_part {
	PART_MHEAP,
	PART_SPANALLOC,
	PART_CACHEALLOC,
	PART_MEMSTATS,
	PART_DELTA, /* the first of the three */
	PART_GCC,
	PART_WORK,
	PART_GCBITS,
	PART_SWEPT,
	PART_UNSWEPT,
	PART_CACHED,
	PART_LARGE,
	PART_SPECIAL,
	PART_POOL,
	PART_WORKBUF,
	PART_FREE_STACK,
	PART_P0,
	PART_P1,
	PART_G,
	PART_DEAD_G,
	PART_M,
	PART_FREED_M,
	PART_BUCKET,
	PART_MODULE,
};

va_t mkgo_part(const struct mkgo *go, const struct mkgo_sample *s, enum mkgo_part part);

/* A process in a core, opened. */
struct mkgo_core {
	struct mkgo *go;
	struct core core;
	struct gort gort;
};

/* Writes the core, builds its residency and reads the runtime; takes go over. mkgo_try leaves the
 * runtime's error to the caller. */
void mkgo_open(struct mkgo_core *c, struct mkgo *go);
struct err *mkgo_try(struct mkgo_core *c, struct mkgo *go) ERR_RESULT;
void mkgo_close(struct mkgo_core *c);

/* The ledger of all that is there, sealed. ledger_fini is due. */
void mkgo_ledger(struct mkgo_core *c, struct ledger *l);

/* Opens, does everything that a report does, closes; fails unless a finding of this code says the
 * text. Without a text there must be no finding at all. */
void mkgo_assert_finding(struct mkgo *go, enum diag_code code, const char *text);

/* Opens and closes; fails unless the runtime cannot be read, and this is why. */
void mkgo_assert_error(struct mkgo *go, enum err_code code, const char *text);

/* Fails unless exactly these invariants (their names, a line each) do not hold. */
void mkgo_assert_failed(const struct mkgo_core *c, const char *names);

/* Fails unless there is no diagnostic of the runtime. */
void mkgo_assert_clean(const struct mkgo_core *c);

/* A release for each built-in layout, up to the first with minor 0: for (r = mkgo_releases; ...).
 * mkgo_everywhere has them for each architecture. */
extern const struct mkgo_release mkgo_releases[], mkgo_everywhere[];

#endif
