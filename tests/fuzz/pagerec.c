/* Any bytes as a record of pages: the first says in which form. */
#include "fuzz/fuzz.h"

#include "base/mem.h"
#include "image/pagerec.h"

#define SMAPS                                                                                      \
	"00010000-00013000 rw-p 00000000 00:00 0 \nRss: 0 kB\nAnonymous: 4 kB\n"                   \
	"00020000-00024000 rw-p 00000000 08:01 7 /lib/x\nRss: 4 kB\nAnonymous: 4 kB\n"

/* Mappings in which pages may be huge and lazily freed, and one that says more than can be. */
#define PARTS                                                                                      \
	"00200000-00a00000 rw-p 00000000 00:00 0 \nRss: 0 kB\nLazyFree: 4 kB\nAnonHugePages: "     \
	"2048 kB\n"                                                                                \
	"00a00000-00b00000 rw-p 00000000 00:00 0 \nRss: 0 kB\nLazyFree: 8 kB\nAnonHugePages: "     \
	"1024 kB\n"

static struct err *parse_pagemap(struct pagerec *r, const u8 *data, size_t n)
{
	static const char text[] = SMAPS;
	struct smaps s = {0};
	struct err *err = smaps_parse(&s, text, sizeof(text) - 1);

	assert_always(!err);
	err = pagerec_parse_pagemap(r, data, n, &s, 4096);
	smaps_fini(&s);
	return err;
}

/* What was read can be packed, and read again. */
static void check_again(const struct pagerec *r)
{
	struct pagerec again = {0};
	flate_bytes bytes = {0};

	assert_always(!pagerec_pack(r, &bytes));
	assert_always(!pagerec_unpack(&again, bytes.v, bytes.n, r->runs.n));
	assert_always(again.runs.n == r->runs.n);
	pagerec_fini(&again);
	array_free(&bytes);
}

static u64 count_pages(const struct pagerec *r)
{
	u64 pages = 0;

	for (size_t i = 0; i < r->runs.n; i++)
		pages += r->runs.v[i].count;
	return pages;
}

/* Concluding parts moves no page, and takes nothing away. */
static void check_parts(struct pagerec *r)
{
	static const char text[] = PARTS;
	u64 before = count_pages(r), end = 0;
	struct smaps s = {0};

	assert_always(!smaps_parse(&s, text, sizeof(text) - 1));
	assert_always(!pagerec_derive_parts(r, &s, 4096));
	assert_always(count_pages(r) == before);
	for (size_t i = 0; i < r->runs.n; i++) {
		assert_always(r->runs.v[i].count && r->runs.v[i].page >= end);
		end = r->runs.v[i].page + r->runs.v[i].count;
	}
	smaps_fini(&s);
}

void fuzz_one(const u8 *data, size_t n)
{
	u64 form = fuzz_take(&data, &n, 1), count = fuzz_take(&data, &n, 2), end = 0;
	struct pagerec r = {0};
	struct err *err;

	if (form % 3 == 0)
		err = pagerec_parse_text(&r, (const char *)data, n);
	else if (form % 3 == 1)
		err = parse_pagemap(&r, data, n);
	else
		err = pagerec_unpack(&r, data, n, count);
	assert_always(!err || err->code == ERR_FORMAT);
	for (size_t i = 0; i < r.runs.n; i++) {
		const struct record_run *run = &r.runs.v[i];

		assert_always(run->count && run->page >= end && !(run->flags & ~PG_ALL));
		end = run->page + run->count;
		assert_always(end > run->page && end <= (u64)1 << 52);
	}
	if (!err)
		check_again(&r);
	check_parts(&r);
	err_free(err);
	pagerec_fini(&r);
	assert_always(mem_used() == 0);
}
