#include "report/common.h"

static struct doc_value backing(struct doc *d, const struct image *im, const struct vma *v)
{
	const struct mapped_file *f;

	if (v->file < 0)
		return doc_string(report_special_name((enum vma_kind)v->kind));
	f = &im->files.v[v->file];
	return f->deleted ? doc_printf(d, "%s (deleted)", f->path) : doc_string(f->path);
}

struct err *report_vmas(struct report *r)
{
	struct doc *d = r->doc;
	const struct snapshot *s = r->snapshot;
	static const struct doc_column columns[] = {
		{"lo", "from"},          {"hi", "to"},     {"perm", "perm"},   REPORT_SIZE_COLUMNS,
		{"owner", "most of it"}, {"offset", NULL}, {"evidence", NULL}, {"file", "backing"},
	};
	const struct image *im = s->im;
	struct doc_table *t;

	report_headline(d, s->ledger);
	t = doc_table(d, "vmas", "Mappings", columns, COUNT_OF(columns));
	report_hide_sizes(t, 3, s->ledger);
	for (size_t i = 0; i < im->vmas.n; i++) {
		const struct vma *vma = &im->vmas.v[i];
		struct doc_value v[COUNT_OF(columns)];
		enum category owner;
		struct columns c = ledger_vma_columns(s->ledger, i, &owner);
		char perm[4];

		v[0] = doc_address(vma->lo);
		v[1] = doc_address(vma->hi);
		v[2] = doc_printf(d, "%s", report_perm(vma->perm, vma->perm_known, perm));
		report_sizes(s->ledger, &c, v + 3);
		v[11] = doc_string(category_id(owner));
		v[12] = vma->file >= 0 ? doc_count(vma->offset) : doc_null();
		v[13] = doc_string(evidence_name(c.evidence));
		v[14] = backing(d, im, vma);
		doc_add_row(t, v, COUNT_OF(v));
	}
	d->csv_table = t;
	return NULL;
}
