#include "gort/meta_priv.h"

#include "gort/list.h"
#include "gort/rtget.h"

/* No structure is smaller than a word: more of them than the core has words come from lists that
 * lead into each other, and there is no end to them. */
static struct err *add(struct meta *meta, va_t lo, u64 bytes, enum meta_kind kind, bool mapped)
{
	if (meta->left == 0)
		return err_new(ERR_FORMAT, "its lists are damaged, and have no end");
	meta->left--;
	if (!lo || !bytes)
		return NULL;
	return array_push(&meta->v, (struct meta_range){{lo, va_plus(lo, bytes)}, kind, mapped});
}

struct err *meta_add(struct meta *meta, va_t lo, u64 bytes, enum meta_kind kind)
{
	return add(meta, lo, bytes, kind, false);
}

struct err *meta_add_mapped(struct meta *meta, va_t lo, u64 bytes, enum meta_kind kind)
{
	return add(meta, lo, bytes, kind, true);
}

/* The unused end of the chunk that a fixalloc carves its elements from. */
struct err *meta_add_fixalloc_rest(const struct rt *rt, struct meta *meta, va_t fixalloc,
				   enum meta_kind kind)
{
	u64 chunk, nchunk;

	TRY(rt_u(rt, fixalloc, RT_FIXALLOC_CHUNK, &chunk));
	TRY(rt_u(rt, fixalloc, RT_FIXALLOC_NCHUNK, &nchunk));
	return meta_add(meta, chunk, nchunk, kind);
}

/* Freed elements, linked through their first word. */
struct err *meta_add_fixalloc_free(const struct rt *rt, struct meta *meta, va_t fixalloc,
				   enum meta_kind kind)
{
	struct list_guard guard = {0};
	u64 size, node;

	TRY(rt_u(rt, fixalloc, RT_FIXALLOC_SIZE, &size));
	TRY(rt_u(rt, fixalloc, RT_FIXALLOC_LIST, &node));
	while (node) {
		if (!list_guard_step(&guard, node)) {
			diag(rt->d, DIAG_LIST, "a list of free elements runs in a circle");
			return NULL;
		}
		TRY(meta_add(meta, node, size, kind));
		TRY(image_read(rt->im, node, &node, sizeof(node)));
	}
	return NULL;
}

static struct err *find_mspans(const struct gort *gort, struct meta *meta)
{
	va_t fixalloc = rt_addr(&gort->rt, gort->rt.globals[RT_G_MHEAP], RT_MHEAP_SPANALLOC);

	/* Every mspan that ever was is in allspans, so the allocator's free list adds nothing. */
	for (size_t i = 0; i < gort->spans.records.n; i++) {
		struct range r = gort->spans.records.v[i];

		TRY(meta_add(meta, r.lo, r.hi - r.lo, META_MSPAN));
	}
	return meta_add_fixalloc_rest(&gort->rt, meta, fixalloc, META_MSPAN);
}

static struct err *find_mcaches(const struct gort *gort, struct meta *meta)
{
	va_t fixalloc = rt_addr(&gort->rt, gort->rt.globals[RT_G_MHEAP], RT_MHEAP_CACHEALLOC);

	for (size_t i = 0; i < gort->procs.v.n; i++)
		TRY(meta_add(meta, gort->procs.v.v[i].mcache, rt_size(&gort->rt, RT_MCACHE),
			     META_MCACHE));
	TRY(meta_add_fixalloc_free(&gort->rt, meta, fixalloc, META_MCACHE));
	return meta_add_fixalloc_rest(&gort->rt, meta, fixalloc, META_MCACHE);
}

static struct err *find_heap_arenas(const struct gort *gort, struct meta *meta)
{
	const struct rt *rt = &gort->rt;
	u64 size = rt_size(rt, RT_HEAP_ARENA), bitmap = 0, no_more = 0;

