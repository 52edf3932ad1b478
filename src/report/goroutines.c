/* The goroutines: what they wait for, where, and what their stacks cost. */
#include "report/goroutines.h"

#include "base/units.h"
#include "gort/rtget.h"
#include "report/common.h"

#include <stdlib.h>
#include <string.h>

/* The calls of a group as a table; NULL when the filters leave it out. */
struct shown {
	struct doc_table *calls;
};

/* The report under construction. */
struct listing {
	struct report *r;
	struct doc *d;
	const struct snapshot *s;
	struct goroutine_groups gg;
	ARRAY(u32) order;          /* the groups that the filters leave, as they are shown */
	ARRAY(u32) position;       /* by group: its place among them, or NO_GROUP */
	ARRAY(struct shown) shown; /* by group */
};

static struct doc_table *group_calls(struct listing *l, const struct group *group)
{
	return calls_table(l->d, &l->gg.u.symbols, l->gg.g.pcs.v + group->frame, group->frames);
}

static u64 count_places(const struct groups *g, const struct group *group)
{
	u64 n = 0;

	for (u32 i = group->creators; i; i = g->creators.v[i - 1].next)
		n++;
	return n;
}

/* The go statement: of most goroutines of a group, and how many those are, or of one. */
static struct doc_value creation(struct listing *l, va_t gopc, u64 count, u64 places)
{
	struct doc_object *o = calls_creation_object(l->d, &l->gg.u.symbols, gopc);

	if (o && count) {
		doc_set(o, "count", doc_count(count));
		doc_set(o, "places", doc_count(places));
	}
	return o ? doc_subobject(o) : doc_null();
}

static bool knows_pages(const struct snapshot *s)
{
	return s->im->res.evidence != EVIDENCE_UNKNOWN;
}

static struct doc_value resident_value(const struct snapshot *s, u64 bytes)
{
	return knows_pages(s) ? doc_bytes(bytes) : doc_null();
}

static struct doc_value stack_value(struct listing *l, u64 allocated, u64 used, u64 resident)
{
	struct doc_object *o = doc_new_subobject(l->d);

	doc_set(o, "allocated", doc_bytes(allocated));
	doc_set(o, "used", doc_bytes(used));
	doc_set(o, "resident", resident_value(l->s, resident));
	return doc_subobject(o);
}

static struct doc_value labels_value(struct listing *l, const struct group *group)
{
	const struct label_set *set;
	const char **v;

	if (!l->r->options.labels)
		return doc_null();
	set = group->label_set ? &l->gg.g.label_sets.v[group->label_set - 1] : NULL;
	v = arena_alloc(&l->d->arena, (set ? set->n : 0) * sizeof(*v) + 1);
	for (size_t i = 0; set && i < set->n; i++)
		v[i] = doc_printf(l->d, "%s=%s", set->v[i].key, set->v[i].value).string;
	return doc_strings(v, set ? set->n : 0);
}

static const struct doc_column note_columns[] = {{NULL, ""}};

/* "created by F (FILE:LINE)", and from how many other places. */
static void note_creation(struct listing *l, struct doc_table *t, const struct group *group)
{
	const struct creator *creator = group_creator(&l->gg.g, group);
	u64 places = count_places(&l->gg.g, group);
	const char *text = group_creation(l->d, &l->gg, group);

	if (!*text)
		return;
	if (places > 1)
		doc_row(t,
			doc_printf(l->d, "created by %s: %llu of them, the others at %llu places",
				   text, (unsigned long long)creator->count,
				   (unsigned long long)places - 1));
	else
		doc_row(t, doc_printf(l->d, "created by %s", text));
}

/* Lines below a stack. */
static struct doc_table *notes_table(struct listing *l, u32 index)
{
	const struct group *group = &l->gg.g.v.v[index];
	struct doc_table *t = doc_new_subtable(l->d, note_columns, COUNT_OF(note_columns));
	size_t left_out = calls_left_out(l->shown.v[index].calls);

