/* The spans, one row each, and the heap as a map. */
#include "report/common.h"

#include "base/bits.h"
#include "base/units.h"

#include <string.h>

/* What the filters leave. */
static bool span_matches(const struct report_options *o, const struct span *s, u64 used)
{
	if (o->filter_class && s->spanclass / 2u != o->class)
		return false;
	if (o->span_state != SPAN_DEAD && s->state != o->span_state)
		return false;
	if (o->address && (o->address < s->start || o->address >= span_end(s)))
		return false;
	/* A manual span has no slots that could be full. */
	if (o->filter_occupancy &&
	    (s->state != SPAN_IN_USE || used * 100 > (u64)o->occupancy * s->nelems))
		return false;
	return true;
}

struct span_counts {
	u64 spans, bytes, resident;
};

static void add_span(struct doc_table *t, const struct snapshot *s, const struct report_options *o,
		     const struct span *span, struct span_counts *sum)
{
	struct slots slots;
	bool in_use = span->state == SPAN_IN_USE;
	bool known = in_use && slots_read(&s->gort->rt, &s->gort->arenas, span, &slots);
	u64 used = known ? bits_count(slots.alloc, 0, slots.n) : span->alloc_count, resident;

	if (!span_matches(o, span, used))
		return;
	resident = report_resident(s->im, span->start, span_end(span));
	sum->spans++;
	sum->bytes += span_bytes(span);
	sum->resident += resident;
	doc_row(t, doc_address(span->start), doc_count(span->npages),
		doc_string(in_use ? "inuse" : "manual"), doc_count(span->spanclass),
		doc_count(span->elemsize), doc_count(span->nelems), doc_count(used),
		known ? doc_count(bits_count(slots.live, 0, slots.n)) : doc_null(),
		doc_delta(span->sweep), doc_bytes(resident));
}

static void add_spans(struct report *r)
{
	static const struct doc_column columns[] = {
		{"start", "start"},       {"npages", "pages"},  {"state", "state"},
		{"spanclass", "class"},   {"elemsize", "slot"}, {"nelems", "slots"},
		{"allocated", "in use"},  {"marked", "live"},   {"sweep", NULL},
		{"resident", "resident"},
	};
	const struct snapshot *s = r->snapshot;
	struct doc *d = r->doc;
	struct span_counts sum = {0};
	struct doc_table *t = doc_new_subtable(d, columns, COUNT_OF(columns));
	char bytes[UNITS_BUF], resident[UNITS_BUF];

	for (size_t i = 0; i < s->gort->spans.v.n; i++)
		add_span(t, s, &r->options, &s->gort->spans.v.v[i], &sum);
	doc_text(d, "%llu of %zu spans: %s, resident %s.", (unsigned long long)sum.spans,
		 s->gort->spans.v.n, units_bytes((i64)sum.bytes, bytes),
		 units_bytes((i64)sum.resident, resident));
	doc_add_table(d, "spans", "Spans", t);
	d->csv_table = t;
}

/* Figures of one chunk (4 MiB) of the heap. */
struct chunk {
	va_t start;
	u64 used, resident; /* bytes in spans; bytes in memory */
};

/* Ten shades from nothing to all. */
static char shade(u64 part, u64 whole)
{
	static const char shades[] = " .:-=+*#%@";

	if (!part)
		return shades[0];
	return shades[1 + (part * 8 + whole / 2) / whole];
}

#define MAP_CELLS 64 /* chunks in a line: 256 MiB */

static void add_map_line(struct doc *d, const struct chunk *chunks, size_t n)
{
	char used[MAP_CELLS + 1], resident[MAP_CELLS + 1];

	for (size_t i = 0; i < n; i++) {
		used[i] = shade(chunks[i].used, GO_CHUNK_BYTES);
		resident[i] = shade(chunks[i].resident, GO_CHUNK_BYTES);
	}
	used[n] = resident[n] = '\0';
	doc_text(d, "  %12llx  in spans  |%s|", (unsigned long long)chunks[0].start, used);
	doc_text(d, "                resident  |%s|", resident);
}

/* Spans of a damaged core may overlap: each byte counts once, so a chunk is full at most. */
static void add_chunk(struct doc_table *t, const struct snapshot *s, struct chunk *c, size_t *span)
{
	const struct spans *spans = &s->gort->spans;
	va_t end = c->start + GO_CHUNK_BYTES, counted = c->start;

	while (*span < spans->v.n && span_end(&spans->v.v[*span]) <= c->start)
		(*span)++;
	for (size_t i = *span; i < spans->v.n && spans->v.v[i].start < end && counted < end; i++) {
		va_t lo = MAX(spans->v.v[i].start, counted);
		va_t hi = MIN(span_end(&spans->v.v[i]), end);

		if (lo < hi) {
			c->used += hi - lo;
			counted = hi;
		}
	}
	c->resident = report_resident(s->im, c->start, end);
	doc_row(t, doc_address(c->start), doc_bytes(c->used), doc_bytes(c->resident));
}

/* The heap's ranges, a cell a chunk. */
static void add_map(struct report *r)
{
	static const struct doc_column columns[] = {
		{"start", NULL}, {"used", NULL}, {"resident", NULL}};
	const struct snapshot *s = r->snapshot;
	const struct pagealloc *pa = &s->gort->pagealloc;
	struct doc *d = r->doc;
	struct doc_table *t = doc_table(d, "chunks", NULL, columns, COUNT_OF(columns));
	size_t span = 0;

	doc_text(d, "The Go heap, a cell for each 4 MiB: ' ' nothing, '.' little ... '@' all.");
	for (size_t i = 0; i < pa->in_use.n; i++) {
		struct chunk line[MAP_CELLS];
		size_t n = 0;

		for (va_t at = pa->in_use.v[i].lo; at < pa->in_use.v[i].hi; at += GO_CHUNK_BYTES) {
			line[n] = (struct chunk){.start = at};
			add_chunk(t, s, &line[n++], &span);
			if (n == MAP_CELLS) {
				add_map_line(d, line, n);
				n = 0;
			}
		}
		if (n)
			add_map_line(d, line, n);
	}
	d->csv_table = t;
}

struct err *report_spans(struct report *r)
{
	if (!r->snapshot->gort) { /* the diagnostics say why */
		doc_text(r->doc, "No spans: the Go heap could not be read.");
		doc_value(r->doc, "spans", doc_null());
	} else if (r->options.map) {
		add_map(r);
	} else {
		add_spans(r);
	}
	return NULL;
}
