/* The mapping table: PT_LOADs cut at the borders of NT_FILE entries, and the entries that no
 * PT_LOAD covers (gdb leaves clean file mappings out). */
#include "image/image_priv.h"

#include <string.h>

#define VSYSCALL_LO 0xffffffffff600000u
/* The kernel places vvar (and from 6.15 on vvar_vclock) right below the vdso. */
#define VVAR_MAX_PAGES 16

static int by_address(const void *a, const void *b)
{
	const struct file_entry *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

static void sort_entries(file_entries *entries)
{
	size_t kept = 0;
	va_t end = 0;

	if (entries->n)
		qsort(entries->v, entries->n, sizeof(*entries->v), by_address);
	for (size_t i = 0; i < entries->n; i++) {
		struct file_entry e = entries->v[i];

		if (e.lo < end) { /* overlapping entries: the first one counts */
			if (e.hi <= end)
				continue;
			e.offset += end - e.lo;
			e.lo = end;
		}
		end = e.hi;
		entries->v[kept++] = e;
	}
	entries->n = kept;
}

/* Permissions of a load. gdb writes PROT_NONE mappings as readable. */
static void set_perm(const struct image *im, struct vma *v, const struct segment *seg)
{
	v->in_core = true;
	v->perm = (u8)(seg->flags & (PF_R | PF_W | PF_X));
	v->perm_known = !(im->kind == CORE_GCORE && v->perm == PERM_R && v->file < 0);
}

static struct err *add_vma(struct image *im, const struct segment *seg,
			   const struct file_entry *entry, va_t lo, va_t hi)
{
	struct vma v = {.lo = lo, .hi = hi, .file = -1, .kind = VMA_ANON};

	if (entry) {
		v.file = entry->file;
		v.offset = entry->offset + (lo - entry->lo);
		v.kind = im->files.v[v.file].shm ? VMA_SHM : VMA_FILE;
	}
	if (seg)
		set_perm(im, &v, seg);
	if (v.perm & PERM_X && v.file >= 0)
		im->files.v[v.file].code = true;
	return array_push(&im->vmas, v);
}

/* dlv writes no NT_FILE, but dumps the executable's headers: its loads tell which mappings are the
 * file's. What they hold was read by dlv, which says nothing of whether it was in memory. */
static struct err *add_executable(struct image *im, file_entries *entries)
{
	static const struct mapped_file unnamed = {.path = "[executable]", .unnamed = true};
	va_t header = im->auxv.phdr - sizeof(Elf64_Ehdr), bias;
	struct elf_bytes e = {image_view(im, header, 4096), 4096};
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	struct err *err = e.data ? elf_header(e, &eh) : err_fault();

	if (err) {
		err_free(err);
		return NULL;
	}
	bias = im->auxv.entry - eh.e_entry;
	TRY(array_push(&im->files, unnamed));
	for (u64 i = 0; i < eh.e_phnum && elf_phdr(e, &eh, i, &ph); i++) {
		struct file_entry entry = {.file = (int)im->files.n - 1};

		entry.lo = align_down(bias + ph.p_vaddr, 4096);
		entry.hi = align_up(va_plus(bias + ph.p_vaddr, ph.p_filesz), 4096);
		entry.offset = align_down(ph.p_offset, 4096);
		if (ph.p_type == PT_LOAD && entry.lo < entry.hi)
			TRY(array_push(entries, entry));
	}
	return NULL;
}

/* Merges the two sorted lists, cutting where either begins or ends. */
static struct err *merge(struct image *im, const file_entries *entries)
{
	size_t s = 0, f = 0;
	va_t pos = 0;

	while (s < im->segs.n || f < entries->n) {
		const struct segment *seg = s < im->segs.n ? &im->segs.v[s] : NULL;
		const struct file_entry *entry = f < entries->n ? &entries->v[f] : NULL;
		va_t seg_lo = seg ? MAX(seg->lo, pos) : UINT64_MAX;
		va_t entry_lo = entry ? MAX(entry->lo, pos) : UINT64_MAX;
		bool in_seg = seg && seg_lo <= entry_lo, in_entry = entry && entry_lo <= seg_lo;
		va_t lo = MIN(seg_lo, entry_lo);
		va_t hi = MIN(in_seg ? seg->hi : seg_lo, in_entry ? entry->hi : entry_lo);

		TRY(add_vma(im, in_seg ? seg : NULL, in_entry ? entry : NULL, lo, hi));
		pos = hi;
		s += seg && seg->hi <= pos;
		f += entry && entry->hi <= pos;
	}
	return NULL;
}

static struct vma *vma_at(struct image *im, va_t va)
{
	return (struct vma *)image_vma(im, va);
}

static void name_special(struct image *im)
{
	struct vma *v = im->auxv.vdso ? vma_at(im, im->auxv.vdso) : NULL;
	va_t top;

	if (v && v->kind == VMA_ANON) {
		v->kind = VMA_VDSO;
		while (v > im->vmas.v && v[-1].hi == v->lo && v[-1].kind == VMA_ANON &&
		       v[-1].perm == PERM_R &&
		       v[-1].hi - v[-1].lo <= VVAR_MAX_PAGES * im->auxv.page_size) {
			v--;
			v->kind = VMA_VVAR;
		}
	}
	/* Both lie on the main thread's stack, above its first frame (fs/binfmt_elf.c). */
	top = im->auxv.execfn ? im->auxv.execfn : im->auxv.random;
	v = top ? vma_at(im, top) : NULL;
	if (v && v->kind == VMA_ANON)
		v->kind = VMA_STACK;
	v = vma_at(im, VSYSCALL_LO);
	if (v && v->kind == VMA_ANON)
		v->kind = VMA_VSYSCALL;
}

/* Shared libraries whose executable part is not in the core are known by their header page. */
static void find_code_files(struct image *im)
{
	for (size_t i = 0; i < im->vmas.n; i++) {
		const struct vma *v = &im->vmas.v[i];
		u32 magic;
		struct err *err;

		if (v->file < 0 || v->offset != 0 || im->files.v[v->file].shm)
			continue;
		err = image_read(im, v->lo, &magic, sizeof(magic));
		if (!err && memcmp(&magic, ELFMAG, SELFMAG) == 0)
			im->files.v[v->file].code = true;
		err_free(err);
	}
}

struct err *vma_build(struct image *im, file_entries *entries)
{
	if (im->kind == CORE_DELVE && entries->n == 0)
		TRY(add_executable(im, entries));
	sort_entries(entries);
	TRY(merge(im, entries));
	name_special(im);
	find_code_files(im);
	return NULL;
}
