/* Everything that is read of one Go runtime, in normalised records.
 *
 * Above this layer nobody sees a field of the runtime or a release. */
#ifndef GORT_GORT_H
#define GORT_GORT_H

#include "gort/arenas.h"
#include "gort/buckets.h"
#include "gort/gs.h"
#include "gort/module.h"
#include "gort/ms.h"
#include "gort/pagealloc.h"
#include "gort/procs.h"
#include "gort/rt.h"
#include "gort/slots.h"
#include "gort/spans.h"

/* Parts without which the heap is read all the same. */
enum gort_part { GORT_MS = 1, GORT_GS = 2, GORT_MODULES = 4, GORT_BUCKETS = 8 };

struct gort {
	struct rt rt;
	bool attached; /* rt serves, even where the rest cannot be read */
	u8 missing;    /* set of gort_part: these could not be read, or only in part */
	struct arenas arenas;
	struct spans spans;
	struct pagealloc pagealloc;
	struct procs procs;
	struct machines ms;
	struct goroutines gs;
	struct modules modules;
	struct buckets buckets;
};

/* Attaches and reads all. An error means that the heap cannot be read at all; what is missing
 * besides is in the diagnostics. gort must be zeroed; gort_close is due in any case. */
struct err *gort_open(struct gort *gort, const struct image *im, const struct binary *bin,
		      struct diags *d) ERR_RESULT;

/* Same with the built-in layout of a release, and globals that were found otherwise. */
struct err *gort_open_layout(struct gort *gort, const struct image *im, const struct go_version *v,
			     const va_t globals[static RT_GLOBAL_COUNT],
			     struct diags *d) ERR_RESULT;
void gort_close(struct gort *gort);

#endif