	if (rt_has(rt, RT_HEAP_ARENA_BITMAP))
		bitmap = rt_size(rt, RT_HEAP_ARENA_BITMAP);
	if (rt_has(rt, RT_HEAP_ARENA_NO_MORE_PTRS))
		no_more = rt_size(rt, RT_HEAP_ARENA_NO_MORE_PTRS);
	TRY(meta_add_mapped(meta, gort->arenas.l2, GO_ARENA_COUNT * sizeof(va_t), META_HEAPARENA));
	for (size_t i = 0; i < gort->arenas.v.n; i++) {
		va_t a = gort->arenas.v.v[i].meta;

		/* The bitmap, and the bits behind it, come first in the structure. */
		TRY(meta_add(meta, a, bitmap + no_more, META_GCBITS));
		TRY(meta_add_mapped(meta, a + bitmap + no_more, size - bitmap - no_more,
				    META_HEAPARENA));
	}
	return NULL;
}

static struct err *find_gcbits_list(const struct rt *rt, struct meta *meta, enum rt_field head)
{
	struct list_guard guard = {0};
	u64 arena;

	TRY(rt_u(rt, rt->globals[RT_G_GCBITS_ARENAS], head, &arena));
	while (arena) {
		if (!list_guard_step(&guard, arena)) {
			diag(rt->d, DIAG_LIST, "a list of gcBits arenas runs in a circle");
			return NULL;
		}
		TRY(meta_add(meta, arena, rt_size(rt, RT_GCBITS_ARENA), META_GCBITS));
		TRY(rt_u(rt, arena, RT_GCBITS_ARENA_NEXT, &arena));
	}
	return NULL;
}

static struct err *find_gcbits(const struct rt *rt, struct meta *meta)
{
	static const enum rt_field heads[] = {RT_GCBITS_ARENAS_FREE, RT_GCBITS_ARENAS_NEXT,
					      RT_GCBITS_ARENAS_CURRENT, RT_GCBITS_ARENAS_PREVIOUS};

	for (size_t i = 0; i < COUNT_OF(heads); i++)
		TRY(find_gcbits_list(rt, meta, heads[i]));
	return NULL;
}

/* dlv leaves out what it cannot read: the next address that its core has, from lo on. */
static va_t skip_left_out(const struct image *im, va_t lo)
{
	size_t next;

	if (im->kind != CORE_DELVE || image_vma(im, lo))
		return lo;
	next = array_first(&im->vmas, e->lo > lo);
	return next < im->vmas.n ? im->vmas.v[next].lo : UINT64_MAX;
}

/* A table that was reserved whole and is mapped piece by piece: what is mapped without access is
 * only address space. gdb hides PROT_NONE behind a read-only permission of its own. */
static struct err *add_sparse(const struct rt *rt, struct meta *meta, va_t lo, u64 bytes)
{
	va_t hi = va_plus(lo, bytes);

	while ((lo = skip_left_out(rt->im, lo)) < hi) {
		const struct vma *v = image_vma(rt->im, lo);
		va_t end;
		bool no_access;

		if (!v)
			return err_new(ERR_FAULT, "0x%llx is not mapped", (unsigned long long)lo);
		end = MIN(v->hi, hi);
		no_access = v->perm_known ? v->perm == 0 : true;
		TRY(meta_add(meta, lo, end - lo, no_access ? META_RESERVED : META_PAGEALLOC));
		lo = end;
	}
	return NULL;
}

static struct err *find_page_index(const struct rt *rt, struct meta *meta)
{
	va_t mheap = rt->globals[RT_G_MHEAP];
	va_t chunks = rt_addr(rt, mheap, RT_MHEAP_CHUNKS);
	u64 chunk_table = (u64)8192 * rt_size(rt, RT_PALLOC_DATA);
	struct go_slice s;

