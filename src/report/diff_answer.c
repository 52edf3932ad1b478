/* What grew, in one sentence:
 *
 *     Resident grew by 312 MiB (41.0 MiB -> 353 MiB): go.heap.live by 298 MiB, most in size class
 *     64, allocated at main.leak.
 *
 * The class that changed most in the direction of the whole, and of each level that says more about
 * that class (levels.def) the row that did. */
#include "report/diff_priv.h"

#include "base/units.h"
#include "report/facts_fill.h"

#include <string.h>

#define NOISE_PERCENT 2
#define NOISE_BYTES ((u64)1 << 20)

/* Less is no change: pages come and go in any process. */
static u64 noise(u64 a)
{
	return a == FACT_UNKNOWN ? NOISE_BYTES : MAX(NOISE_BYTES, a / 100 * NOISE_PERCENT);
}

static u64 magnitude(i64 v)
{
	return v < 0 ? -(u64)v : (u64)v;
}

static const char *size(struct doc *d, u64 bytes)
{
	char buf[UNITS_BUF];

	return doc_printf(d, "%s", units_bytes((i64)MIN(bytes, INT64_MAX), buf)).string;
}

/* Whether a list of beginnings ("go.stack anon") has one of this id. */
static bool begins_with_any(const char *list, const char *id)
{
	while (*list) {
		size_t n = strcspn(list, " ");

		if (n && !strncmp(list, id, n))
			return true;
		list += n + (list[n] == ' ');
	}
	return false;
}

/* The row of a level that grew (or shrank) most, as a phrase; NULL without one. */
static struct err *explain(struct doc *d, const struct level *level, const struct facts *a,
			   const struct facts *b, bool grew, const char **ret)
{
	const struct facts_level *x = facts_level(a, level->id), *y = facts_level(b, level->id);
	struct changes changes = {.v = {NULL, 0, 0}};
	const struct change *most = NULL;
	struct err *err;

	*ret = NULL;
	if (!x || !y)
		return NULL;
	err = diff_level(x, y, &changes);
	for (size_t i = 0; !err && i < changes.v.n; i++) {
		const struct change *c = &changes.v.v[i];

		if (c->measure != FACT_COUNT && (grew ? c->delta > 0 : c->delta < 0) &&
		    (!most || magnitude(c->delta) > magnitude(most->delta)))
			most = c;
	}
	if (most)
		*ret = doc_printf(d, "%s %s", level->phrase, diff_label(d, most->key)).string;
	changes_fini(&changes);
	return err;
}

/* ", most in size class 64, allocated at main.leak" for a class. */
static struct err *explanations(struct doc *d, const struct facts *a, const struct facts *b,
				const struct change *c, const char **ret)
{
	*ret = "";
	for (size_t i = 0; i < levels_count; i++) {
		const char *phrase;

		if (!begins_with_any(levels[i].explains, c->key))
			continue;
		TRY(explain(d, &levels[i], a, b, c->delta > 0, &phrase));
		if (phrase)
			*ret = doc_printf(d, "%s, %s", *ret, phrase).string;
	}
	return NULL;
}

/* "Resident grew by 312 MiB (41.0 MiB -> 353 MiB)". */
static const char *headline(struct doc *d, const struct change *total)
{
	const char *what = total->measure == FACT_RESIDENT ? "Resident" : "Mapped memory";
	const char *a = size(d, total->a), *b = size(d, total->b);

	if (magnitude(total->delta) < noise(total->a))
		return doc_printf(d, "%s is steady (%s -> %s)", what, a, b).string;
	return doc_printf(d, "%s %s by %s (%s -> %s)", what, total->delta > 0 ? "grew" : "shrank",
			  size(d, magnitude(total->delta)), a, b)
		.string;
}

/* The class to speak of: what changed most the way the whole did, or, when that is steady, what
 * grew most although others made room. NULL when none is more than noise. */
static const struct change *main_class(const struct changes *classes, const struct change *total)
{
	bool shrank = total->delta < 0 && magnitude(total->delta) >= noise(total->a);
	const struct change *c;

	if (!classes->v.n)
		return NULL;
	c = &classes->v.v[shrank ? classes->v.n - 1 : 0];
	return (c->delta < 0) == shrank && magnitude(c->delta) >= noise(total->a) ? c : NULL;
}

