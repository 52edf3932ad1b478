#include "ledger/source.h"

#include <stdlib.h>

static int by_address(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;

	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	if (x->cat != y->cat)
		return x->cat < y->cat ? -1 : 1;
	return x->hi < y->hi ? -1 : x->hi > y->hi;
}

void source_sort(struct ledger *l, enum ledger_level level)
{
	if (l->claims[level].n)
		qsort(l->claims[level].v, l->claims[level].n, sizeof(*l->claims[level].v),
		      by_address);
}

struct err *source_init(struct source *s, struct ledger *l, enum ledger_level level)
{
	*s = (struct source){.l = l, .level = level};
	source_sort(l, level);
	if (level == LEVEL_PAGES && l->gort)
		free_walk_begin(&s->walk, &l->gort->rt, &l->gort->pagealloc, &l->gort->procs,
				&l->gort->spans);
	return NULL;
}

void source_fini(struct source *s)
{
	*s = (struct source){.l = NULL};
}

static void set_end(struct source *s)
{
	s->piece.lo = s->piece.hi = UINT64_MAX;
	s->piece.span = NULL;
}

/* Takes in the claims that begin at or before pos, and drops those that end there. */
static void update_active(struct source *s, va_t pos)
{
	const struct claim *claims = s->l->claims[s->level].v;
	size_t n = s->l->claims[s->level].n, kept = 0;

	for (size_t i = 0; i < s->active_count; i++)
		if (s->active[i].hi > pos)
			s->active[kept++] = s->active[i];
	s->active_count = kept;
	for (; s->next < n && claims[s->next].lo <= pos; s->next++) {
		if (claims[s->next].hi <= pos)
			continue;
		if (s->active_count && claims[s->next].lo == pos)
			diag(s->l->d, DIAG_OVERLAP, "%s and %s at 0x%llx",
			     category_id(s->active[0].cat), category_id(claims[s->next].cat),
			     (unsigned long long)pos);
		if (s->active_count < SOURCE_MAX_ACTIVE)
			s->active[s->active_count++] = claims[s->next];
	}
}

/* Next piece of the stored claims; where several cover a byte, the first class has it. */
static void next_claim(struct source *s)
{
	const struct claim *claims = s->l->claims[s->level].v;
	size_t n = s->l->claims[s->level].n;
	const struct claim *best;
	va_t pos = s->covered;

	update_active(s, pos);
	if (!s->active_count) {
		if (s->next == n) {
			set_end(s);
			return;
		}
		pos = claims[s->next].lo;
		update_active(s, pos);
	}
	best = &s->active[0];
	for (size_t i = 1; i < s->active_count; i++)
		if (s->active[i].cat < best->cat)
			best = &s->active[i];
	s->piece.lo = pos;
	s->piece.hi = best->hi;
	s->piece.cat = (int)best->cat;
	if (s->next < n)
		s->piece.hi = MIN(s->piece.hi, claims[s->next].lo);
	for (size_t i = 0; i < s->active_count; i++)
		s->piece.hi = MIN(s->piece.hi, s->active[i].hi);
	s->covered = s->piece.hi;
}

/* A mapping is the universe: each has a piece, unclaimed when no stored claim names it. */
static void next_mapping(struct source *s)
{
	const struct claim *claims = s->l->claims[LEVEL_MAPPING].v;

	if (s->next == s->l->claims[LEVEL_MAPPING].n) {
		set_end(s);
		return;
	}
	/* claim_mappings has made one claim a mapping, in the same order. */
	s->piece = (struct piece){.lo = claims[s->next].lo,
				  .hi = claims[s->next].hi,
				  .cat = (int)claims[s->next].cat};
	s->next++;
}

static void next_free_run(struct source *s)
{
	struct free_run run;

	do {
		if (!s->l->gort || !free_walk_next(&s->walk, &run)) {
			set_end(s);
			return;
		}
	} while (run.hi <= s->covered);
	s->piece = (struct piece){
		.lo = MAX(run.lo, s->covered),
		.hi = run.hi,
		.cat = run.released ? CAT_IDLE_RELEASED : CAT_IDLE_RETAINED,
	};
	s->covered = run.hi;
}

/* The class of a manual span before the stacks in it are cut out. */
static enum category manual_category(const struct span *span)
{
	return span->flags & SPAN_WORKBUF ? CAT_META_GCWORK : CAT_STACK_CACHED;
}

static void next_span(struct source *s)
{
	const struct gort *gort = s->l->gort;
	const struct span *span;

	do {
		if (!gort || s->next == gort->spans.v.n) {
			set_end(s);
			return;
		}
		span = &gort->spans.v.v[s->next++];
		if (span->start < s->covered)
			diag(s->l->d, DIAG_OVERLAP, "the span at 0x%llx overlaps another",
			     (unsigned long long)span->start);
	} while (span_end(span) <= s->covered);
	s->piece.lo = MAX(span->start, s->covered);
	s->piece.hi = span_end(span);
	s->piece.span = NULL;
	s->piece.cat = manual_category(span);
	s->covered = s->piece.hi;
	if (span->state != SPAN_IN_USE)
		return;
	if (slots_read(&gort->rt, &gort->arenas, span, &s->piece.slots)) {
		s->piece.span = span;
	} else {
		/* The span is allocated, of that alone there is no doubt. */
		s->piece.cat = CAT_HEAP_UNDECIDED;
		diag(s->l->d, DIAG_STRUCTURE, "the bitmaps of the span at 0x%llx are missing",
		     (unsigned long long)span->start);
	}
}

struct err *source_seek(struct source *s, va_t pos)
{
	while (s->piece.hi <= pos && s->piece.lo != UINT64_MAX)
		switch (s->level) {
		case LEVEL_MAPPING:
			next_mapping(s);
			break;
		case LEVEL_PAGES:
			next_free_run(s);
			break;
		case LEVEL_SPANS:
			next_span(s);
			break;
		case LEVEL_CONTAINER:
		case LEVEL_LEAF:
		case LEVEL_COUNT:
			next_claim(s);
			break;
		}
	return NULL;
}
