#include "ledger/claim.h"

#include <string.h>

/* A segment's bytes, with PT_GNU_RELRO cut out of them as a class of its own. */
static struct err *claim_segment(struct ledger *l, const Elf64_Phdr *ph, struct range relro,
				 va_t bias)
{
	va_t lo = bias + ph->p_vaddr, file_end = va_plus(lo, ph->p_filesz);
	va_t hi = va_plus(lo, MAX(ph->p_memsz, ph->p_filesz));
	va_t cut_lo = MAX(lo, MIN(relro.lo, file_end)),
	     cut_hi = MAX(cut_lo, MIN(relro.hi, file_end));
	enum category cat = CAT_BINARY_RODATA;

	if (ph->p_flags & PF_X)
		cat = CAT_BINARY_TEXT;
	else if (ph->p_flags & PF_W)
		cat = CAT_BINARY_DATA;
	if (cut_lo == cut_hi) {
		TRY(ledger_claim(l, LEVEL_CONTAINER, lo, file_end, cat));
	} else {
		TRY(ledger_claim(l, LEVEL_CONTAINER, lo, cut_lo, cat));
		TRY(ledger_claim(l, LEVEL_CONTAINER, cut_lo, cut_hi, CAT_BINARY_RELRO));
		TRY(ledger_claim(l, LEVEL_CONTAINER, cut_hi, file_end, cat));
	}
	return ledger_claim(l, LEVEL_CONTAINER, file_end, hi, CAT_BINARY_BSS);
}

/* The rest of a load's last page is nobody's, but belongs to its file. It ends where the next load
 * begins: linkers can let two of them share a page. */
static struct err *claim_page_rest(struct ledger *l, const Elf64_Phdr *ph, va_t next, va_t bias,
				   enum category cat)
{
	va_t hi = va_plus(bias + ph->p_vaddr, MAX(ph->p_memsz, ph->p_filesz));

	return ledger_claim(l, LEVEL_CONTAINER, hi, MIN(align_up(hi, l->im->auxv.page_size), next),
			    cat);
}

/* Where the next load behind this one begins. */
static va_t next_load(const struct ledger *l, const struct binary *bin, const Elf64_Phdr *ph)
{
	va_t next = UINT64_MAX;
	Elf64_Phdr other;

	for (u64 i = 0; binary_phdr(bin, l->im, i, &other); i++)
		if (other.p_type == PT_LOAD && other.p_vaddr > ph->p_vaddr)
			next = MIN(next, bin->bias + other.p_vaddr);
	return next;
}

static struct range find_relro(const struct ledger *l, const struct binary *bin)
{
	Elf64_Phdr ph;

	for (u64 i = 0; binary_phdr(bin, l->im, i, &ph); i++)
		if (ph.p_type == PT_GNU_RELRO)
			return (struct range){bin->bias + ph.p_vaddr,
					      va_plus(bin->bias + ph.p_vaddr, ph.p_memsz)};
	return (struct range){0, 0};
}

/* What the linker said of its parts (moduledata): the same with and without sections. */
static struct err *claim_modules(struct ledger *l)
{
	for (size_t i = 0; l->gort && i < l->gort->modules.v.n; i++) {
		const struct module *m = &l->gort->modules.v.v[i];
		const struct {
			struct range r;
			enum category cat;
		} parts[] = {
			{m->text, CAT_BINARY_TEXT},      {m->pclntab, CAT_BINARY_PCLNTAB},
			{m->noptrdata, CAT_BINARY_DATA}, {m->data, CAT_BINARY_DATA},
			{m->bss, CAT_BINARY_BSS},        {m->noptrbss, CAT_BINARY_BSS},
		};

		for (size_t p = 0; p < COUNT_OF(parts); p++)
			TRY(ledger_claim(l, LEVEL_LEAF, parts[p].r.lo, parts[p].r.hi,
					 parts[p].cat));
	}
	return NULL;
}

/* Where nothing says what the executable's segments were, in a core that names no file and lacks
 * the header: the mapping with the function table has the constants too. */
static struct err *claim_constants(struct ledger *l)
{
	for (size_t i = 0; l->gort && i < l->gort->modules.v.n; i++) {
		const struct vma *v = image_vma(l->im, l->gort->modules.v.v[i].pclntab.lo);

		if (v && v->kind == VMA_ANON && v->perm_known && !(v->perm & PERM_W))
			TRY(ledger_claim(l, LEVEL_CONTAINER, v->lo, v->hi, CAT_BINARY_RODATA));
	}
	return NULL;
}

struct err *claim_binary(struct ledger *l, const struct binary *bin)
{
	struct range relro = find_relro(l, bin);
	Elf64_Phdr ph;

	if (!binary_phdr(bin, l->im, 0, &ph))
		TRY(claim_constants(l));
	for (u64 i = 0; binary_phdr(bin, l->im, i, &ph); i++)
		if (ph.p_type == PT_LOAD) {
			TRY(claim_segment(l, &ph, relro, bin->bias));
			TRY(claim_page_rest(l, &ph, next_load(l, bin, &ph), bin->bias,
					    CAT_FILE_EXEC));
		}
	return claim_modules(l);
}

/* Zero-initialised data of the library whose header page is mapped by v. */
static struct err *claim_library(struct ledger *l, const struct vma *v)
{
	const u8 *page = image_view(l->im, v->lo, 4096);
	struct elf_bytes e = {page, 4096};
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	struct err *err = page ? elf_header(e, &eh) : err_fault();
	va_t bias = 0;

	if (err) {
		err_free(err);
		return NULL;
	}
	for (u64 i = 0; i < elf_phdr_count(e, &eh) && elf_phdr(e, &eh, i, &ph); i++) {
		if (ph.p_type != PT_LOAD)
			continue;
		if (ph.p_offset == 0)
			bias = v->lo - ph.p_vaddr;
		if (ph.p_memsz > ph.p_filesz)
			TRY(ledger_claim(l, LEVEL_CONTAINER,
					 va_plus(bias + ph.p_vaddr, ph.p_filesz),
					 align_up(va_plus(bias + ph.p_vaddr, ph.p_memsz),
						  l->im->auxv.page_size),
					 CAT_FILE_LIB));
	}
	return NULL;
}

struct err *claim_libraries(struct ledger *l, const struct binary *bin)
{
	for (size_t i = 0; i < l->im->vmas.n; i++) {
		const struct vma *v = &l->im->vmas.v[i];

		if (v->kind == VMA_FILE && v->offset == 0 && v->file != bin->file &&
		    l->im->files.v[v->file].code)
			TRY(claim_library(l, v));
	}
	return NULL;
}
