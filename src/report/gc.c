/* The garbage collector's state and the settings that decide what it keeps. */
#include "report/common.h"

#include "base/units.h"
#include "gort/mstats.h"
#include "gort/rtget.h"

/* Reads a field of a global; a miss is null and a diagnostic was given at attach. */
static struct doc_value global_field(const struct rt *rt, enum rt_global g, enum rt_field f,
				     bool bytes)
{
	u64 v;
	struct err *err;

	if (!rt_has(rt, f))
		return doc_null();
	err = rt_u(rt, rt->globals[g], f, &v);
	if (err) {
		err_free(err);
		return doc_null();
	}
	if (bytes && v >= GO_MAX_ADDR) /* no heap is as large: it stands for "none" */
		return doc_null();
	return bytes ? doc_bytes(v) : doc_count(v);
}

/* Spans by how far the sweep is. */
static void add_sweep(struct doc_object *o, const struct gort *gort, bool known)
{
	u64 swept = 0, unswept = 0, sweeping = 0;

	for (size_t i = 0; i < gort->spans.v.n; i++) {
		const struct span *s = &gort->spans.v.v[i];

		if (s->state != SPAN_IN_USE)
			continue;
		if (s->sweep == -1)
			sweeping++;
		else if (s->sweep == -2 || s->sweep == 1)
			unswept++;
		else
			swept++;
	}
	doc_set(o, "spans_swept", known ? doc_count(swept) : doc_null());
	doc_set(o, "spans_unswept", known ? doc_count(unswept) : doc_null());
	doc_set(o, "spans_being_swept", known ? doc_count(sweeping) : doc_null());
}

/* GOGC and GOMEMLIMIT; null where they are off, or not known. */
static void add_settings(struct doc_object *o, const struct mstats *m)
{
	bool on = m->has_gc_percent && m->gc_percent >= 0;

	doc_set(o, "gogc", on ? doc_count((u64)m->gc_percent) : doc_null());
	doc_set(o, "memory_limit",
		m->memory_limit >= INT64_MAX ? doc_null() : doc_bytes(m->memory_limit));
}

static void add_godebug(struct doc_object *o, const struct rt *rt)
{
	static const struct {
		const char *name;
		enum rt_field f;
	} settings[] = {
		{"godebug_madvdontneed", RT_DEBUG_MADVDONTNEED},
		{"godebug_harddecommit", RT_DEBUG_HARDDECOMMIT},
		{"godebug_disablethp", RT_DEBUG_DISABLETHP},
		{"godebug_gcstoptheworld", RT_DEBUG_GCSTOPTHEWORLD},
	};

	for (size_t i = 0; i < COUNT_OF(settings); i++)
		doc_set(o, settings[i].name, global_field(rt, RT_G_DEBUG, settings[i].f, false));
}

/* The last pauses, newest first. */
static struct doc_value pauses(struct doc *d, const struct mstats *m)
{
	size_t n = MIN(m->num_gc, MSTATS_PAUSES);
	u64 *list = arena_alloc(&d->arena, n * sizeof(*list));

	for (size_t i = 0; i < n; i++)
		list[i] = m->pause_ns[(m->num_gc + MSTATS_PAUSES - 1 - i) % MSTATS_PAUSES];
	return doc_list(list, n);
}

static void add_headline(struct doc *d, const struct gort *gort, const struct mstats *m)
{
	const char *running = gort->rt.gcphase == GC_OFF ? "No GC running" : "In a GC";
	char goal[UNITS_BUF];

	if (m->next_gc >= GO_MAX_ADDR)
		doc_text(d, "%s after %llu cycles; there is no goal, the GC is switched off.",
			 running, (unsigned long long)m->num_gc);
	else
		doc_text(d, "%s after %llu cycles; the next is due at a heap of %s (NextGC).",
			 running, (unsigned long long)m->num_gc,
			 units_bytes((i64)m->next_gc, goal));
}

struct err *report_gc(struct report *r)
{
	struct doc *d = r->doc;
	const struct snapshot *s = r->snapshot;
	const struct gort *gort = s->gort ? s->gort : s->remains;
	const struct rt *rt;
	struct doc_object *o;
	struct mstats m;

	if (!gort) { /* the diagnostics say why */
		doc_text(d, "No GC state: the Go heap could not be read.");
		doc_value(d, "gc", doc_null());
		return NULL;
	}
	rt = &gort->rt;
	TRY(mstats_read(gort, &m));
	add_headline(d, gort, &m);
	o = doc_object(d, "gc", "Garbage collector");
	doc_set(o, "phase", doc_string(rt_phase_name(rt)));
	add_settings(o, &m);
	doc_set(o, "heap_goal", m.next_gc < GO_MAX_ADDR ? doc_bytes(m.next_gc) : doc_null());
	doc_set(o, "heap_marked", doc_bytes(m.heap_marked));
	doc_set(o, "heap_live", doc_bytes(m.heap_live));
	doc_set(o, "cycles", doc_count(m.num_gc));
	doc_set(o, "cycles_forced", doc_count(m.num_forced_gc));
	doc_set(o, "last_gc_unix_ns", doc_count(m.last_gc));
	doc_set(o, "cpu_fraction", doc_real(m.gc_cpu_fraction));
	doc_set(o, "pause_total_ns", doc_count(m.pause_total_ns));
	doc_set(o, "pauses_ns", pauses(d, &m));
	add_sweep(o, gort, s->gort != NULL);
	doc_set(o, "scavenge_gogc_goal",
		rt_has(rt, RT_MHEAP_SCAVENGE_GOAL)
			? global_field(rt, RT_G_MHEAP, RT_MHEAP_SCAVENGE_GOAL, true)
			: global_field(rt, RT_G_SCAVENGE, RT_SCAVENGE_PERCENT_GOAL, true));
	doc_set(o, "scavenge_limit_goal",
		global_field(rt, RT_G_SCAVENGE, RT_SCAVENGE_LIMIT_GOAL, true));
	add_godebug(o, rt);
	d->csv_object = o;
	return NULL;
}
