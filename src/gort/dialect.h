/* What differs between Go releases in meaning, not in layout; the only place that compares them.
 *
 * Layout differences need no code at all: a slot knows its offset, its width, or its absence. */
#ifndef GORT_DIALECT_H
#define GORT_DIALECT_H

#include "base/err.h"
#include "gort/version.h"

/* runtime/malloc.go, mpagealloc.go, sizeclasses.go: the same in all releases from 1.15 on. */
#define GO_PAGE_BYTES ((u64)8192)
#define GO_ARENA_BYTES ((u64)64 << 20)
#define GO_ARENA_COUNT ((u64)1 << 22) /* entries of the arena map on 64-bit Linux */
#define GO_CHUNK_PAGES 512
#define GO_CHUNK_BYTES (GO_CHUNK_PAGES * GO_PAGE_BYTES)
#define GO_MAX_ADDR ((va_t)1 << 48)
#define GO_BUCKHASH_BYTES ((u64)179999 * 8)        /* runtime/mprof.go buckHashSize */
#define GO_PERSISTENT_CHUNK_BYTES ((u64)256 << 10) /* runtime/malloc.go persistentChunkSize */
#define GO_MAX_SIZE_CLASSES 128

/* Marks of small objects inside the span, from Green Tea (runtime/mgcmark_greenteagc.go). */
#define GO_INLINE_MARKS_FROM_END 128 /* spanInlineMarkBits ends the span's only page */
#define GO_INLINE_MARKS_OFFSET 64    /* of the mark bits in it; scan bits come first */
#define GO_INLINE_MARKS_MIN_SIZE 16
#define GO_INLINE_MARKS_MAX_SIZE 512

/* How wait reasons are numbered: the columns of waitreasons.def. */
enum wait_numbers {
	WAIT_1_15,
	WAIT_1_20,
	WAIT_1_22,
	WAIT_1_23,
	WAIT_1_24,
	WAIT_1_25,
	WAIT_1_26,
	WAIT_COLUMNS,
};

struct dialect {
	va_t arena_base_offset;    /* runtime/malloc.go arenaBaseOffset */
	unsigned headroom_percent; /* of the memory limit's goal, beyond the 1 MiB (1.21) */
	/* A lock-free stack's head has a count in its low bits, where an aligned address has none:
	 * runtime/tagptr_64bit.go tagBits, tagAlignBits (1.25). */
	unsigned tag_bits, tag_align_bits;
	bool limit_is_object_end; /* mspan.limit of a large span (1.22) */
	bool clears_fresh_memory; /* large pointer objects are zeroed although new (1.24) */
	/* What is left of the newest arena (mheap_.curArena) is mapped at once, and counted as idle
	 * and released (until 1.16); later it is reserved, and in no statistic. */
	bool arena_rest_is_released;
	bool frees_lazily;          /* MADV_FREE unless GODEBUG says otherwise (1.12 to 1.15) */
	bool has_memory_limit;      /* GOMEMLIMIT (1.19) */
	bool has_metrics;           /* runtime/metrics (1.16) */
	bool has_flow_metrics;      /* allocations and frees in it (1.17) */
	bool has_gomaxprocs_metric; /* /sched/gomaxprocs (1.19) */
	bool has_pacer_metrics;     /* /gc/gogc, /gc/gomemlimit, /gc/heap/live (1.21) */
	/* /sched/goroutines counts the runtime's own goroutines too (1.26) */
	bool metric_counts_system_goroutines;
	enum wait_numbers wait_numbers;
	/* Contentions are counted by a float64, to be without bias (1.17) */
	bool counts_contentions_in_reals;
	/* Mutex profiles are scaled by the rate when they are written (until 1.20) */
	bool scales_mutex_profile;
	/* Heap profiles leave out calls of internal/runtime/... at the top too (1.24) */
	bool hides_internal_runtime;
	/* The number of what the compiler made to call something else, and of what the runtime
	 * wants to be passed over (internal/abi/symtab.go FuncIDWrapper, runtime/symtab.go
	 * before 1.21) */
	u8 wrapper_id;
	/* A goroutine's labels are a slice of pairs, no longer a map (1.24) */
	bool labels_are_list;
};

enum release_support {
	RELEASE_TESTED,
	RELEASE_UNTESTED, /* newer, or between: read with a warning */
	RELEASE_UNREAD,   /* too old: its heap is not read */
};

enum release_support dialect_support(const struct go_version *v);

/* Whether a release is 1.minor.first to 1.minor.last. */
bool dialect_is_between(const struct go_version *v, unsigned minor, unsigned first, unsigned last);

/* Whether a release came after all that are read, of which 1.minor is the newest. */
bool dialect_is_beyond(const struct go_version *v, unsigned minor);

/* Whether the core of a 1.minor process alone does not say its release: until 1.17 the build info
 * points to the name, which is in read-only data of the file. */
bool dialect_is_nameless(unsigned minor);

/* "1.15 to 1.27", for messages. */
const char *dialect_supported_text(void);

struct dialect dialect_of(const struct go_version *v, const struct arch *arch);

#endif
