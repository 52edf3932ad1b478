/* profile memory: all of the process in one profile. What lives is at the sites that allocated it,
 * as far as samples tell; stacks are at the calls that take them; everything else hangs off frames
 * named after the ledger's classes. Virtual and resident bytes sum to the ledger's, to the byte.
 *
 *   [Go heap] [go.heap.live] main.main ... main.load
 *   [Go heap] [go.heap.free] [slots of 64 bytes]
 *   [Go stacks] main.main main.serve [unused]
 *   [files] [file.lib] /usr/lib/libc.so.6 */
#include "report/profile.h"

#include "base/apportion.h"
#include "base/units.h"
#include "report/common.h"
#include "report/holdings.h"

static const struct sample_type memory_types[] = {
	{"virtual", "bytes"}, {"resident", "bytes"}, {"pinned", "bytes"}};

enum { VIRTUAL, RESIDENT, PINNED, TYPES };

/* What the classes from one on, up to the next, hang off. */
static const struct {
	enum category first;
	const char *root;
} roots[] = {
	{CAT_HEAP_LIVE, "[Go heap]"},     {CAT_STACK_USED, "[Go stacks]"},
	{CAT_META_MSPAN, "[Go runtime]"}, {CAT_BINARY_TEXT, "[executable]"},
	{CAT_C_USED, "[C heap]"},         {CAT_THREAD_STACK, "[threads]"},
	{CAT_FILE_EXEC, "[files]"},       {CAT_KERNEL_VDSO, "[kernel]"},
	{CAT_ANON, "[other memory]"},
};

static const char *root_of(enum category c)
{
	size_t i = 0;

	while (i + 1 < COUNT_OF(roots) && roots[i + 1].first <= c)
		i++;
	return roots[i].root;
}

struct fill {
	struct report *r;
	const struct ledger *ledger;
	struct holdings holdings;
	struct locations locations;
	ARRAY(u64) shares[TYPES]; /* of each holding, and room for one more */
	u64 sites;                /* that hold live objects */
	u64 estimated;            /* live bytes at them */
};

/* Adds memory of a class below its frame; the names are further frames, "" for none. */
static struct err *add(struct fill *f, enum category c, const char *name, const char *inner,
		       const i64 values[static TYPES])
{
	struct samples *s = f->r->samples;
	u32 frames[4];
	size_t n = 0;

	if (!values[VIRTUAL] && !values[RESIDENT] && !values[PINNED])
		return NULL;
	if (*inner)
		TRY(samples_frame(s, inner, &frames[n++]));
	if (*name)
		TRY(samples_frame(s, name, &frames[n++]));
	TRY(samples_frame(s, arena_printf(&s->arena, "[%s]", category_id(c)), &frames[n++]));
	TRY(samples_frame(s, root_of(c), &frames[n++]));
	return samples_merge(s, frames, n, values);
}

static void set(i64 values[static TYPES], const struct columns *c)
{
	values[VIRTUAL] = (i64)c->virtual;
	values[RESIDENT] = (i64)c->state[STATE_RESIDENT];
}

static const char *slots_name(const struct fill *f, u8 spanclass)
{
	const struct rt *rt = &f->ledger->gort->rt;
	const char *kind = spanclass % 2 ? " without pointers" : "";
	struct arena *a = &f->r->samples->arena;

	if (spanclass / 2 == 0)
		return arena_printf(a, "[large objects%s]", kind);
	if (spanclass / 2 >= GO_MAX_SIZE_CLASSES)
		return "[unknown size]";
	return arena_printf(a, "[slots of %u bytes%s]", rt->size_class_bytes[spanclass / 2], kind);
}

static u64 plus(u64 a, u64 b)
{
	u64 sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum; /* of a damaged core */
}

/* Shares what is live in one span class, and what is pinned there, out among its holdings
 * [first, last) and, as the last part, what no sample tells of. */
static struct err *share_out(struct fill *f, size_t first, size_t last, u8 spanclass)
{
	const struct columns live = ledger_heap_columns(f->ledger, spanclass, CAT_HEAP_LIVE);
	const struct columns unused = ledger_heap_columns(f->ledger, spanclass, CAT_HEAP_FREE);
	const u64 totals[TYPES] = {live.virtual, live.state[STATE_RESIDENT], unused.virtual};
	const struct holding *h = f->holdings.v.v;
	u64 *parts[TYPES], sums[TYPES] = {0};
	size_t n = last - first + 1;
	i64 rest[TYPES];

