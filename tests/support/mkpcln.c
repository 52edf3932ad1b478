#include "support/mkpcln.h"

#include "support/test.h"

#include <string.h>

#define FILES_MAX 32

struct builder {
	struct mkpcln *p;
	enum mkpcln_form form;
	u64 at; /* where the next byte goes */
	const char *files[FILES_MAX];
	u64 file_at[FILES_MAX]; /* offsets of their names */
	size_t file_count;
	u64 names, pctab, trees;
};

static void put(struct builder *b, u64 at, u64 value, size_t width)
{
	assert_true(at + width <= sizeof(b->p->bytes));
	memcpy(b->p->bytes + at, &value, width);
}

static void append(struct builder *b, u64 value, size_t width)
{
	put(b, b->at, value, width);
	b->at += width;
}

static u64 append_text(struct builder *b, const char *s)
{
	u64 at = b->at;

	for (; *s; s++)
		append(b, (u8)*s, 1);
	append(b, 0, 1);
	return at;
}

static void append_varint(struct builder *b, u32 v)
{
	for (; v >= 0x80; v >>= 7)
		append(b, (v & 0x7f) | 0x80, 1);
	append(b, v, 1);
}

static size_t file_index(struct builder *b, const char *file)
{
	for (size_t i = 0; i < b->file_count; i++)
		if (!strcmp(b->files[i], file))
			return i;
	assert_true(b->file_count < FILES_MAX);
	b->files[b->file_count] = file;
	return b->file_count++;
}

/* Which value a byte of the function has in one of the tables. */
enum { SP, FILE_NUMBER, LINE, INLINED };

static int32_t value_of(struct builder *b, const struct mkpcln_func *f, int table, u32 byte)
{
	const struct mkpcln_inlined *in = NULL;
	int32_t index = -1;

	for (size_t i = 0; i < COUNT_OF(f->inlined); i++)
		if (f->inlined[i].name && byte >= f->inlined[i].from && byte < f->inlined[i].to) {
			in = &f->inlined[i];
			index = (int32_t)i;
		}
	switch (table) {
	case SP:
		return byte < 4 ? 0 : (int32_t)f->frame;
	case FILE_NUMBER: /* numbers began at 1 while the first entry was their count */
		return (int32_t)file_index(b, in ? in->file : f->file) +
		       (b->form == MKPCLN_1_15 ? 1 : 0);
	case LINE:
		return (int32_t)(in ? in->line : f->line);
	}
	return index;
}

/* Appends the table of values; its offset. */
static u64 append_values(struct builder *b, const struct mkpcln_func *f, int table)
{
	u64 start = b->at;
	int32_t value = -1;
	u32 from = 0;

	for (u32 byte = 1; byte <= f->bytes; byte++) {
		int32_t now = value_of(b, f, table, from), delta = now - value;

		if (byte < f->bytes && value_of(b, f, table, byte) == now)
			continue;
		append_varint(b, delta < 0 ? ~((u32)delta << 1) : (u32)delta << 1);
		append_varint(b, byte - from);
		value = now;
		from = byte;
	}
	append(b, 0, 1);
	return start;
}

static bool has_tree(const struct mkpcln_func *f)
{
	return f->inlined[0].name != NULL;
}

/* The names of all functions, and of those that were inlined. */
struct names {
	u64 own, inlined[2];
};

static void append_tree(struct builder *b, const struct mkpcln_func *f, const struct names *names)
{
	for (size_t i = 0; i < COUNT_OF(f->inlined); i++) {
		const struct mkpcln_inlined *in = &f->inlined[i];
		u64 name = in->name ? names->inlined[i] - b->names : 0;

		if (b->form == MKPCLN_1_20) {
			append(b, in->id, 4);
			append(b, name, 4);
			append(b, in->call, 4);
			append(b, 1, 4);
			continue;
		}
		append(b, i - 1, 2);
		append(b, in->id, 2);
		append(b, 0, 8);
		append(b, name, 4);
		append(b, in->call, 4);
	}
}

/* Offset of a function's record; what it refers to is already there. */
static void append_record(struct builder *b, const struct mkpcln_func *f, u64 entry, u64 text,
			  u64 name, const u64 tables[4], u64 tree, va_t base)
{
	bool absolute = b->form<MKPCLN_1_18, flags = b->form> MKPCLN_1_15;
	unsigned trees = b->form == MKPCLN_1_15 ? 4 : 3;

	append(b, absolute ? entry : entry - text, absolute ? 8 : 4);
	append(b, name - b->names, 4);
	append(b, 0, 8);
	for (int t = SP; t <= LINE; t++)
		append(b, tables[t] - b->pctab, 4);
	append(b, has_tree(f) ? 3 : 1, 4);
	if (flags)
		append(b, 1, 4); /* the files of its unit begin at entry 1 */
	if (b->form == MKPCLN_1_20)
		append(b, 1, 4);
	append(b, f->id, 1);
	append(b, flags ? f->flag : 0, 1);
	append(b, 0, 1);
	append(b, has_tree(f) ? trees + 1 : 0, 1);
	for (int i = 0; i < (has_tree(f) ? 2 : 1); i++)
		append(b, 0, 4);
	if (!has_tree(f))
		return;
	append(b, tables[INLINED] - b->pctab, 4);
	if (absolute)
		b->at = align_up(b->at, 8);
	for (unsigned i = 0; i < trees; i++)
		append(b, absolute ? 0 : UINT32_MAX, absolute ? 8 : 4);
	append(b, absolute ? base + tree : tree - b->trees, absolute ? 8 : 4);
}

