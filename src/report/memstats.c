/* runtime.MemStats: what was walked is shown, the runtime's own counters stand beside it. */
#include "report/common.h"

#include "base/units.h"
#include "gort/metrics.h"
#include "gort/mstats.h"
#include "gort/walk.h"

struct check {
	const char *name;
	u64 walked, counter;
	bool bytes;
};

#define CHECK_COUNT 9

static void fill_checks(struct check checks[static CHECK_COUNT], const struct walk *w,
			const struct mstats *m)
{
	const struct check all[CHECK_COUNT] = {
		{"HeapAlloc", w->heap_alloc, m->heap_alloc, true},
		{"HeapObjects", w->heap_objects, m->heap_objects, false},
		{"HeapInuse", w->heap_inuse, m->heap_inuse, true},
		{"HeapIdle", w->heap_idle, m->heap_idle, true},
		{"HeapReleased", w->heap_released, m->heap_released, true},
		{"StackInuse", w->stack_inuse, m->stack_inuse, true},
		{"MSpanInuse", w->mspan_inuse, m->mspan_inuse, true},
		{"MCacheInuse", w->mcache_inuse, m->mcache_inuse, true},
		{"BuckHashSys", w->buckhash, m->buckhash_sys, true},
	};

	memcpy(checks, all, sizeof(all));
}

static void add_headline(struct doc *d, const struct walk *w,
			 const struct check checks[static CHECK_COUNT])
{
	char alloc[UNITS_BUF], inuse[UNITS_BUF], idle[UNITS_BUF], released[UNITS_BUF];
	int equal = 0;

	for (int i = 0; i < CHECK_COUNT; i++)
		equal += checks[i].walked == checks[i].counter;
	doc_text(d, "HeapAlloc %s in HeapInuse %s; HeapIdle %s, of it HeapReleased %s.",
		 units_bytes((i64)w->heap_alloc, alloc), units_bytes((i64)w->heap_inuse, inuse),
		 units_bytes((i64)w->heap_idle, idle),
		 units_bytes((i64)w->heap_released, released));
	doc_text(d, "%d of %d walked figures equal the runtime's own counters%s.", equal,
		 CHECK_COUNT, equal < CHECK_COUNT ? "; the command verify says more" : "");
}

static void add_checks(struct doc *d, const struct check checks[static CHECK_COUNT])
{
	static const struct doc_column columns[] = {
		{"name", "check"}, {"walked", "walked"}, {"counter", "counter"}, {"ok", "equal"}};
	struct doc_table *t = doc_table(d, "checks", "Walked figures and the runtime's counters",
					columns, COUNT_OF(columns));

	for (size_t i = 0; i < CHECK_COUNT; i++) {
		u64 a = checks[i].walked, b = checks[i].counter;
		bool bytes = checks[i].bytes;

		doc_row(t, doc_string(checks[i].name), bytes ? doc_bytes(a) : doc_count(a),
			bytes ? doc_bytes(b) : doc_count(b), doc_flag(a == b));
	}
}

static struct doc_value by_size(struct doc *d, const struct mstats *m)
{
	static const struct doc_column columns[] = {
		{"Size", "Size"}, {"Mallocs", "Mallocs"}, {"Frees", "Frees"}};
	struct doc_table *t = doc_new_subtable(d, columns, COUNT_OF(columns));

	for (size_t i = 0; i < MSTATS_BY_SIZE; i++)
		doc_row(t, doc_count(m->by_size[i].size), doc_count(m->by_size[i].mallocs),
			doc_count(m->by_size[i].frees));
	return doc_subtable(t);
}

static void add_cycles(struct doc *d, struct doc_object *o, const struct mstats *m)
{
	u64 *pauses = arena_alloc(&d->arena, sizeof(m->pause_ns));
	u64 *ends = arena_alloc(&d->arena, sizeof(m->pause_end));

	memcpy(pauses, m->pause_ns, sizeof(m->pause_ns));
	memcpy(ends, m->pause_end, sizeof(m->pause_end));
	doc_set(o, "NextGC", doc_bytes(m->next_gc));
	doc_set(o, "LastGC", doc_count(m->last_gc));
	doc_set(o, "PauseTotalNs", doc_count(m->pause_total_ns));
	doc_set(o, "PauseNs", doc_list(pauses, MSTATS_PAUSES));
	doc_set(o, "PauseEnd", doc_list(ends, MSTATS_PAUSES));
	doc_set(o, "NumGC", doc_count(m->num_gc));
	doc_set(o, "NumForcedGC", doc_count(m->num_forced_gc));
	doc_set(o, "GCCPUFraction", doc_real(m->gc_cpu_fraction));
	doc_set(o, "EnableGC", doc_flag(m->enable_gc));
	doc_set(o, "DebugGC", doc_flag(false));
	doc_set(o, "BySize", by_size(d, m));
}

