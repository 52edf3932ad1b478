#include "report/common.h"

#include "base/units.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Of the eight. */
enum { SWAPPED_COLUMN = 2, UNKNOWN_COLUMN = 4, ZERO_COLUMN, HUGE_COLUMN, LAZYFREE_COLUMN };

static struct doc_value part(const struct ledger *l, const struct columns *c, enum page_part p,
			     u64 bytes)
{
	return ledger_knows_part(l, c, p) ? doc_bytes(bytes) : doc_null();
}

void report_sizes(const struct ledger *l, const struct columns *c,
		  struct doc_value values[static REPORT_SIZE_COUNT])
{
	bool known = c->evidence != EVIDENCE_UNKNOWN || c->virtual == 0;

	values[0] = doc_bytes(c->virtual);
	values[1] = known ? doc_bytes(c->state[STATE_RESIDENT]) : doc_null();
	/* Only a sidecar or a note tells swapped pages apart. */
	values[SWAPPED_COLUMN] =
		c->evidence == EVIDENCE_EXACT ? doc_bytes(c->state[STATE_SWAPPED]) : doc_null();
	values[3] = known ? doc_bytes(c->state[STATE_ABSENT]) : doc_null();
	values[UNKNOWN_COLUMN] = doc_bytes(c->state[STATE_UNKNOWN]);
	for (int i = ZERO_COLUMN; i <= LAZYFREE_COLUMN; i++)
		values[i] = doc_null();
	if (!known)
		return;
	values[ZERO_COLUMN] = part(l, c, PART_ZERO, c->zero);
	values[HUGE_COLUMN] = part(l, c, PART_HUGE, c->huge);
	values[LAZYFREE_COLUMN] = part(l, c, PART_LAZYFREE, c->lazyfree);
}

void report_class_sizes(const struct ledger *l, enum category cat,
			struct doc_value values[static REPORT_SIZE_COUNT])
{
	struct columns c = ledger_columns(l, cat);

	if (ledger_knows(l, cat)) {
		report_sizes(l, &c, values);
		return;
	}
	for (int i = 0; i < REPORT_SIZE_COUNT; i++)
		values[i] = doc_null();
}

/* Adds the first n characters of a name, and more, to a list; NULL is an empty one. */
static const char *add_name(struct doc *d, const char *list, const char *name, int n,
			    const char *more)
{
	return doc_printf(d, "%s%s%.*s%s", list ? list : "", list ? ", " : "", n, name, more)
		.string;
}

/* Where the classes of a group end, which stand in a row: "go.heap.live", "go.heap.fresh", ... */
static int group_end(int first, int *prefix)
{
	const char *id = category_id((enum category)first), *dot = strrchr(id, '.');
	int end = first + 1;

	*prefix = dot ? (int)(dot + 1 - id) : 0;
	while (dot && end < CAT_COUNT &&
	       !strncmp(category_id((enum category)end), id, (size_t)*prefix))
		end++;
	return end;
}

static const char *unread_names(struct doc *d, const struct ledger *l)
{
	const char *list = NULL;

	for (int first = 0, end, prefix; first < CAT_COUNT; first = end) {
		int unread = 0;

		end = group_end(first, &prefix);
		for (int c = first; c < end; c++)
			unread += !ledger_knows(l, (enum category)c);
		if (unread > 1 && unread == end - first) {
			list = add_name(d, list, category_id((enum category)first), prefix, "*");
			continue;
		}
		for (int c = first; c < end; c++)
			if (!ledger_knows(l, (enum category)c))
				list = add_name(d, list, category_id((enum category)c), INT_MAX,
						"");
	}
	return list;
}

void report_unread(struct doc *d, const struct ledger *l)
{
	const char *names = unread_names(d, l);

	if (!names)
		return;
	doc_text(d, "%s", "");
	doc_text(d, "Not known, as the Go runtime could not be read; their bytes are in other "
		    "classes:");
	doc_text(d, "  %s", names);
}

void report_hide_sizes(struct doc_table *t, size_t first, const struct ledger *l)
{
	const struct columns total = ledger_total(l);
	const bool exact = l->im->res.evidence == EVIDENCE_EXACT;
	const struct {
		size_t column;
		bool shown;
	} columns[] = {
		{SWAPPED_COLUMN, exact && total.state[STATE_SWAPPED]},
		{UNKNOWN_COLUMN, !exact || total.state[STATE_UNKNOWN]},
		{ZERO_COLUMN, residency_knows(l->im, PART_ZERO)},
		{HUGE_COLUMN,
		 residency_knows(l->im, PART_HUGE) && (total.huge || total.huge_unsure)},
		{LAZYFREE_COLUMN, residency_knows(l->im, PART_LAZYFREE) &&
					  (total.lazyfree || total.lazyfree_unsure)},
	};

	for (size_t i = 0; i < COUNT_OF(columns); i++)
		if (!columns[i].shown)
			doc_hide_column(t, first + columns[i].column);
}

const char *report_at_least(const struct columns *c)
{
	return c->state[STATE_UNKNOWN] || c->evidence == EVIDENCE_NONZERO ? "at least " : "";
}

static char perm_letter(u8 perm, u8 bit, bool known, char letter)
{
	if (!known)
		return '?';
	if (perm & bit)
		return letter;
	return '-';
}

