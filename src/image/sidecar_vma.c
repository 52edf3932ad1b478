/* The mappings of smaps in the core's own table: a gcore leaves some out and hides that others are
 * inaccessible, a delve dump names no files. */
#include "image/image_priv.h"
#include "image/sidecar.h"

#include <string.h>

static const struct {
	const char *name;
	enum vma_kind kind;
} specials[] = {
	{"[stack]", VMA_STACK},      {"[vdso]", VMA_VDSO},         {"[vvar]", VMA_VVAR},
	{"[vvar_vclock]", VMA_VVAR}, {"[vsyscall]", VMA_VSYSCALL},
};

static bool has_file(const struct smaps_vma *said)
{
	return *said->path == '/';
}

/* Fills in what smaps says of a mapping, or a piece of one, that the core says nothing of. */
static struct err *name_vma(struct image *im, const struct smaps_vma *said, struct vma *v)
{
	if (!v->perm_known) {
		v->perm = said->perm;
		v->perm_known = true;
	}
	if (v->file < 0 && v->kind == VMA_ANON && has_file(said)) {
		struct mapped_file *f;

		TRY(notes_intern_file(im, said->path, strlen(said->path), &v->file));
		f = &im->files.v[v->file];
		f->code |= (v->perm & PERM_X) != 0;
		v->offset = said->offset + (v->lo - said->lo);
		v->kind = f->shm ? VMA_SHM : VMA_FILE;
	}
	for (size_t i = 0; i < COUNT_OF(specials); i++)
		if (v->kind == VMA_ANON && !strcmp(said->path, specials[i].name))
			v->kind = (u8)specials[i].kind;
	return NULL;
}

typedef ARRAY(struct vma) vma_array;

/* A piece of a mapping that the core does not have. */
static struct err *add_piece(struct image *im, vma_array *out, const struct smaps_vma *said,
			     va_t lo, va_t hi)
{
	struct vma v = {.lo = lo, .hi = hi, .file = -1, .kind = VMA_ANON};

	if (lo >= hi)
		return NULL;
	TRY(name_vma(im, said, &v));
	return array_push(out, v);
}

/* Pieces of [lo, hi), which no mapping of the core covers. */
static struct err *add_gap(const struct sidecar *sc, struct image *im, vma_array *out, va_t lo,
			   va_t hi)
{
	size_t i = array_first(&sc->smaps.vmas, e->hi > lo);

	for (; i < sc->smaps.vmas.n && sc->smaps.vmas.v[i].lo < hi; i++) {
		const struct smaps_vma *said = &sc->smaps.vmas.v[i];

		TRY(add_piece(im, out, said, MAX(lo, said->lo), MIN(hi, said->hi)));
	}
	return NULL;
}

static struct err *complete(const struct sidecar *sc, struct image *im, vma_array *out)
{
	va_t end = 0;

	for (size_t i = 0; i < im->vmas.n; i++) {
		struct vma v = im->vmas.v[i];
		const struct smaps_vma *said = smaps_find(&sc->smaps, v.lo);

		TRY(add_gap(sc, im, out, end, v.lo));
		if (said && v.hi <= said->hi)
			TRY(name_vma(im, said, &v));
		TRY(array_push(out, v));
		end = v.hi;
	}
	return add_gap(sc, im, out, end, UINT64_MAX);
}

struct err *sidecar_complete_vmas(const struct sidecar *sc, struct image *im)
{
	vma_array out = {0};
	struct err *err;

	if (!sc->smaps.vmas.n)
		return NULL;
	err = complete(sc, im, &out);
	if (err) {
		array_free(&out);
		return err;
	}
	array_free(&im->vmas);
	im->vmas.v = out.v;
	im->vmas.n = out.n;
	im->vmas.cap = out.cap;
	return NULL;
}
