/* profile heap: the process's own heap profile, as runtime/pprof would have written it at the
 * moment of the core (protomem.go writeHeapProto, 1.15 to 1.27). */
#include "report/profile.h"

#include "base/units.h"
#include "gort/mstats.h"
#include "gort/sites.h"

static const struct sample_type heap_types[] = {
	{"alloc_objects", "count"},
	{"alloc_space", "bytes"},
	{"inuse_objects", "count"},
	{"inuse_space", "bytes"},
};

enum { ALLOC_OBJECTS, ALLOC_SPACE, INUSE_OBJECTS, INUSE_SPACE, TYPES };

struct fill {
	struct locations locations;
	u64 rate, sites;
};

static struct err *add_site(void *arg, const struct site *site)
{
	struct fill *f = arg;
	struct scaled alloc = site_scaled(site->alloc_objects, site->alloc_bytes, f->rate);
	struct scaled inuse = site_scaled(site->inuse_objects, site->inuse_bytes, f->rate);
	const i64 values[TYPES] = {(i64)alloc.objects, (i64)alloc.bytes, (i64)inuse.objects,
				   (i64)inuse.bytes};
	size_t hidden;

	f->sites += inuse.objects != 0;
	TRY(locations_runtime_calls(&f->locations, site->pcs, site->depth, &hidden));
	TRY(locations_of(&f->locations, site->pcs + hidden, site->depth - hidden, true));
	return samples_add(f->locations.samples, f->locations.stack.v, f->locations.stack.n,
			   (i64)site->size, values);
}

static struct err *add_sites(struct report *r, const struct sampling *sampling, u64 *sites)
{
	const struct gort *gort = r->snapshot->gort;
	struct fill f = {.rate = sampling->rate};
	struct symbols symbols = {0};
	struct err *err = symbols_open(&gort->rt, &gort->modules, r->diags, &symbols);

	locations_init(&f.locations, &symbols, r->samples);
	f.locations.hides_internal = gort->rt.dialect.hides_internal_runtime;
	if (!err)
		err = sites_visit(&gort->rt, sampling, add_site, &f);
	*sites = f.sites;
	locations_fini(&f.locations);
	symbols_fini(&symbols);
	return err;
}

static struct err *set_time(struct report *r)
{
	struct mstats m;

	/* What is published is the state at the last GC, or that before. */
	TRY(mstats_read(r->snapshot->gort, &m));
	r->samples->time_ns = m.last_gc <= INT64_MAX ? (i64)m.last_gc : 0;
	return NULL;
}

static void add_headline(struct report *r, const struct sampling *sampling, u64 sites)
{
	const struct samples *s = r->samples;
	char inuse[UNITS_BUF], alloc[UNITS_BUF];

	doc_value(r->doc, "rate", doc_count(sampling->rate));
	if (!sampling->rate) {
		doc_text(r->doc,
			 "No heap profile: MemProfileRate was 0 in this process. The linker "
			 "sets it so where no code can ask for a profile.");
		return;
	}
	doc_text(r->doc,
		 "%s in use of %llu sites, and %s allocated ever, by samples of one in %llu "
		 "bytes%s.",
		 units_bytes(samples_total(s, INUSE_SPACE), inuse), (unsigned long long)sites,
		 units_bytes(samples_total(s, ALLOC_SPACE), alloc),
		 (unsigned long long)sampling->rate,
		 sampling->early ? "; there was no GC yet" : "; in use as of the last GC");
}

struct err *profile_heap(struct report *r)
{
	struct samples *s = r->samples;
	struct sampling sampling;
	struct err *err;
	u64 sites = 0;

	s->types = heap_types;
	s->type_count = TYPES;
	s->default_type = INUSE_SPACE;
	s->period_type = (struct sample_type){"space", "bytes"};
	if (!r->snapshot->gort) /* the diagnostics say why */
		return profile_none(r, "No heap profile: the Go heap could not be read.");
	err = sampling_read(&r->snapshot->gort->rt, &sampling);
	if (err) {
		err_free(err);
		return profile_none(r, "No heap profile: MemProfileRate was not found.");
	}
	s->period = sampling.rate;
	TRY(set_time(r));
	TRY(profile_comment(r, "%s", r->snapshot->version->text));
	TRY(profile_memstats(r));
	TRY(profile_mappings(r));
	if (sampling.rate)
		TRY(add_sites(r, &sampling, &sites));
	add_headline(r, &sampling, sites);
	return NULL;
}
