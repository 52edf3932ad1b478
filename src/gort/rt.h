/* The Go runtime of one core: where its globals are, and how its structures lie in memory.
 *
 * rt_attach freezes all of it; afterwards readers ask for fields by name and need no release. */
#ifndef GORT_RT_H
#define GORT_RT_H

#include "base/diag.h"
#include "gort/dialect.h"
#include "gort/layout.h"
#include "gort/version.h"
#include "image/binary.h"
#include "image/image.h"

enum rt_global {
#define G(id, name, need) RT_G_##id,
#include "gort/globals.def"
#undef G
	RT_GLOBAL_COUNT,
};

/* runtime.gcphase (mgc.go): _GCoff, then _GCmark, _GCmarktermination */
#define GC_OFF 0
#define GC_MARK 1
#define GC_MARK_TERMINATION 2

struct rt {
	const struct image *im;
	const struct binary *bin; /* the executable, or NULL */
	struct diags *d;
	struct go_version version;
	struct dialect dialect;
	struct slot slots[RT_FIELD_COUNT];
	va_t globals[RT_GLOBAL_COUNT]; /* 0 where the release has none */

	/* What variables without a place would hold (gort/find.h). */
	struct {
		u32 cycle; /* of the heap profile */
		i64 rate;
		bool has_rate; /* false when it cannot be told */
	} profile;

	/* The release whose layout was used for want of its own, or "": verify must hold. */
	char layout_of[GO_VERSION_MAX];
	u32 gcphase;
	u32 sweepgen;
	u32 size_class_count;
	u16 size_class_bytes[GO_MAX_SIZE_CLASSES]; /* [0] is 0: large objects */
};

/* Reads version, DWARF and globals, and checks that mheap_ points to itself. On failure the
 * error says why the heap cannot be read; rt->version is set as far as it is known. */
struct err *rt_attach(struct rt *rt, const struct image *im, const struct binary *bin,
		      struct diags *d) ERR_RESULT;

/* Same by the built-in layout of that number (layout_of_any), whatever release it is: where nothing
 * names the release. ERR_MISSING when there is no such layout. Nothing made with it counts before
 * all invariants were seen to hold. */
struct err *rt_attach_table(struct rt *rt, const struct image *im, const struct binary *bin,
			    unsigned table, struct diags *d) ERR_RESULT;

/* Same without an executable: the built-in layout of a release, and globals found elsewhere. */
struct err *rt_attach_layout(struct rt *rt, const struct image *im, const struct go_version *v,
			     const va_t globals[static RT_GLOBAL_COUNT],
			     struct diags *d) ERR_RESULT;

/* "off", "mark" or "marktermination". */
const char *rt_phase_name(const struct rt *rt);

#endif
