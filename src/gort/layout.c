#include "gort/layout.h"

#include "gort/dialect.h"
#include "sym/dw.h"

#include <limits.h>
#include <string.h>

enum need { OPT, REQ, VAR };

/* Nothing of the runtime is larger than the 32 MB arena map. */
#define MAX_FIELD_BYTES ((u64)1 << 26)

static const struct {
	const char *id, *root, *path;
	enum need need;
} field_table[RT_FIELD_COUNT] = {
#define F(id, root, path, need) [RT_##id] = {#id, root, path, need},
#include "gort/fields.def"
#undef F
};

/* A row of a table; a field that the release lacks has count 0. On arm64 structures that are padded
 * to lines of the cache are larger from 1.20 on: there the row has another place, too. */
struct layout_row {
	u32 offset, size, count;
	struct {
		u32 offset, size, count;
	} arm64;
};

static const struct layout_row go1_15[RT_FIELD_COUNT] = {
#include "gort/layouts/go1_15.inc"
};
static const struct layout_row go1_16_0[RT_FIELD_COUNT] = {
#include "gort/layouts/go1_16_0.inc"
};
static const struct layout_row go1_16_4[RT_FIELD_COUNT] = {
#include "gort/layouts/go1_16_4.inc"
};
static const struct layout_row go1_16[RT_FIELD_COUNT] = {
#include "gort/layouts/go1_16.inc"
};
static const struct layout_row go1_17_0[RT_FIELD_COUNT] = {
#include "gort/layouts/go1_17_0.inc"
};
static const struct layout_row go1_17[RT_FIELD_COUNT] = {
#include "gort/layouts/go1_17.inc"
};
static const struct layout_row go1_18_0[RT_FIELD_COUNT] = {
#include "gort/layouts/go1_18_0.inc"
};
static const struct layout_row go1_18_4[RT_FIELD_COUNT] = {
#include "gort/layouts/go1_18_4.inc"
};
static const struct layout_row go1_18[RT_FIELD_COUNT] = {
#include "gort/layouts/go1_18.inc"
};
static const struct layout_row go1_19_0[RT_FIELD_COUNT] = {
#include "gort/layouts/go1_19_0.inc"
};
static const struct layout_row go1_19[RT_FIELD_COUNT] = {
#include "gort/layouts/go1_19.inc"
};
static const struct layout_row go1_20[RT_FIELD_COUNT] = {
#include "gort/layouts/go1_20.inc"
};
static const struct layout_row go1_21_0[RT_FIELD_COUNT] = {
#include "gort/layouts/go1_21_0.inc"
};
static const struct layout_row go1_21[RT_FIELD_COUNT] = {
#include "gort/layouts/go1_21.inc"
};
static const struct layout_row go1_22[RT_FIELD_COUNT] = {
#include "gort/layouts/go1_22.inc"
};
static const struct layout_row go1_23_0[RT_FIELD_COUNT] = {
#include "gort/layouts/go1_23_0.inc"
};
static const struct layout_row go1_23[RT_FIELD_COUNT] = {
#include "gort/layouts/go1_23.inc"
};
static const struct layout_row go1_23_12[RT_FIELD_COUNT] = {
#include "gort/layouts/go1_23_12.inc"
};
static const struct layout_row go1_24[RT_FIELD_COUNT] = {
#include "gort/layouts/go1_24.inc"
};
static const struct layout_row go1_24_6[RT_FIELD_COUNT] = {
#include "gort/layouts/go1_24_6.inc"
};
static const struct layout_row go1_25[RT_FIELD_COUNT] = {
#include "gort/layouts/go1_25.inc"
};
static const struct layout_row go1_26[RT_FIELD_COUNT] = {
#include "gort/layouts/go1_26.inc"
};
static const struct layout_row go1_27[RT_FIELD_COUNT] = {
#include "gort/layouts/go1_27.inc"
};

static const struct layout_row go1_25_greenteagc[RT_FIELD_COUNT] = {
#include "gort/layouts/go1_25_greenteagc.inc"
};
static const struct layout_row go1_26_nogreenteagc[RT_FIELD_COUNT] = {
#include "gort/layouts/go1_26_nogreenteagc.inc"
};
static const struct layout_row go1_27_nogreenteagc[RT_FIELD_COUNT] = {
#include "gort/layouts/go1_27_nogreenteagc.inc"
};

