/* Lists in persistent memory: its chunks, profile buckets and their table, blocks of finalizers
 * and of cleanups. A list that nothing points to is empty. */
#include "gort/find_priv.h"

#include "gort/buckets.h"
#include "gort/list.h"

#include <stdlib.h>

#define MAX_NODES ((u64)1 << 28)
#define FINBLOCK_BYTES ((u64)4096) /* runtime/mfinal.go _FinBlockSize */
#define FINALIZER_BYTES ((u64)40)
#define MAX_RESULT_BYTES 65536 /* of a finalizer's results */

static bool is_chunk(const struct finder *f, va_t chunk)
{
	return chunk % 4096 == 0 && find_dumped(f, chunk, sizeof(va_t)) &&
	       image_vma(f->rt->im, va_plus(chunk, GO_PERSISTENT_CHUNK_BYTES - 1));
}

/* The length of the list of chunks; 0 when it is none. has: whether it has the chunk with va. */
static u64 count_chunks(const struct finder *f, va_t chunk, va_t va, bool *has)
{
	struct list_guard guard = {0};
	u64 n = 0;

	*has = false;
	for (; chunk; n++) {
		if (n >= MAX_NODES || !is_chunk(f, chunk) || !list_guard_step(&guard, chunk))
			return 0;
		*has |= va >= chunk && va - chunk <= GO_PERSISTENT_CHUNK_BYTES;
		if (!image_u64(f->rt->im, chunk, &chunk))
			return 0;
	}
	return n;
}

