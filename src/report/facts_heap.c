/* The levels of the Go heap and its goroutines. */
#include "report/facts_fill.h"

#include "gort/sites.h"
#include "report/goroutines.h"
#include "report/sizeclasses.h"
#include "report/verdicts.h"

#include <string.h>

/* "64", "64 noscan", "large", "large noscan": size classes have other numbers in each release. */
static const char *class_key(struct doc *d, const struct class_row *r)
{
	const char *noscan = r->spanclass % 2 ? " noscan" : "";

	return r->slot_bytes
		       ? doc_printf(d, "%llu%s", (unsigned long long)r->slot_bytes, noscan).string
		       : doc_printf(d, "large%s", noscan).string;
}

/* Adds a row for each size class in use, with the figures that `figures` takes of it. */
static struct err *fill_rows(struct filler *f, const char *id,
			     struct fact (*figures)(const struct snapshot *s,
						    const struct class_row *r))
{
	struct class_row rows[SPANCLASS_COUNT];
	struct facts_level *level;

	if (!f->s->gort)
		return NULL;
	TRY(facts_add_level(f->f, id, &level));
	sizeclass_rows(f->s, rows);
	for (size_t i = 0; i < SPANCLASS_COUNT && rows[i].spans; i++) {
		struct fact fact = figures(f->s, &rows[i]);

		TRY(facts_add(f->f, level, class_key(f->d, &rows[i]), fact.v[FACT_VIRTUAL],
			      fact.v[FACT_RESIDENT], fact.v[FACT_COUNT]));
	}
	return NULL;
}

static struct fact span_figures(const struct snapshot *s, const struct class_row *r)
{
	bool pages = s->im->res.evidence != EVIDENCE_UNKNOWN;

	return (struct fact){.v = {[FACT_VIRTUAL] = r->pages * GO_PAGE_BYTES,
				   [FACT_RESIDENT] = pages ? r->resident : FACT_UNKNOWN,
				   [FACT_COUNT] = r->used}};
}

static struct fact gap_figures(const struct snapshot *s, const struct class_row *r)
{
	(void)s;
	return (struct fact){.v = {[FACT_VIRTUAL] = r->free,
				   [FACT_RESIDENT] = FACT_UNKNOWN,
				   [FACT_COUNT] = r->slots - r->used}};
}

struct err *fill_sizeclasses(struct filler *f, const char *id)
{
	return fill_rows(f, id, span_figures);
}

struct err *fill_gaps(struct filler *f, const char *id)
{
	return fill_rows(f, id, gap_figures);
}

/* A stack as a key: its state, then its calls, the innermost first. */
struct stack_key {
	char *p, *end;
	size_t calls;
	bool any_user;
};

static void append(struct stack_key *k, const char *separator, const char *name)
{
	int n = snprintf(k->p, (size_t)(k->end - k->p), "%s%s", separator, name);

	k->p += MIN((size_t)MAX(n, 0), (size_t)(k->end - k->p) - 1);
}

/* Functions alone: their lines are others in the next build, and the runtime's innermost calls in
 * the next release. */
static bool visit_call(void *arg, va_t pc, const struct call *c)
{
	struct stack_key *k = arg;
	char address[24];

	k->any_user = k->any_user || !call_is_runtime(c->func);
	if ((!k->any_user && *c->func) || !strcmp(c->func, "runtime.goexit"))
		return true;
	snprintf(address, sizeof(address), "0x%llx", (unsigned long long)pc);
	append(k, k->calls++ ? " < " : ": ", *c->func ? c->func : address);
	return k->p + 1 < k->end;
}

#define STACK_KEY_MAX ((size_t)4 * FACTS_KEY_MAX)

static const char *group_key(struct doc *d, const struct rt *rt, const struct goroutine_groups *gg,
			     const struct group *group)
{
	char *buf = arena_alloc(&d->arena, STACK_KEY_MAX);
	struct stack_key k = {buf, buf + STACK_KEY_MAX, 0, false};

	append(&k, "", group_state(rt, group));
	calls_visit(&gg->u.symbols, gg->g.pcs.v + group->frame, group->frames, visit_call, &k);
	if (!k.calls)
		append(&k, ": ", group->system ? "the runtime's own" : "no calls that are known");
	return buf;
}

static struct err *add_groups(struct filler *f, const struct goroutine_groups *gg,
			      struct facts_level *level)
{
	bool pages = f->s->im->res.evidence != EVIDENCE_UNKNOWN;

