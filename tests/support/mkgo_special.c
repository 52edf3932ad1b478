/* What the runtime keeps beside the heap: specials, finalizer and cleanup blocks, queues of the
 * marker, trace buffers. */
#include "support/mkgo_priv.h"
#include "support/test.h"

#include <string.h>

#define FINBLOCK_BYTES ((u64)4096)
#define FIXALLOC_CHUNK ((u64)16384)

/* An element of one of mheap_'s small allocators, whose first chunk is enough. */
static va_t fixalloc_take(struct mkgo *go, enum rt_field allocator, u64 size)
{
	va_t fixalloc = mkgo_addr(go, mkgo_global(go, RT_G_MHEAP), allocator), element;
	u64 chunk = FIXALLOC_CHUNK / size * size, left;

	if (!mkgo_peek(go, fixalloc, RT_FIXALLOC_SIZE)) {
		mkgo_set(go, fixalloc, RT_FIXALLOC_SIZE, size);
		mkgo_set(go, fixalloc, RT_FIXALLOC_CHUNK, mkgo_persistent(go, chunk));
		mkgo_set(go, fixalloc, RT_FIXALLOC_NCHUNK, chunk);
		go->special_bytes += chunk;
	}
	element = mkgo_peek(go, fixalloc, RT_FIXALLOC_CHUNK);
	left = mkgo_peek(go, fixalloc, RT_FIXALLOC_NCHUNK);
	if (left < size)
		fail_msg("mkgo: too many specials");
	mkgo_set(go, fixalloc, RT_FIXALLOC_CHUNK, element + size);
	mkgo_set(go, fixalloc, RT_FIXALLOC_NCHUNK, left - size);
	return element;
}

/* Kinds are constants of the release, which stand in the place of an offset. */
static va_t new_special(struct mkgo *go, enum rt_field kind, enum rt_field allocator, u64 payload)
{
	va_t special = fixalloc_take(go, allocator, mkgo_size(go, RT_SPECIAL) + payload);

	mkgo_set(go, special, RT_SPECIAL_KIND, (u64)go->rt.slots[kind].offset);
	return special;
}

va_t mkgo_specials(struct mkgo *go)
{
	va_t profile = new_special(go, RT_KIND_PROFILE, RT_MHEAP_SPECIAL_PROFILE, 8);
	va_t finalizer = new_special(go, RT_KIND_FINALIZER, RT_MHEAP_SPECIAL_FINALIZER, 32);

	mkgo_set(go, finalizer, RT_SPECIAL_NEXT, profile);
	return finalizer;
}

void mkgo_sampled(struct mkgo *go, va_t mspan, u64 offset, va_t site)
{
	va_t special = new_special(go, RT_KIND_PROFILE, RT_MHEAP_SPECIAL_PROFILE, 8);

	mkgo_set(go, special, RT_SPECIAL_OFFSET, offset);
	mkgo_set(go, special, RT_SPECIAL_PROFILE_BUCKET, site);
	mkgo_set(go, special, RT_SPECIAL_NEXT, mkgo_peek(go, mspan, RT_MSPAN_SPECIALS));
	mkgo_set(go, mspan, RT_MSPAN_SPECIALS, special);
}

/* A finalizer that was removed: back in its allocator, linked by its first word. */
static void free_special(struct mkgo *go)
{
	va_t special = new_special(go, RT_KIND_FINALIZER, RT_MHEAP_SPECIAL_FINALIZER, 32);
	va_t fixalloc = mkgo_addr(go, mkgo_global(go, RT_G_MHEAP), RT_MHEAP_SPECIAL_FINALIZER);

	mkgo_put(go, special, mkgo_peek(go, fixalloc, RT_FIXALLOC_LIST), 8);
	mkgo_set(go, fixalloc, RT_FIXALLOC_LIST, special);
}

/* Puts a block of bytes at the front of the list that begins at head. */
static va_t link_block(struct mkgo *go, va_t head, enum rt_field link, u64 bytes)
{
	va_t block = mkgo_persistent(go, bytes);

	mkgo_set(go, block, link, mkgo_get(go, head, 8));
	mkgo_put(go, head, block, 8);
	return block;
}

static void plant_callbacks(struct mkgo *go)
{
	for (int i = 0; i < 2; i++) {
		link_block(go, mkgo_global(go, RT_G_ALLFIN), RT_FINBLOCK_ALLLINK, FINBLOCK_BYTES);
		go->special_bytes += FINBLOCK_BYTES;
		if (!mkgo_has(go, RT_CLEANUPS_ALL))
			continue;
		link_block(go, mkgo_addr(go, mkgo_global(go, RT_G_GC_CLEANUPS), RT_CLEANUPS_ALL),
			   RT_CLEANUP_BLOCK_ALLLINK, mkgo_size(go, RT_CLEANUP_BLOCK));
		go->special_bytes += mkgo_size(go, RT_CLEANUP_BLOCK);
	}
}

