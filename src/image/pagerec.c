#include "image/pagerec.h"

#include "base/text.h"

#include <string.h>

#define UNIT_SHIFT 12
#define MAX_PAGE ((u64)1 << 52)

void pagerec_fini(struct pagerec *r)
{
	array_free(&r->runs);
}

/* Appends a run, or makes the last one longer. */
static struct err *add_run(struct pagerec *r, u64 page, u64 count, u16 flags)
{
	struct record_run *last = r->runs.n ? &r->runs.v[r->runs.n - 1] : NULL;

	if (last && last->page + last->count == page && last->flags == flags) {
		last->count += count;
		return NULL;
	}
	return array_push(&r->runs, (struct record_run){page, count, flags});
}

static u64 end_page(const struct pagerec *r)
{
	return r->runs.n ? r->runs.v[r->runs.n - 1].page + r->runs.v[r->runs.n - 1].count : 0;
}

/* ---- text */

static const struct {
	const char *word;
	u16 flag;
} words[] = {
	{"present", PG_PRESENT}, {"swapped", PG_SWAPPED},     {"file", PG_FILE},
	{"zero", PG_ZERO},       {"huge", PG_HUGE},           {"lazyfree", PG_LAZYFREE},
	{"guard", PG_GUARD},     {"exclusive", PG_EXCLUSIVE}, {"softdirty", PG_SOFT_DIRTY},
};

/* Words with a blank before each, to the end of the line. */
static bool take_words(struct text *t, u16 *flags)
{
	for (*flags = 0; !text_is_end(*t);) {
		size_t i = 0, n;

		if (!text_char(t, ' '))
			return false;
		for (n = 0; n < text_length(*t) && t->p[n] != ' '; n++)
			;
		while (i < COUNT_OF(words) &&
		       (strlen(words[i].word) != n || memcmp(words[i].word, t->p, n) != 0))
			i++;
		if (i == COUNT_OF(words))
			return false;
		*flags |= words[i].flag;
		t->p += n;
	}
	return true;
}

static struct err *parse_run(struct pagerec *r, struct text t)
{
	u64 lo, hi;
	u16 flags;

	if (!text_number(&t, 16, &lo) || !text_char(&t, '-') || !text_number(&t, 16, &hi) ||
	    !take_words(&t, &flags))
		return err_new(ERR_FORMAT, "this is no run of pages");
	if (lo >= hi || (lo | hi) & (((u64)1 << UNIT_SHIFT) - 1))
		return err_new(ERR_FORMAT, "a run that is not of whole pages");
	if (lo >> UNIT_SHIFT < end_page(r))
		return err_new(ERR_FORMAT, "a run out of order");
	return add_run(r, lo >> UNIT_SHIFT, (hi - lo) >> UNIT_SHIFT, flags);
}

struct err *pagerec_parse_text(struct pagerec *r, const char *text, size_t n)
{
	struct text left = {text, text + n}, line;
	bool whole;

	if (!text_line(&left, &line, &whole) || !text_word(&line, "known") ||
	    !take_words(&line, &r->known))
		return err_new(ERR_FORMAT,
			       "line 1: does not say what is known: no record of pages");
	for (unsigned long number = 2; whole && text_line(&left, &line, &whole); number++) {
		if (!whole)
			break;
		TRY(err_wrap(parse_run(r, line), "line %lu", number));
	}
	return whole ? NULL : err_new(ERR_FORMAT, "the last line is cut off");
}

/* ---- pagemap */

#define ENTRY_EXCLUSIVE ((u64)1 << 56)
#define ENTRY_GUARD ((u64)1 << 58)
#define ENTRY_FILE ((u64)1 << 61)
#define ENTRY_SWAPPED ((u64)1 << 62)
#define ENTRY_PRESENT ((u64)1 << 63)

/* The address from which on pagemap has nothing: the kernel's half, with [vsyscall]. */
#define KERNEL_HALF ((va_t)1 << 63)

static u16 entry_flags(u64 entry, bool anonymous)
{
	u16 flags = 0;

	if (entry & ENTRY_PRESENT)
		flags |= PG_PRESENT;
	if (entry & ENTRY_SWAPPED)
		flags |= PG_SWAPPED;
	if (entry & ENTRY_FILE)
		flags |= PG_FILE;
	if (entry & ENTRY_GUARD)
		flags |= PG_GUARD;
	/* In memory that no file backs this can only be the huge page of zeros. */
	if ((flags & PG_FILE) && anonymous)
		flags |= PG_ZERO;
	else if ((flags & PG_PRESENT) && !(entry & (ENTRY_FILE | ENTRY_EXCLUSIVE)))
		flags |= PG_UNSURE;
	return flags;
}

static bool is_anonymous(const struct smaps_vma *v)
{
	return !v->shared && v->inode == 0 &&
	       (!*v->path || !strcmp(v->path, "[heap]") || !strcmp(v->path, "[stack]") ||
		!strncmp(v->path, "[anon:", 6));
}

