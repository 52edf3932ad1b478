#include "report/common.h"
#include "report/kernel.h"

static const struct doc_column class_columns[] = {
	{"id", "class"},
	REPORT_SIZE_COLUMNS,
	{"evidence", NULL},
	{NULL, "counted by"},
};

static struct doc_table *add_classes(struct doc *d, const struct ledger *l)
{
	struct doc_table *t = doc_table(d, "classes", "Classes, largest first", class_columns,
					COUNT_OF(class_columns));
	enum category order[CAT_COUNT];

	report_hide_sizes(t, 1, l);
	report_sort_classes(l, order);
	for (int i = 0; i < CAT_COUNT; i++) {
		struct columns c = ledger_columns(l, order[i]);
		struct doc_value v[COUNT_OF(class_columns)];
		size_t row;

		v[0] = doc_string(category_id(order[i]));
		report_class_sizes(l, order[i], v + 1);
		v[9] = doc_string(evidence_name(c.evidence));
		v[10] = doc_string(category_twin(order[i]));
		row = doc_add_row(t, v, COUNT_OF(v));
		if (!c.virtual)
			doc_hide(t, row);
	}
	return t;
}

/* One line a run of anonymous memory that nobody claimed. */
static void add_anon(struct doc *d, const struct ledger *l)
{
	static const struct doc_column columns[] = {
		{"lo", "from"}, {"hi", "to"}, {"perm", "perm"}, REPORT_SIZE_COLUMNS};
	struct doc_table *t = doc_table(d, "anon", "Runs of anonymous memory outside the runtime",
					columns, COUNT_OF(columns));

	report_hide_sizes(t, 3, l);
	for (size_t i = 0; i < l->anon.n; i++) {
		const struct anon_run *run = &l->anon.v[i];
		struct columns c = tally_columns(&run->tally, CAT_ANON);
		struct doc_value v[COUNT_OF(columns)];
		char perm[4];

		v[0] = doc_address(run->lo);
		v[1] = doc_address(run->hi);
		v[2] = doc_printf(d, "%s", report_perm(run->perm, run->perm_known, perm));
		report_sizes(l, &c, v + 3);
		doc_add_row(t, v, COUNT_OF(v));
	}
}

/* The classes inside one mapping. */
static struct doc_table *vma_classes(struct doc *d, const struct ledger *l, size_t vma)
{
	static const struct doc_column columns[] = {{"id", "class"}, REPORT_SIZE_COLUMNS};
	struct doc_table *t = doc_new_subtable(d, columns, COUNT_OF(columns));
	size_t i, last;

	report_hide_sizes(t, 1, l);
	ledger_vma_cells(l, vma, &i, &last);
	while (i < last) {
		enum category cat = (enum category)l->cells.v[i].cat;
		struct tally tally = {{0}};
		struct columns c;
		struct doc_value v[COUNT_OF(columns)];

		for (; i < last && l->cells.v[i].cat == cat; i++)
			tally.by_kind[l->cells.v[i].kind] += l->cells.v[i].bytes;
		c = tally_columns(&tally, cat);
		v[0] = doc_string(category_id(cat));
		report_sizes(l, &c, v + 1);
		doc_add_row(t, v, COUNT_OF(v));
	}
	return t;
}

static struct doc_table *add_by_vma(struct doc *d, const struct ledger *l)
{
	static const struct doc_column columns[] = {
		{"lo", "from"}, {"hi", "to"}, {"perm", "perm"}, {"classes", NULL}};
	struct doc_table *t = doc_table(d, "vmas", "Mappings and the classes in them", columns,
					COUNT_OF(columns));

	for (size_t i = 0; i < l->im->vmas.n; i++) {
		const struct vma *v = &l->im->vmas.v[i];
		char perm[4];

		doc_row(t, doc_address(v->lo), doc_address(v->hi),
			doc_printf(d, "%s", report_perm(v->perm, v->perm_known, perm)),
			doc_subtable(vma_classes(d, l, i)));
	}
	return t;
}

struct err *report_ledger(struct report *r)
{
	struct doc *d = r->doc;
	const struct ledger *l = r->snapshot->ledger;

	report_headline(d, l);
	if (r->options.by_vma) {
		d->csv_table = add_by_vma(d, l);
	} else {
		d->csv_table = add_classes(d, l);
		report_unread(d, l);
		add_anon(d, l);
	}
	kernel_tables(d, r->snapshot, false);
	report_total(d, l);
	return NULL;
}
