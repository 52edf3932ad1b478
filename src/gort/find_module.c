/* firstmoduledata (runtime/symtab.go, cmd/link/internal/ld/symtab.go): what the linker says of the
 * program's parts. It lies in writable data of the file, or in data that was made read-only after
 * relocation.
 *
 *   pcHeader, funcnametab, ..., pclntable     into one table, which begins with its header
 *   text, etext, noptrdata, ..., enoptrbss    pairs, each in order
 *   gcdatamask.n, gcbssmask.n                 words of data and of bss: set when the process began
 *   next                                      the module that was loaded after this one */
#include "gort/find_priv.h"

#define PLAIN_HEADER_BYTES 16
#define LEAST_TEXT_BYTES 1024 /* of a plugin; the runtime has far more */
#define MAX_PART_BYTES ((u64)1 << 40)

struct modules_found {
	ARRAY(va_t) v;
};

static bool read_pair(const struct finder *f, va_t m, enum rt_field lo, enum rt_field hi,
		      struct range *ret)
{
	return find_field(f, m, lo, &ret->lo) && find_field(f, m, hi, &ret->hi) &&
	       ret->lo <= ret->hi && ret->hi - ret->lo < MAX_PART_BYTES;
}

/* The pointer masks have a bit for each word of their part. */
static bool mask_fits(const struct finder *f, va_t m, enum rt_field n, struct range part)
{
	u64 bits;

	return find_field(f, m, n, &bits) && bits == (part.hi - part.lo) / sizeof(va_t);
}

/* Up to 1.15 all is one table, and its entries follow the header (magic and their number). */
static bool plain_table_fits(const struct finder *f, va_t m)
{
	va_t table, entries;

	return rt_has(f->rt, RT_MODULE_FTAB) &&
	       image_u64(f->rt->im, rt_addr(f->rt, m, RT_MODULE_PCLNTABLE), &table) && table &&
	       image_u64(f->rt->im, rt_addr(f->rt, m, RT_MODULE_FTAB), &entries) &&
	       entries == table + PLAIN_HEADER_BYTES;
}

static bool table_fits(const struct finder *f, va_t m)
{
	va_t header, names, functions;

	if (!rt_has(f->rt, RT_MODULE_PC_HEADER))
		return plain_table_fits(f, m);
	return find_field(f, m, RT_MODULE_PC_HEADER, &header) && header &&
	       image_u64(f->rt->im, rt_addr(f->rt, m, RT_MODULE_FUNCNAMETAB), &names) &&
	       image_u64(f->rt->im, rt_addr(f->rt, m, RT_MODULE_PCLNTABLE), &functions) &&
	       names > header && functions > names && functions - header < MAX_PART_BYTES;
}

/* Code may be run, is mapped from a file, and has no gaps. */
static bool is_text(const struct finder *f, struct range text)
{
	const struct image *im = f->rt->im;

	if (text.hi - text.lo < LEAST_TEXT_BYTES)
		return false;
	for (va_t va = text.lo; va < text.hi;) {
		const struct vma *v = image_vma(im, va);

		if (!v || (v->kind != VMA_FILE && im->files.n) ||
		    (v->perm_known && !(v->perm & PERM_X)))
			return false;
		va = v->hi;
	}
	return true;
}

/* A part of the module's variables. The linker aligns their beginnings, not their ends. */
static bool read_part(const struct finder *f, va_t m, enum rt_field lo, enum rt_field hi,
		      struct range *ret)
{
	return read_pair(f, m, lo, hi, ret) && ret->lo && ret->lo % sizeof(va_t) == 0;
}

/* For mheap_, which is in a runtime's own module; a plugin's is never the first one. */
static bool has_room(const struct finder *f, struct range bss, struct range noptrbss)
{
	return bss.hi - bss.lo + noptrbss.hi - noptrbss.lo > rt_size(f->rt, RT_MHEAP);
}

static bool is_module(const struct finder *f, va_t m)
{
	struct range text, noptrdata, data, bss, noptrbss;

	return read_pair(f, m, RT_MODULE_TEXT, RT_MODULE_ETEXT, &text) && is_text(f, text) &&
	       read_part(f, m, RT_MODULE_NOPTRDATA, RT_MODULE_ENOPTRDATA, &noptrdata) &&
	       read_part(f, m, RT_MODULE_DATA, RT_MODULE_EDATA, &data) && data.lo < data.hi &&
	       read_part(f, m, RT_MODULE_BSS, RT_MODULE_EBSS, &bss) && bss.lo < bss.hi &&
	       read_part(f, m, RT_MODULE_NOPTRBSS, RT_MODULE_ENOPTRBSS, &noptrbss) &&
	       has_room(f, bss, noptrbss) && mask_fits(f, m, RT_MODULE_GCDATA_N, data) &&
	       mask_fits(f, m, RT_MODULE_GCBSS_N, bss) && table_fits(f, m);
}

