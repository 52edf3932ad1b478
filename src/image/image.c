#include "image/image_priv.h"

#include <string.h>

static const char *const kind_names[] = {
	[CORE_KERNEL] = "kernel",       [CORE_GCORE] = "gcore", [CORE_DELVE] = "delve",
	[CORE_SPANSCOPE] = "spanscope", [CORE_OTHER] = "other",
};

enum core_kind image_kind(const struct image *im)
{
	return im->record_notes.n ? CORE_SPANSCOPE : im->kind;
}

const char *core_kind_name(enum core_kind kind)
{
	return kind_names[kind];
}

/* Puts the core in the place of the archive that it is in. */
static struct err *unpack(struct image *im, struct diags *d)
{
	struct os_file packed = im->core;
	struct err *err;

	if (!unpack_is_packed(&packed))
		return NULL;
	im->core = (struct os_file){0};
	err = unpack_core(&im->unpacked, &packed, im->temp_dir, &im->core, d);
	os_file_close(&packed);
	return err;
}

struct err *image_open(struct image *im, const char *path, struct diags *d)
{
	struct note_range notes[ELFCORE_MAX_NOTES];
	size_t note_count;
	file_entries entries = {0};
	struct err *err;

	TRY(os_file_open(path, &im->core));
	err = unpack(im, d);
	if (!err)
		err = elfcore_read(im, d, notes, &note_count);
	if (!err)
		err = notes_read(im, d, notes, note_count, &entries);
	if (!err)
		err = vma_build(im, &entries);
	array_free(&entries);
	return err_wrap(err, "%s", path);
}

void image_close(struct image *im)
{
	for (size_t i = 0; i < im->files.n; i++)
		os_file_close(&im->files.v[i].file);
	array_free(&im->segs);
	array_free(&im->vmas);
	array_free(&im->files);
	array_free(&im->threads);
	array_free(&im->record_notes);
	array_free(&im->res.runs);
	arena_fini(&im->arena);
	os_file_close(&im->core);
	unpack_close(&im->unpacked);
}

const struct segment *image_segment(const struct image *im, va_t va)
{
	size_t i = array_first(&im->segs, e->hi > va);

	return i < im->segs.n && im->segs.v[i].lo <= va ? &im->segs.v[i] : NULL;
}

const struct vma *image_vma(const struct image *im, va_t va)
{
	size_t i = array_first(&im->vmas, e->hi > va);

	return i < im->vmas.n && im->vmas.v[i].lo <= va ? &im->vmas.v[i] : NULL;
}

/* Where n bytes of memory stand in the file, if one segment has them all. */
static bool find_bytes(const struct image *im, va_t va, size_t n, u64 *off)
{
	const struct segment *seg = image_segment(im, va);
	u64 skip;

	if (!seg)
		return false;
	skip = va - seg->lo;
	if (skip > seg->file_bytes || n > seg->file_bytes - skip)
		return false;
	*off = seg->off + skip;
	return true;
}

const u8 *image_view(const struct image *im, va_t va, size_t n)
{
	u64 off;

	return find_bytes(im, va, n, &off) ? im->core.data + off : NULL;
}

struct err *image_read(const struct image *im, va_t va, void *buf, size_t n)
{
	u8 *out = buf;

	while (n) {
		const struct segment *seg = image_segment(im, va);
		u64 skip, part;

		if (!seg || va - seg->lo >= seg->file_bytes)
			return err_fault();
		skip = va - seg->lo;
		part = MIN(n, seg->file_bytes - skip);
		memcpy(out, im->core.data + seg->off + skip, part);
		out += part;
		va += part;
		n -= part;
	}
	return NULL;
}

const u8 *image_file_view(const struct image *im, va_t va, size_t n)
{
	const struct vma *v = image_vma(im, va);
	const struct mapped_file *f = v && v->file >= 0 ? &im->files.v[v->file] : NULL;
	u64 at;

	if (!f || !f->proved || n > v->hi - va ||
	    __builtin_add_overflow(v->offset, va - v->lo, &at) || at > f->file.size ||
	    n > f->file.size - at)
		return NULL;
	return f->file.data + at;
}

bool image_u64(const struct image *im, va_t va, u64 *ret)
{
	u64 off;

	if (!find_bytes(im, va, sizeof(*ret), &off))
		return !image_read(im, va, ret, sizeof(*ret));
	memcpy(ret, im->core.data + off, sizeof(*ret));
	return true;
}

va_t image_dumped_end(const struct image *im, va_t va)
{
	const struct segment *seg = image_segment(im, va);
	const struct segment *end = im->segs.v + im->segs.n;

	while (seg && seg < end && seg->lo <= va && va < seg->lo + seg->file_bytes) {
		va = seg->lo + seg->file_bytes;
		seg++;
	}
	return va;
}
