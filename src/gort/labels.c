#include "gort/labels.h"

#include "gort/rtget.h"

#include <stdlib.h>
#include <string.h>

#define MAX_LABEL_BYTES ((u64)1024)
#define MAX_BUCKETS_SHIFT 8 /* 64 labels are in a dozen buckets */
#define MAX_OVERFLOWS 16

/* A map of strings to strings before 1.24 (runtime/map.go hmap, bmap): buckets of eight slots. */
enum {
	HMAP_SHIFT = 9, /* log2 of the number of buckets, a byte */
	HMAP_BUCKETS = 16,
	HMAP_OLD_BUCKETS = 24,
	SLOTS = 8,
	STRING_BYTES = 16,
	BUCKET_KEYS = SLOTS, /* behind a byte for each slot */
	BUCKET_VALUES = BUCKET_KEYS + SLOTS * STRING_BYTES,
	BUCKET_OVERFLOW = BUCKET_VALUES + SLOTS * STRING_BYTES,
	BUCKET_BYTES = BUCKET_OVERFLOW + 8,
	LEAST_HASH = 5, /* of a slot in use: minTopHash */
};

/* A string whose header is at va; its bytes may be a constant of the executable. */
static const char *read_string(const struct rt *rt, va_t va, struct arena *a)
{
	va_t bytes;
	u64 n;
	const u8 *p;

	if (!image_u64(rt->im, va, &bytes) || !image_u64(rt->im, va + 8, &n))
		return "?";
	if (n == 0)
		return "";
	n = MIN(n, MAX_LABEL_BYTES);
	p = image_view(rt->im, bytes, n);
	if (!p && rt->bin)
		p = binary_view(rt->bin, bytes, n);
	return p ? arena_strndup(a, (const char *)p, strnlen((const char *)p, n)) : "?";
}

struct reader {
	const struct rt *rt;
	struct arena *a;
	struct label *v;
	size_t n;
};

static void add(struct reader *r, va_t key, va_t value)
{
	if (r->n < LABELS_MAX)
		r->v[r->n++] = (struct label){read_string(r->rt, key, r->a),
					      read_string(r->rt, value, r->a)};
}

/* Since 1.24: a slice of pairs. */
static void read_list(struct reader *r, va_t list)
{
	struct go_slice s;
	struct err *err = rt_slice(r->rt, list, UINT32_MAX, &s);

	for (u64 i = 0; !err && i < MIN(s.len, LABELS_MAX); i++)
		add(r, s.ptr + i * 2 * STRING_BYTES, s.ptr + i * 2 * STRING_BYTES + STRING_BYTES);
	err_free(err);
}

static void read_bucket(struct reader *r, va_t bucket)
{
	for (int more = 0; bucket && more < MAX_OVERFLOWS; more++) {
		const u8 *hashes = image_view(r->rt->im, bucket, SLOTS);

		for (u64 i = 0; hashes && i < SLOTS; i++)
			if (hashes[i] >= LEAST_HASH)
				add(r, bucket + BUCKET_KEYS + i * STRING_BYTES,
				    bucket + BUCKET_VALUES + i * STRING_BYTES);
		if (!hashes || !image_u64(r->rt->im, bucket + BUCKET_OVERFLOW, &bucket))
			return;
	}
}

/* While a map grows its pairs are in either table, never in both. */
static void read_map(struct reader *r, va_t labels)
{
	va_t map, buckets, old;
	u8 shift;
	struct err *err;

	if (!image_u64(r->rt->im, labels, &map) || !map)
		return;
	err = image_read(r->rt->im, map + HMAP_SHIFT, &shift, sizeof(shift));
	if (err || shift > MAX_BUCKETS_SHIFT ||
	    !image_u64(r->rt->im, map + HMAP_BUCKETS, &buckets) ||
	    !image_u64(r->rt->im, map + HMAP_OLD_BUCKETS, &old)) {
		err_free(err);
		return;
	}
	for (u64 i = 0; buckets && i < (u64)1 << shift; i++)
		read_bucket(r, buckets + i * BUCKET_BYTES);
	for (u64 i = 0; old && i < ((u64)1 << shift) / 2; i++)
		read_bucket(r, old + i * BUCKET_BYTES);
}

static int by_key(const void *a, const void *b)
{
	const struct label *x = a, *y = b;
	int order = strcmp(x->key, y->key);

	return order ? order : strcmp(x->value, y->value);
}

size_t labels_read(const struct rt *rt, va_t labels, struct arena *a,
		   struct label ret[static LABELS_MAX])
{
	struct reader r = {.rt = rt, .a = a, .v = ret};

	if (rt->dialect.labels_are_list)
		read_list(&r, labels);
	else
		read_map(&r, labels);
	qsort(ret, r.n, sizeof(*ret), by_key);
	return r.n;
}
