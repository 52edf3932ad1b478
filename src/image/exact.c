/* Residency by a record of what the kernel said of each page (sidecar.h).
 *
 * What the record has is final: nothing is concluded from the core, whose content is read only to
 * tell pages of zeros apart where that is asked for. */
#include "base/bits.h"
#include "image/image_priv.h"
#include "image/sidecar.h"

#define UNIT_BYTES ((u64)1 << PAGE_SHIFT)

/* A page that is being moved to another place in memory looks like one in swap; smaps counts it as
 * resident. In private memory it tells them apart when it has nothing in swap there. */
static bool is_moving(const struct image *im, va_t va, u16 flags)
{
	const struct smaps_vma *said = smaps_find(&im->sidecar->smaps, va);

	return (flags & (PG_PRESENT | PG_SWAPPED | PG_GUARD)) == PG_SWAPPED && said &&
	       !said->shared && said->swap == 0;
}

static enum page_kind kind_of(u16 flags)
{
	unsigned parts = 0;

	if (flags & (PG_GUARD | PG_ZERO))
		return PAGE_RECORD_ABSENT;
	if (flags & PG_UNSURE)
		return PAGE_RECORD_UNKNOWN;
	if (!(flags & PG_PRESENT))
		return flags & PG_SWAPPED ? PAGE_RECORD_SWAPPED : PAGE_RECORD_ABSENT;
	if (flags & PG_HUGE)
		parts |= PART_HUGE;
	if (flags & PG_LAZYFREE)
		parts |= PART_LAZYFREE;
	if (flags & PG_FILE)
		parts |= PART_FILE;
	if (flags & PG_HUGE_UNSURE)
		parts |= PART_HUGE_UNSURE;
	if (flags & PG_LAZYFREE_UNSURE)
		parts |= PART_LAZYFREE_UNSURE;
	return (enum page_kind)(PAGE_RECORD_RESIDENT + parts);
}

/* Resident pages of [lo, hi), those of zeros apart as far as the core has them. */
static struct err *add_resident(struct image *im, va_t lo, va_t hi, enum page_kind kind)
{
	u64 page = im->auxv.page_size;

	if (!im->res.test_zero || residency_kind_has(kind, PART_FILE))
		return residency_add_run(&im->res, lo, kind);
	for (va_t va = lo; va < hi; va += page) {
		const u8 *bytes = image_view(im, va, MIN(page, hi - va));
		bool zero = bytes && bits_all_zero(bytes, MIN(page, hi - va));

		TRY(residency_add_run(&im->res, va,
				      (enum page_kind)(kind + (zero ? PART_ZERO : 0))));
	}
	return NULL;
}

static bool is_uncounted(const struct image *im, const struct vma *v)
{
	const struct smaps_vma *said = smaps_find(&im->sidecar->smaps, v->lo);

	return v->kind == VMA_VVAR || v->kind == VMA_VSYSCALL ||
	       (said && said->flags & SMAPS_HUGETLB);
}

/* Whether the record is of this mapping too. */
static bool is_recorded(const struct image *im, const struct vma *v)
{
	const struct smaps *smaps = &im->sidecar->smaps;
	va_t va = v->lo;

	while (smaps->vmas.n && va < v->hi) {
		const struct smaps_vma *said = smaps_find(smaps, va);

		if (!said)
			return false;
		va = said->hi;
	}
	return true;
}

static struct err *add_recorded(struct image *im, const struct vma *v)
{
	const struct pagerec *rec = &im->sidecar->pages;
	size_t i = array_first(&rec->runs, (e->page + e->count) << PAGE_SHIFT > v->lo);
	va_t pos = v->lo;

	for (; i < rec->runs.n && pos < v->hi; i++) {
		const struct record_run *run = &rec->runs.v[i];
		va_t lo = MAX(run->page << PAGE_SHIFT, pos);
		va_t hi = MIN((run->page + run->count) << PAGE_SHIFT, v->hi);
		enum page_kind kind = kind_of(run->flags);

		if (lo >= v->hi)
			break;
		if (is_moving(im, lo, run->flags))
			kind = kind_of((u16)(run->flags | PG_PRESENT));
		if (lo > pos)
			TRY(residency_add_run(&im->res, pos, PAGE_RECORD_ABSENT));
		if (kind >= PAGE_RECORD_RESIDENT)
			TRY(add_resident(im, lo, hi, kind));
		else
			TRY(residency_add_run(&im->res, lo, kind));
		pos = hi;
	}
	return pos < v->hi ? residency_add_run(&im->res, pos, PAGE_RECORD_ABSENT) : NULL;
}

struct err *exact_build(struct image *im, struct diags *d)
{
	va_t end = 0;

	for (size_t i = 0; i < im->vmas.n; i++) {
		const struct vma *v = &im->vmas.v[i];

		if (v->lo > end)
			TRY(residency_add_run(&im->res, end, PAGE_GAP));
		end = v->hi;
		if (is_uncounted(im, v)) {
			TRY(residency_add_run(&im->res, v->lo, PAGE_RECORD_ABSENT));
		} else if (is_recorded(im, v)) {
			TRY(add_recorded(im, v));
		} else {
			diag(d, DIAG_SIDECAR_MAPPINGS, "0x%llx-0x%llx", (unsigned long long)v->lo,
			     (unsigned long long)v->hi);
			TRY(residency_add_run(&im->res, v->lo, PAGE_RECORD_UNKNOWN));
		}
	}
	TRY(residency_add_run(&im->res, end, PAGE_GAP));
	array_shrink(&im->res.runs);
	im->res.evidence = EVIDENCE_EXACT;
	return NULL;
}

bool residency_knows(const struct image *im, enum page_part part)
{
	if (part == PART_ZERO)
		return im->res.test_zero && (im->res.evidence == EVIDENCE_POPULATED ||
					     im->res.evidence == EVIDENCE_EXACT);
	if (im->res.evidence != EVIDENCE_EXACT)
		return false;
	if (part == PART_FILE)
		return true;
	return sidecar_knows(im->sidecar, part == PART_HUGE ? PG_HUGE : PG_LAZYFREE);
}
