/* Memory of the process: mappings, and the pages of them that somebody wrote to. */
#include "support/mkgo_priv.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

void mkgo_must(struct err *err)
{
	if (err)
		fail_msg("%s", err->msg);
}

static struct mkgo_region *add_region(struct mkgo *go, struct mkgo_region r)
{
	mkgo_must(array_push(&go->regions, r));
	return &go->regions.v[go->regions.n - 1];
}

struct mkgo_region *mkgo_map(struct mkgo *go, va_t lo, u64 bytes, u32 flags, char letter)
{
	struct mkgo_region r = {.lo = lo, .hi = lo + align_up(bytes, MK_PAGE), .flags = flags};

	if (letter) {
		u64 n = (r.hi - r.lo) / MK_PAGE;

		r.letters = xcalloc(n + 1, 1);
		memset(r.letters, letter, n);
	}
	return add_region(go, r);
}

void mkgo_map_sparse(struct mkgo *go, va_t lo, u64 bytes)
{
	add_region(go, (struct mkgo_region){
			       .lo = lo, .hi = lo + bytes, .flags = PF_R | PF_W, .sparse = true});
}

va_t mkgo_window(struct mkgo *go, u64 bytes)
{
	const u64 unit = 0x1000000;
	va_t lo = go->next_window;

	go->next_window += align_up(bytes, unit) + unit;
	return lo;
}

