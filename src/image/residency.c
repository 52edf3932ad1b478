/* From a core's file to page kinds.
 *
 * A kernel-written core keeps a hole for every page of anonymous memory that was not there, and
 * data for every page that was, in memory or swapped. That holds as long as nobody copied the
 * file: cp and dd punch holes where pages are zero, cat and gzip fill all of them in. Two marks
 * prove a first-hand file (measured on 51 originals and 8 treated copies, ext4):
 *   (a) some data page is all zero (copies that punch holes leave none);
 *   (b) some run of data that does not fill its load ends at an offset that is no multiple of
 *       two pages (8 KiB: decompressors test larger blocks).
 * Both are by the kernel's pages: who tests blocks of up to a page breaks (a), of more (b).
 * Everything else gets the zero test: content proves residency, a zero page proves nothing. */
#include "image/residency.h"

#include "base/bits.h"
#include "base/log.h"
#include "image/image_priv.h"
#include "image/sidecar.h"

#include <string.h>
#include <unistd.h>

#define PAGE_BYTES ((u64)1 << PAGE_SHIFT)
#define PROGRESS_BYTES ((u64)64 << 20)

const char *evidence_name(enum evidence e)
{
	static const char *const names[] = {
		[EVIDENCE_UNKNOWN] = "unknown",     [EVIDENCE_NONZERO] = "nonzero",
		[EVIDENCE_POPULATED] = "populated", [EVIDENCE_EXACT] = "exact",
		[EVIDENCE_MIXED] = "mixed",
	};

	return names[e];
}

enum page_state residency_state(enum page_kind kind, bool reserved, bool runtime)
{
	if (kind >= PAGE_RECORD_RESIDENT)
		return STATE_RESIDENT;
	switch (kind) {
	case PAGE_DATA:
	case PAGE_DATA_ZERO:
	case PAGE_NONZERO:
	case PAGE_DIFFERS:
	case PAGE_RECORD_RESIDENT:
		return STATE_RESIDENT;
	case PAGE_RECORD_SWAPPED:
		return STATE_SWAPPED;
	case PAGE_RECORD_ABSENT:
	case PAGE_HOLE:
	case PAGE_NO_ACCESS:
	case PAGE_KERNEL:
		return STATE_ABSENT;
	case PAGE_ZERO:
		return reserved ? STATE_ABSENT : STATE_UNKNOWN;
	case PAGE_UNDUMPED:
		return reserved || runtime ? STATE_ABSENT : STATE_UNKNOWN;
	case PAGE_GAP:
	case PAGE_CLEAN:
	case PAGE_LOST:
	case PAGE_RECORD_UNKNOWN:
	case PAGE_KIND_COUNT:
		break;
	}
	return STATE_UNKNOWN;
}

enum evidence residency_kind_evidence(enum page_kind kind)
{
	if (kind >= PAGE_RECORD_RESIDENT)
		return EVIDENCE_EXACT;
	switch (kind) {
	case PAGE_RECORD_ABSENT:
	case PAGE_RECORD_SWAPPED:
	case PAGE_RECORD_RESIDENT:
		return EVIDENCE_EXACT;
	case PAGE_DATA:
	case PAGE_DATA_ZERO:
	case PAGE_HOLE:
	case PAGE_NO_ACCESS:
	case PAGE_KERNEL:
	case PAGE_DIFFERS:
	case PAGE_UNDUMPED:
		return EVIDENCE_POPULATED;
	case PAGE_NONZERO:
	case PAGE_ZERO:
		return EVIDENCE_NONZERO;
	case PAGE_GAP:
	case PAGE_CLEAN:
	case PAGE_LOST:
	case PAGE_RECORD_UNKNOWN:
	case PAGE_KIND_COUNT:
		break;
	}
	return EVIDENCE_UNKNOWN;
}

bool residency_kind_has(enum page_kind kind, enum page_part part)
{
	if (kind >= PAGE_RECORD_RESIDENT && kind < PAGE_KIND_COUNT)
		return (kind - PAGE_RECORD_RESIDENT) & part;
	return kind == PAGE_DATA_ZERO && part == PART_ZERO;
}