	for (int t = 0; t < TYPES; t++)
		parts[t] = f->shares[t].v + first;
	for (size_t i = 0; i + 1 < n; i++) {
		parts[VIRTUAL][i] = h[first + i].bytes;
		parts[PINNED][i] = h[first + i].pinned;
		sums[VIRTUAL] = plus(sums[VIRTUAL], h[first + i].bytes);
		sums[PINNED] = plus(sums[PINNED], h[first + i].pinned);
	}
	for (int t = VIRTUAL; t < TYPES; t += PINNED - VIRTUAL) { /* estimates: at most all */
		parts[t][n - 1] = sums[t] < totals[t] ? totals[t] - sums[t] : 0;
		TRY(apportion(totals[t], parts[t], n, parts[t]));
	}
	TRY(apportion(totals[RESIDENT], parts[VIRTUAL], n, parts[RESIDENT]));
	for (int t = 0; t < TYPES; t++)
		rest[t] = (i64)parts[t][n - 1];
	f->estimated += live.virtual - (u64)rest[VIRTUAL];
	return add(f, CAT_HEAP_LIVE, "[live, not sampled]", slots_name(f, spanclass), rest);
}

static struct err *share_live(struct fill *f)
{
	size_t i = 0;

	for (int t = 0; t < TYPES; t++)
		TRY(array_reserve(&f->shares[t], f->holdings.v.n + 1));
	for (unsigned c = 0; c < LEDGER_SPANCLASSES; c++) {
		size_t first = i;

		while (i < f->holdings.v.n && f->holdings.v.v[i].spanclass == c)
			i++;
		TRY(share_out(f, first, i, (u8)c));
	}
	return NULL;
}

/* The frames that a site's samples hang off, behind its calls. */
static struct err *add_roots(struct fill *f)
{
	struct samples *s = f->r->samples;
	u32 frame;

	TRY(samples_frame(s, arena_printf(&s->arena, "[%s]", category_id(CAT_HEAP_LIVE)), &frame));
	TRY(array_push(&f->locations.stack, frame));
	TRY(samples_frame(s, root_of(CAT_HEAP_LIVE), &frame));
	return array_push(&f->locations.stack, frame);
}

static struct err *add_site(void *arg, const struct site *site)
{
	struct fill *f = arg;
	i64 values[TYPES] = {0};
	struct holding *h;
	size_t hidden;

	TRY(holdings_of(&f->holdings, site->bucket, &h));
	if (!h)
		return NULL;
	for (u32 i = (u32)(h - f->holdings.v.v) + 1; i; i = f->holdings.v.v[i - 1].next)
		for (int t = 0; t < TYPES; t++)
			values[t] += (i64)f->shares[t].v[i - 1];
	TRY(locations_runtime_calls(&f->locations, site->pcs, site->depth, &hidden));
	TRY(locations_of(&f->locations, site->pcs + hidden, site->depth - hidden, true));
	TRY(add_roots(f));
	f->sites++;
	return samples_merge(f->r->samples, f->locations.stack.v, f->locations.stack.n, values);
}

/* The sites that samples tell of; without any, all that lives is "not sampled". */
static struct err *add_live(struct fill *f, struct symbols *symbols)
{
	const struct gort *gort = f->ledger->gort;
	struct sampling sampling;
	struct err *none = sampling_read(&gort->rt, &sampling);

	locations_init(&f->locations, symbols, f->r->samples);
	f->locations.hides_internal = gort->rt.dialect.hides_internal_runtime;
	if (none)
		sampling = (struct sampling){.rate = 0};
	err_free(none);
	if (sampling.rate) {
		TRY(symbols_open(&gort->rt, &gort->modules, f->r->diags, symbols));
		TRY(holdings_read(gort, sampling.rate, &f->holdings));
	}
	TRY(share_live(f));
	return sampling.rate ? sites_visit(&gort->rt, &sampling, add_site, f) : NULL;
}

/* The other slots of spans, by their size; and spans of which no more is known than their class. */
static struct err *add_slots(struct fill *f, enum category c)
{
	const struct columns total = ledger_columns(f->ledger, c);
	i64 rest[TYPES] = {0}, values[TYPES] = {0};

	set(rest, &total);
	for (unsigned k = 0; k < LEDGER_SPANCLASSES; k++) {
		const struct columns one = ledger_heap_columns(f->ledger, (u8)k, c);

		set(values, &one);
		rest[VIRTUAL] -= values[VIRTUAL];
		rest[RESIDENT] -= values[RESIDENT];
		if (c != CAT_HEAP_LIVE) /* is there already */
			TRY(add(f, c, slots_name(f, (u8)k), "", values));
	}
	return add(f, c, "[bitmaps missing]", "", rest);
}

