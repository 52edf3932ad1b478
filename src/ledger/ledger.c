/* One sweep over the address space.
 *
 * Each level is a source of disjoint, ascending pieces. The sweep keeps the current piece of each
 * and cuts where any of them begins or ends; the highest level that covers a cut piece owns it.
 * Spans and free pages are not stored as claims (there are millions): their sources read gort's
 * sorted records. Cost grows with pieces and runs, not with bytes. */
#include "ledger/ledger.h"

#include "base/log.h"
#include "ledger/source.h"
#include "ledger/span_split.h"

#include <stdlib.h>

#define ANON_MIN_BYTES ((u64)64 << 10)
#define PROGRESS_PIECES 65536

_Static_assert(CAT_COUNT <= 64, "a set of classes is a word");

void ledger_init(struct ledger *l, const struct image *im, const struct gort *gort, struct diags *d)
{
	*l = (struct ledger){.im = im, .gort = gort, .d = d};
}

void ledger_fini(struct ledger *l)
{
	for (int i = 0; i < LEVEL_COUNT; i++)
		array_free(&l->claims[i]);
	array_free(&l->cells);
	array_free(&l->anon);
	free(l->heap);
	l->heap = NULL;
}

struct err *ledger_claim(struct ledger *l, enum ledger_level level, va_t lo, va_t hi,
			 enum category cat)
{
	if (lo >= hi)
		return NULL;
	return array_push(&l->claims[level], (struct claim){lo, hi, cat});
}

/* The sweep's state. */
struct sweep {
	struct ledger *l;
	struct source sources[LEVEL_COUNT];
	size_t vma, run;                         /* mapping and page run at the position */
	u64 scratch[CAT_COUNT][PAGE_KIND_COUNT]; /* of the current mapping, */
	u64 touched;                             /* in the classes whose bit is set */
	ARRAY(struct ledger_cell) pending;       /* of the unclaimed run */
	struct anon_run unclaimed;               /* empty when lo == hi */
};

#define CAT_UNCLAIMED CAT_COUNT

static struct err *flush_unclaimed(struct sweep *s)
{
	struct anon_run *run = &s->unclaimed;
	bool big = run->hi - run->lo >= ANON_MIN_BYTES;
	enum category cat = big ? CAT_ANON : CAT_UNATTRIBUTED;

	for (size_t i = 0; i < s->pending.n; i++) {
		struct ledger_cell cell = s->pending.v[i];

		cell.cat = (u16)cat;
		run->tally.by_kind[cell.kind] += cell.bytes;
		s->l->totals[cat].by_kind[cell.kind] += cell.bytes;
		TRY(array_push(&s->l->cells, cell));
	}
	if (big)
		TRY(array_push(&s->l->anon, *run));
	s->pending.n = 0;
	*run = (struct anon_run){.lo = 0};
	return NULL;
}

/* Adds a piece to the unclaimed run, or begins a new one. */
static struct err *extend_unclaimed(struct sweep *s, const struct vma *v, va_t lo, va_t hi)
{
	struct anon_run *run = &s->unclaimed;

	if (run->lo != run->hi &&
	    (run->hi != lo || run->perm != v->perm || run->perm_known != v->perm_known))
		TRY(flush_unclaimed(s));
	if (run->lo == run->hi)
		*run = (struct anon_run){.lo = lo, .perm = v->perm, .perm_known = v->perm_known};
	run->hi = hi;
	return NULL;
}

static struct err *add_pending(struct sweep *s, enum page_kind kind, u64 bytes)
{
	struct ledger_cell cell = {.vma = (u32)s->vma, .kind = (u16)kind, .bytes = bytes};

	if (s->pending.n) {
		struct ledger_cell *last = &s->pending.v[s->pending.n - 1];

		if (last->vma == cell.vma && last->kind == cell.kind) {
			last->bytes += bytes;
			return NULL;
		}
	}
	return array_push(&s->pending, cell);
}

