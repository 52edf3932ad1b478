/* Occupancy of each size class: which are fragmented, and what closing the gaps would free. */
#include "report/sizeclasses.h"

#include "report/common.h"
#include "report/pinned.h"

#include "base/bits.h"
#include "base/units.h"
#include "gort/rtget.h"

#include <stdlib.h>
#include <string.h>

static void add_slots(const struct gort *gort, const struct span *s, struct class_row *row)
{
	struct slots slots;
	u64 used, live;

	if (!slots_read(&gort->rt, &gort->arenas, s, &slots)) {
		row->undecided += s->elemsize * s->nelems; /* as in the ledger */
		row->used += s->nelems;
		return;
	}
	used = bits_count(slots.alloc, 0, slots.n);
	live = bits_count(slots.live, 0, slots.n);
	row->used += used;
	row->live += live * s->elemsize;
	row->free += (slots.n - used) * s->elemsize;
	switch (slots.rest) {
	case REST_FRESH:
		row->fresh += (used - live) * s->elemsize;
		break;
	case REST_DEAD:
		row->dead += (used - live) * s->elemsize;
		break;
	case REST_UNDECIDED:
		row->undecided += (used - live) * s->elemsize;
		break;
	}
}

/* Bytes behind the object that a large span was asked for. */
static u64 span_slack(const struct rt *rt, const struct span *s)
{
	u64 limit = 0;

	err_free(rt_u(rt, s->mspan, RT_MSPAN_LIMIT, &limit));
	return limit > s->start && limit <= span_end(s) ? span_end(s) - limit : 0;
}

static void add_span(const struct snapshot *s, const struct span *span, struct class_row *row)
{
	u64 kinds[PAGE_KIND_COUNT] = {0};

	row->spanclass = span->spanclass;
	row->slot_bytes = span->spanclass / 2 ? span->elemsize : 0;
	row->spans++;
	row->pages += span->npages;
	row->slots += span->nelems;
	row->tail += span_bytes(span) - span->elemsize * span->nelems;
	if (span->spanclass / 2 == 0)
		row->slack += span_slack(&s->gort->rt, span);
	add_slots(s->gort, span, row);
	residency_tally(&s->im->res, span->start, span_end(span), kinds);
	for (int k = 0; k < PAGE_KIND_COUNT; k++)
		if (category_state(CAT_HEAP_LIVE, (enum page_kind)k) == STATE_RESIDENT)
			row->resident += kinds[k];
}

/* Spans that would be left over if the used slots stood side by side. */
static void set_reclaimable(struct class_row *row)
{
	u64 per_span = row->spans ? row->slots / row->spans : 0;
	u64 needed = per_span ? (row->used + per_span - 1) / per_span : row->spans;

	if (row->spanclass / 2 && needed < row->spans)
		row->reclaimable =
			(row->spans - needed) * (row->pages / row->spans) * GO_PAGE_BYTES;
}

static int by_free(const void *a, const void *b)
{
	const struct class_row *x = a, *y = b;

	if (!x->spans != !y->spans) /* classes without spans go to the end */
		return x->spans ? -1 : 1;
	if (x->free != y->free)
		return x->free > y->free ? -1 : 1;
	return x->spanclass < y->spanclass ? -1 : x->spanclass > y->spanclass;
}

static void add_rows(struct doc *d, const struct gort *gort, const struct class_row *rows)
{
	static const struct doc_column columns[] = {
		{"class", NULL},     {"size", "slot"},         {"noscan", NULL},
		{NULL, "pointers"},  {"spans", "spans"},       {"pages", NULL},
		{"slots", "slots"},  {"used", "used"},         {NULL, "%"},
		{"live", "live"},    {"fresh", "fresh"},       {"dead", NULL},
		{"undecided", NULL}, {"free", "free"},         {"tail", NULL},
		{"slack", NULL},     {"resident", "resident"}, {"reclaimable", "to gain"},
	};
	struct doc_table *t =
		doc_table(d, "sizeclasses", "Size classes", columns, COUNT_OF(columns));
	/* Since 1.22 a large span's limit is the end of what was asked for. */
	bool has_slack = gort->rt.dialect.limit_is_object_end;

	for (size_t i = 0; i < SPANCLASS_COUNT && rows[i].spans; i++) {
		const struct class_row *r = &rows[i];
		bool large = r->spanclass / 2 == 0, noscan = r->spanclass % 2;

		doc_row(t, doc_count(r->spanclass / 2),
			large ? doc_null() : doc_count(r->slot_bytes), doc_flag(noscan),
			doc_string(noscan ? "no" : "yes"), doc_count(r->spans), doc_count(r->pages),
			doc_count(r->slots), doc_count(r->used),
			doc_count(r->slots ? 100 * r->used / r->slots : 0), doc_bytes(r->live),
			doc_bytes(r->fresh), doc_bytes(r->dead), doc_bytes(r->undecided),
			doc_bytes(r->free), doc_bytes(r->tail),
			large && has_slack ? doc_bytes(r->slack) : doc_null(),
			doc_bytes(r->resident), doc_bytes(r->reclaimable));
	}
	d->csv_table = t;
}

/* The answer: how much is in gaps, and which class has most of it. */
static void add_headline(struct doc *d, const struct class_row *rows)
{
	u64 free = 0, gain = 0, spans = 0;
	char all[UNITS_BUF], closed[UNITS_BUF], most[UNITS_BUF], full[REPORT_PERCENT_BUF];

	for (size_t i = 0; i < SPANCLASS_COUNT; i++) {
		free += rows[i].free;
		gain += rows[i].reclaimable;
		spans += rows[i].spans;
	}
	doc_text(d,
		 "%s in free slots of %llu spans; %s of it would be whole spans without the gaps.",
		 units_bytes((i64)free, all), (unsigned long long)spans,
		 units_bytes((i64)gain, closed));
	if (rows[0].free)
		doc_text(d, "Most of it in slots of %llu bytes: %s in %llu spans, %s full.",
			 (unsigned long long)rows[0].slot_bytes,
			 units_bytes((i64)rows[0].free, most), (unsigned long long)rows[0].spans,
			 report_percent(rows[0].used, rows[0].slots, full));
}

void sizeclass_rows(const struct snapshot *s, struct class_row rows[static SPANCLASS_COUNT])
{
	const struct gort *gort = s->gort;

	memset(rows, 0, SPANCLASS_COUNT * sizeof(*rows));
	for (size_t i = 0; i < gort->spans.v.n; i++) {
		const struct span *span = &gort->spans.v.v[i];

		if (span->state == SPAN_IN_USE)
			add_span(s, span, &rows[span->spanclass]);
	}
	for (size_t i = 0; i < SPANCLASS_COUNT; i++)
		set_reclaimable(&rows[i]);
	qsort(rows, SPANCLASS_COUNT, sizeof(*rows), by_free);
}

struct err *report_sizeclasses(struct report *r)
{
	const struct gort *gort = r->snapshot->gort;
	struct class_row rows[SPANCLASS_COUNT];

	if (!gort) { /* the diagnostics say why */
		doc_text(r->doc, "No size classes: the Go heap could not be read.");
		doc_value(r->doc, "sizeclasses", doc_null());
		return NULL;
	}
	if (r->options.pinned)
		return report_pinned(r);
	sizeclass_rows(r->snapshot, rows);
	add_headline(r->doc, rows);
	add_rows(r->doc, gort, rows);
	return NULL;
}
