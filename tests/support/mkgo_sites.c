/* Allocation sites: memory buckets with stacks and counts. */
#include "support/mkgo_priv.h"

void mkgo_sampling(struct mkgo *go, u64 rate, u32 cycle)
{
	va_t at = mkgo_global(go, RT_G_MPROF_CYCLE);

	if (mkgo_has(go, RT_MPROF_CYCLE))
		mkgo_put(go, mkgo_addr(go, at, RT_MPROF_CYCLE), cycle, 4);
	else
		mkgo_put(go, at, cycle * 2 + 1, 4); /* published already */
	mkgo_put(go, mkgo_global(go, RT_G_MEM_PROFILE_RATE), rate, 8);
}

va_t mkgo_site(struct mkgo *go, u64 size, const va_t *returns, unsigned depth)
{
	va_t bucket = mkgo_bucket(go, MKGO_MEM, depth);

	mkgo_set(go, bucket, RT_BUCKET_SIZE, size);
	for (unsigned i = 0; i < depth; i++)
		mkgo_put(go, bucket + mkgo_size(go, RT_BUCKET) + 8 * (u64)i, returns[i], 8);
	return bucket;
}

void mkgo_count(struct mkgo *go, va_t site, int cycle, u64 allocs, u64 frees)
{
	u64 depth = mkgo_peek(go, site, RT_BUCKET_NSTK), size = mkgo_peek(go, site, RT_BUCKET_SIZE);
	va_t record = site + mkgo_size(go, RT_BUCKET) + 8 * depth;
	va_t at = mkgo_addr(go, record, RT_MEM_RECORD_ACTIVE);

	if (cycle >= 0)
		at = mkgo_addr(go, record, RT_MEM_RECORD_FUTURE) +
		     (u64)cycle * mkgo_size(go, RT_MEM_RECORD_FUTURE_ONE);
	mkgo_set(go, at, RT_MEM_CYCLE_ALLOCS, allocs);
	mkgo_set(go, at, RT_MEM_CYCLE_FREES, frees);
	mkgo_set(go, at, RT_MEM_CYCLE_ALLOC_BYTES, allocs * size);
	mkgo_set(go, at, RT_MEM_CYCLE_FREE_BYTES, frees * size);
}
