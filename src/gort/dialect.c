#include "gort/dialect.h"

#define OLDEST_MINOR 15
#define NEWEST_MINOR 27

enum release_support dialect_support(const struct go_version *v)
{
	if (v->minor < OLDEST_MINOR)
		return RELEASE_UNREAD;
	if (v->minor > NEWEST_MINOR)
		return RELEASE_UNTESTED;
	return RELEASE_TESTED;
}

bool dialect_is_between(const struct go_version *v, unsigned minor, unsigned first, unsigned last)
{
	return v->minor == minor && v->patch >= first && v->patch <= last;
}

bool dialect_is_beyond(const struct go_version *v, unsigned minor)
{
	return minor == NEWEST_MINOR && v->minor > minor;
}

bool dialect_is_nameless(unsigned minor)
{
	return minor <= 17;
}

const char *dialect_supported_text(void)
{
	return "1.15 to 1.27";
}

/* The last column whose release is not newer (runtime/runtime2.go waitReason). */
static enum wait_numbers wait_numbers(const struct go_version *v)
{
	static const unsigned since[WAIT_COLUMNS] = {
		[WAIT_1_15] = 0,  [WAIT_1_20] = 20, [WAIT_1_22] = 22, [WAIT_1_23] = 23,
		[WAIT_1_24] = 24, [WAIT_1_25] = 25, [WAIT_1_26] = 26,
	};
	int column = WAIT_COLUMNS - 1;

	while (column > 0 && v->minor < since[column])
		column--;
	return (enum wait_numbers)column;
}

/* It is the last of a list that gained and lost members: 1.15 to 1.17 had jmpdefer, 1.22 added
 * corostart, 1.25 runCleanups. */
static u8 wrapper_id(const struct go_version *v)
{
	if (v->minor >= 25)
		return 23;
	return v->minor >= 22 || v->minor <= 17 ? 22 : 21;
}

struct dialect dialect_of(const struct go_version *v, const struct arch *arch)
{
	return (struct dialect){
		.arena_base_offset = arch->id == ARCH_AMD64 ? 0xffff800000000000u : 0,
		/* mgcpacer.go memoryLimitHeapGoalHeadroomPercent, added in 1.21. */
		.headroom_percent = v->minor >= 21 ? 3 : 0,
		.tag_bits = v->minor >= 25 ? 24 : 19,
		.tag_align_bits = v->minor >= 25 ? 9 : 3,
		/* mcache.go allocLarge. */
		.limit_is_object_end = v->minor >= 22,
		/* malloc.go mallocgcLarge; golang/go#72991, mended for 1.25. */
		.clears_fresh_memory = v->minor == 24,
		/* metrics/description.go. */
		.arena_rest_is_released = v->minor <= 16,
		.frees_lazily = v->minor >= 12 && v->minor <= 15,
		.has_memory_limit = v->minor >= 19,
		.has_metrics = v->minor >= 16,
		.has_flow_metrics = v->minor >= 17,
		.has_gomaxprocs_metric = v->minor >= 19,
		.has_pacer_metrics = v->minor >= 21,
		.metric_counts_system_goroutines = v->minor >= 26,
		.wait_numbers = wait_numbers(v),
		/* runtime/mprof.go blockRecord. */
		.counts_contentions_in_reals = v->minor >= 17,
		/* runtime/pprof/pprof.go scaleMutexProfile. */
		.scales_mutex_profile = v->minor <= 20,
		/* runtime/pprof/protomem.go writeHeapProto. */
		.hides_internal_runtime = v->minor >= 24,
		.wrapper_id = wrapper_id(v),
		/* runtime/pprof/label.go labelMap. */
		.labels_are_list = v->minor >= 24,
	};
}
