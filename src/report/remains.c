#include "report/remains.h"

#include "base/units.h"

static void add_counters(struct doc *d, const struct mstats *m)
{
	static const struct doc_column columns[] = {
		{"name", "counter"}, {"bytes", "bytes"}, {NULL, "what it is"}};
	const struct {
		const char *name;
		u64 bytes;
		const char *meaning;
	} rows[] = {
		{"HeapAlloc", m->heap_alloc, "objects, but for the newest of each P"},
		{"HeapInuse", m->heap_inuse, "spans in use"},
		{"HeapIdle", m->heap_idle, "free pages"},
		{"HeapReleased", m->heap_released, "of these given back, or never used"},
		{"StackInuse", m->stack_inuse, "goroutine and system stacks"},
		{"MSpanSys", m->mspan_sys, "span descriptors"},
		{"MCacheSys", m->mcache_sys, "per-P allocation caches"},
		{"BuckHashSys", m->buckhash_sys, "profile buckets"},
		{"GCSys", m->gc_sys, "the GC's structures"},
		{"OtherSys", m->other_sys, "the runtime's other structures"},
	};
	struct doc_table *t =
		doc_table(d, "counters", "What the runtime counted, its tables being lost", columns,
			  COUNT_OF(columns));

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		doc_row(t, doc_string(rows[i].name), doc_bytes(rows[i].bytes),
			doc_string(rows[i].meaning));
}

static void add_place(struct doc *d, const struct image *im, const struct remains *r)
{
	u64 by_kind[PAGE_KIND_COUNT] = {0}, state[STATE_COUNT] = {0};
	struct doc_object *o = doc_object(d, "heap", NULL);
	char size[UNITS_BUF], resident[UNITS_BUF], lost[UNITS_BUF];

	residency_tally(&im->res, r->lo, r->hi, by_kind);
	for (int k = 0; k < PAGE_KIND_COUNT; k++)
		state[residency_state((enum page_kind)k, false, true)] += by_kind[k];
	doc_set(o, "lo", doc_address(r->lo));
	doc_set(o, "hi", doc_address(r->hi));
	doc_set(o, "resident", doc_bytes(state[STATE_RESIDENT]));
	doc_set(o, "absent", doc_bytes(state[STATE_ABSENT]));
	doc_set(o, "unknown", doc_bytes(state[STATE_UNKNOWN]));
	doc_set(o, "lost", doc_bytes(by_kind[PAGE_LOST]));
	doc_text(d, "%s", "");
	doc_text(d, "The Go heap is at 0x%llx-0x%llx, %s.", (unsigned long long)r->lo,
		 (unsigned long long)r->hi, units_bytes((i64)(r->hi - r->lo), size));
	doc_text(d, "At least %s of that were resident; %s were in the core and are cut off.",
		 units_bytes((i64)state[STATE_RESIDENT], resident),
		 units_bytes((i64)by_kind[PAGE_LOST], lost));
}

void report_remains(struct doc *d, const struct snapshot *s, const struct remains *r)
{
	add_counters(d, &r->counters);
	if (r->lo)
		add_place(d, s->im, r);
}
