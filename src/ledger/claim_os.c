#include "ledger/claim.h"

#include <string.h>

static enum category mapping_category(const struct image *im, const struct binary *bin,
				      const struct vma *v)
{
	switch ((enum vma_kind)v->kind) {
	case VMA_FILE:
		if (v->file == bin->file)
			return CAT_FILE_EXEC;
		return im->files.v[v->file].code ? CAT_FILE_LIB : CAT_FILE_DATA;
	case VMA_SHM:
		return CAT_SHM;
	case VMA_STACK:
		return CAT_THREAD_STACK;
	case VMA_VDSO:
		return CAT_KERNEL_VDSO;
	case VMA_VVAR:
		return CAT_KERNEL_VVAR;
	case VMA_VSYSCALL:
		return CAT_KERNEL_VSYSCALL;
	case VMA_ANON:
		break;
	}
	return CAT_COUNT; /* unclaimed */
}

struct err *claim_mappings(struct ledger *l, const struct binary *bin)
{
	for (size_t i = 0; i < l->im->vmas.n; i++) {
		const struct vma *v = &l->im->vmas.v[i];

		TRY(ledger_claim(l, LEVEL_MAPPING, v->lo, v->hi, mapping_category(l->im, bin, v)));
	}
	return NULL;
}

/* The stack that a pthread runs on, from its descriptor. */
struct pthread_stack {
	va_t block;
	u64 size, guard;
};

#define PTHREAD_BYTES 2560 /* struct pthread has 2304 in glibc 2.36, other releases differ */
#define STACK_MAX_BYTES ((u64)64 << 30)

static bool is_stack_of(const struct image *im, const struct pthread_stack *s, va_t tls)
{
	const u64 page = im->auxv.page_size;

	return s->block && s->block % page == 0 && s->size % page == 0 && s->size >= 2 * page &&
	       s->size <= STACK_MAX_BYTES && s->guard % page == 0 && s->guard < s->size &&
	       s->block < tls && tls - s->block < s->size && image_vma(im, s->block) &&
	       image_vma(im, s->block + s->size - 1);
}

/* glibc's struct pthread, at the thread pointer or right below it, holds {stackblock,
 * stackblock_size, guardsize} side by side (nptl/descr.h); where, differs by release, so they are
 * known by what they say: a block of pages around the descriptor itself. */
static bool find_pthread_stack(const struct image *im, va_t tls, struct pthread_stack *ret)
{
	va_t lo = im->arch->pthread_below_tls ? tls - PTHREAD_BYTES : tls;

	for (va_t va = lo; va < lo + PTHREAD_BYTES; va += 8) {
		struct pthread_stack s;
		struct err *err = image_read(im, va, &s, sizeof(s));

		err_free(err);
		if (err)
			return false;
		if (is_stack_of(im, &s, tls)) {
			*ret = s;
			return true;
		}
	}
	return false;
}

struct err *claim_threads(struct ledger *l)
{
	for (size_t i = 0; i < l->im->threads.n; i++) {
		va_t tls = l->im->threads.v[i].tls;
		struct pthread_stack s;

		if (!tls || tls % 8 != 0 || !find_pthread_stack(l->im, tls, &s))
			continue;
		TRY(ledger_claim(l, LEVEL_LEAF, s.block, s.block + s.guard, CAT_THREAD_GUARD));
		TRY(ledger_claim(l, LEVEL_LEAF, s.block + s.guard, s.block + s.size,
				 CAT_THREAD_STACK));
	}
	return NULL;
}