	for (size_t i = 0; i < gg->g.v.n; i++) {
		const struct group *group = &gg->g.v.v[i];

		TRY(facts_add(f->f, level, group_key(f->d, &f->s->gort->rt, gg, group),
			      group->allocated, pages ? gg->resident.v[i] : FACT_UNKNOWN,
			      group->count));
	}
	return NULL;
}

struct err *fill_goroutines(struct filler *f, const char *id)
{
	const struct group_options none = {.labels = false};
	struct goroutine_groups gg = {.resident = {NULL, 0, 0}};
	struct facts_level *level;
	struct err *err;

	if (!f->s->gort)
		return NULL;
	TRY(facts_add_level(f->f, id, &level));
	err = goroutine_groups_open(f->s, &none, NULL, &gg);
	if (!err)
		err = add_groups(f, &gg, level);
	goroutine_groups_close(&gg);
	return err;
}

/* Sites of one stack are one, whatever their objects' size. */
static const char *site_key(struct doc *d, const struct symbols *symbols, const struct site *site)
{
	char *buf = arena_alloc(&d->arena, STACK_KEY_MAX);
	struct stack_key k = {buf, buf + STACK_KEY_MAX, 0, false};

	for (size_t i = 0; i < site->depth; i++) {
		struct call c = calls_innermost(symbols, site->pcs[i]);

		if (!visit_call(&k, site->pcs[i], &c))
			break;
	}
	return k.calls ? buf + strlen(": ") : "the runtime's own";
}

/* A visit of all sites. */
struct site_filler {
	struct filler *f;
	struct facts_level *level;
	const struct symbols *symbols;
	u64 rate;
};

static struct err *add_site(void *arg, const struct site *site)
{
	const struct site_filler *s = arg;
	struct scaled in_use = site_scaled(site->inuse_objects, site->inuse_bytes, s->rate);

	if (!in_use.objects)
		return NULL;
	return facts_add(s->f->f, s->level, site_key(s->f->d, s->symbols, site), in_use.bytes,
			 FACT_UNKNOWN, in_use.objects);
}

struct err *fill_sites(struct filler *f, const char *id)
{
	struct unwinder u = {.gort = NULL};
	struct site_filler s = {.f = f};
	struct sampling sampling;
	struct err *err;

	if (!f->s->gort)
		return NULL;
	err = sampling_read(&f->s->gort->rt, &sampling);
	if (err || !sampling.rate) { /* nothing is sampled, or that cannot be told */
		err_free(err);
		return NULL;
	}
	TRY(facts_add_level(f->f, id, &s.level));
	err = unwinder_open(&u, f->s->gort, NULL);
	s.symbols = &u.symbols;
	s.rate = sampling.rate;
	if (!err)
		err = sites_visit(&f->s->gort->rt, &sampling, add_site, &s);
	unwinder_close(&u);
	return err;
}

struct err *fill_verdicts(struct filler *f, const char *id)
{
	struct verdict v[VERDICT_MAX];
	struct facts_level *level;
	size_t n;

	if (!f->s->gort)
		return NULL;
	TRY(facts_add_level(f->f, id, &level));
	TRY(verdicts_find(f->s, f->d, v, &n));
	for (size_t i = 0; i < n; i++)
		TRY(facts_add(f->f, level, v[i].id, v[i].bytes, FACT_UNKNOWN, FACT_UNKNOWN));
	return NULL;
}

/* The fields that are sizes or numbers, as the report of that name has them. */
struct err *fill_memstats(struct filler *f, const char *id)
{
	struct report r = {.doc = f->d, .snapshot = f->s};
	struct facts_level *level;

	TRY(report_memstats(&r));
	if (!f->d->csv_object)
		return NULL;
	TRY(facts_add_level(f->f, id, &level));
	for (size_t i = 0; i < f->d->csv_object->fields.n; i++) {
		const struct doc_field *field = &f->d->csv_object->fields.v[i];

		if (!strcmp(field->key, "LastGC"))
			continue; /* a moment, no amount */
		if (field->value.type == DOC_BYTES)
			TRY(facts_add(f->f, level, field->key, field->value.u, FACT_UNKNOWN,
				      FACT_UNKNOWN));
		else if (field->value.type == DOC_COUNT)
			TRY(facts_add(f->f, level, field->key, FACT_UNKNOWN, FACT_UNKNOWN,
				      field->value.u));
	}
	return NULL;
}