/* Moves what the finished mapping got of one class into the totals and the cells. */
static struct err *flush_class(struct sweep *s, unsigned c)
{
	for (unsigned k = 0; k < PAGE_KIND_COUNT; k++) {
		u64 bytes = s->scratch[c][k];

		if (!bytes)
			continue;
		s->l->totals[c].by_kind[k] += bytes;
		s->scratch[c][k] = 0;
		TRY(array_push(&s->l->cells,
			       (struct ledger_cell){(u32)s->vma, (u16)c, (u16)k, bytes}));
	}
	return NULL;
}

static struct err *flush_vma(struct sweep *s)
{
	for (; s->touched; s->touched &= s->touched - 1)
		TRY(flush_class(s, (unsigned)__builtin_ctzll(s->touched)));
	return NULL;
}

static void add_bytes(struct sweep *s, enum category cat, enum page_kind kind, u64 bytes)
{
	s->scratch[cat][kind] += bytes;
	s->touched |= (u64)1 << cat;
}

/* Books [lo, hi), all of one kind of page, for its owner. */
static struct err *book(struct sweep *s, const struct piece *owner, va_t lo, va_t hi,
			enum page_kind kind)
{
	if (owner->cat == CAT_UNCLAIMED)
		return add_pending(s, kind, hi - lo);
	if (owner->span) {
		struct split split;

		span_split(&owner->slots, owner->span, lo, hi, &split);
		for (size_t i = 0; i < COUNT_OF(split.bytes); i++) {
			add_bytes(s, split.cat[i], kind, split.bytes[i]);
			s->l->heap[owner->span->spanclass][split.cat[i]].by_kind[kind] +=
				split.bytes[i];
		}
	} else {
		add_bytes(s, (enum category)owner->cat, kind, hi - lo);
	}
	return NULL;
}

/* Books a cut piece by the runs of pages that it lies on. */
static struct err *book_runs(struct sweep *s, const struct piece *owner, va_t lo, va_t hi)
{
	const struct page_run *runs = s->l->im->res.runs.v;
	size_t n = s->l->im->res.runs.n;

	while (s->run + 1 < n && ((u64)runs[s->run + 1].page << PAGE_SHIFT) <= lo)
		s->run++;
	while (lo < hi) {
		va_t end = hi;

		if (s->run + 1 < n)
			end = MIN(hi, (u64)runs[s->run + 1].page << PAGE_SHIFT);
		TRY(book(s, owner, lo, end, (enum page_kind)runs[s->run].kind));
		if (end < hi)
			s->run++;
		lo = end;
	}
	return NULL;
}

/* Makes the mapping that contains lo the current one. */
static struct err *enter_vma(struct sweep *s, va_t lo)
{
	if (lo < s->l->im->vmas.v[s->vma].hi)
		return NULL;
	TRY(flush_vma(s));
	while (lo >= s->l->im->vmas.v[s->vma].hi)
		s->vma++;
	return NULL;
}

/* The owner of [pos, *end): the highest level that covers it. NULL when no mapping does. */
static struct err *find_owner(struct sweep *s, va_t pos, va_t *end, struct piece **owner)
{
	struct piece *best = NULL;
	bool pages = false;

	*end = UINT64_MAX;
	for (int i = 0; i < LEVEL_COUNT; i++) {
		struct piece *p;

		TRY(source_seek(&s->sources[i], pos));
		p = &s->sources[i].piece;
		if (p->lo > pos) { /* an exhausted source stands at the end of the space */
			*end = MIN(*end, p->lo);
			continue;
		}
		*end = MIN(*end, p->hi);
		if (i == LEVEL_MAPPING) {
			best = p;
			continue;
		}
		if (i == LEVEL_PAGES)
			pages = true;
		if (i == LEVEL_SPANS && pages)
			diag(s->l->d, DIAG_OVERLAP,
			     "pages at 0x%llx are free, and in the span at 0x%llx",
			     (unsigned long long)pos, (unsigned long long)p->lo);
		if (best)
			best = p;
	}
	*owner = best;
	return NULL;
}