/* A quick look at the two words of the text's bounds decides for nearly all addresses. */
static struct err *search_vma(const struct finder *f, const struct vma *v,
			      struct modules_found *found)
{
	const struct rt *rt = f->rt;
	u64 text = (u64)rt->slots[RT_MODULE_TEXT].offset;
	u64 etext = (u64)rt->slots[RT_MODULE_ETEXT].offset;
	va_t end = MIN(image_dumped_end(rt->im, v->lo), v->hi);
	const u8 *p = end > v->lo ? image_view(rt->im, v->lo, end - v->lo) : NULL;
	u64 size = rt_size(rt, RT_MODULE);

	for (u64 at = 0; p && at + size <= end - v->lo; at += 8) {
		u64 lo, hi;

		memcpy(&lo, p + at + text, sizeof(lo));
		memcpy(&hi, p + at + etext, sizeof(hi));
		if (lo && lo < hi && hi - lo < MAX_PART_BYTES && hi < GO_MAX_ADDR &&
		    is_module(f, v->lo + at))
			TRY(array_push(&found->v, v->lo + at));
	}
	return NULL;
}

static struct err *search(const struct finder *f, struct modules_found *found)
{
	const struct image *im = f->rt->im;
	bool files = im->files.n > 0;

	for (size_t i = 0; i < im->vmas.n; i++) {
		const struct vma *v = &im->vmas.v[i];

		if (v->in_core && (!files || v->kind == VMA_FILE))
			TRY(search_vma(f, v, found));
	}
	return NULL;
}

/* A module that no other one is followed by begins a runtime's list. */
static void choose_first(const struct finder *f, const struct modules_found *found,
			 struct find_answer *first)
{
	for (size_t i = 0; i < found->v.n; i++) {
		bool follows = false;

		for (size_t j = 0; j < found->v.n && !follows; j++) {
			va_t next;

			follows = find_field(f, found->v.v[j], RT_MODULE_NEXT, &next) &&
				  next == found->v.v[i];
		}
		if (!follows)
			find_take(first, found->v.v[i], 0);
	}
}

static const char *module_file(const struct rt *rt, va_t m)
{
	const struct vma *v = image_vma(rt->im, m);

	return v && v->file >= 0 ? rt->im->files.v[v->file].path : "memory";
}

static struct err *check_single(const struct rt *rt, const struct find_answer *first)
{
	if (!first->other)
		return NULL;
	return err_new(ERR_FORMAT, "several Go runtimes are in this process, in %s and in %s",
		       module_file(rt, first->va), module_file(rt, first->other));
}

static struct err *find_first(const struct finder *f, struct find_answer *first)
{
	struct modules_found found = {.v = {0}};
	struct err *err = search(f, &found);

	*first = (struct find_answer){.name = "firstmoduledata"};
	if (!err)
		choose_first(f, &found, first);
	array_free(&found.v);
	return err ? err : check_single(f->rt, first);
}

struct err *find_single_runtime(struct rt *rt)
{
	struct finder f = {.rt = rt};
	struct find_answer first;

	return find_first(&f, &first);
}

static void add_range(struct finder *f, enum rt_field lo, enum rt_field hi)
{
	struct range r;

	if (read_pair(f, f->rt->globals[RT_G_FIRSTMODULEDATA], lo, hi, &r) && r.lo < r.hi)
		f->ranges[f->range_count++] = r;
}

struct err *find_module(struct finder *f)
{
	struct find_answer first;

	TRY(find_first(f, &first));
	TRY(find_settle(f, RT_G_FIRSTMODULEDATA, &first, true));
	add_range(f, RT_MODULE_NOPTRDATA, RT_MODULE_ENOPTRDATA);
	add_range(f, RT_MODULE_DATA, RT_MODULE_EDATA);
	f->first_bss = f->range_count;
	add_range(f, RT_MODULE_BSS, RT_MODULE_EBSS);
	f->first_noptrbss = f->range_count;
	add_range(f, RT_MODULE_NOPTRBSS, RT_MODULE_ENOPTRBSS);
	return NULL;
}