	if (left_out)
		doc_row(t, doc_printf(l->d, "... %zu calls more, which the JSON has", left_out));
	if (group->end != STACK_BOTTOM)
		doc_row(t, doc_printf(l->d, "... %s", stack_end_text(group->end)));
	note_creation(l, t, group);
	if (group->in_c)
		doc_row(t, doc_string("inside a call of C, which is not followed"));
	if (group->locked)
		doc_row(t, doc_printf(l->d, "locked to a thread: %llu",
				      (unsigned long long)group->locked));
	if (group->labelled && !l->r->options.labels)
		doc_row(t, doc_printf(l->d, "with profiler labels: %llu (--labels shows them)",
				      (unsigned long long)group->labelled));
	for (size_t i = 0; group->label_set && i < l->gg.g.label_sets.v[group->label_set - 1].n;
	     i++) {
		const struct label *label = &l->gg.g.label_sets.v[group->label_set - 1].v[i];

		doc_row(t, doc_printf(l->d, "label %s=%s", label->key, label->value));
	}
	return t;
}

static struct doc_value waited_text(struct doc *d, u64 least, u64 most)
{
	char a[UNITS_BUF], b[UNITS_BUF];

	if (!most)
		return doc_string("");
	units_duration(least, a);
	units_duration(most, b);
	return strcmp(a, b) != 0 ? doc_printf(d, "%s to %s", a, b) : doc_printf(d, "%s", a);
}

static void add_group(struct listing *l, struct doc_table *t, u32 index)
{
	const struct groups *g = &l->gg.g;
	const struct group *group = &g->v.v[index];
	const struct creator *creator = group_creator(g, group);
	bool waits = group->waits_known, named = l->gg.u.symbols.v.n;
	enum wait_kind kind;
	u64 resident = l->gg.resident.v[index];
	const char *wait = wait_reason_name(&l->s->gort->rt, group->wait_reason, &kind);
	size_t row = doc_row(
		t, doc_count(group->count), doc_string(group_state(&l->s->gort->rt, group)),
		waited_text(l->d, group->waited_least, group->waited_most),
		resident_value(l->s, resident), doc_bytes(group->used), doc_bytes(group->allocated),
		doc_string(goroutine_status_name(group->status)), doc_string(wait),
		doc_count(group->waits_known), waits ? doc_count(group->waited_least) : doc_null(),
		waits ? doc_count(group->waited_most) : doc_null(),
		named ? doc_flag(group->system) : doc_null(), doc_flag(group->in_c),
		doc_string(stack_end_name(group->end)), doc_count(group->goid),
		doc_count(group->locked), doc_count(group->labelled), labels_value(l, group),
		creation(l, creator->gopc, creator->count, count_places(g, group)),
		stack_value(l, group->allocated, group->used, resident),
		doc_subtable(l->shown.v[index].calls), doc_subtable(notes_table(l, index)));

	if (group->system && !l->r->options.system)
		doc_hide(t, row);
}

static struct doc_table *add_groups(struct listing *l)
{
	static const struct doc_column columns[] = {
		{"count", "number"},
		{NULL, "state"},
		{NULL, "waited at least"},
		{NULL, "resident"},
		{NULL, "used"},
		{NULL, "allocated"},
		{"status", NULL},
		{"wait", NULL},
		{"waits_known", NULL},
		{"waited_least_ns", NULL},
		{"waited_most_ns", NULL},
		{"system", NULL},
		{"in_c", NULL},
		{"ends", NULL},
		{"goid", NULL},
		{"locked", NULL},
		{"labelled", NULL},
		{"labels", NULL},
		{"created_by", NULL},
		{"stack", NULL},
		{"frames", NULL},
		{NULL, NULL},
	};
	struct doc_table *t = doc_table(l->d, "groups", l->r->options.all ? NULL : "Groups",
					columns, COUNT_OF(columns));

	for (size_t i = 0; i < l->order.n; i++)
		add_group(l, t, l->order.v[i]);
	return t;
}

