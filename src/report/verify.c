/* The runtime's invariants, one line each. */
#include "report/common.h"

#include "gort/verify.h"

/* How many checks came out one way. */
static size_t count(const struct verification *v, enum verify_result result)
{
	size_t n = 0;

	for (size_t i = 0; i < v->checks.n; i++)
		n += v->checks.v[i].result == result;
	return n;
}

static const char *result_text(enum verify_result result)
{
	switch (result) {
	case VERIFY_OK:
		return "ok";
	case VERIFY_FAILED:
		return "FAILED";
	case VERIFY_UNREADABLE:
		break;
	}
	return "not run";
}

static void add_headline(struct doc *d, const struct verification *v)
{
	size_t failed = count(v, VERIFY_FAILED), unreadable = count(v, VERIFY_UNREADABLE);

	if (!failed && !unreadable) {
		doc_text(d, "All %zu invariants of the Go runtime hold%s.", v->checks.n,
			 v->explained ? ", but for what threads inside the allocator had in hand"
				      : "");
		return;
	}
	doc_text(d,
		 "%zu of %zu invariants of the Go runtime do not hold; %zu could not be checked.",
		 failed, v->checks.n, unreadable);
}

static void add_checks(struct doc *d, const struct verification *v)
{
	static const struct doc_column columns[] = {
		{"name", "invariant"}, {NULL, "result"},       {"ok", NULL},
		{"walked", "walked"},  {"counter", "counter"}, {"detail", "detail"},
	};
	struct doc_table *t = doc_table(d, "checks", "Invariants", columns, COUNT_OF(columns));

	for (size_t i = 0; i < v->checks.n; i++) {
		const struct verify_check *c = &v->checks.v[i];
		bool ran = c->result != VERIFY_UNREADABLE;

		doc_row(t, doc_string(c->name), doc_string(result_text(c->result)),
			ran ? doc_flag(c->result == VERIFY_OK) : doc_null(),
			ran ? doc_count(c->walked) : doc_null(),
			ran ? doc_count(c->counter) : doc_null(),
			c->detail ? doc_printf(d, "%s", c->detail) : doc_null());
	}
	d->csv_table = t;
}

struct err *report_verify(struct report *r)
{
	struct doc *d = r->doc;
	struct verification v = {0};
	struct err *err;

	if (!r->snapshot->gort) { /* the diagnostics say why */
		doc_text(d, "Nothing to verify: the Go heap could not be read.");
		doc_value(d, "checks", doc_null());
		return NULL;
	}
	err = verify_run(r->snapshot->gort, &v);
	if (!err) {
		add_headline(d, &v);
		add_checks(d, &v);
		r->fired = count(&v, VERIFY_FAILED) > 0;
		r->partial = count(&v, VERIFY_UNREADABLE) > 0;
	}
	verify_fini(&v);
	return err;
}