static int by_lo(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

static struct err *keep_chunks(struct finder *f, va_t chunk)
{
	while (chunk) {
		TRY(array_push(&f->chunks,
			       (struct range){chunk, chunk + GO_PERSISTENT_CHUNK_BYTES}));
		if (!image_u64(f->rt->im, chunk, &chunk))
			break;
	}
	qsort(f->chunks.v, f->chunks.n, sizeof(*f->chunks.v), by_lo);
	return NULL;
}

/* The list that has the mspans' memory. The chunk in use is also in globalAlloc: what hangs off it
 * is a part of the list, or all of it. */
struct err *find_persistent(struct finder *f)
{
	const struct rt *rt = f->rt;
	struct find_answer a = {.name = "persistentChunks"};
	va_t spanalloc = rt_addr(rt, rt->globals[RT_G_MHEAP], RT_MHEAP_SPANALLOC), mspans, head = 0;

	if (!find_field(f, spanalloc, RT_FIXALLOC_CHUNK, &mspans))
		return err_fault();
	for (size_t i = 0; i < f->outside.n; i++) {
		struct find_pointer p = f->outside.v[i];
		bool has;
		u64 n = p.to % 4096 == 0 && p.to != head ? count_chunks(f, p.to, mspans, &has) : 0;

		if (!n || !has)
			continue;
		if (n > a.rank)
			head = p.to;
		find_take(&a, p.at, n);
	}
	TRY(find_settle(f, RT_G_PERSISTENT_CHUNKS, &a, true));
	return keep_chunks(f, head);
}

/* runtime/mprof.go bucket: all of one list are of the same type. */
static u64 count_buckets(const struct finder *f, va_t b, u64 type)
{
	struct list_guard guard = {0};
	u64 n = 0;

	for (; b; n++) {
		u64 own, depth;

		if (n >= MAX_NODES || b % 8 != 0 || !find_chunk(f, b) ||
		    !list_guard_step(&guard, b) || !find_field(f, b, RT_BUCKET_TYP, &own) ||
		    own != type || !find_field(f, b, RT_BUCKET_NSTK, &depth) ||
		    depth > BUCKET_DEPTH_MAX || !find_field(f, b, RT_BUCKET_ALLNEXT, &b))
			return 0;
	}
	return n;
}

/* Whether the table has the bucket where its hash says. */
static bool has_bucket(const struct finder *f, va_t table, va_t bucket)
{
	struct list_guard guard = {0};
	u64 hash;
	va_t b;

	if (!find_field(f, bucket, RT_BUCKET_HASH, &hash) ||
	    !image_u64(f->rt->im, table + hash % (GO_BUCKHASH_BYTES / 8) * 8, &b))
		return false;
	while (b && b != bucket)
		if (!find_chunk(f, b) || !list_guard_step(&guard, b) ||
		    !find_field(f, b, RT_BUCKET_NEXT, &b))
			return false;
	return b == bucket;
}

/* What points to a table that has the bucket, buckhash. */
static void find_table(const struct finder *f, va_t bucket, struct find_answer *a)
{
	for (size_t i = 0; i < f->outside.n; i++) {
		struct find_pointer p = f->outside.v[i];

		if (p.to % 4096 == 0 && find_dumped(f, p.to, GO_BUCKHASH_BYTES) &&
		    has_bucket(f, p.to, bucket))
			find_take(a, p.at, 0);
	}
}

/* A few words of persistent memory may look like a bucket: a real one is in the table too. */
static struct err *find_bucket_list(struct finder *f, enum rt_global g, const char *name, u64 type)
{
	struct find_answer a = {.name = name};
	va_t head = 0;

	for (size_t i = 0; i < f->outside.n; i++) {
		struct find_pointer p = f->outside.v[i];
		u64 n = p.to != head && find_chunk(f, p.to) ? count_buckets(f, p.to, type) : 0;
		struct find_answer table = {.name = "buckhash"};

		if (n)
			find_table(f, p.to, &table);
		if (!table.va)
			continue;
		if (n > a.rank)
			head = p.to;
		find_take(&a, p.at, n);
	}
	return find_settle(f, g, &a, false);
}

/* buckhash is made with the first bucket, of whatever kind. */
static struct err *find_buckhash(struct finder *f)
{
	static const enum rt_global lists[] = {RT_G_MBUCKETS, RT_G_BBUCKETS, RT_G_XBUCKETS};
	struct find_answer a = {.name = "buckhash"};
	va_t bucket = 0;

	for (size_t i = 0; i < COUNT_OF(lists) && !bucket; i++)
		if (f->rt->globals[lists[i]])
			(void)image_u64(f->rt->im, f->rt->globals[lists[i]], &bucket);
	if (bucket)
		find_table(f, bucket, &a);
	return find_settle(f, RT_G_BUCKHASH, &a, bucket != 0);
}

struct err *find_buckets(struct finder *f)
{
	enum { MEM = 1, BLOCK, MUTEX }; /* runtime/mprof.go bucketType */

	TRY(find_bucket_list(f, RT_G_MBUCKETS, "mbuckets", MEM));
	TRY(find_bucket_list(f, RT_G_BBUCKETS, "bbuckets", BLOCK));
	TRY(find_bucket_list(f, RT_G_XBUCKETS, "xbuckets", MUTEX));
	return find_buckhash(f);
}

static bool is_pointer(const struct finder *f, u64 v)
{
	return !v || (v < GO_MAX_ADDR && image_vma(f->rt->im, v));
}

/* finalizer {fn, arg, nret, fint, ot}: what waits has a function; what ran keeps only the size of
 * its results and the type of its argument, and nothing else was ever written. *used when any is.
 */
static bool is_finalizer(const struct finder *f, va_t va, bool waits, bool *used)
{
	u64 w[FINALIZER_BYTES / 8];
	struct err *err = image_read(f->rt->im, va, w, sizeof(w));

	err_free(err);
	if (err || w[2] > MAX_RESULT_BYTES || !is_pointer(f, w[3]))
		return false;
	*used |= w[3] != 0 || waits;
	if (waits)
		return w[0] && is_pointer(f, w[0]) && is_pointer(f, w[1]) && is_pointer(f, w[4]);
	return !w[0] && !w[1] && !w[4];
}

static bool is_finblock(const struct finder *f, va_t b, bool *used)
{
	const struct rt *rt = f->rt;
	const struct range *chunk = find_chunk(f, b);
	va_t fin = rt_addr(rt, b, RT_FINBLOCK_FIN), next;
	u64 n = rt->slots[RT_FINBLOCK_FIN].count, count;

	if (b % 8 != 0 || !chunk || chunk->hi - b < FINBLOCK_BYTES ||
	    !find_field(f, b, RT_FINBLOCK_CNT, &count) || count > n ||
	    !find_field(f, b, RT_FINBLOCK_NEXT, &next) || (next && !find_chunk(f, next)))
		return false;
	for (u64 i = 0; i < n; i++) {
		bool any = false;

		if (!is_finalizer(f, fin + i * FINALIZER_BYTES, i < count, &any))
			return false;
		*used |= any && i == 0; /* a block is made for its first one */
	}
	return true;
}

/* The length of the list; 0 when it is none, or when no finalizer was ever in it. */
static u64 count_finblocks(const struct finder *f, va_t b)
{
	struct list_guard guard = {0};
	bool used = false;
	u64 n = 0;

	for (; b; n++)
		if (n >= MAX_NODES || !list_guard_step(&guard, b) || !is_finblock(f, b, &used) ||
		    !find_field(f, b, RT_FINBLOCK_ALLLINK, &b))
			return 0;
	return used ? n : 0;
}

/* Queues of finalizers are lists of the same blocks, linked otherwise: all are on the longest. */
static struct err *find_allfin(struct finder *f)
{
	struct find_answer a = {.name = "allfin"};
	va_t head = 0;

	for (size_t i = 0; i < f->outside.n; i++) {
		struct find_pointer p = f->outside.v[i];
		u64 n = p.to != head && find_chunk(f, p.to) ? count_finblocks(f, p.to) : 0;

		if (!n)
			continue;
		if (n > a.rank)
			head = p.to;
		find_take(&a, p.at, n);
	}
	return find_settle(f, RT_G_ALLFIN, &a, false);
}

/* Whether the list that begins with `all` has the block. */
static bool has_block(const struct finder *f, va_t all, va_t block)
{
	struct list_guard guard = {0};

	while (all && all != block)
		if (!list_guard_step(&guard, all) ||
		    !find_field(f, all, RT_CLEANUP_BLOCK_ALLLINK, &all))
			return false;
	return all && all == block;
}

static u64 count_cleanup_blocks(const struct finder *f, va_t b)
{
	struct list_guard guard = {0};
	u64 size = rt_size(f->rt, RT_CLEANUP_BLOCK), n = 0, used;

	for (; b; n++)
		if (n >= MAX_NODES || b % 8 != 0 || !find_chunk(f, b) ||
		    !list_guard_step(&guard, b) || !find_field(f, b, RT_CLEANUP_BLOCK_N, &used) ||
		    used > size / 8 || !find_field(f, b, RT_CLEANUP_BLOCK_ALLLINK, &b))
			return 0;
	return n;
}

/* A head of the queue's stacks of blocks: 1 when it has one of the list's, -1 when it has what is
 * no block. */
static int look_at_stack(const struct finder *f, va_t head, va_t all)
{
	u64 v;

	if (!image_u64(f->rt->im, head, &v))
		return -1;
	if (!find_lfstack_node(f, v))
		return 0;
	return has_block(f, all, find_lfstack_node(f, v)) ? 1 : -1;
}

/* A block is full, free, or a P's. */
static bool is_cleanups(const struct finder *f, va_t base, va_t all)
{
	const struct rt *rt = f->rt;
	int full = look_at_stack(f, rt_addr(rt, base, RT_CLEANUPS_FULL), all);
	int free = look_at_stack(f, rt_addr(rt, base, RT_CLEANUPS_FREE), all);
	bool held = full > 0 || free > 0;

	for (size_t i = 0; i < f->ps.n && !held; i++) {
		va_t own;

		held = find_field(f, f->ps.v[i], RT_P_CLEANUPS, &own) && has_block(f, all, own);
	}
	return full >= 0 && free >= 0 && held;
}

/* runtime/mcleanup.go cleanupQueue (1.25). */
static struct err *find_cleanups(struct finder *f)
{
	struct find_answer a = {.name = "gcCleanups"};
	const struct rt *rt = f->rt;

	for (size_t i = 0; i < f->outside.n && rt_has(rt, RT_CLEANUPS_ALL); i++) {
		struct find_pointer p = f->outside.v[i];
		va_t base = p.at - (u64)rt->slots[RT_CLEANUPS_ALL].offset;
		u64 n = find_chunk(f, p.to) ? count_cleanup_blocks(f, p.to) : 0;

		if (n && is_cleanups(f, base, p.to))
			find_take(&a, base, n);
	}
	return find_settle(f, RT_G_GC_CLEANUPS, &a, false);
}

struct err *find_callbacks(struct finder *f)
{
	TRY(find_allfin(f));
	return find_cleanups(f);
}
