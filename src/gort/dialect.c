#include "gort/dialect.h"

/* Oldest release whose memory statistics live in gcController; older ones are another reader. */
#define OLDEST_MINOR 19
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

const char *dialect_supported_text(void)
{
	return "1.19 to 1.27";
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
		.has_pacer_metrics = v->minor >= 21,
		.metric_counts_system_goroutines = v->minor >= 26,
	};
}
