#include "report/waterfall.h"

#define LAST CAT_COUNT /* ends a list of classes */

/* Steps after the live objects, each the resident bytes of its classes. Reserved address space
 * stands with what it is the rest of, so that the sum misses no byte. */
static const struct {
	const char *id, *title;
	enum category classes[8];
} groups[] = {
	{"fresh", "objects allocated since, dead or alive (HeapAlloc)", {CAT_HEAP_FRESH, LAST}},
	{"dead", "garbage that is not swept yet (HeapAlloc)", {CAT_HEAP_DEAD, LAST}},
	{"undecided",
	 "objects that the running GC has not reached (HeapAlloc)",
	 {CAT_HEAP_UNDECIDED, LAST}},
	{"free", "free slots in spans in use (HeapInuse-HeapAlloc)", {CAT_HEAP_FREE, LAST}},
	{"tail", "span ends and in-span bitmaps (HeapInuse-HeapAlloc)", {CAT_HEAP_TAIL, LAST}},
	{"stack",
	 "goroutine and system stacks (StackInuse)",
	 {CAT_STACK_USED, CAT_STACK_UNUSED, CAT_STACK_SYSTEM, CAT_STACK_CACHED, LAST}},
	{"idle_retained", "free pages kept (HeapIdle-HeapReleased)", {CAT_IDLE_RETAINED, LAST}},
	{"idle_released",
	 "pages given back, still there (HeapReleased)",
	 {CAT_IDLE_RELEASED, CAT_ARENA_UNUSED, LAST}},
	{"meta", "the runtime's own structures (GCSys, MSpanSys, OtherSys...)", {LAST}},
	{"binary",
	 "the executable's code and variables",
	 {CAT_BINARY_TEXT, CAT_BINARY_RODATA, CAT_BINARY_PCLNTAB, CAT_BINARY_RELRO, CAT_BINARY_DATA,
	  CAT_BINARY_BSS, LAST}},
	{"c_heap", "malloc's heap", {CAT_C_USED, CAT_C_FREE, CAT_C_META, CAT_C_RESERVED, LAST}},
	{"thread", "stacks of OS threads", {CAT_THREAD_STACK, CAT_THREAD_GUARD, LAST}},
	{"file",
	 "mapped files and shared memory (RssFile, RssShmem)",
	 {CAT_FILE_EXEC, CAT_FILE_LIB, CAT_FILE_DATA, CAT_SHM, LAST}},
	{"anon", "private memory mapped outside Go (cgo, mmap)", {CAT_ANON, LAST}},
	{"unattributed", "small rests", {CAT_UNATTRIBUTED, LAST}},
	{"kernel",
	 "the kernel's pages",
	 {CAT_KERNEL_VDSO, CAT_KERNEL_VVAR, CAT_KERNEL_VSYSCALL, LAST}},
};

static i64 resident(const struct ledger *l, enum category c)
{
	return (i64)ledger_columns(l, c).state[STATE_RESIDENT];
}

static i64 group_bytes(const struct ledger *l, size_t g)
{
	i64 sum = 0;

	/* All of the runtime's structures: too many to list. */
	if (groups[g].classes[0] == LAST) {
		for (int c = CAT_META_MSPAN; c <= CAT_META_RESERVED; c++)
			sum += resident(l, (enum category)c);
		return sum;
	}
	for (const enum category *c = groups[g].classes; *c != LAST; c++)
		sum += resident(l, *c);
	return sum;
}

/* Where the Go heap was not read it is among the anonymous memory. */
static const char *group_title(const struct snapshot *s, size_t g)
{
	if (groups[g].classes[0] != CAT_ANON || s->gort)
		return groups[g].title;
	return version_is_go(s->version) ? "private anonymous memory, the Go heap included"
					 : "private anonymous memory";
}

static const char *absent_title(const struct ledger *l)
{
	return l->im->res.evidence == EVIDENCE_NONZERO ? "of these not known to be in memory"
						       : "of these not in memory";
}

static bool group_known(const struct ledger *l, size_t g)
{
	if (groups[g].classes[0] == LAST)
		return ledger_knows(l, CAT_META_MSPAN);
	for (const enum category *c = groups[g].classes; *c != LAST; c++)
		if (ledger_knows(l, *c))
			return true;
	return false;
}

/* Steps being listed, and their sum so far. */
struct list {
	struct waterfall_step *steps;
	size_t n;
	i64 sum;
};

static void add(struct list *to, const char *id, const char *title, i64 bytes)
{
	to->sum += bytes;
	to->steps[to->n++] = (struct waterfall_step){id, title, bytes, to->sum, false, false};
}

static void add_unknown(struct list *to, const char *id, const char *title)
{
	to->steps[to->n++] = (struct waterfall_step){id, title, 0, 0, true, true};
}

/* From what pprof shows, if it is known, to the live objects that were in memory. */
static void add_live(struct list *to, const struct ledger *l, const i64 *pprof)
{
	i64 live = (i64)ledger_columns(l, CAT_HEAP_LIVE).virtual;

	if (pprof) {
		add(to, "pprof", "what `go tool pprof -inuse_space` shows", *pprof);
		add(to, "sampling", "what its sampling misses of the live objects", live - *pprof);
	} else {
		add(to, "live", "objects that the last GC found reachable (HeapAlloc)", live);
	}
	add(to, "live_absent", absent_title(l), resident(l, CAT_HEAP_LIVE) - live);
}

/* The same where the live objects are unknown: what pprof shows stands alone. */
static void add_no_live(struct list *to, const struct ledger *l, const i64 *pprof)
{
	if (pprof) {
		add(to, "pprof", "what `go tool pprof -inuse_space` shows", *pprof);
		to->steps[to->n - 1].beside = true;
		to->sum = 0;
		add_unknown(to, "sampling", "what its sampling misses of the live objects");
	} else {
		add_unknown(to, "live", "objects that the last GC found reachable (HeapAlloc)");
	}
	add_unknown(to, "live_absent", absent_title(l));
}

size_t waterfall_steps(const struct snapshot *s, const u64 *shown, u64 rss,
		       struct waterfall_step steps[static WATERFALL_MAX])
{
	const struct ledger *l = s->ledger;
	struct list to = {.steps = steps};
	/* A damaged core or profile may have any figure; the difference has to fit. */
	i64 pprof = shown ? (i64)MIN(*shown, INT64_MAX / 2) : 0;

	if (ledger_knows(l, CAT_HEAP_LIVE))
		add_live(&to, l, shown ? &pprof : NULL);
	else
		add_no_live(&to, l, shown ? &pprof : NULL);
	for (size_t g = 0; g < COUNT_OF(groups); g++)
		if (group_known(l, g))
			add(&to, groups[g].id, group_title(s, g), group_bytes(l, g));
		else
			add_unknown(&to, groups[g].id, group_title(s, g));
	if (rss)
		add(&to, "unknown", "the kernel's figure beyond this: pages not in the core",
		    (i64)rss - to.sum);
	return to.n;
}
