#include "gort/buckets.h"

#include "gort/list.h"
#include "gort/rtget.h"

/* Size of one bucket; 0 when it makes no sense. */
static u64 bucket_bytes(const struct rt *rt, const u8 *rec)
{
	u64 nstk = rec_u(rt, rec, RT_BUCKET_NSTK);
	u64 record = 0;

	switch (rec_u(rt, rec, RT_BUCKET_TYP)) {
	case BUCKET_MEM:
		record = rt_size(rt, RT_MEM_RECORD);
		break;
	case BUCKET_BLOCK:
	case BUCKET_MUTEX:
		record = rt_size(rt, RT_BLOCK_RECORD);
		break;
	default:
		return 0;
	}
	return nstk <= BUCKET_DEPTH_MAX ? rt_size(rt, RT_BUCKET) + nstk * sizeof(va_t) + record : 0;
}

/* The lists run from the newest to the oldest, so neighbours come in descending order. */
static struct err *add_bucket(struct buckets *b, va_t va, u64 bytes)
{
	b->count++;
	b->bytes += bytes;
	if (b->memory.n && b->memory.v[b->memory.n - 1].lo == va + bytes) {
		b->memory.v[b->memory.n - 1].lo = va;
		return NULL;
	}
	return array_push(&b->memory, (struct range){va, va_plus(va, bytes)});
}

static struct err *read_list(const struct rt *rt, va_t head, struct buckets *ret)
{
	struct list_guard guard = {0};
	u8 buf[RT_RECORD_MAX];
	va_t va;

	if (!image_u64(rt->im, head, &va))
		va = 0;
	while (va) {
		const u8 *rec = rt_record(rt, va, RT_BUCKET, buf);
		u64 bytes = rec ? bucket_bytes(rt, rec) : 0;

		if (!bytes || !list_guard_step(&guard, va)) {
			diag(rt->d, DIAG_LIST, "profile buckets are damaged at 0x%llx",
			     (unsigned long long)va);
			return NULL;
		}
		TRY(add_bucket(ret, va, bytes));
		va = rec_u(rt, rec, RT_BUCKET_ALLNEXT);
	}
	return NULL;
}

struct err *buckets_read(const struct rt *rt, struct buckets *ret)
{
	TRY(rt_pointer(rt, RT_G_BUCKHASH, &ret->hash));
	TRY(read_list(rt, rt->globals[RT_G_MBUCKETS], ret));
	TRY(read_list(rt, rt->globals[RT_G_BBUCKETS], ret));
	return read_list(rt, rt->globals[RT_G_XBUCKETS], ret);
}
