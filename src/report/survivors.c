#include "report/survivors.h"

#include "gort/sampled.h"

#include <string.h>

/* The span's length, state and class as one word. */
static u64 span_identity(const struct span *s)
{
	return (u64)s->npages << 16 | (u64)s->state << 8 | s->spanclass;
}

static struct err *add_object(void *arg, const struct sampled *object)
{
	struct survivors *s = arg;

	return array_push(&s->objects, {object->span->start + object->slot * object->span->elemsize,
					object->bucket});
}

struct err *survivors_take(const struct snapshot *s, struct survivors *ret)
{
	const struct gort *gort = s->gort;

	if (!gort)
		return NULL;
	TRY(array_reserve(&ret->spans, gort->spans.v.n));
	for (size_t i = 0; i < gort->spans.v.n; i++) {
		const struct span *span = &gort->spans.v.v[i];

		ret->spans.v[ret->spans.n++] =
			(struct survivor_span){span->start, span_identity(span)};
	}
	TRY(sampled_visit(gort, add_object, ret));
	ret->known = true;
	return NULL;
}

void survivors_fini(struct survivors *s)
{
	array_free(&s->spans);
	array_free(&s->objects);
}

/* How many, and how many bytes, are in both, in A alone, in B alone. */
struct shares {
	u64 both, gone, new, both_bytes, gone_bytes, new_bytes;
};

static u64 bytes_of(const struct survivor_span *s)
{
	return (s->what >> 16) * GO_PAGE_BYTES;
}

static bool is_manual(const struct survivor_span *s)
{
	return (s->what >> 8 & 0xff) == SPAN_MANUAL;
}

static int compare_places(va_t a, va_t b)
{
	return (a > b) - (a < b);
}

static void count_spans(const struct survivors *a, const struct survivors *b, bool manual,
			struct shares *ret)
{
	size_t i = 0, k = 0;

	for (;;) {
		const struct survivor_span *x = i < a->spans.n ? &a->spans.v[i] : NULL;
		const struct survivor_span *y = k < b->spans.n ? &b->spans.v[k] : NULL;
		int order = x && y ? compare_places(x->start, y->start) : x ? -1 : 1;
		bool same = x && y && !order && x->what == y->what;

		if (!x && !y)
			break;
		if (x && order <= 0 && is_manual(x) == manual) {
			*(same ? &ret->both : &ret->gone) += 1;
			*(same ? &ret->both_bytes : &ret->gone_bytes) += bytes_of(x);
		}
		if (y && order >= 0 && !same && is_manual(y) == manual) {
			ret->new ++;
			ret->new_bytes += bytes_of(y);
		}
		i += order <= 0;
		k += order >= 0;
	}
}

static void count_objects(const struct survivors *a, const struct survivors *b, struct shares *ret)
{
	size_t i = 0, k = 0;

	for (;;) {
		const struct survivor_object *x = i < a->objects.n ? &a->objects.v[i] : NULL;
		const struct survivor_object *y = k < b->objects.n ? &b->objects.v[k] : NULL;
		int order = x && y ? compare_places(x->object, y->object) : x ? -1 : 1;
		bool same = x && y && !order && x->bucket == y->bucket;

		if (!x && !y)
			break;
		ret->both += same;
		ret->gone += order <= 0 && !same;
		ret->new += order >= 0 && !same;
		i += order <= 0;
		k += order >= 0;
	}
}

static void add_row(struct doc_table *t, const char *id, const char *name, const struct shares *s,
		    bool bytes)
{
	doc_row(t, doc_string(id), doc_string(name), doc_count(s->both), doc_count(s->gone),
		doc_count(s->new), bytes ? doc_bytes(s->both_bytes) : doc_null(),
		bytes ? doc_bytes(s->gone_bytes) : doc_null(),
		bytes ? doc_bytes(s->new_bytes) : doc_null());
}

void survivors_report(struct doc *d, const struct survivors *a, const struct survivors *b,
		      bool same_process)
{
	static const struct doc_column columns[] = {
		{"id", NULL},           {NULL, ""},           {"both", "in both"},
		{"gone", "gone"},       {"new", "new"},       {"both_bytes", "bytes in both"},
		{"gone_bytes", "gone"}, {"new_bytes", "new"},
	};
	struct shares heap = {0}, manual = {0}, objects = {0};
	struct doc_table *t;

	if (!same_process || !a->known || !b->known) {
		doc_value(d, "survivors", doc_null());
		return;
	}
	count_spans(a, b, false, &heap);
	count_spans(a, b, true, &manual);
	count_objects(a, b, &objects);
	t = doc_table(d, "survivors", "What was there before", columns, COUNT_OF(columns));
	add_row(t, "spans", "spans of objects", &heap, true);
	add_row(t, "manual", "spans of stacks and the runtime", &manual, true);
	add_row(t, "objects", "sampled objects", &objects, false);
}
