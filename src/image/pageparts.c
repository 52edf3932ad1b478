/* Which pages are in huge ones, or lazily freed, where the record of pages does not tell: smaps has
 * the bytes of each mapping, and that often leaves no choice.
 *
 *   none of a mapping    no page of it
 *   huge                 a huge page is mapped as a block of its size and alignment, all of which
 * is there: when such blocks have as many bytes as smaps says, they are it; of more blocks than
 * that, some are, and nobody knows which lazily freed         private memory of which all is, is;
 * else nobody knows which
 *
 * Sources: Linux 6.18, fs/proc/task_mmu.c, smaps_account and smaps_pmd_entry. */
#include "image/pagerec.h"

#define UNIT_SHIFT 12

typedef ARRAY(struct record_run) run_list;

static bool is_counted(u16 flags)
{
	return (flags & PG_PRESENT) && !(flags & (PG_ZERO | PG_GUARD | PG_UNSURE));
}

/* A mapping and its runs. */
struct mapping {
	const struct smaps_vma *said;
	u64 lo, hi; /* in units */
	const struct record_run *runs;
	size_t n; /* from the first on that ends in it */
};

static struct mapping mapping_of(const struct pagerec *r, const struct smaps_vma *v)
{
	struct mapping m = {.said = v, .lo = v->lo >> UNIT_SHIFT, .hi = v->hi >> UNIT_SHIFT};
	size_t first = array_first(&r->runs, e->page + e->count > m.lo);

	if (first < r->runs.n)
		m.runs = &r->runs.v[first];
	while (first + m.n < r->runs.n && m.runs[m.n].page < m.hi)
		m.n++;
	return m;
}

static struct err *add_mark(run_list *marks, u64 lo, u64 hi, u16 flags)
{
	return lo < hi ? array_push(marks, (struct record_run){lo, hi - lo, flags}) : NULL;
}

/* The whole blocks in [lo, hi), all of whose pages are there. */
static struct err *add_blocks(run_list *blocks, u64 lo, u64 hi, u64 block)
{
	return add_mark(blocks, align_up(lo, block), hi / block * block, 0);
}

/* All blocks of a mapping that may be huge pages. */
static struct err *find_blocks(const struct mapping *m, u64 block, run_list *blocks)
{
	u64 lo = 0, hi = 0; /* pages in a row that are there */

	for (size_t i = 0; i < m->n; i++) {
		const struct record_run *run = &m->runs[i];

		if (!is_counted(run->flags))
			continue;
		if (MAX(run->page, m->lo) != hi) {
			TRY(add_blocks(blocks, lo, hi, block));
			lo = MAX(run->page, m->lo);
		}
		hi = MIN(run->page + run->count, m->hi);
	}
	return add_blocks(blocks, lo, hi, block);
}

static struct err *mark_huge(const struct mapping *m, u64 block, run_list *marks)
{
	u64 said = m->said->anon_huge + m->said->file_huge + m->said->shm_huge, found = 0;
	size_t first = marks->n;

	if (!said)
		return NULL;
	TRY(find_blocks(m, block, marks));
	for (size_t i = first; i < marks->n; i++)
		found += marks->v[i].count << UNIT_SHIFT;
	if (found < said) { /* not of the same moment */
		marks->n = first;
		return add_mark(marks, m->lo, m->hi, PG_HUGE_UNSURE);
	}
	for (size_t i = first; i < marks->n; i++)
		marks->v[i].flags = found == said ? PG_HUGE : PG_HUGE_UNSURE;
	return NULL;
}

static struct err *mark_lazyfree(const struct mapping *m, run_list *marks)
{
	u64 private_bytes = 0;

	if (!m->said->lazyfree)
		return NULL;
	for (size_t i = 0; i < m->n; i++) {
		u64 lo = MAX(m->runs[i].page, m->lo);
		u64 hi = MIN(m->runs[i].page + m->runs[i].count, m->hi);

		if (is_counted(m->runs[i].flags) && !(m->runs[i].flags & PG_FILE))
			private_bytes += (hi - lo) << UNIT_SHIFT;
	}
	return add_mark(marks, m->lo, m->hi,
			m->said->lazyfree == private_bytes ? PG_LAZYFREE : PG_LAZYFREE_UNSURE);
}

/* What a mark says of pages with these flags. */
static u16 marked(u16 flags, u16 mark)
{
	if (!is_counted(flags) || (mark & (PG_LAZYFREE | PG_LAZYFREE_UNSURE) && flags & PG_FILE))
		return flags;
	return flags | mark;
}

/* Cuts the runs where marks begin and end, and adds what these say. */
static struct err *overlay(struct pagerec *r, const run_list *marks)
{
	run_list out = {0};
	struct err *err = NULL;
	size_t k = 0;

	for (size_t i = 0; i < r->runs.n && !err; i++) {
		u64 pos = r->runs.v[i].page, end = pos + r->runs.v[i].count;
		u16 flags = r->runs.v[i].flags;

		while (pos < end && !err) {
			const struct record_run *m;
			u64 cut = end;
			bool inside;

			while (k < marks->n && marks->v[k].page + marks->v[k].count <= pos)
				k++;
			m = k < marks->n ? &marks->v[k] : NULL;
			inside = m && m->page <= pos;
			if (m)
				cut = MIN(end, inside ? m->page + m->count : m->page);
			err = add_mark(&out, pos, cut, inside ? marked(flags, m->flags) : flags);
			pos = cut;
		}
	}
	if (err) {
		array_free(&out);
		return err;
	}
	array_free(&r->runs);
	r->runs.v = out.v;
	r->runs.n = out.n;
	r->runs.cap = out.cap;
	return NULL;
}

static struct err *derive(struct pagerec *r, const struct smaps *smaps, u64 block, u16 part)
{
	run_list marks = {0};
	struct err *err = NULL;

	for (size_t i = 0; i < smaps->vmas.n && !err; i++) {
		struct mapping m = mapping_of(r, &smaps->vmas.v[i]);

		err = part == PG_HUGE ? mark_huge(&m, block, &marks) : mark_lazyfree(&m, &marks);
	}
	if (!err && marks.n)
		err = overlay(r, &marks);
	array_free(&marks);
	r->by_smaps |= part;
	return err;
}

struct err *pagerec_derive_parts(struct pagerec *r, const struct smaps *smaps, u64 page_bytes)
{
	/* A table of the lowest level has a word for each page. */
	u64 block = page_bytes / sizeof(u64) * page_bytes >> UNIT_SHIFT;

	if (!smaps->vmas.n)
		return NULL;
	if (!(r->known & PG_HUGE))
		TRY(derive(r, smaps, block, PG_HUGE));
	return r->known & PG_LAZYFREE ? NULL : derive(r, smaps, block, PG_LAZYFREE);
}