void residency_tally(const struct residency *res, va_t lo, va_t hi,
		     u64 by_kind[static PAGE_KIND_COUNT])
{
	size_t behind = array_first(&res->runs, ((u64)e->page << PAGE_SHIFT) > lo);

	for (size_t run = behind; run > 0 && lo < hi; run++) {
		va_t end = hi;

		if (run < res->runs.n)
			end = MIN(hi, (u64)res->runs.v[run].page << PAGE_SHIFT);
		by_kind[res->runs.v[run - 1].kind] += end - lo;
		lo = end;
	}
}

bool residency_proves(const struct residency *res, va_t va)
{
	size_t behind = array_first(&res->runs, ((u64)e->page << PAGE_SHIFT) > va);
	enum page_kind kind = behind ? (enum page_kind)res->runs.v[behind - 1].kind : PAGE_GAP;

	return kind == PAGE_DATA || kind == PAGE_DATA_ZERO || kind >= PAGE_RECORD_RESIDENT;
}

struct err *residency_add_run(struct residency *res, va_t va, enum page_kind kind)
{
	struct page_run run = {.page = va >> PAGE_SHIFT, .kind = kind};

	if (res->runs.n) {
		struct page_run *last = &res->runs.v[res->runs.n - 1];

		if (last->kind == run.kind)
			return NULL;
		if (last->page == run.page) {
			last->kind = run.kind;
			return NULL;
		}
	}
	return array_push(&res->runs, run);
}

/* Whether one of the data pages in [pos, end) of the file is all zero. */
static bool has_zero_page(const struct image *im, u64 pos, u64 end)
{
	const u64 page = im->auxv.page_size;

	for (; pos + page <= end; pos += page)
		if (bits_all_zero(im->core.data + pos, page))
			return true;
	return false;
}

static bool is_first_hand(const struct image *im)
{
	bool zero_page = false, odd_hole = false;

	if (im->kind != CORE_KERNEL && im->kind != CORE_SPANSCOPE)
		return false;
	if (im->unpacked.packing && !im->unpacked.keeps_holes)
		return false;
	for (size_t i = 0; i < im->segs.n && !(zero_page && odd_hole); i++) {
		const struct segment *seg = &im->segs.v[i];
		u64 pos = seg->off, end = seg->off + seg->file_bytes;

		while (pos < end && !(zero_page && odd_hole)) {
			u64 data = os_file_seek(&im->core, pos, end, SEEK_DATA);
			u64 hole = os_file_seek(&im->core, data, end, SEEK_HOLE);

			if (data < hole && !zero_page)
				zero_page = has_zero_page(im, data, hole);
			if (hole < end && hole > seg->off && hole % (2 * im->auxv.page_size) != 0)
				odd_hole = true;
			pos = hole;
		}
	}
	return zero_page && odd_hole;
}

/* The dumped file bytes of one piece of one mapping. */
struct piece {
	va_t lo;
	u64 off, bytes;
};

/* Data pages from `from` to `to` of a piece, by content where that is asked for. */
static struct err *add_data(struct image *im, const struct piece *p, u64 from, u64 to)
{
	if (!im->res.test_zero)
		return residency_add_run(&im->res, p->lo + (from - p->off), PAGE_DATA);
	for (u64 pos = from, n; pos < to; pos += n) {
		n = MIN(im->auxv.page_size, to - pos);
		TRY(residency_add_run(&im->res, p->lo + (pos - p->off),
				      bits_all_zero(im->core.data + pos, n) ? PAGE_DATA_ZERO
									    : PAGE_DATA));
	}
	os_file_forget(&im->core, from, to - from);
	return NULL;
}

static struct err *runs_by_holes(struct image *im, const struct piece *p)
{
	u64 pos = p->off, end = p->off + p->bytes;

	while (pos < end) {
		u64 data = os_file_seek(&im->core, pos, end, SEEK_DATA);
		u64 hole = os_file_seek(&im->core, data, end, SEEK_HOLE);

		if (data > pos)
			TRY(residency_add_run(&im->res, p->lo + (pos - p->off), PAGE_HOLE));
		if (hole > data)
			TRY(add_data(im, p, data, hole));
		pos = hole;
		log_progress(pos, im->core.size);
	}
	return NULL;
}