static struct err *sweep_all(struct sweep *s)
{
	const struct image *im = s->l->im;
	va_t pos = im->vmas.v[0].lo, last = im->vmas.v[im->vmas.n - 1].hi;
	u64 pieces = 0;

	while (pos < last) {
		struct piece *owner;
		va_t end;

		TRY(find_owner(s, pos, &end, &owner));
		if (owner) {
			TRY(enter_vma(s, pos));
			if (owner->cat == CAT_UNCLAIMED)
				TRY(extend_unclaimed(s, &im->vmas.v[s->vma], pos, end));
			TRY(book_runs(s, owner, pos, end));
		}
		pos = end;
		if (++pieces % PROGRESS_PIECES == 0)
			log_progress(s->run, im->res.runs.n);
	}
	TRY(flush_vma(s));
	return flush_unclaimed(s);
}

static int by_vma(const void *a, const void *b)
{
	const struct ledger_cell *x = a, *y = b;

	if (x->vma != y->vma)
		return x->vma < y->vma ? -1 : 1;
	if (x->cat != y->cat)
		return x->cat < y->cat ? -1 : 1;
	return x->kind < y->kind ? -1 : x->kind > y->kind;
}

/* Cells that a mapping got in several runs of unclaimed memory become one. */
static void merge_cells(struct ledger *l)
{
	size_t kept = 0;

	if (l->cells.n)
		qsort(l->cells.v, l->cells.n, sizeof(*l->cells.v), by_vma);
	for (size_t i = 0; i < l->cells.n; i++) {
		if (kept && by_vma(&l->cells.v[kept - 1], &l->cells.v[i]) == 0)
			l->cells.v[kept - 1].bytes += l->cells.v[i].bytes;
		else
			l->cells.v[kept++] = l->cells.v[i];
	}
	l->cells.n = kept;
}

/* Invariant: the classes together are the mappings, to the byte. */
static struct err *audit(const struct ledger *l)
{
	u64 mapped = 0, booked = ledger_total(l).virtual;

	for (size_t i = 0; i < l->im->vmas.n; i++)
		mapped += l->im->vmas.v[i].hi - l->im->vmas.v[i].lo;
	if (mapped == booked)
		return NULL;
	return err_new(ERR_BUG, "the classes sum to %llu bytes, the mappings to %llu",
		       (unsigned long long)booked, (unsigned long long)mapped);
}

struct err *ledger_seal(struct ledger *l)
{
	struct sweep *s = xcalloc(1, sizeof(*s));
	struct err *err = NULL;

	s->l = l;
	l->heap = xcalloc(LEDGER_SPANCLASSES, sizeof(*l->heap));
	for (int i = 0; i < LEVEL_COUNT && !err; i++)
		err = source_init(&s->sources[i], l, (enum ledger_level)i);
	if (!err && l->im->vmas.n)
		err = sweep_all(s);
	for (int i = 0; i < LEVEL_COUNT; i++)
		source_fini(&s->sources[i]);
	array_free(&s->pending);
	free(s);
	if (err)
		return err;
	merge_cells(l);
	return audit(l);
}

static u64 part_bytes(const struct tally *t, int kind, enum page_part part)
{
	return residency_kind_has((enum page_kind)kind, part) ? t->by_kind[kind] : 0;
}

struct columns tally_columns(const struct tally *t, enum category cat)
{
	struct columns c = {.evidence = EVIDENCE_UNKNOWN};

	for (int k = 0; k < PAGE_KIND_COUNT; k++) {
		struct columns one = {.virtual = t->by_kind[k]};

		if (!t->by_kind[k])
			continue;
		one.state[category_state(cat, (enum page_kind)k)] = t->by_kind[k];
		one.zero = part_bytes(t, k, PART_ZERO);
		one.huge = part_bytes(t, k, PART_HUGE);
		one.lazyfree = part_bytes(t, k, PART_LAZYFREE);
		one.huge_unsure = part_bytes(t, k, PART_HUGE_UNSURE);
		one.lazyfree_unsure = part_bytes(t, k, PART_LAZYFREE_UNSURE);
		one.evidence = residency_kind_evidence((enum page_kind)k);
		columns_add(&c, &one);
	}
	return c;
}