const char *report_perm(u8 perm, bool known, char buf[static 4])
{
	buf[0] = perm_letter(perm, PERM_R, known, 'r');
	buf[1] = perm_letter(perm, PERM_W, known, 'w');
	buf[2] = perm_letter(perm, PERM_X, known, 'x');
	buf[3] = '\0';
	return buf;
}

const char *report_special_name(enum vma_kind kind)
{
	switch (kind) {
	case VMA_STACK:
		return "[stack]";
	case VMA_VDSO:
		return "[vdso]";
	case VMA_VVAR:
		return "[vvar]";
	case VMA_VSYSCALL:
		return "[vsyscall]";
	case VMA_ANON:
	case VMA_FILE:
	case VMA_SHM:
		break;
	}
	return NULL;
}

struct sort_row {
	enum category cat;
	u64 resident, virtual;
};

static int by_size(const void *a, const void *b)
{
	const struct sort_row *x = a, *y = b;

	if (x->resident != y->resident)
		return x->resident > y->resident ? -1 : 1;
	if (x->virtual != y->virtual)
		return x->virtual > y->virtual ? -1 : 1;
	return x->cat < y->cat ? -1 : x->cat > y->cat;
}

void report_sort_classes(const struct ledger *l, enum category order[static CAT_COUNT])
{
	struct sort_row rows[CAT_COUNT];

	for (int c = 0; c < CAT_COUNT; c++) {
		struct columns col = ledger_columns(l, (enum category)c);

		rows[c] =
			(struct sort_row){(enum category)c, col.state[STATE_RESIDENT], col.virtual};
	}
	qsort(rows, CAT_COUNT, sizeof(*rows), by_size);
	for (int c = 0; c < CAT_COUNT; c++)
		order[c] = rows[c].cat;
}

void report_total(struct doc *d, const struct ledger *l)
{
	static const char *const keys[] = {"virtual", "resident", "swapped", "absent",
					   "unknown", "zero",     "huge",    "lazyfree"};
	struct columns total = ledger_total(l);
	struct doc_value v[REPORT_SIZE_COUNT];
	struct doc_object *o = doc_object(d, "total", NULL);

	report_sizes(l, &total, v);
	for (size_t i = 0; i < REPORT_SIZE_COUNT; i++)
		doc_set(o, keys[i], v[i]);
	doc_value(d, "evidence", doc_string(evidence_name(l->im->res.evidence)));
}

void report_headline(struct doc *d, const struct ledger *l)
{
	struct columns total = ledger_total(l);
	char mapped[UNITS_BUF], resident[UNITS_BUF], unknown[UNITS_BUF];

	if (!total.state[STATE_UNKNOWN]) {
		doc_text(d, "%s%s of %s mapped were resident (%s).",
			 *report_at_least(&total) ? "At least " : "",
			 units_bytes((i64)total.state[STATE_RESIDENT], resident),
			 units_bytes((i64)total.virtual, mapped),
			 evidence_name(l->im->res.evidence));
		return;
	}
	doc_text(d, "%s%s of %s mapped were resident; of another %s the core does not tell (%s).",
		 *report_at_least(&total) ? "At least " : "",
		 units_bytes((i64)total.state[STATE_RESIDENT], resident),
		 units_bytes((i64)total.virtual, mapped),
		 units_bytes((i64)total.state[STATE_UNKNOWN], unknown),
		 evidence_name(l->im->res.evidence));
}

void report_diagnostics(struct doc *d, const struct snapshot *s)
{
	static const struct doc_column columns[] = {
		{"code", NULL}, {"count", NULL}, {"text", NULL}, {"examples", NULL}};
	struct doc_table *t = doc_table(d, "diagnostics", NULL, columns, COUNT_OF(columns));
	bool any = false;

	for (int code = 0; code < DIAG_COUNT; code++) {
		const struct diag_entry *e = &s->diags->entries[code];

		if (!e->count)
			continue;
		doc_row(t, doc_string(diag_id((enum diag_code)code)), doc_count(e->count),
			doc_string(diag_text((enum diag_code)code)),
			doc_strings((const char *const *)e->examples,
				    MIN(e->count, DIAG_EXAMPLES)));
		if (!any)
			doc_text(d, "%s", "");
		doc_text(d, "%s: %s",
			 diag_code_is_partial((enum diag_code)code) ? "Incomplete" : "Note",
			 diag_text((enum diag_code)code));
		doc_text(d, "  %s%s", e->examples[0], e->count > 1 ? "; and more" : "");
		any = true;
	}
}

u64 report_resident(const struct image *im, va_t lo, va_t hi)
{
	u64 kinds[PAGE_KIND_COUNT] = {0}, sum = 0;

	residency_tally(&im->res, lo, hi, kinds);
	for (int k = 0; k < PAGE_KIND_COUNT; k++)
		if (category_state(CAT_HEAP_LIVE, (enum page_kind)k) == STATE_RESIDENT)
			sum += kinds[k];
	return sum;
}

const char *report_percent(u64 part, u64 whole, char buf[static REPORT_PERCENT_BUF])
{
	double share = whole ? 100.0 * (double)part / (double)whole : 0;

	if (part && share < 0.1)
		snprintf(buf, REPORT_PERCENT_BUF, "<0.1 %%");
	else
		snprintf(buf, REPORT_PERCENT_BUF, "%.*f %%", share && share < 9.95 ? 1 : 0, share);
	return buf;
}