static void add_goroutine(struct listing *l, struct doc_table *t, size_t i)
{
	const struct goroutine *gr = &l->s->gort->gs.v.v[i];
	const struct group *group;
	struct goroutine_detail detail;
	u32 index = l->gg.g.of.v[i];
	u64 waited, resident;
	const char *start, *creator;
	size_t row;

	if (index == NO_GROUP || l->position.v[index] == NO_GROUP ||
	    !goroutine_detail(&l->s->gort->rt, gr, &detail))
		return;
	group = &l->gg.g.v.v[index];
	waited = gr->status == G_WAITING ? groups_waited(&l->gg.g, &detail) : 0;
	resident = report_resident(l->s->im, gr->stack.lo, gr->stack.hi);
	start = symbols_name(&l->gg.u.symbols, detail.startpc);
	if (gr->goid == 1)
		detail.gopc = 0; /* nobody wrote a go statement for the first */
	creator = detail.gopc ? symbols_name(&l->gg.u.symbols, detail.gopc - 1) : "";
	row = doc_row(t, doc_count(gr->goid), doc_string(group_state(&l->s->gort->rt, group)),
		      waited_text(l->d, waited, waited), resident_value(l->s, resident),
		      doc_bytes(gr->stack.hi - gr->sp), doc_bytes(gr->stack.hi - gr->stack.lo),
		      doc_string(creator), doc_address(gr->g),
		      waited ? doc_count(waited) : doc_null(),
		      *start ? doc_string(start) : doc_null(),
		      detail.parent ? doc_count(detail.parent) : doc_null(),
		      doc_flag(detail.lockedm != 0), creation(l, detail.gopc, 0, 0),
		      stack_value(l, gr->stack.hi - gr->stack.lo, gr->stack.hi - gr->sp, resident),
		      doc_count(l->position.v[index]), doc_subtable(l->shown.v[index].calls));
	if (group->system && !l->r->options.system)
		doc_hide(t, row);
}

/* One by one, in the order of the runtime's table. Their groups are in JSON by index. */
static struct doc_table *add_all(struct listing *l)
{
	static const struct doc_column columns[] = {
		{"goid", "goid"},     {"state", "state"}, {NULL, "waited at least"},
		{NULL, "resident"},   {NULL, "used"},     {NULL, "allocated"},
		{NULL, "created by"}, {"g", NULL},        {"waited_ns", NULL},
		{"start", NULL},      {"parent", NULL},   {"locked", NULL},
		{"created_by", NULL}, {"stack", NULL},    {"group", NULL},
		{NULL, NULL},
	};
	struct doc_table *t =
		doc_table(l->d, "goroutines", "Goroutines", columns, COUNT_OF(columns));

	for (size_t i = 0; i < l->gg.g.of.n; i++)
		add_goroutine(l, t, i);
	return t;
}

/* A call that the user looks for. */
struct wanted {
	const char *function;
	bool found;
};

static bool visit_wanted(void *arg, va_t pc, const struct call *c)
{
	struct wanted *w = arg;

	(void)pc;
	w->found = strstr(c->func, w->function) != NULL;
	return !w->found;
}

static bool is_wanted(const struct listing *l, const struct group *group)
{
	const struct report_options *o = &l->r->options;
	struct wanted w = {o->function, !o->function};

	if (o->state && strcmp(o->state, group_state(&l->s->gort->rt, group)) != 0 &&
	    strcmp(o->state, goroutine_status_name(group->status)) != 0)
		return false;
	if (o->function)
		calls_visit(&l->gg.u.symbols, l->gg.g.pcs.v + group->frame, group->frames,
			    visit_wanted, &w);
	return w.found;
}

struct sort_key {
	u64 resident, allocated, count, goid;
	u32 index;
};

