/* The whole answer on one screen. */
#include "report/common.h"
#include "report/given_profile.h"
#include "report/kernel.h"
#include "report/remains.h"
#include "report/verdicts.h"
#include "report/waterfall.h"

#include "base/units.h"
#include "image/sidecar.h"

#include <string.h>

#define MAX_CLASS_LINES 12
#define ALWAYS_SHOWN 5    /* the largest lines, whatever their share */
#define SHARE_DIVISOR 200 /* others from 0.5 % of the resident total on */

static void add_identity(struct doc *d, const struct snapshot *s)
{
	const struct image *im = s->im;
	struct doc_object *core = doc_object(d, "core", NULL), *go, *exe;
	bool known = s->version->text[0] != '\0';

	doc_set(core, "kind", doc_string(core_kind_name(image_kind(im))));
	doc_set(core, "path", doc_string(im->core.path));
	doc_set(core, "truncated", doc_flag(im->truncated));
	doc_set(core, "bytes", doc_bytes(im->core.size));
	doc_set(core, "expected_bytes", doc_bytes(im->expected_bytes));
	doc_set(core, "cut_cause", doc_string(im->cut_cause));
	doc_set(core, "packing", doc_string(im->unpacked.packing));
	doc_set(core, "member", doc_string(im->unpacked.member));
	go = doc_object(d, "go", NULL);
	doc_set(go, "version", known ? doc_string(s->version->text) : doc_null());
	doc_set(go, "arch", doc_string(im->arch->name));
	doc_set(go, "goexperiment", known ? doc_string(s->version->experiments) : doc_null());
	doc_set(go, "phase", s->gort ? doc_string(rt_phase_name(&s->gort->rt)) : doc_null());
	exe = doc_object(d, "exe", NULL);
	doc_set(exe, "path", s->bin->match ? doc_string(s->bin->exe.path) : doc_null());
	doc_set(exe, "match", doc_string(exe_match_name(s->bin->match)));
}

/* What the resident figures mean, in a line. */
static const char *evidence_text(const struct image *im)
{
	switch (im->res.evidence) {
	case EVIDENCE_POPULATED:
		return "by the holes that the kernel left in the file; swapped pages count too";
	case EVIDENCE_NONZERO:
		return "pages with content only: this file keeps no trace of absent pages";
	case EVIDENCE_EXACT:
		return "by what the kernel said of each page";
	case EVIDENCE_UNKNOWN:
	case EVIDENCE_MIXED:
		break;
	}
	return "nothing in the file tells";
}

static const char *phase_text(const struct gort *gort)
{
	if (!gort)
		return "";
	return gort->rt.gcphase == GC_OFF ? ", no GC running" : ", in the middle of a GC";
}

#define PATH_WIDTH 76 /* a line is 100 columns */

/* A path, its beginning left out where the line would get too long. */
static struct doc_value short_path(struct doc *d, const char *path)
{
	size_t n = strlen(path);

	return n <= PATH_WIDTH ? doc_string(path)
			       : doc_printf(d, "...%s", path + n - (PATH_WIDTH - 3));
}

static void add_who(struct doc *d, const struct snapshot *s)
{
	const struct go_version *v = s->version;
	const char *other = v->nameless ? "a Go release that nothing names" : "no Go runtime";

	doc_text(d, "%s", "");
	doc_text(d, "Process   %s%s%s, linux/%s%s", *v->text ? v->text : other,
		 *v->experiments ? " X:" : "", v->experiments, s->im->arch->name,
		 phase_text(s->gort));
	doc_text(d, "Core      %s (%s%s%s%s)", short_path(d, s->im->core.path).string,
		 core_kind_name(image_kind(s->im)), s->im->truncated ? ", truncated" : "",
		 s->im->unpacked.packing ? ", out of " : "",
		 s->im->unpacked.packing ? s->im->unpacked.packing : "");
	if (s->bin->match)
		doc_text(d, "Binary    %s (%s)", short_path(d, s->bin->exe.path).string,
			 exe_match_name(s->bin->match));
	else
		doc_text(d, "Binary    none");
	doc_text(d, "Resident  %s: %s", evidence_name(s->im->res.evidence), evidence_text(s->im));
}

