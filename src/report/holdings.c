#include "report/holdings.h"

#include "base/bits.h"

#include <stdlib.h>

struct fill {
	struct holdings *h;
	const struct span *span; /* the one at hand */
	u64 free_bytes, kept;    /* its free slots; number of those that are no garbage */
};

/* Slots that hold what may be used again: all but garbage. */
static u64 count_kept(const struct slots *s)
{
	return bits_count(s->rest == REST_DEAD ? s->live : s->alloc, 0, s->n);
}

static void enter_span(struct fill *f, const struct sampled *s)
{
	if (f->span == s->span)
		return;
	f->span = s->span;
	f->kept = count_kept(s->slots);
	f->free_bytes =
		(s->slots->n - bits_count(s->slots->alloc, 0, s->slots->n)) * s->span->elemsize;
}

static struct err *new_holding(struct holdings *h, va_t bucket, u8 spanclass)
{
	return array_push(&h->v, {.bucket = bucket, .spanclass = spanclass});
}

/* The holding of a site in a span class, made when there is none. */
static struct err *holding_at(struct holdings *h, va_t bucket, u8 spanclass, struct holding **ret)
{
	for (u64 hash = map_mix(bucket, spanclass);; hash = map_mix(hash, 1)) {
		bool fresh;
		u32 *index;

		TRY(map_at(&h->index, hash | 1, &index, &fresh));
		if (fresh) {
			TRY(new_holding(h, bucket, spanclass));
			*index = (u32)h->v.n;
		}
		*ret = &h->v.v[*index - 1];
		if ((*ret)->bucket == bucket && (*ret)->spanclass == spanclass)
			return NULL;
	}
}

static struct err *add_object(void *arg, const struct sampled *s)
{
	struct fill *f = arg;
	struct holding *h;
	bool live = bits_test(s->slots->live, s->slot);

	if (!s->bucket || (s->slots->rest == REST_DEAD && !live))
		return NULL;
	enter_span(f, s);
	TRY(holding_at(f->h, s->bucket, s->span->spanclass, &h));
	h->sampled++;
	h->live += live;
	h->shares += f->kept ? (double)f->free_bytes / (double)f->kept : 0;
	if (h->last_span != s->span->start) {
		h->last_span = s->span->start;
		h->spans++;
		h->unused += f->free_bytes;
	}
	if (f->h->last_span != s->span->start) {
		f->h->last_span = s->span->start;
		f->h->spans++;
		f->h->unused += f->free_bytes;
	}
	return NULL;
}

static int by_class(const void *a, const void *b)
{
	const struct holding *x = a, *y = b;

	if (x->spanclass != y->spanclass)
		return x->spanclass < y->spanclass ? -1 : 1;
	return x->bucket < y->bucket ? -1 : x->bucket > y->bucket;
}

/* The estimates, by the size of the slots. */
static void estimate(const struct gort *gort, u64 rate, struct holding *h)
{
	const struct span *span = spans_find(&gort->spans, h->last_span);
	u64 bytes = h->sampled * span->elemsize;
	double scale = (double)site_scaled((i64)h->sampled, (i64)bytes, rate).bytes;

	h->bytes = site_scaled((i64)h->live, (i64)(h->live * span->elemsize), rate).bytes;
	h->pinned = (u64)(h->shares * (scale / (double)bytes));
}

/* From now on the index leads from a bucket to the first of its holdings. */
static struct err *index_sites(struct holdings *h)
{
	map_fini(&h->index);
	for (size_t i = h->v.n; i-- > 0;) {
		bool fresh;
		u32 *index;

		TRY(map_at(&h->index, h->v.v[i].bucket, &index, &fresh));
		h->v.v[i].next = *index;
		*index = (u32)i + 1;
	}
	return NULL;
}

struct err *holdings_read(const struct gort *gort, u64 rate, struct holdings *ret)
{
	struct fill f = {.h = ret};

	*ret = (struct holdings){.spans = 0};
	TRY(sampled_visit(gort, add_object, &f));
	if (ret->v.n)
		qsort(ret->v.v, ret->v.n, sizeof(*ret->v.v), by_class);
	for (size_t i = 0; i < ret->v.n; i++)
		estimate(gort, rate, &ret->v.v[i]);
	return index_sites(ret);
}

void holdings_fini(struct holdings *h)
{
	array_free(&h->v);
	map_fini(&h->index);
}

struct err *holdings_of(struct holdings *h, va_t bucket, struct holding **ret)
{
	bool fresh;
	u32 *index;

	TRY(map_at(&h->index, bucket, &index, &fresh));
	*ret = *index ? &h->v.v[*index - 1] : NULL;
	return NULL;
}
