#include "report/snapshots.h"

#include "base/os.h"

struct doc_value snapshots_figure(u64 v, bool bytes)
{
	if (v == FACT_UNKNOWN)
		return doc_null();
	return bytes ? doc_bytes(v) : doc_count(v);
}

const char *snapshots_program(const struct facts_head *h)
{
	return h->exe ? os_base_name(h->exe) : NULL;
}

struct err *snapshots_failures(struct doc *d, struct history *h)
{
	static const struct doc_column columns[] = {{"path", "not analysed"}, {"message", "why"}};
	struct doc_table *t = doc_table(d, "failures", "Failures", columns, COUNT_OF(columns));
	struct history_failures f = {.arena = {NULL, 0}};
	struct err *err = history_failures(h, &f);

	for (size_t i = 0; i < f.v.n; i++)
		doc_row(t, doc_printf(d, "%s", f.v.v[i].path),
			doc_printf(d, "%s", f.v.v[i].message));
	history_failures_fini(&f);
	return err;
}