#define TEXT_WIDTH 96

/* A paragraph, broken into lines: the first begins with `first`, the others with as many blanks. */
static void add_paragraph(struct doc *d, const char *first, const char *text)
{
	int indent = (int)strlen(first);

	while (*text) {
		size_t room = TEXT_WIDTH - (size_t)indent, n = strlen(text);

		if (n > room) {
			n = room;
			while (n > 0 && text[n] != ' ')
				n--;
			if (n == 0) /* one long word */
				n = room;
		}
		doc_text(d, "%*s%.*s", indent, first, (int)n, text);
		first = "";
		text += n;
		while (*text == ' ')
			text++;
	}
}

/* Why there is no verdict: nothing stands out, or nothing could be judged. */
static const char *no_verdict(const struct snapshot *s)
{
	if (s->gort)
		return "nothing stands out";
	return version_is_go(s->version) ? "the Go heap in it could not be read"
					 : "no Go runtime was found in it";
}

/* The class that stands for the heap's objects: the live ones, before the first GC all. */
static enum category object_class(const struct snapshot *s)
{
	return ledger_columns(s->ledger, CAT_HEAP_LIVE).state[STATE_RESIDENT] ? CAT_HEAP_LIVE
									      : CAT_HEAP_FRESH;
}

/* "64.0 MiB (93 %) fragmentation" */
static const char *part_text(struct doc *d, u64 bytes, u64 whole, const char *name)
{
	char size[UNITS_BUF], share[REPORT_PERCENT_BUF];

	return doc_printf(d, "%s (%s) %s", units_bytes((i64)bytes, size),
			  report_percent(bytes, whole, share), name)
		.string;
}

/* The answer in a line: what was resident, the largest part of it, and what is live. */
static void add_answer(struct doc *d, const struct snapshot *s, const struct verdict *first,
		       const struct remains *left)
{
	struct columns total = ledger_total(s->ledger);
	u64 resident = total.state[STATE_RESIDENT];
	const char *at_least = *report_at_least(&total) ? "At least " : "", *objects, *most;
	char all[UNITS_BUF], inuse[UNITS_BUF], idle[UNITS_BUF];

	units_bytes((i64)resident, all);
	if (left) {
		doc_text(d,
			 "%s%s resident; of the Go heap, %s in use and %s idle, the tables are "
			 "lost.",
			 at_least, all, units_bytes((i64)left->counters.heap_inuse, inuse),
			 units_bytes((i64)left->counters.heap_idle, idle));
		return;
	}
	if (!s->gort) {
		doc_text(d, "%s%s resident; %s.", at_least, all, no_verdict(s));
		return;
	}
	objects = part_text(d, ledger_columns(s->ledger, object_class(s)).state[STATE_RESIDENT],
			    resident,
			    object_class(s) == CAT_HEAP_LIVE ? "live Go objects" : "Go objects");
	most = first ? part_text(d, first->bytes, resident, first->brief) : "";
	if (!first)
		doc_text(d, "%s%s resident: %s; nothing stands out.", at_least, all, objects);
	else if (first->part)
		doc_text(d, "%s%s resident: %s.", at_least, all, objects);
	else if (first->classes >> object_class(s) & 1)
		doc_text(d, "%s%s resident: %s, of it %s.", at_least, all, objects, most);
	else
		doc_text(d, "%s%s resident: %s, %s.", at_least, all, most, objects);
}