static struct err *add_class(struct fill *f, enum category c)
{
	const struct columns columns = ledger_columns(f->ledger, c);
	i64 values[TYPES] = {0};

	set(values, &columns);
	return add(f, c, "", "", values);
}

/* Files by their paths. */
static struct err *add_files(struct fill *f)
{
	const struct image *im = f->ledger->im;

	for (size_t i = 0; i < f->ledger->cells.n; i++) {
		const struct ledger_cell *cell = &f->ledger->cells.v[i];
		enum category c = (enum category)cell->cat;
		int file = im->vmas.v[cell->vma].file;
		i64 values[TYPES] = {[VIRTUAL] = (i64)cell->bytes};

		if (c < CAT_FILE_EXEC || c > CAT_SHM)
			continue;
		if (category_state(c, (enum page_kind)cell->kind) == STATE_RESIDENT)
			values[RESIDENT] = (i64)cell->bytes;
		TRY(add(f, c, file < 0 ? "" : im->files.v[file].path, "", values));
	}
	return NULL;
}

static struct err *add_go_heap(struct fill *f, struct symbols *symbols)
{
	struct stack_columns columns = {
		.goroutines = -1, .virtual = VIRTUAL, .resident = RESIDENT, .has_root = true};
	u64 count;

	TRY(add_live(f, symbols));
	for (int c = CAT_HEAP_LIVE; c <= CAT_HEAP_TAIL; c++)
		TRY(add_slots(f, (enum category)c));
	TRY(samples_frame(f->r->samples, root_of(CAT_STACK_USED), &columns.root));
	return profile_add_stacks(f->r, &columns, &count);
}

static bool is_itemized(const struct fill *f, enum category c)
{
	return (c >= CAT_FILE_EXEC && c <= CAT_SHM) ||
	       (f->ledger->gort &&
		(c <= CAT_HEAP_TAIL || c == CAT_STACK_USED || c == CAT_STACK_UNUSED));
}

/* Where the owners of some bytes overlap, the ledger gives them to one, and items to each. */
static struct err *add_difference(struct fill *f)
{
	const struct columns total = ledger_total(f->ledger);
	i64 values[TYPES] = {0};
	u32 frame;

	set(values, &total);
	for (int t = VIRTUAL; t <= RESIDENT; t++)
		values[t] -= samples_total(f->r->samples, (size_t)t);
	if (!values[VIRTUAL] && !values[RESIDENT])
		return NULL;
	TRY(samples_frame(f->r->samples, "[claimed twice]", &frame));
	return samples_merge(f->r->samples, &frame, 1, values);
}

static struct err *add_all(struct fill *f, struct symbols *symbols)
{
	if (f->ledger->gort)
		TRY(add_go_heap(f, symbols));
	for (int c = 0; c < CAT_COUNT; c++)
		if (!is_itemized(f, (enum category)c))
			TRY(add_class(f, (enum category)c));
	TRY(add_files(f));
	return add_difference(f);
}

static void add_headline(const struct fill *f)
{
	const struct columns total = ledger_total(f->ledger);
	u64 live = ledger_columns(f->ledger, CAT_HEAP_LIVE).virtual;
	char resident[UNITS_BUF], mapped[UNITS_BUF], sites[UNITS_BUF], all[UNITS_BUF];
	const char *least = report_at_least(&total);

	units_bytes((i64)total.state[STATE_RESIDENT], resident);
	units_bytes((i64)total.virtual, mapped);
	if (f->sites)
		doc_text(f->r->doc,
			 "%s%s resident of %s mapped; samples tell the sites of %s of %s live "
			 "objects.",
			 *least ? "At least " : "", resident, mapped,
			 units_bytes((i64)f->estimated, sites), units_bytes((i64)live, all));
	else
		doc_text(f->r->doc,
			 "%s%s resident of %s mapped; no sample tells who allocated what lives.",
			 *least ? "At least " : "", resident, mapped);
}

struct err *profile_memory(struct report *r)
{
	struct fill f = {.r = r, .ledger = r->snapshot->ledger};
	struct symbols symbols = {0};
	struct err *err;

	r->samples->types = memory_types;
	r->samples->type_count = TYPES;
	r->samples->default_type = RESIDENT;
	r->samples->says_default = true;
	TRY(profile_comment(r, "resident: %s", evidence_name(r->snapshot->im->res.evidence)));
	TRY(profile_mappings(r));
	err = add_all(&f, &symbols);
	if (!err)
		add_headline(&f);
	for (int t = 0; t < TYPES; t++)
		array_free(&f.shares[t]);
	holdings_fini(&f.holdings);
	locations_fini(&f.locations);
	symbols_fini(&symbols);
	return err;
}