/* The pages of one mapping that only smaps can tell: all are real, or all are the page of zeros. */
static void settle_unsure(struct pagerec *r, size_t first, const struct smaps_vma *v)
{
	u64 sure = 0, unsure = 0;
	u16 flags = PG_PRESENT | PG_UNSURE;

	for (size_t i = first; i < r->runs.n; i++) {
		const struct record_run *run = &r->runs.v[i];

		if (run->flags & PG_UNSURE)
			unsure += run->count << UNIT_SHIFT;
		else if ((run->flags & (PG_PRESENT | PG_FILE)) == PG_PRESENT)
			sure += run->count << UNIT_SHIFT;
	}
	if (!unsure)
		return;
	if (sure + unsure == v->anonymous)
		flags = PG_PRESENT;
	else if (sure == v->anonymous)
		flags = PG_PRESENT | PG_ZERO;
	for (size_t i = first; i < r->runs.n; i++)
		if (r->runs.v[i].flags & PG_UNSURE)
			r->runs.v[i].flags = flags;
}

/* The entries of one mapping, n of them at data. */
static struct err *add_entries(struct pagerec *r, const u8 *data, const struct smaps_vma *v,
			       u64 page_bytes)
{
	u64 units = page_bytes >> UNIT_SHIFT, entry;
	size_t first = r->runs.n;
	bool anonymous = is_anonymous(v);

	for (va_t va = v->lo; va < v->hi; va += page_bytes, data += sizeof(entry)) {
		u16 flags;

		memcpy(&entry, data, sizeof(entry));
		flags = entry_flags(entry, anonymous);
		if (!flags)
			continue;
		/* Runs end with their mapping: settle_unsure looks at one at a time. */
		if (r->runs.n == first)
			TRY(array_push(&r->runs,
				       (struct record_run){va >> UNIT_SHIFT, units, flags}));
		else
			TRY(add_run(r, va >> UNIT_SHIFT, units, flags));
	}
	settle_unsure(r, first, v);
	return NULL;
}

struct err *pagerec_parse_pagemap(struct pagerec *r, const u8 *data, u64 n,
				  const struct smaps *smaps, u64 page_bytes)
{
	u64 total = 0, end = 0, off = 0;
	bool in_a_row;

	r->known = PG_ZERO | PG_GUARD;
	for (size_t i = 0; i < smaps->vmas.n && smaps->vmas.v[i].lo < KERNEL_HALF; i++) {
		const struct smaps_vma *v = &smaps->vmas.v[i];

		if ((v->lo | v->hi) & (page_bytes - 1) || v->hi > KERNEL_HALF)
			return err_new(ERR_FORMAT, "the mappings are not of whole pages");
		total += (v->hi - v->lo) / page_bytes * sizeof(u64);
		end = v->hi / page_bytes * sizeof(u64);
	}
	in_a_row = n == total;
	if (!total || (!in_a_row && (n < end || n % sizeof(u64))))
		return err_new(ERR_FORMAT,
			       "%llu bytes, but the mappings of smaps have %llu in a row, or end "
			       "at %llu",
			       (unsigned long long)n, (unsigned long long)total,
			       (unsigned long long)end);
	for (size_t i = 0; i < smaps->vmas.n && smaps->vmas.v[i].lo < KERNEL_HALF; i++) {
		const struct smaps_vma *v = &smaps->vmas.v[i];

		if (!in_a_row)
			off = v->lo / page_bytes * sizeof(u64);
		TRY(add_entries(r, data + off, v, page_bytes));
		off += (v->hi - v->lo) / page_bytes * sizeof(u64);
	}
	return NULL;
}

/* ---- packed */

static struct err *put_number(flate_bytes *out, u64 v)
{
	do {
		u8 byte = v & 0x7f;

		v >>= 7;
		TRY(array_push(out, (u8)(byte | (v ? 0x80 : 0))));
	} while (v);
	return NULL;
}

static bool take_number(const u8 **p, const u8 *end, u64 *ret)
{
	*ret = 0;
	for (unsigned shift = 0; *p < end && shift < 63; shift += 7) {
		u8 byte = *(*p)++;

		*ret |= (u64)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

struct err *pagerec_pack(const struct pagerec *r, flate_bytes *ret)
{
	u64 end = 0;

	for (size_t i = 0; i < r->runs.n; i++) {
		const struct record_run *run = &r->runs.v[i];

		TRY(put_number(ret, run->page - end));
		TRY(put_number(ret, run->count));
		TRY(put_number(ret, run->flags & PG_ALL));
		end = run->page + run->count;
	}
	return NULL;
}

struct err *pagerec_unpack(struct pagerec *r, const u8 *data, size_t n, u64 count)
{
	const u8 *p = data, *end = n ? data + n : data; /* no bytes may have no address */
	u64 page = 0;

	for (u64 i = 0; i < count; i++) {
		u64 gap, pages, flags;

		if (!take_number(&p, end, &gap) || !take_number(&p, end, &pages) ||
		    !take_number(&p, end, &flags))
			return err_new(ERR_FORMAT, "%llu of %llu runs of pages are there",
				       (unsigned long long)i, (unsigned long long)count);
		/* 63 bits each: these sums cannot wrap. */
		if (!pages || flags & ~(u64)PG_ALL || gap > MAX_PAGE || pages > MAX_PAGE ||
		    page + gap + pages > MAX_PAGE)
			return err_new(ERR_FORMAT, "run %llu of the pages makes no sense",
				       (unsigned long long)i);
		page += gap;
		TRY(array_push(&r->runs, (struct record_run){page, pages, (u16)flags}));
		page += pages;
	}
	return p == end ? NULL
			: err_new(ERR_FORMAT, "more than %llu runs of pages",
				  (unsigned long long)count);
}