static struct doc_object *add_memstats(struct doc *d, const struct walk *w, const struct mstats *m)
{
	struct doc_object *o = doc_object(d, "memstats", "runtime.MemStats (lists: --json)");

	doc_set(o, "Alloc", doc_bytes(w->heap_alloc));
	doc_set(o, "TotalAlloc", doc_bytes(m->total_alloc));
	doc_set(o, "Sys", doc_bytes(m->sys));
	doc_set(o, "Lookups", doc_count(0)); /* no release has counted them */
	doc_set(o, "Mallocs", doc_count(m->mallocs));
	doc_set(o, "Frees", doc_count(m->frees));
	doc_set(o, "HeapAlloc", doc_bytes(w->heap_alloc));
	doc_set(o, "HeapSys", doc_bytes(w->heap_inuse + w->heap_idle));
	doc_set(o, "HeapIdle", doc_bytes(w->heap_idle));
	doc_set(o, "HeapInuse", doc_bytes(w->heap_inuse));
	doc_set(o, "HeapReleased", doc_bytes(w->heap_released));
	doc_set(o, "HeapObjects", doc_count(w->heap_objects));
	doc_set(o, "StackInuse", doc_bytes(w->stack_inuse));
	doc_set(o, "StackSys", doc_bytes(m->stack_sys));
	doc_set(o, "MSpanInuse", doc_bytes(w->mspan_inuse));
	doc_set(o, "MSpanSys", doc_bytes(m->mspan_sys));
	doc_set(o, "MCacheInuse", doc_bytes(w->mcache_inuse));
	doc_set(o, "MCacheSys", doc_bytes(m->mcache_sys));
	doc_set(o, "BuckHashSys", doc_bytes(w->buckhash));
	doc_set(o, "GCSys", doc_bytes(m->gc_sys));
	doc_set(o, "OtherSys", doc_bytes(m->other_sys));
	add_cycles(d, o, m);
	return o;
}

static struct err *add_metrics(struct doc *d, const struct gort *gort, const struct mstats *m)
{
	struct metric metrics[METRICS_MAX];
	struct doc_object *o = doc_object(d, "metrics", "runtime/metrics");
	size_t n;

	TRY(metrics_read(gort, m, metrics, &n));
	for (size_t i = 0; i < n; i++)
		doc_set(o, metrics[i].name,
			strstr(metrics[i].name, ":bytes") ? doc_bytes(metrics[i].value)
							  : doc_count(metrics[i].value));
	return NULL;
}

/* Without the tables nothing is walked: the counters stand alone. */
static struct err *report_counters(struct doc *d, const struct gort *gort)
{
	struct mstats m;
	struct walk same;

	TRY(mstats_read(gort, &m));
	same = (struct walk){
		.heap_alloc = m.heap_alloc,
		.heap_objects = m.heap_objects,
		.heap_inuse = m.heap_inuse,
		.heap_idle = m.heap_idle,
		.heap_released = m.heap_released,
		.stack_inuse = m.stack_inuse,
		.mspan_inuse = m.mspan_inuse,
		.mcache_inuse = m.mcache_inuse,
		.buckhash = m.buckhash_sys,
	};
	doc_text(d,
		 "The tables of the heap are lost: these are the runtime's counters, without what "
		 "each P has allocated since it took its cached spans.");
	d->csv_object = add_memstats(d, &same, &m);
	return NULL;
}

struct err *report_memstats(struct report *r)
{
	struct doc *d = r->doc;
	const struct snapshot *s = r->snapshot;
	struct walk walk;
	struct mstats mstats;
	struct check checks[CHECK_COUNT];

	if (s->remains)
		return report_counters(d, s->remains);
	if (!s->gort) { /* the diagnostics say why */
		doc_text(d, "No MemStats: the Go heap could not be read.");
		doc_value(d, "memstats", doc_null());
		return NULL;
	}
	walk_heap(s->gort, &walk);
	TRY(mstats_read(s->gort, &mstats));
	fill_checks(checks, &walk, &mstats);
	add_headline(d, &walk, checks);
	d->csv_object = add_memstats(d, &walk, &mstats);
	add_checks(d, checks);
	return add_metrics(d, s->gort, &mstats);
}
