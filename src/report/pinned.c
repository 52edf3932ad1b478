/* Free slots in spans stay there as long as one object of the span lives: the sites of these
 * objects are what fragmentation comes from. */
#include "report/pinned.h"

#include "base/apportion.h"
#include "base/units.h"
#include "report/calls.h"
#include "report/common.h"
#include "report/holdings.h"

#include <stdlib.h>

/* One row: a site in a span class. */
struct row {
	const struct holding *h;
	const char *site;
	u64 pinned;
};

struct fill {
	struct report *r;
	struct symbols symbols;
	struct holdings holdings;
	ARRAY(u64) pinned; /* by holding: the estimate, at most what is free; and room for one */
	ARRAY(struct row) rows;
	u64 free_bytes;
};

/* Estimates may add up to more than there is. */
static struct err *limit(struct fill *f, size_t first, size_t last, u64 free_bytes)
{
	u64 *parts = f->pinned.v + first, sum = 0;

	for (size_t i = first; i < last; i++) {
		u64 one = MIN(f->holdings.v.v[i].pinned, free_bytes);

		parts[i - first] = one;
		sum += MIN(one, UINT64_MAX - sum);
	}
	parts[last - first] = sum < free_bytes ? free_bytes - sum : 0;
	return apportion(free_bytes, parts, last - first + 1, parts);
}

static struct err *limit_all(struct fill *f)
{
	size_t i = 0;

	TRY(array_reserve(&f->pinned, f->holdings.v.n + 1));
	for (unsigned c = 0; c < LEDGER_SPANCLASSES; c++) {
		u64 free_bytes = ledger_heap_columns(f->r->snapshot->ledger, (u8)c, CAT_HEAP_FREE)
					 .virtual;
		size_t first = i;

		f->free_bytes += free_bytes;
		while (i < f->holdings.v.n && f->holdings.v.v[i].spanclass == c)
			i++;
		TRY(limit(f, first, i, free_bytes));
	}
	return NULL;
}

static struct err *add_site(void *arg, const struct site *site)
{
	struct fill *f = arg;
	struct holding *h;
	const char *name;

	TRY(holdings_of(&f->holdings, site->bucket, &h));
	if (!h)
		return NULL;
	name = calls_site(f->r->doc, &f->symbols, site->pcs, site->depth);
	for (size_t i = (size_t)(h - f->holdings.v.v) + 1; i; i = f->holdings.v.v[i - 1].next)
		TRY(array_push(&f->rows, {.h = &f->holdings.v.v[i - 1],
					  .site = name,
					  .pinned = f->pinned.v[i - 1]}));
	return NULL;
}

static int by_pinned(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->pinned != y->pinned)
		return x->pinned > y->pinned ? -1 : 1;
	if (x->h->spanclass != y->h->spanclass)
		return x->h->spanclass < y->h->spanclass ? -1 : 1;
	return x->h->bucket < y->h->bucket ? -1 : x->h->bucket > y->h->bucket;
}

static void add_table(const struct fill *f)
{
	static const struct doc_column columns[] = {
		{"pinned", "pinned"},   {NULL, "%"},
		{"live", "live"},       {"class", NULL},
		{"size", "slot"},       {"noscan", NULL},
		{"spans", "spans"},     {"unused", "in these"},
		{"sampled", "sampled"}, {"site", "site"},
	};
	struct doc *d = f->r->doc;
	struct doc_table *t = doc_table(d, "pinned", "Sites whose objects keep free slots", columns,
					COUNT_OF(columns));

	for (size_t i = 0; i < f->rows.n; i++) {
		const struct row *row = &f->rows.v[i];
		unsigned class = row->h->spanclass / 2;
		char share[REPORT_PERCENT_BUF];
		bool known = class && class < GO_MAX_SIZE_CLASSES;
		size_t index;

		index = doc_row(
			t, doc_bytes(row->pinned),
			doc_printf(d, "%s", report_percent(row->pinned, f->free_bytes, share)),
			doc_bytes(row->h->bytes), doc_count(class),
			known ? doc_count(f->r->snapshot->gort->rt.size_class_bytes[class])
			      : doc_null(),
			doc_flag(row->h->spanclass % 2), doc_count(row->h->spans),
			doc_bytes(row->h->unused), doc_count(row->h->sampled),
			doc_string(row->site));
		if (index != SIZE_MAX && !row->pinned)
			doc_hide(t, index);
	}
	d->csv_table = t;
}

static void add_answer(const struct fill *f, bool sampled)
{
	struct doc *d = f->r->doc;
	struct doc_object *o = doc_object(d, "sample", NULL);
	char most[UNITS_BUF], all[UNITS_BUF], seen[UNITS_BUF], share[REPORT_PERCENT_BUF];

	doc_set(o, "free", doc_bytes(f->free_bytes));
	doc_set(o, "spans", doc_count(f->holdings.spans));
	doc_set(o, "unused", doc_bytes(f->holdings.unused));
	units_bytes((i64)f->free_bytes, all);
	if (!sampled || !f->rows.n) {
		doc_text(d, "%s in free slots; who keeps them is not known: %s.", all,
			 sampled ? "no sampled object is left"
				 : "the process kept no heap profile (MemProfileRate 0)");
		return;
	}
	if (!f->rows.v[0].pinned) {
		doc_text(d, "%s in free slots, none of it in spans with a sampled object.", all);
		return;
	}
	doc_text(d, "Of %s in free slots an estimated %s are kept by objects from %s.", all,
		 units_bytes((i64)f->rows.v[0].pinned, most), f->rows.v[0].site);
	doc_text(d,
		 "The %llu spans that have a sampled object show %s of these bytes, %s; the rest "
		 "is estimated from them.",
		 (unsigned long long)f->holdings.spans, units_bytes((i64)f->holdings.unused, seen),
		 report_percent(f->holdings.unused, f->free_bytes, share));
}

static struct err *fill(struct fill *f)
{
	const struct gort *gort = f->r->snapshot->gort;
	struct sampling sampling;
	struct err *none = sampling_read(&gort->rt, &sampling);
	bool sampled = !none && sampling.rate;

	err_free(none);
	if (sampled) {
		TRY(symbols_open(&gort->rt, &gort->modules, f->r->diags, &f->symbols));
		TRY(holdings_read(gort, sampling.rate, &f->holdings));
	}
	TRY(limit_all(f));
	if (sampled)
		TRY(sites_visit(&gort->rt, &sampling, add_site, f));
	if (f->rows.n)
		qsort(f->rows.v, f->rows.n, sizeof(*f->rows.v), by_pinned);
	add_answer(f, sampled);
	add_table(f);
	return NULL;
}

struct err *report_pinned(struct report *r)
{
	struct fill f = {.r = r};
	struct err *err = fill(&f);

	array_free(&f.rows);
	array_free(&f.pinned);
	holdings_fini(&f.holdings);
	symbols_fini(&f.symbols);
	return err;
}