static struct err *add_sentence(struct doc *d, const struct facts *a, const struct facts *b,
				const struct changes *classes)
{
	const struct fact x = {.key = "", .v = {a->head.total[0], a->head.total[1], FACT_UNKNOWN}};
	const struct fact y = {.key = "", .v = {b->head.total[0], b->head.total[1], FACT_UNKNOWN}};
	struct change total = diff_change(&x, &y);
	const struct change *c = main_class(classes, &total);
	bool steady = magnitude(total.delta) < noise(total.a);
	const char *more;

	if (!c) {
		doc_text(d, "%s%s.", headline(d, &total),
			 steady ? "; no class changed by more than noise" : "");
		return NULL;
	}
	TRY(explanations(d, a, b, c, &more));
	doc_text(d, "%s%s %s %sby %s%s.", headline(d, &total), steady ? ", but" : ":", c->key,
		 steady ? "grew " : "", size(d, magnitude(c->delta)), more);
	return NULL;
}

static bool differ(const char *a, const char *b)
{
	return a && b && strcmp(a, b) != 0;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Levels that one side has and the other has not. */
static void add_missing(struct doc *d, const char *name, const struct facts *f,
			const struct facts *other)
{
	const char *list = NULL;

	for (size_t i = 0; i < levels_count; i++)
		if (!facts_level(f, levels[i].id) && facts_level(other, levels[i].id))
			list = doc_printf(d, "%s%s%s", list ? list : "", list ? ", " : "",
					  levels[i].title)
				       .string;
	if (list)
		doc_text(d, "%s has no figures for: %s.", name, list);
}

/* What makes the two less alike than one would like. */
static void add_limits(struct doc *d, const struct facts *a, const struct facts *b)
{
	const struct facts_head *x = &a->head, *y = &b->head;
	bool programs = x->exe && y->exe && strcmp(base_name(x->exe), base_name(y->exe)) != 0;

	if (programs)
		doc_text(d, "Different programs: %s and %s.", x->exe, y->exe);
	else if (differ(x->build, y->build))
		doc_text(d, "Different builds of one program: functions may have other names.");
	if (differ(x->go, y->go))
		doc_text(d, "Different Go releases: %s and %s.", x->go, y->go);
	if (differ(x->evidence, y->evidence))
		doc_text(d,
			 "Resident rests on different evidence (%s, %s): what differs may be only "
			 "that.",
			 x->evidence, y->evidence);
	else if (x->evidence && !strcmp(x->evidence, "nonzero"))
		doc_text(d,
			 "Resident is at least that, in both: of pages of zeros nothing is known.");
	if (x->time_ns > y->time_ns)
		doc_text(d, "By its clock A is the later of both.");
	if (x->partial)
		doc_text(d, "A was read in part: %s.", x->partial);
	if (y->partial)
		doc_text(d, "B was read in part: %s.", y->partial);
	add_missing(d, "A", a, b);
	add_missing(d, "B", b, a);
	doc_value(d, "same_program", x->exe && y->exe ? doc_flag(!programs) : doc_null());
	doc_value(d, "same_build",
		  x->build && y->build ? doc_flag(!differ(x->build, y->build)) : doc_null());
	doc_value(d, "same_process",
		  x->process && y->process ? doc_flag(!differ(x->process, y->process))
					   : doc_null());
	for (size_t i = 0; i < levels_count; i++) {
		const struct facts_level *p = facts_level(a, levels[i].id),
					 *q = facts_level(b, levels[i].id);

		if (p && q && (p->cut || q->cut))
			doc_text(d, "%s: only the %d largest are told apart.", levels[i].title,
				 FACTS_ROWS_MAX - 1);
	}
}

struct err *diff_answer(struct doc *d, const struct facts *a, const struct facts *b)
{
	const struct facts_level *x = facts_level(a, "class"), *y = facts_level(b, "class");
	struct changes classes = {.v = {NULL, 0, 0}};
	struct err *err = x && y ? diff_level(x, y, &classes) : NULL;

	if (!err)
		err = add_sentence(d, a, b, &classes);
	if (!err)
		add_limits(d, a, b);
	changes_fini(&classes);
	return err;
}