/* Bytes of the hole at p->lo + done, up to the kernel's page where data begins; *data_end is where
 * that data ends in the file. */
static u64 hole_bytes(const struct image *im, const struct piece *p, u64 done, u64 *data_end)
{
	u64 pos = p->off + done, end = p->off + p->bytes;
	u64 data = os_file_seek(&im->core, pos, end, SEEK_DATA);

	*data_end = os_file_seek(&im->core, data, end, SEEK_HOLE);
	return data == end ? end - pos : align_down(data - pos, im->auxv.page_size);
}

/* By the kernel's pages, of which each is in memory as a whole. */
static struct err *runs_by_content(struct image *im, const struct piece *p)
{
	u64 done = 0, data_end = 0, forgotten = 0;

	while (done < p->bytes) {
		enum page_kind kind = PAGE_ZERO;
		u64 n = 0;

		/* Holes are zero whoever made them. */
		if (p->off + done >= data_end)
			n = hole_bytes(im, p, done, &data_end);
		if (!n) {
			n = MIN(im->auxv.page_size, p->bytes - done);
			if (!bits_all_zero(im->core.data + p->off + done, n))
				kind = PAGE_NONZERO;
		}
		TRY(residency_add_run(&im->res, p->lo + done, kind));
		done += n;
		if (done % PROGRESS_BYTES < n || done == p->bytes) {
			os_file_forget(&im->core, p->off + forgotten, done - forgotten);
			forgotten = done;
			log_progress(p->off + done, im->core.size);
		}
	}
	return NULL;
}

/* Whether a page equals its file; bytes beyond the end of the file are zero in memory. */
static bool equals_file(const struct os_file *f, u64 offset, const u8 *page, u64 n)
{
	u64 in_file = offset < f->size ? MIN(n, f->size - offset) : 0;

	return memcmp(page, f->data + MIN(offset, f->size), in_file) == 0 &&
	       bits_all_zero(page + in_file, n - in_file);
}

/* The page with the ELF header, which nobody could write to. strip changes it in the file alone:
 * it says where the sections are. */
static bool is_header(const struct vma *v, u64 offset)
{
	return v->offset + offset == 0 && v->perm_known && !(v->perm & PERM_W);
}

static struct err *runs_by_file(struct image *im, const struct vma *v, const struct piece *p)
{
	const struct mapped_file *f = &im->files.v[v->file];

	if (!f->proved || (v->perm_known && (v->perm & PERM_X)))
		return residency_add_run(&im->res, p->lo, PAGE_CLEAN);
	for (u64 done = 0; done < p->bytes; done += im->auxv.page_size) {
		u64 n = MIN(im->auxv.page_size, p->bytes - done);
		const u8 *page = im->core.data + p->off + done;
		enum page_kind kind = PAGE_DIFFERS;

		if (is_header(v, done) || equals_file(&f->file, v->offset + done, page, n))
			kind = PAGE_CLEAN;
		else if (im->res.test_zero && im->res.first_hand && bits_all_zero(page, n))
			kind = PAGE_DATA_ZERO;
		TRY(residency_add_run(&im->res, p->lo + done, kind));
	}
	return NULL;
}

/* Kind of the part of a mapping that has no bytes in the core. */
static enum page_kind undumped_kind(const struct vma *v)
{
	switch ((enum vma_kind)v->kind) {
	case VMA_VVAR:
	case VMA_VSYSCALL:
		return PAGE_KERNEL;
	case VMA_FILE:
	case VMA_SHM:
	case VMA_VDSO:
		return PAGE_CLEAN;
	case VMA_ANON:
	case VMA_STACK:
		break;
	}
	return v->perm_known && v->perm == 0 ? PAGE_NO_ACCESS : PAGE_UNDUMPED;
}