static int by_memory(const void *a, const void *b)
{
	const struct sort_key *x = a, *y = b;

	if (x->resident != y->resident)
		return x->resident > y->resident ? -1 : 1;
	if (x->allocated != y->allocated)
		return x->allocated > y->allocated ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	if (x->goid != y->goid)
		return x->goid < y->goid ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* The groups that the filters leave, most resident bytes first. */
static struct err *arrange(struct listing *l)
{
	const struct groups *g = &l->gg.g;
	ARRAY(struct sort_key) keys = {0};
	struct err *err = array_reserve(&keys, g->v.n);

	for (size_t i = 0; !err && i < g->v.n; i++)
		if (is_wanted(l, &g->v.v[i]))
			keys.v[keys.n++] =
				(struct sort_key){l->gg.resident.v[i], g->v.v[i].allocated,
						  g->v.v[i].count, g->v.v[i].goid, (u32)i};
	if (!err && keys.n)
		qsort(keys.v, keys.n, sizeof(*keys.v), by_memory);
	for (size_t i = 0; !err && i < g->v.n; i++)
		err = array_push(&l->position, NO_GROUP);
	for (size_t i = 0; !err && i < keys.n; i++) {
		l->position.v[keys.v[i].index] = (u32)i;
		err = array_push(&l->order, keys.v[i].index);
	}
	array_free(&keys);
	return err;
}

/* Sums of what is listed. */
struct totals {
	u64 count, system, groups, system_groups, allocated, used, resident;
};

static struct totals add_up(const struct listing *l)
{
	struct totals t = {0};

	for (size_t i = 0; i < l->order.n; i++) {
		const struct group *group = &l->gg.g.v.v[l->order.v[i]];

		t.groups++;
		t.count += group->count;
		t.system += group->system ? group->count : 0;
		t.system_groups += group->system;
		t.allocated += group->allocated;
		t.used += group->used;
		t.resident += l->gg.resident.v[l->order.v[i]];
	}
	return t;
}

static u64 count_dead(const struct gort *gort)
{
	u64 n = 0;

	for (size_t i = 0; i < gort->gs.v.n; i++)
		n += goroutine_is_dead(&gort->gs.v.v[i]);
	return n;
}

static void add_total(struct listing *l, const struct totals *t)
{
	struct doc_object *o = doc_object(l->d, "total", NULL);

	doc_set(o, "count", doc_count(t->count));
	doc_set(o, "groups", doc_count(t->groups));
	doc_set(o, "system", l->gg.u.symbols.v.n ? doc_count(t->system) : doc_null());
	doc_set(o, "dead", doc_count(count_dead(l->s->gort)));
	doc_set(o, "stack", stack_value(l, t->allocated, t->used, t->resident));
	doc_value(l->d, "evidence", doc_string(evidence_name(l->s->im->res.evidence)));
	doc_value(l->d, "clock_ns", l->gg.g.clock ? doc_count(l->gg.g.clock) : doc_null());
}

static void add_headline(struct listing *l, const struct totals *t)
{
	const char *least = l->s->im->res.evidence == EVIDENCE_NONZERO ? "at least " : "";
	char allocated[UNITS_BUF], used[UNITS_BUF], resident[UNITS_BUF];

	doc_text(l->d, "%llu goroutine%s in %llu group%s of the same stack and state; %llu ended.",
		 (unsigned long long)t->count, t->count == 1 ? "" : "s",
		 (unsigned long long)t->groups, t->groups == 1 ? "" : "s",
		 (unsigned long long)count_dead(l->s->gort));
	doc_text(l->d, "Their stacks have %s, %s of it in use; %s%s.",
		 units_bytes((i64)t->allocated, allocated), units_bytes((i64)t->used, used),
		 knows_pages(l->s) ? least : "",
		 knows_pages(l->s)
			 ? doc_printf(l->d, "%s resident", units_bytes((i64)t->resident, resident))
				   .string
			 : "what was resident is not known");
	if (t->system && !l->r->options.system)
		doc_text(l->d,
			 "%llu of them, in %llu groups, are the runtime's own: --system "
			 "lists them too.",
			 (unsigned long long)t->system, (unsigned long long)t->system_groups);
	if (!l->gg.u.symbols.v.n)
		doc_text(l->d, "There is no table of functions that could be read: "
			       "addresses only.");
}

static void add_diags(struct listing *l)
{
	const struct groups *g = &l->gg.g;

	if (g->damaged)
		diag(l->r->diags, DIAG_STACK, "%llu, such as that of goroutine %llu at 0x%llx",
		     (unsigned long long)g->damaged, (unsigned long long)g->damaged_goid,
		     (unsigned long long)g->damage);
	if (g->unreadable)
		diag(l->r->diags, DIAG_STRUCTURE,
		     "the records of %llu goroutines are not in the core",
		     (unsigned long long)g->unreadable);
}

static const char *thread_text(const struct machine *m)
{
	if (!m->thread)
		return "not in the core";
	if (m->idle)
		return "idle";
	return m->curg ? "has a goroutine" : "of the runtime";
}

/* The goroutine that a thread runs, by its number. */
static struct doc_value goid_value(const struct rt *rt, va_t g)
{
	u64 goid;
	struct err *err = g ? rt_u(rt, g, RT_G_GOID, &goid) : err_fault();

	if (!err)
		return doc_count(goid);
	err_free(err);
	return doc_null();
}

static struct err *add_threads(struct listing *l)
{
	static const struct doc_column columns[] = {
		{"tid", "thread"}, {"state", "state"}, {"idle", NULL},   {"goid", "goid"},
		{"stack", NULL},   {"ends", NULL},     {"frames", NULL},
	};
	struct doc_table *t = doc_table(l->d, "threads", "Threads", columns, COUNT_OF(columns));
	const struct gort *gort = l->s->gort;

	for (size_t i = 0; i < gort->ms.v.n; i++) {
		const struct machine *m = &gort->ms.v.v[i];
		struct stack stack;
		struct range on;

		TRY(unwind_machine(&l->gg.u, m, &on, &stack));
		doc_row(t, m->thread ? doc_count(m->thread->tid) : doc_null(),
			doc_string(thread_text(m)), doc_flag(m->idle),
			goid_value(&gort->rt, m->curg),
			doc_string(on.lo == m->gsignal.lo ? "gsignal" : "g0"),
			doc_string(stack_end_name(stack.end)),
			doc_subtable(calls_table(l->d, &l->gg.u.symbols, stack.pc, stack.n)));
	}
	return NULL;
}

static struct err *list(struct listing *l)
{
	const struct report_options *o = &l->r->options;
	struct group_options groups = {.labels = o->labels, .waited_least = o->waited_least};
	struct totals t;

	TRY(goroutine_groups_open(l->s, &groups, l->r->diags, &l->gg));
	TRY(arrange(l));
	for (size_t i = 0; i < l->gg.g.v.n; i++) {
		bool shown = l->position.v[i] != NO_GROUP;
		struct doc_table *calls = shown ? group_calls(l, &l->gg.g.v.v[i]) : NULL;

		TRY(array_push(&l->shown, {calls}));
	}
	t = add_up(l);
	add_headline(l, &t);
	l->d->csv_table = add_groups(l);
	if (o->all)
		l->d->csv_table = add_all(l);
	if (o->threads)
		TRY(add_threads(l));
	add_total(l, &t);
	add_diags(l);
	return NULL;
}

struct err *report_goroutines(struct report *r)
{
	struct listing l = {.r = r, .d = r->doc, .s = r->snapshot};
	struct err *err;

	if (!r->snapshot->gort) { /* the diagnostics say why */
		doc_text(r->doc, "No goroutines: the Go runtime could not be read.");
		doc_value(r->doc, "groups", doc_null());
		return NULL;
	}
	err = list(&l);
	array_free(&l.order);
	array_free(&l.position);
	array_free(&l.shown);
	goroutine_groups_close(&l.gg);
	return err;
}