static const struct {
	unsigned minor, first_patch, last_patch;
	const char *experiment;
	const struct layout_row *rows;
} tables[] = {
#define V(name, minor, first, last, experiment) {minor, first, last, experiment, name},
#include "gort/versions.def"
#undef V
};

const char *layout_field_root(enum rt_field f)
{
	return field_table[f].root;
}

const char *layout_field_path(enum rt_field f)
{
	return field_table[f].path;
}

const char *layout_field_id(enum rt_field f)
{
	return field_table[f].id;
}

bool layout_field_required(enum rt_field f)
{
	return field_table[f].need == REQ;
}

/* A field of a structure must lie inside it. */
static struct err *check_bounds(const struct slot *slots)
{
	for (int f = 0, whole = -1; f < RT_FIELD_COUNT; f++) {
		const struct slot *slot = &slots[f];

		if (!*field_table[f].path)
			whole = f;
		/* A field behind a pointer is not part of the structure. */
		if (whole < 0 || strcmp(field_table[f].root, field_table[whole].root) != 0 ||
		    slot->offset < 0 || strchr(field_table[f].path, '*'))
			continue;
		if ((u64)slot->offset + slot->size > slots[whole].size)
			return err_new(ERR_FORMAT, "DWARF: %s.%s lies outside its structure",
				       field_table[f].root, field_table[f].path);
	}
	return NULL;
}

struct err *layout_from_dwarf(const struct dw *dw, struct slot slots[static RT_FIELD_COUNT])
{
	for (int f = 0; f < RT_FIELD_COUNT; f++) {
		struct dw_field field;

		slots[f] = (struct slot){.offset = -1};
		if (!dw_field(dw, field_table[f].root, field_table[f].path, &field))
			continue;
		if (field.offset > MAX_FIELD_BYTES || field.size > MAX_FIELD_BYTES)
			return err_new(ERR_FORMAT, "DWARF: %s.%s is out of bounds",
				       field_table[f].root, field_table[f].path);
		slots[f] = (struct slot){(i64)field.offset, field.size, field.count};
	}
	return check_bounds(slots);
}

/* How well a table is for a release: 2 when for its experiments too, 0 when not at all. */
static int table_fit(size_t table, const struct go_version *v)
{
	if (!dialect_is_between(v, tables[table].minor, tables[table].first_patch,
				tables[table].last_patch))
		return 0;
	return version_has_experiment(v, tables[table].experiment) ? 2 : 1;
}

/* The table for the release and its experiments, or else the release's others, in order. */
static const struct layout_row *find_table(const struct go_version *v, unsigned alternative)
{
	/* A named experiment comes before "none", which every release has. */
	for (int fit = 2; fit > 0; fit--)
		for (size_t i = COUNT_OF(tables); i-- > 0;)
			if (table_fit(i, v) == fit && alternative-- == 0)
				return tables[i].rows;
	return NULL;
}

static struct slot row_slot(const struct layout_row *row, const struct arch *arch)
{
	if (arch->id == ARCH_ARM64 && row->arm64.count)
		return (struct slot){row->arm64.offset, row->arm64.size, row->arm64.count};
	if (!row->count)
		return (struct slot){.offset = -1};
	return (struct slot){row->offset, row->size, row->count};
}

static void fill_slots(const struct layout_row *rows, const struct arch *arch,
		       struct slot slots[static RT_FIELD_COUNT])
{
	for (int f = 0; f < RT_FIELD_COUNT; f++)
		slots[f] = row_slot(&rows[f], arch);
}

bool layout_from_table(const struct go_version *v, const struct arch *arch, unsigned alternative,
		       struct slot slots[static RT_FIELD_COUNT])
{
	const struct layout_row *table = find_table(v, alternative);

	if (table)
		fill_slots(table, arch, slots);
	return table != NULL;
}

/* The release of a table, as far as the table tells. */
static struct go_version table_version(size_t table)
{
	struct go_version v = {.minor = tables[table].minor, .patch = tables[table].first_patch};