void columns_add(struct columns *sum, const struct columns *c)
{
	sum->virtual += c->virtual;
	for (int s = 0; s < STATE_COUNT; s++)
		sum->state[s] += c->state[s];
	sum->zero += c->zero;
	sum->huge += c->huge;
	sum->lazyfree += c->lazyfree;
	sum->huge_unsure += c->huge_unsure;
	sum->lazyfree_unsure += c->lazyfree_unsure;
	/* Bytes without evidence have their own column: they do not weaken the others'. */
	if (c->evidence == EVIDENCE_UNKNOWN)
		return;
	if (sum->evidence == EVIDENCE_UNKNOWN)
		sum->evidence = c->evidence;
	else if (sum->evidence != c->evidence)
		sum->evidence = EVIDENCE_MIXED;
}

bool ledger_knows(const struct ledger *l, enum category cat)
{
	return !(l->unread >> cat & 1) || ledger_columns(l, cat).virtual;
}

bool ledger_knows_part(const struct ledger *l, const struct columns *c, enum page_part part)
{
	if ((part == PART_HUGE && c->huge_unsure) || (part == PART_LAZYFREE && c->lazyfree_unsure))
		return false;
	return residency_knows(l->im, part);
}

struct columns ledger_columns(const struct ledger *l, enum category cat)
{
	return tally_columns(&l->totals[cat], cat);
}

struct columns ledger_heap_columns(const struct ledger *l, u8 spanclass, enum category cat)
{
	return tally_columns(&l->heap[spanclass][cat], cat);
}

struct columns ledger_total(const struct ledger *l)
{
	struct columns sum = {.evidence = EVIDENCE_UNKNOWN};

	for (int c = 0; c < CAT_COUNT; c++) {
		struct columns one = ledger_columns(l, (enum category)c);

		columns_add(&sum, &one);
	}
	sum.evidence = l->im->res.evidence;
	return sum;
}

struct ledger_counted ledger_counted(const struct ledger *l)
{
	struct ledger_counted sum = {0};

	for (size_t i = 0; i < l->cells.n; i++) {
		const struct ledger_cell *c = &l->cells.v[i];
		enum page_kind kind = (enum page_kind)c->kind;
		enum page_state state = category_state((enum category)c->cat, kind);

		if (state == STATE_SWAPPED)
			sum.swapped += c->bytes;
		if (state != STATE_RESIDENT)
			continue;
		if (!residency_kind_has(kind, PART_FILE))
			sum.anon += c->bytes;
		else if (l->im->vmas.v[c->vma].kind == VMA_SHM)
			sum.shm += c->bytes;
		else
			sum.file += c->bytes;
	}
	return sum;
}

void ledger_vma_cells(const struct ledger *l, size_t vma, size_t *first, size_t *last)
{
	*first = *last = array_first(&l->cells, e->vma >= vma);
	while (*last < l->cells.n && l->cells.v[*last].vma == vma)
		++*last;
}

struct columns ledger_vma_columns(const struct ledger *l, size_t vma, enum category *owner)
{
	struct columns sum = {.evidence = EVIDENCE_UNKNOWN};
	u64 by_class[CAT_COUNT] = {0}, most = 0;
	size_t first, last;

	ledger_vma_cells(l, vma, &first, &last);
	*owner = CAT_UNATTRIBUTED;
	for (size_t i = first; i < last; i++) {
		const struct ledger_cell *cell = &l->cells.v[i];
		struct tally t = {{0}};
		struct columns one;

		t.by_kind[cell->kind] = cell->bytes;
		one = tally_columns(&t, (enum category)cell->cat);
		columns_add(&sum, &one);
		by_class[cell->cat] += cell->bytes;
		if (by_class[cell->cat] > most) {
			most = by_class[cell->cat];
			*owner = (enum category)cell->cat;
		}
	}
	return sum;
}