static void plant_queues(struct mkgo *go)
{
	const u64 entries = 9000; /* enough for a mapping of its own, which is no whole pages */

	for (int i = 0; i < 2 && mkgo_has(go, RT_WORK_SPAN_SPMCS); i++) {
		va_t queue = link_block(
			go, mkgo_addr(go, mkgo_global(go, RT_G_WORK), RT_WORK_SPAN_SPMCS),
			RT_SPAN_SPMC_NEXT, mkgo_size(go, RT_SPAN_SPMC));

		mkgo_set(go, queue, RT_SPAN_SPMC_CAP, entries);
		mkgo_set(go, queue, RT_SPAN_SPMC_RING, mkgo_persistent(go, entries * 8));
		go->queue_bytes += mkgo_size(go, RT_SPAN_SPMC);
		go->queue_bytes += align_up(entries * 8, MK_PAGE);
	}
}

static va_t new_trace_buf(struct mkgo *go)
{
	u64 bytes = mkgo_size(go, RT_TRACE_BUF);

	go->trace_bytes += bytes;
	return mkgo_persistent(go, bytes);
}

/* A buffer being read, two free ones, a queue of three, and one of an M or P. From 1.22 on there
 * are two queues, of head and tail each. */
static void plant_trace(struct mkgo *go)
{
	va_t trace = mkgo_global(go, RT_G_TRACE), full, buf, last;
	enum rt_field own = mkgo_has(go, RT_M_TRACE_BUF) ? RT_M_TRACE_BUF : RT_P_TRACE_BUF;

	mkgo_set(go, trace, RT_TRACE_READING, new_trace_buf(go));
	for (int i = 0; i < 2; i++) {
		buf = new_trace_buf(go);
		mkgo_set(go, buf, RT_TRACE_BUF_LINK, mkgo_peek(go, trace, RT_TRACE_EMPTY));
		mkgo_set(go, trace, RT_TRACE_EMPTY, buf);
	}
	full = mkgo_addr(go, trace, RT_TRACE_FULL);
	last = buf = new_trace_buf(go);
	for (int i = 0; i < 2; i++) {
		va_t before = new_trace_buf(go);

		mkgo_set(go, before, RT_TRACE_BUF_LINK, buf);
		buf = before;
	}
	mkgo_put(go, full, buf, 8);
	if (mkgo_size(go, RT_TRACE_FULL) > 8)
		mkgo_put(go, full + 8, last, 8);
	if (mkgo_has(go, own))
		mkgo_put(go, mkgo_addr(go, own == RT_M_TRACE_BUF ? go->m0 : go->p0, own),
			 new_trace_buf(go), 8);
}

void mkgo_extras(struct mkgo *go)
{
	free_special(go);
	plant_callbacks(go);
	plant_queues(go);
	plant_trace(go);
}

/* The form of the table of functions that a release has (cmd/link/internal/ld/pcln.go). */
static enum mkpcln_form table_form(unsigned minor)
{
	if (minor >= 20)
		return MKPCLN_1_20;
	if (minor >= 18)
		return MKPCLN_1_18;
	return minor >= 16 ? MKPCLN_1_16 : MKPCLN_1_15;
}

void mkgo_functions(struct mkgo *go, const struct mkpcln_func *funcs, size_t n)
{
	va_t module = mkgo_global(go, RT_G_FIRSTMODULEDATA);
	struct mkpcln p;

	mkpcln(&p, table_form(go->rt.version.minor), MKGO_TABLES, MKGO_TEXT, funcs, n);
	for (size_t i = 0; i < sizeof(p.bytes); i += 8) {
		u64 word;

		memcpy(&word, p.bytes + i, sizeof(word));
		mkgo_put(go, MKGO_TABLES + i, word, sizeof(word));
	}
	mkgo_set(go, module, RT_MODULE_PC_HEADER, MKGO_TABLES);
	mkgo_set(go, module, RT_MODULE_GOFUNC, MKGO_TABLES + p.gofunc);
	mkgo_set_slice(go, mkgo_addr(go, module, RT_MODULE_PCLNTABLE), MKGO_TABLES + p.funcs,
		       p.table_bytes - p.funcs, p.table_bytes - p.funcs);
}