	snprintf(v.text, sizeof(v.text), "go1.%u", v.minor);
	snprintf(v.experiments, sizeof(v.experiments), "%s", tables[table].experiment);
	return v;
}

bool layout_of_nameless(unsigned i, const struct arch *arch, struct go_version *v,
			struct slot slots[static RT_FIELD_COUNT])
{
	for (size_t t = 0; t < COUNT_OF(tables); t++) {
		if (!dialect_is_nameless(tables[t].minor) || i-- > 0)
			continue;
		*v = table_version(t);
		fill_slots(tables[t].rows, arch, slots);
		return true;
	}
	return false;
}

bool layout_of_any(unsigned i, const struct arch *arch, struct go_version *v,
		   struct slot slots[static RT_FIELD_COUNT])
{
	for (int experiment = 0; experiment < 2; experiment++)
		for (size_t t = COUNT_OF(tables); t-- > 0;) {
			if ((*tables[t].experiment != '\0') != experiment || i-- > 0)
				continue;
			*v = table_version(t);
			fill_slots(tables[t].rows, arch, slots);
			return true;
		}
	return false;
}

static bool may_assume(size_t table, const struct go_version *v)
{
	return version_has_experiment(v, tables[table].experiment) &&
	       (dialect_is_between(v, tables[table].minor, 0, UINT_MAX) ||
		dialect_is_beyond(v, tables[table].minor));
}

bool layout_assume(const struct go_version *v, const struct arch *arch,
		   char text[static GO_VERSION_MAX], struct slot slots[static RT_FIELD_COUNT])
{
	for (size_t i = COUNT_OF(tables); i-- > 0;) {
		if (!may_assume(i, v))
			continue;
		fill_slots(tables[i].rows, arch, slots);
		snprintf(text, GO_VERSION_MAX, "go1.%u.%u", tables[i].minor, tables[i].last_patch);
		return true;
	}
	return false;
}

/* Whether DWARF has any field of this one's structure: then a missing field is really missing. */
static bool root_is_known(const struct slot *slots, int f)
{
	for (int g = 0; g < RT_FIELD_COUNT; g++)
		if (slots[g].offset >= 0 && !strcmp(field_table[g].root, field_table[f].root))
			return true;
	return false;
}

/* One field of DWARF beside the table's. */
static void compare_field(struct slot *slots, int f, const struct slot *built_in, struct diags *d)
{
	struct slot *slot = &slots[f];

	if (slot->offset == built_in->offset &&
	    (slot->offset < 0 || (slot->size == built_in->size && slot->count == built_in->count)))
		return;
	if (slot->offset < 0 && field_table[f].need == VAR) {
		*slot = *built_in; /* nothing of it would be read */
		return;
	}
	if (slot->offset < 0 && !root_is_known(slots, f)) {
		diag(d, DIAG_LAYOUT_TABLE, "%s", field_table[f].root);
		*slot = *built_in;
		return;
	}
	diag(d, DIAG_LAYOUT_DIFFERS, "%s.%s is at %lld in DWARF, at %lld in the table",
	     field_table[f].root, field_table[f].path, (long long)slot->offset,
	     (long long)built_in->offset);
}

struct err *layout_complete(struct slot slots[static RT_FIELD_COUNT], const struct go_version *v,
			    const struct arch *arch, struct diags *d)
{
	struct slot built_in[RT_FIELD_COUNT], dwarf[RT_FIELD_COUNT];
	bool have_table = layout_from_table(v, arch, 0, built_in);

	/* Judged by what DWARF has, not by what was filled in before. */
	memcpy(dwarf, slots, sizeof(dwarf));
	for (int f = 0; f < RT_FIELD_COUNT; f++) {
		if (have_table) {
			struct slot keep = dwarf[f];

			compare_field(dwarf, f, &built_in[f], d);
			slots[f] = dwarf[f];
			dwarf[f] = keep;
		}
		if (field_table[f].need == REQ && slots[f].offset < 0)
			return err_new(ERR_UNSUPPORTED, "DWARF has no field %s of %s",
				       field_table[f].path, field_table[f].root);
	}
	return NULL;
}