static void add_headline(struct doc *d, const struct snapshot *s, const struct verdict *verdicts,
			 size_t n, const struct remains *left)
{
	u64 resident = ledger_total(s->ledger).state[STATE_RESIDENT];
	char share[REPORT_PERCENT_BUF], first[2 * REPORT_PERCENT_BUF];

	add_answer(d, s, n ? verdicts : NULL, left);
	for (size_t i = 0; i < n; i++) {
		/* A share only where the bytes are a part of the total beside the others'. */
		snprintf(first, sizeof(first), " %6s  ",
			 verdicts[i].part ? "also"
					  : report_percent(verdicts[i].bytes, resident, share));
		add_paragraph(d, first, verdicts[i].summary);
	}
}

static void add_remedy(struct doc *d, const struct verdict *v)
{
	char gain[UNITS_BUF];

	if (v->gain)
		doc_text(d, "  %s: gives back up to %s", v->id, units_bytes((i64)v->gain, gain));
	else
		doc_text(d, "  %s", v->id);
	add_paragraph(d, "    ", v->remedy);
}

static void add_verdicts(struct doc *d, const struct verdict *verdicts, size_t n)
{
	static const struct doc_column columns[] = {
		{"id", NULL},     {"bytes", NULL},   {"gain", NULL},    {"summary", NULL},
		{"remedy", NULL}, {"part_of", NULL}, {"evidence", NULL}};
	struct doc_table *t = doc_table(d, "verdicts", NULL, columns, COUNT_OF(columns));

	if (n) {
		doc_text(d, "%s", "");
		doc_text(d, "What to do");
	}
	for (size_t i = 0; i < n; i++) {
		const struct verdict *v = &verdicts[i];
		struct doc_object *evidence = doc_new_subobject(d);

		for (size_t k = 0; k < v->evidence_count; k++)
			doc_set(evidence, v->evidence[k].key, doc_count(v->evidence[k].value));
		doc_row(t, doc_string(v->id), doc_bytes(v->bytes),
			v->gain ? doc_bytes(v->gain) : doc_null(), doc_string(v->summary),
			doc_string(v->remedy), doc_string(v->part), doc_subobject(evidence));
		add_remedy(d, v);
	}
}

static void add_waterfall(struct doc *d, const struct waterfall_step *steps, size_t n)
{
	static const struct doc_column columns[] = {
		{"id", "step"}, {"bytes", "bytes"}, {"cumulative", "sum"}, {NULL, "what it is"}};
	struct doc_table *t = doc_table(d, "waterfall", "From the heap profile to resident memory",
					columns, COUNT_OF(columns));

	for (size_t i = 0; i < n; i++) {
		const struct waterfall_step *s = &steps[i];
		size_t row = doc_row(
			t, doc_string(s->id), s->unknown ? doc_null() : doc_delta(s->bytes),
			s->beside ? doc_null() : doc_delta(s->cumulative), doc_string(s->title));

		if (s->bytes == 0)
			doc_hide(t, row);
	}
}

static void add_classes(struct doc *d, const struct ledger *l)
{
	static const struct doc_column columns[] = {
		{"id", "class"},    {"virtual", "virtual"}, {"resident", "resident"},
		{"swapped", NULL},  {"absent", NULL},       {"unknown", NULL},
		{"zero", NULL},     {"huge", NULL},         {"lazyfree", NULL},
		{"evidence", NULL}, {NULL, "what it is"},
	};
	struct doc_table *t =
		doc_table(d, "classes", "Largest classes of memory", columns, COUNT_OF(columns));
	u64 least = ledger_total(l).state[STATE_RESIDENT] / SHARE_DIVISOR;
	enum category order[CAT_COUNT];

	report_sort_classes(l, order);
	for (int i = 0; i < CAT_COUNT; i++) {
		struct columns c = ledger_columns(l, order[i]);
		struct doc_value v[COUNT_OF(columns)];
		u64 resident = c.state[STATE_RESIDENT];
		size_t row;

		v[0] = doc_string(category_id(order[i]));
		report_class_sizes(l, order[i], v + 1);
		v[9] = doc_string(evidence_name(c.evidence));
		v[10] = doc_string(category_meaning(order[i]));
		row = doc_add_row(t, v, COUNT_OF(v));
		if (i >= MAX_CLASS_LINES || !resident || (i >= ALWAYS_SHOWN && resident < least))
			doc_hide(t, row);
	}
}

