/* What the parts of mkgo share: memory of a process under construction. */
#ifndef SUPPORT_MKGO_PRIV_H
#define SUPPORT_MKGO_PRIV_H

#include "support/mkgo.h"

void mkgo_must(struct err *err);

/* A mapping, all pages of this letter; with 0 instead of a letter nothing is dumped. */
struct mkgo_region *mkgo_map(struct mkgo *go, va_t lo, u64 bytes, u32 flags, char letter);

/* Address space of which only the touched pages are mapped. */
void mkgo_map_sparse(struct mkgo *go, va_t lo, u64 bytes);

/* So many bytes of address space that nothing else lies in. */
va_t mkgo_window(struct mkgo *go, u64 bytes);

/* Little-endian bytes; reading what nobody wrote gives 0. */
void mkgo_put(struct mkgo *go, va_t va, u64 value, size_t width);
u64 mkgo_get(const struct mkgo *go, va_t va, size_t width);
void mkgo_put_bits(struct mkgo *go, va_t va, const u64 *words, size_t bytes);
void mkgo_set_bit(struct mkgo *go, va_t bits, u64 bit, bool value);
bool mkgo_get_bit(const struct mkgo *go, va_t bits, u64 bit);

/* A field, if the release has it. */
void mkgo_set(struct mkgo *go, va_t base, enum rt_field f, u64 value);

/* A slice header. */
void mkgo_set_slice(struct mkgo *go, va_t va, va_t ptr, u64 len, u64 cap);

/* Bytes of bss, aligned for any structure. */
va_t mkgo_bss(struct mkgo *go, u64 bytes);

/* Hands all mappings and touched pages to mkcore. */
void mkgo_emit(struct mkgo *go);
void mkgo_mem_free(struct mkgo *go);

/* The chunk of a page, made when there is none yet, with its arena. */
struct mkgo_chunk *mkgo_chunk_of(struct mkgo *go, va_t va);

/* The address of the bit map's first byte, and the bit of the page at va. */
va_t mkgo_page_bits(const struct mkgo *go, enum rt_field bitmap, va_t va, u64 *bit);

/* A list of two specials; its first. */
va_t mkgo_specials(struct mkgo *go);

/* A span of the runtime's own: stacks, work buffers. Valid until the next span. */
struct mkgo_planted *mkgo_manual_span(struct mkgo *go, u32 npages, u64 elemsize);

static inline va_t mkgo_global(const struct mkgo *go, enum rt_global g)
{
	return go->rt.globals[g];
}

static inline va_t mkgo_addr(const struct mkgo *go, va_t base, enum rt_field f)
{
	return base + (u64)go->rt.slots[f].offset;
}

static inline u64 mkgo_size(const struct mkgo *go, enum rt_field f)
{
	return go->rt.slots[f].size;
}

#endif