/* Index of the first touched page at or behind va. */
static size_t page_index(const struct mkgo *go, va_t va)
{
	size_t lo = 0, hi = go->pages.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (go->pages.v[mid].va < va)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The bytes of a page; NULL when nobody wrote to it. */
static u8 *find_page(const struct mkgo *go, va_t va)
{
	size_t i = page_index(go, va);

	return i < go->pages.n && go->pages.v[i].va == va ? go->pages.v[i].bytes : NULL;
}

static u8 *byte_at(struct mkgo *go, va_t va)
{
	va_t base = align_down(va, MK_PAGE);
	u8 *page = find_page(go, base);

	if (!page) {
		size_t i = page_index(go, base);

		page = xcalloc(MK_PAGE, 1);
		mkgo_must(array_reserve(&go->pages, 1));
		go->pages.n++;
		memmove(go->pages.v + i + 1, go->pages.v + i,
			(go->pages.n - 1 - i) * sizeof(*go->pages.v));
		go->pages.v[i] = (struct mkgo_page){base, page};
	}
	return page + (va - base);
}

void mkgo_put(struct mkgo *go, va_t va, u64 value, size_t width)
{
	for (size_t i = 0; i < width; i++)
		*byte_at(go, va + i) = (u8)(value >> 8 * i);
}

u64 mkgo_get(const struct mkgo *go, va_t va, size_t width)
{
	u64 value = 0;

	for (size_t i = 0; i < width; i++) {
		va_t base = align_down(va + i, MK_PAGE);
		const u8 *page = find_page(go, base);

		if (page)
			value |= (u64)page[va + i - base] << 8 * i;
	}
	return value;
}

void mkgo_put_bits(struct mkgo *go, va_t va, const u64 *words, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		mkgo_put(go, va + i, words[i / 8] >> i % 8 * 8, 1);
}

bool mkgo_get_bit(const struct mkgo *go, va_t bits, u64 bit)
{
	return mkgo_get(go, bits + bit / 8, 1) >> bit % 8 & 1;
}

void mkgo_set_bit(struct mkgo *go, va_t bits, u64 bit, bool value)
{
	u64 byte = mkgo_get(go, bits + bit / 8, 1) & ~((u64)1 << bit % 8);

	mkgo_put(go, bits + bit / 8, byte | (u64)value << bit % 8, 1);
}

bool mkgo_has(const struct mkgo *go, enum rt_field f)
{
	return go->rt.slots[f].offset >= 0;
}

void mkgo_set(struct mkgo *go, va_t base, enum rt_field f, u64 value)
{
	if (mkgo_has(go, f))
		mkgo_put(go, mkgo_addr(go, base, f), value, MIN(mkgo_size(go, f), 8));
}

void mkgo_poke(struct mkgo *go, va_t base, enum rt_field f, u64 value)
{
	if (!mkgo_has(go, f))
		fail_msg("%s has no %s", go->rt.version.text, layout_field_id(f));
	mkgo_set(go, base, f, value);
}

u64 mkgo_peek(struct mkgo *go, va_t base, enum rt_field f)
{
	return mkgo_get(go, mkgo_addr(go, base, f), MIN(mkgo_size(go, f), 8));
}

void mkgo_poke_u64(struct mkgo *go, va_t va, u64 value)
{
	mkgo_put(go, va, value, 8);
}

u64 mkgo_peek_u64(struct mkgo *go, va_t va)
{
	return mkgo_get(go, va, 8);
}

void mkgo_set_slice(struct mkgo *go, va_t va, va_t ptr, u64 len, u64 cap)
{
	mkgo_put(go, va, ptr, 8);
	mkgo_put(go, va + 8, len, 8);
	mkgo_put(go, va + 16, cap, 8);
}

static va_t pool_take(struct mkgo_pool *pool, u64 bytes)
{
	va_t va = pool->pos;

	pool->pos += align_up(bytes, 16);
	if (pool->pos > pool->end)
		fail_msg("mkgo: no room for %llu bytes", (unsigned long long)bytes);
	return va;
}

va_t mkgo_bss(struct mkgo *go, u64 bytes)
{
	return pool_take(&go->bss, bytes);
}

/* runtime/malloc.go persistentalloc: chunks are linked by their first word, the newest first;
 * what is too large for them is mapped by itself. */
va_t mkgo_persistent(struct mkgo *go, u64 bytes)
{
	va_t head = mkgo_global(go, RT_G_PERSISTENT_CHUNKS), chunk;

	if (bytes >= (u64)64 << 10) {
		va_t lo = mkgo_window(go, bytes);

		mkgo_map(go, lo, bytes, PF_R | PF_W, '.');
		return lo;
	}
	if (!go->persistent.end || go->persistent.pos + align_up(bytes, 16) > go->persistent.end) {
		chunk = mkgo_window(go, GO_PERSISTENT_CHUNK_BYTES);
		mkgo_map(go, chunk, GO_PERSISTENT_CHUNK_BYTES, PF_R | PF_W, '.');
		mkgo_put(go, chunk, mkgo_get(go, head, 8), 8);
		mkgo_put(go, head, chunk, 8);
		go->persistent.pos = chunk + 16;
		go->persistent.end = chunk + GO_PERSISTENT_CHUNK_BYTES;
	}
	return pool_take(&go->persistent, bytes);
}

static int by_address(const void *a, const void *b)
{
	const struct mkgo_region *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* A copy of n letters that lives as long as the process. */
static const char *keep(struct mkgo *go, const char *letters, size_t n)
{
	char *text = xstrndup(letters, n);

	mkgo_must(array_push(&go->texts, text));
	return text;
}

static void emit_mapping(struct mkgo *go, const struct mkgo_region *r)
{
	u64 dumped = r->letters ? strlen(r->letters) : 0;
	va_t lo = r->lo;

	for (u64 i = 0; go->split && i < dumped; i++, lo += MK_PAGE)
		mkcore_load(go->mk, lo, r->flags, keep(go, r->letters + i, 1));
	if (lo < r->hi)
		mkcore_load(go->mk, lo, r->flags, go->split || !dumped ? "" : r->letters)
			->ph.p_memsz = r->hi - lo;
}

/* Runs of touched pages become loads. */
static void emit_sparse(struct mkgo *go, const struct mkgo_region *r)
{
	size_t i = page_index(go, r->lo);

	while (i < go->pages.n && go->pages.v[i].va < r->hi) {
		char letters[512] = "";
		va_t lo = go->pages.v[i].va;
		size_t n = 0;

		while (i < go->pages.n && n + 1 < sizeof(letters) &&
		       go->pages.v[i].va == lo + n * MK_PAGE && go->pages.v[i].va < r->hi) {
			letters[n++] = '0';
			i++;
		}
		mkcore_load(go->mk, lo, r->flags, keep(go, letters, n));
	}
}

void mkgo_emit(struct mkgo *go)
{
	if (go->regions.n)
		qsort(go->regions.v, go->regions.n, sizeof(*go->regions.v), by_address);
	for (size_t i = 0; i < go->regions.n; i++) {
		if (go->regions.v[i].sparse)
			emit_sparse(go, &go->regions.v[i]);
		else
			emit_mapping(go, &go->regions.v[i]);
	}
	for (size_t i = 0; i < go->pages.n; i++)
		mkcore_poke(go->mk, go->pages.v[i].va, go->pages.v[i].bytes, MK_PAGE);
}

void mkgo_mem_free(struct mkgo *go)
{
	for (size_t i = 0; i < go->pages.n; i++)
		free(go->pages.v[i].bytes);
	for (size_t i = 0; i < go->regions.n; i++)
		free(go->regions.v[i].letters);
	for (size_t i = 0; i < go->texts.n; i++)
		free(go->texts.v[i]);
	array_free(&go->pages);
	array_free(&go->regions);
	array_free(&go->texts);
}