static struct err *vma_runs(struct image *im, const struct vma *v)
{
	const struct segment *seg = v->in_core ? image_segment(im, v->lo) : NULL;
	va_t dumped = v->lo, lost = v->lo;
	struct piece p = {.lo = v->lo};
	bool anon = v->kind == VMA_ANON || v->kind == VMA_STACK;

	if (seg) {
		dumped = MAX(v->lo, MIN(v->hi, seg->lo + seg->file_bytes));
		lost = MAX(dumped, MIN(v->hi, seg->lo + seg->file_bytes + seg->lost_bytes));
		p.off = seg->off + (v->lo - seg->lo);
		p.bytes = dumped - v->lo;
	}
	if (p.bytes && anon)
		TRY(im->res.first_hand ? runs_by_holes(im, &p) : runs_by_content(im, &p));
	else if (p.bytes && v->kind == VMA_FILE)
		TRY(runs_by_file(im, v, &p));
	else if (p.bytes)
		TRY(residency_add_run(&im->res, v->lo, undumped_kind(v)));
	if (lost > dumped)
		TRY(residency_add_run(&im->res, dumped, PAGE_LOST));
	if (v->hi > lost)
		TRY(residency_add_run(&im->res, lost, undumped_kind(v)));
	return NULL;
}

/* A file serves for comparing when the page that every core has of it is equal: the page at
 * offset 0, which holds the build id of anything that a linker made. */
static void prove_file(struct image *im, const struct vma *header, struct diags *d)
{
	struct mapped_file *f = &im->files.v[header->file];
	const u8 *page = image_view(im, header->lo, PAGE_BYTES);

	if (f->opened || f->shm)
		return;
	f->opened = true;
	if (page) {
		struct err *err = os_file_open(f->path, &f->file);

		f->proved = !err && equals_file(&f->file, 0, page, PAGE_BYTES);
		err_free(err);
	}
	if (!f->proved)
		diag(d, DIAG_FILE_UNPROVED, "%s", f->path);
}

void residency_set_file(struct image *im, int file, const struct os_file *given)
{
	struct mapped_file *f = &im->files.v[file];
	struct err *err;

	if (f->opened)
		return;
	err = os_file_dup(given, &f->file);
	f->opened = true;
	f->proved = !err;
	err_free(err);
}

static void find_private_data(struct image *im)
{
	for (size_t i = 0; i < im->vmas.n; i++) {
		const struct vma *v = &im->vmas.v[i];
		const struct segment *seg = v->in_core ? image_segment(im, v->lo) : NULL;

		if (v->file >= 0 && v->offset != 0 && seg && seg->file_bytes)
			im->files.v[v->file].private_data = true;
	}
}

/* Opens the files whose private pages are in the core. Not more than there are descriptors. */
static void prove_files(struct image *im, struct diags *d)
{
	const size_t max_files = 512;
	size_t opened = 0;

	find_private_data(im);
	for (size_t i = 0; i < im->vmas.n && opened < max_files; i++) {
		const struct vma *v = &im->vmas.v[i];
		const struct mapped_file *f = v->kind == VMA_FILE ? &im->files.v[v->file] : NULL;

		if (!f || v->offset != 0 || !f->code || f->opened || !f->private_data || f->unnamed)
			continue;
		prove_file(im, v, d);
		opened++;
	}
}

struct err *residency_build(struct image *im, struct diags *d)
{
	va_t end = 0;
	bool anon_dumped = false;

	if (im->sidecar && im->sidecar->has_pages)
		return exact_build(im, d);
	prove_files(im, d);
	im->res.first_hand = is_first_hand(im);
	for (size_t i = 0; i < im->vmas.n; i++) {
		const struct vma *v = &im->vmas.v[i];

		if (v->lo > end)
			TRY(residency_add_run(&im->res, end, PAGE_GAP));
		TRY(vma_runs(im, v));
		end = v->hi;
		anon_dumped |= v->kind == VMA_ANON && v->in_core;
	}
	TRY(residency_add_run(&im->res, end, PAGE_GAP));
	array_shrink(&im->res.runs);
	if (anon_dumped)
		im->res.evidence = im->res.first_hand ? EVIDENCE_POPULATED : EVIDENCE_NONZERO;
	return NULL;
}
