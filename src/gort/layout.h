/* How the runtime's structures lie in memory: from the executable's DWARF, or from tables.
 *
 * The tables (in layouts, listed in versions.def) were made by scripts/gen-layouts from Debian's
 * toolchains. Private structures change between patch releases too, so a table is for a range of
 * them. Where there is DWARF it decides; the table fills in types that the linker dropped, and
 * a difference between the two is a diagnostic. */
#ifndef GORT_LAYOUT_H
#define GORT_LAYOUT_H

#include "base/diag.h"
#include "gort/version.h"

enum rt_field {
#define F(id, root, path, need) RT_##id,
#include "gort/fields.def"
#undef F
	RT_FIELD_COUNT,
};

/* Where a field is in its structure. A release that lacks it has offset -1. */
struct slot {
	i64 offset;
	u64 size;  /* of the field */
	u64 count; /* of elements, for arrays; else 1 */
};

struct dw;

/* Fills the slots as far as the DWARF has the fields. ERR_FORMAT when it makes no sense. */
struct err *layout_from_dwarf(const struct dw *dw,
			      struct slot slots[static RT_FIELD_COUNT]) ERR_RESULT;

/* Fills the slots from a table for this release and architecture: alternative 0 is the one for the
 * experiments that the version names, 1 and up are the release's others. False when there is none.
 */
bool layout_from_table(const struct go_version *v, const struct arch *arch, unsigned alternative,
		       struct slot slots[static RT_FIELD_COUNT]);

/* The same from the i-th table of all whose release may be nameless (version.h), with a version
 * that names the release and no patch level. False when there is no i-th. */
bool layout_of_nameless(unsigned i, const struct arch *arch, struct go_version *v,
			struct slot slots[static RT_FIELD_COUNT]);

/* The same of all tables, from the newest release to the oldest; those of experiments come last. */
bool layout_of_any(unsigned i, const struct arch *arch, struct go_version *v,
		   struct slot slots[static RT_FIELD_COUNT]);

/* Fills the slots from the table that a release without one most likely has: that of other patch
 * releases, or the newest for a newer release. The text says of which release it is. False when
 * there is none. Nothing made with it counts before all invariants were seen to hold. */
bool layout_assume(const struct go_version *v, const struct arch *arch,
		   char text[static GO_VERSION_MAX], struct slot slots[static RT_FIELD_COUNT]);

/* Compares slots out of DWARF with the table of the release, if there is one: takes what DWARF
 * lacks from the table (a diagnostic), reports differences (another), and returns ERR_UNSUPPORTED
 * when a required field is in neither. */
struct err *layout_complete(struct slot slots[static RT_FIELD_COUNT], const struct go_version *v,
			    const struct arch *arch, struct diags *d) ERR_RESULT;

/* The structure or variable that a field belongs to, its path in it, its name in fields.def, and
 * whether every release must have it. */
const char *layout_field_root(enum rt_field f);
const char *layout_field_path(enum rt_field f);
const char *layout_field_id(enum rt_field f);
bool layout_field_required(enum rt_field f);

#endif
