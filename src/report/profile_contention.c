/* profile block, profile mutex: where goroutines waited, as runtime/pprof writes it (pprof.go
 * printCountCycleProfile, 1.15 to 1.27). */
#include "report/profile.h"

#include "base/units.h"
#include "gort/sites.h"

#include <stdlib.h>

/* The unit says which: of cycles nothing is known but their number. */
static const struct sample_type in_time[] = {{"contentions", "count"}, {"delay", "nanoseconds"}};
static const struct sample_type in_cycles[] = {{"contentions", "count"}, {"delay", "cycles"}};

enum { COUNT, DELAY, TYPES };

/* What was read of one, before they are sorted. */
struct entry {
	i64 count, cycles;
	size_t first; /* of its addresses */
	u32 depth, order;
};

struct fill {
	ARRAY(struct entry) v;
	ARRAY(va_t) pcs;
};

static struct err *keep(void *arg, const struct contention *c)
{
	struct fill *f = arg;
	struct entry e = {c->count, c->cycles, f->pcs.n, (u32)c->depth, (u32)f->v.n};

	TRY(array_reserve(&f->pcs, c->depth));
	for (size_t i = 0; i < c->depth; i++)
		f->pcs.v[f->pcs.n++] = c->pcs[i];
	return array_push(&f->v, e);
}

static int by_cycles(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->cycles != y->cycles)
		return x->cycles > y->cycles ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* As Go converts a float64; a damaged bucket may have anything. */
static i64 whole(double v)
{
	return v >= (double)INT64_MAX ? INT64_MAX : v <= (double)INT64_MIN ? INT64_MIN : (i64)v;
}

static struct err *add(struct locations *l, const struct fill *f, const struct entry *e, u64 clock,
		       u64 scale)
{
	double delay = clock ? (double)e->cycles / ((double)clock / 1e9) : (double)e->cycles;
	const i64 values[TYPES] = {whole((double)e->count * (double)scale),
				   whole(delay * (double)scale)};

	TRY(locations_of(l, f->pcs.v + e->first, e->depth, true));
	return samples_add(l->samples, l->stack.v, l->stack.n, 0, values);
}

static struct err *add_all(struct report *r, struct fill *f, u64 scale)
{
	const struct gort *gort = r->snapshot->gort;
	struct symbols symbols = {0};
	struct locations l;
	struct err *err = symbols_open(&gort->rt, &gort->modules, r->diags, &symbols);

	if (f->v.n)
		qsort(f->v.v, f->v.n, sizeof(*f->v.v), by_cycles);
	locations_init(&l, &symbols, r->samples);
	for (size_t i = 0; i < f->v.n && !err; i++)
		err = add(&l, f, &f->v.v[i], contentions_clock(&gort->rt), scale);
	locations_fini(&l);
	symbols_fini(&symbols);
	return err;
}

static void add_headline(struct report *r, const char *name, const char *call, u64 clock)
{
	const struct samples *s = r->samples;
	char buf[UNITS_BUF];
	i64 delay = samples_total(s, DELAY);

	if (!s->v.n)
		doc_text(r->doc, "No %s profile: nothing was sampled; %s turns it on.", name, call);
	else if (clock)
		doc_text(r->doc, "%lld contentions at %zu sites, %s of waiting.",
			 (long long)samples_total(s, COUNT), s->v.n,
			 units_duration((u64)MAX(delay, 0), buf));
	else
		doc_text(r->doc,
			 "%lld contentions at %zu sites, %lld cycles of waiting; the "
			 "process never measured how long one is.",
			 (long long)samples_total(s, COUNT), s->v.n, (long long)delay);
}

static struct err *fill(struct report *r, enum bucket_type type, u64 scale)
{
	struct fill f = {.v = {0}};
	struct err *err = contentions_visit(&r->snapshot->gort->rt, type, keep, &f);

	/* What was counted less than once still was there (golang.org/cl/299991). */
	for (size_t i = 0; i < f.v.n; i++)
		if (type == BUCKET_BLOCK && !f.v.v[i].count)
			f.v.v[i].count = 1;
	if (!err)
		err = add_all(r, &f, scale);
	array_free(&f.v);
	array_free(&f.pcs);
	return err;
}

static struct err *begin(struct report *r, u64 *clock)
{
	struct samples *s = r->samples;

	if (r->snapshot->gort)
		*clock = contentions_clock(&r->snapshot->gort->rt);
	s->types = *clock ? in_time : in_cycles;
	s->type_count = TYPES;
	s->default_type = DELAY;
	s->period_type = in_time[COUNT];
	s->period = 1;
	if (!r->snapshot->gort)
		return profile_none(r, "No profile: the Go heap could not be read.");
	TRY(profile_comment(r, "%s", r->snapshot->version->text));
	return profile_mappings(r);
}

struct err *profile_block(struct report *r)
{
	u64 clock = 0;

	TRY(begin(r, &clock));
	if (!r->snapshot->gort)
		return NULL;
	TRY(fill(r, BUCKET_BLOCK, 1));
	add_headline(r, "block", "runtime.SetBlockProfileRate", clock);
	return NULL;
}

struct err *profile_mutex(struct report *r)
{
	u64 clock = 0, scale = 1;

	TRY(begin(r, &clock));
	if (!r->snapshot->gort)
		return NULL;
	if (r->snapshot->gort->rt.dialect.scales_mutex_profile)
		scale = contentions_mutex_rate(&r->snapshot->gort->rt);
	TRY(fill(r, BUCKET_MUTEX, scale ? scale : 1));
	add_headline(r, "mutex", "runtime.SetMutexProfileFraction", clock);
	if (!scale && r->samples->v.n)
		doc_text(r->doc, "The figures are those of the samples: their rate was not found.");
	return NULL;
}