	for (u64 level = 0; level < rt->slots[RT_MHEAP_SUMMARY].count; level++) {
		TRY(rt_slice(rt, rt_addr(rt, mheap, RT_MHEAP_SUMMARY) + level * sizeof(s),
			     GO_MAX_ADDR, &s));
		TRY(add_sparse(rt, meta, s.ptr, s.cap * rt_size(rt, RT_MHEAP_SUMMARY_ENTRY)));
	}
	if (rt_has(rt, RT_MHEAP_SCAV_CHUNKS) && rt_has(rt, RT_MHEAP_SCAV_CHUNK)) {
		TRY(rt_slice(rt, rt_addr(rt, mheap, RT_MHEAP_SCAV_CHUNKS), GO_MAX_ADDR, &s));
		TRY(add_sparse(rt, meta, s.ptr, s.cap * rt_size(rt, RT_MHEAP_SCAV_CHUNK)));
	}
	for (u64 i = 0; i < rt->slots[RT_MHEAP_CHUNKS].count; i++) {
		va_t table;

		if (!image_u64(rt->im, chunks + 8 * i, &table))
			return err_fault();
		TRY(meta_add_mapped(meta, table, chunk_table, META_PAGEALLOC));
	}
	return NULL;
}

static struct err *find_buckets(const struct gort *gort, struct meta *meta)
{
	TRY(meta_add_mapped(meta, gort->buckets.hash, GO_BUCKHASH_BYTES, META_BUCKET));
	for (size_t i = 0; i < gort->buckets.memory.n; i++) {
		struct range r = gort->buckets.memory.v[i];

		TRY(meta_add(meta, r.lo, r.hi - r.lo, META_BUCKET));
	}
	for (size_t i = 0; i < gort->modules.v.n; i++) {
		const struct module *m = &gort->modules.v.v[i];

		TRY(meta_add(meta, m->gcdata_mask.lo, m->gcdata_mask.hi - m->gcdata_mask.lo,
			     META_BUCKET));
		TRY(meta_add(meta, m->gcbss_mask.lo, m->gcbss_mask.hi - m->gcbss_mask.lo,
			     META_BUCKET));
	}
	return NULL;
}

static struct err *find_persistent(const struct rt *rt, struct meta *meta)
{
	struct list_guard guard = {0};
	va_t chunk;

	TRY(rt_pointer(rt, RT_G_PERSISTENT_CHUNKS, &chunk));
	while (chunk) {
		if (!list_guard_step(&guard, chunk)) {
			diag(rt->d, DIAG_LIST, "the list of persistent chunks runs in a circle");
			return NULL;
		}
		TRY(meta_add(meta, chunk, GO_PERSISTENT_CHUNK_BYTES, META_PERSISTENT));
		TRY(image_read(rt->im, chunk, &chunk, sizeof(chunk)));
	}
	return NULL;
}

static struct err *find_allspans(const struct rt *rt, struct meta *meta)
{
	struct go_slice s;

	TRY(rt_slice(rt, rt_addr(rt, rt->globals[RT_G_MHEAP], RT_MHEAP_ALLSPANS), GO_MAX_ADDR, &s));
	return meta_add_mapped(meta, s.ptr, s.cap * sizeof(va_t), META_ALLSPANS);
}

/* One kind of structure that cannot be found leaves the others in place. */
static struct err *survive(const struct rt *rt, struct err *err, const char *what)
{
	if (err && err->code != ERR_LIMIT) {
		diag_err(rt->d, DIAG_STRUCTURE, err_wrap(err, "%s", what));
		return NULL;
	}
	return err;
}

struct err *meta_find(const struct gort *gort, struct meta *ret)
{
	const struct rt *rt = &gort->rt;

	ret->left = rt->im->core.size / sizeof(va_t);
	TRY(survive(rt, find_mspans(gort, ret), "the allocator of mspans"));
	TRY(survive(rt, find_mcaches(gort, ret), "the allocator of mcaches"));
	TRY(survive(rt, find_heap_arenas(gort, ret), "the heapArenas"));
	TRY(survive(rt, find_gcbits(rt, ret), "the gcBits arenas"));
	TRY(survive(rt, find_page_index(rt, ret), "the page allocator's index"));
	TRY(survive(rt, find_buckets(gort, ret), "the profile buckets"));
	TRY(survive(rt, find_allspans(rt, ret), "the table of spans"));
	TRY(survive(rt, meta_find_specials(gort, ret), "the specials"));
	TRY(survive(rt, meta_find_queues(rt, ret), "the marker's queues"));
	TRY(survive(rt, meta_find_trace(gort, ret), "the trace buffers"));
	return survive(rt, find_persistent(rt, ret), "the persistent chunks");
}