/* What the sum leaves open has to be said in words. */
static void add_unknown(struct doc *d, const struct ledger *l)
{
	struct columns total = ledger_total(l);
	char unknown[UNITS_BUF];

	if (!total.state[STATE_UNKNOWN])
		return;
	doc_text(d, "%s", "");
	doc_text(d,
		 "Of another %s the core does not tell whether it was resident: see `spanscope "
		 "vmas`.",
		 units_bytes((i64)total.state[STATE_UNKNOWN], unknown));
}

/* What the judgement rests on beside the ledger. */
struct judgement {
	struct verdict verdicts[VERDICT_MAX];
	size_t n;
	bool has_profile;
	bool profile_unknown; /* there is one, but not how it is to be read */
	u64 profile_bytes;    /* in use, as pprof shows it */
};

static struct err *read_profile(const struct report *r, struct judgement *j)
{
	struct heap_profile own;
	struct pprof_heap given;
	struct err *err;

	if (r->options.heap_profile) {
		TRY(pprof_read_heap(r->options.heap_profile, &given));
		given_profile_doubt(r, &given);
		j->has_profile = true;
		j->profile_bytes = given.inuse_bytes;
		return NULL;
	}
	if (!r->snapshot->gort)
		return NULL;
	err = heap_profile_read(&r->snapshot->gort->rt, &own);
	j->has_profile = !err && own.rate;
	j->profile_bytes = j->has_profile ? own.inuse_bytes : 0;
	j->profile_unknown = err && err->code == ERR_MISSING;
	err_free(err); /* without it the sum begins at the live objects */
	return NULL;
}

/* The kernel's figure; 0: not known. */
static u64 kernel_rss(const struct report *r)
{
	const struct sidecar *sc = r->snapshot->im->sidecar;
	u64 rss;

	if (r->options.rss || !sc || !sidecar_rss(sc, &rss))
		return r->options.rss;
	return rss;
}

/* Counters that cannot be read either are no loss. */
static bool try_remains(const struct snapshot *s, struct remains *ret)
{
	struct err *err = remains_read(s->remains, ret);

	err_free(err);
	return !err;
}

struct err *report_overview(struct report *r)
{
	struct doc *d = r->doc;
	const struct snapshot *s = r->snapshot;
	struct waterfall_step steps[WATERFALL_MAX];
	struct judgement j = {.n = 0};
	struct remains remains;
	const struct remains *left = NULL;
	u64 rss;
	size_t n;

	TRY(read_profile(r, &j));
	rss = kernel_rss(r);
	if (s->gort)
		TRY(verdicts_find(s, d, j.verdicts, &j.n));
	if (s->remains && try_remains(s, &remains))
		left = &remains;
	n = waterfall_steps(s, j.has_profile ? &j.profile_bytes : NULL, rss, steps);
	add_headline(d, s, j.verdicts, j.n, left);
	add_identity(d, s);
	add_who(d, s);
	add_waterfall(d, steps, n);
	if (s->gort && j.profile_unknown)
		doc_text(d,
			 "  Without DWARF the rate of the heap profile is unknown: the sum begins "
			 "at live objects.");
	else if (s->gort && !j.has_profile)
		doc_text(d, "  The heap profile is off (MemProfileRate 0): the sum begins at live "
			    "objects.");
	add_classes(d, s->ledger);
	report_unread(d, s->ledger);
	if (left)
		report_remains(d, s, left);
	add_unknown(d, s->ledger);
	kernel_tables(d, s, true);
	add_verdicts(d, j.verdicts, j.n);
	report_total(d, s->ledger);
	return NULL;
}