static void append_names(struct builder *b, const struct mkpcln_func *funcs, size_t n,
			 struct names *names)
{
	append(b, 0, 1); /* offset 0 is no name */
	for (size_t i = 0; i < n; i++) {
		names[i].own = append_text(b, funcs[i].name);
		for (size_t k = 0; k < COUNT_OF(funcs[i].inlined); k++)
			if (funcs[i].inlined[k].name)
				names[i].inlined[k] = append_text(b, funcs[i].inlined[k].name);
	}
}

/* Up to 1.15: header, entries, files, and anything else behind; from 1.16 on five parts. */
void mkpcln(struct mkpcln *ret, enum mkpcln_form form, va_t base, va_t text,
	    const struct mkpcln_func *funcs, size_t n)
{
	static const u32 magic[] = {0xfffffffb, 0xfffffffa, 0xfffffff0, 0xfffffff1};
	struct builder b = {.p = ret, .form = form};
	u64 entry_bytes = form < MKPCLN_1_18 ? 8 : 4, tables[32][4], trees[32], entry = text;
	u64 parts = form == MKPCLN_1_16 ? 24 : 32, functab = 16, cutab;
	struct names names[32];

	assert_true(n < COUNT_OF(names));
	memset(ret, 0, sizeof(*ret));
	put(&b, 0, magic[form], 4);
	put(&b, 6, 1, 1);
	put(&b, 7, 8, 1);
	put(&b, 8, n, 8);
	/* The trees come last, but everything refers to them: room for all is left at the end. */
	b.trees = sizeof(ret->bytes) - 2048;
	b.at = form == MKPCLN_1_15 ? functab + (n + 1) * 16 : parts + 40;
	if (form == MKPCLN_1_15)
		b.at += 4 * FILES_MAX;
	else
		b.names = b.at;
	append_names(&b, funcs, n, names);
	b.pctab = form == MKPCLN_1_15 ? 0 : b.at;
	append(&b, 0, 1);
	for (size_t i = 0; i < n; i++)
		for (int t = SP; t <= INLINED; t++)
			tables[i][t] = append_values(&b, &funcs[i], t);
	for (size_t i = 0; i < b.file_count; i++)
		b.file_at[i] = append_text(&b, b.files[i]);
	b.at = align_up(b.at, 8);
	cutab = form == MKPCLN_1_15 ? functab + n * 16 + 16 : b.at;
	if (form == MKPCLN_1_15) {
		put(&b, functab + n * 16 + 8, cutab, 4);
		put(&b, cutab, b.file_count + 1, 4);
	} else {
		b.at += 4 * (1 + b.file_count);
	}
	for (size_t i = 0; i < b.file_count; i++)
		put(&b, cutab + 4 * (1 + i), b.file_at[i] - (b.pctab ? b.file_at[0] : 0), 4);
	b.at = align_up(b.at, 8);
	ret->funcs = form == MKPCLN_1_15 ? 0 : b.at;
	if (form != MKPCLN_1_15) {
		u64 offsets[] = {b.names, cutab, b.file_at[0], b.pctab, b.at};

		for (size_t i = 0; i < COUNT_OF(offsets); i++)
			put(&b, parts + 8 * i, offsets[i], 8);
		functab = b.at;
		b.at += (n + 1) * 2 * entry_bytes;
	}
	for (size_t i = 0, at = b.trees; i < n; i++) {
		u64 here = b.at;

		trees[i] = at;
		b.at = at;
		if (has_tree(&funcs[i]))
			append_tree(&b, &funcs[i], &names[i]);
		at = align_up(b.at, 8);
		ret->size = at;
		b.at = here;
	}
	for (size_t i = 0; i <= n; i++) {
		b.at = align_up(b.at, 8);
		put(&b, functab + i * 2 * entry_bytes, entry - (form < MKPCLN_1_18 ? 0 : text),
		    entry_bytes);
		if (i == n)
			break;
		put(&b, functab + i * 2 * entry_bytes + entry_bytes, b.at - ret->funcs,
		    entry_bytes);
		ret->records[i] = b.at;
		append_record(&b, &funcs[i], entry, text, names[i].own, tables[i], trees[i], base);
		entry += funcs[i].bytes;
	}
	assert_true(b.at <= b.trees);
	ret->table_bytes = b.at;
	ret->gofunc = b.trees;
}
