#include "support/mkpcln.h"

#include "support/test.h"

#include <string.h>

#define FILES_MAX 32
#define FUNCTIONS_MAX 32

struct builder {
	struct mkpcln *p;
	enum mkpcln_form form;
	u64 at; /* where the next byte goes */
	const char *files[FILES_MAX];
	u64 file_at[FILES_MAX]; /* offsets of their names */
	size_t file_count;
	u64 names, pctab, trees;
	va_t base, text;
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

/* Where in the table the things are that a function's record names. */
struct parts {
	u64 name, inlined_names[2];
	u64 tables[4]; /* of values: enum above */
	u64 tree;
};

static void append_tree(struct builder *b, const struct mkpcln_func *f, const struct parts *p)
{
	for (size_t i = 0; i < COUNT_OF(f->inlined); i++) {
		const struct mkpcln_inlined *in = &f->inlined[i];
		u64 name = in->name ? p->inlined_names[i] - b->names : 0;

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

/* A function's record; what it refers to is already there. */
static void append_record(struct builder *b, const struct mkpcln_func *f, u64 entry,
			  const struct parts *p)
{
	bool absolute = b->form<MKPCLN_1_18, flags = b->form> MKPCLN_1_15;
	unsigned trees = b->form == MKPCLN_1_15 ? 4 : 3;

	append(b, absolute ? entry : entry - b->text, absolute ? 8 : 4);
	append(b, p->name - b->names, 4);
	append(b, 0, 8);
	for (int t = SP; t <= LINE; t++)
		append(b, p->tables[t] - b->pctab, 4);
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
	append(b, p->tables[INLINED] - b->pctab, 4);
	if (absolute)
		b->at = align_up(b->at, 8);
	for (unsigned i = 0; i < trees; i++)
		append(b, absolute ? 0 : UINT32_MAX, absolute ? 8 : 4);
	append(b, absolute ? b->base + p->tree : p->tree - b->trees, absolute ? 8 : 4);
}

static void append_names(struct builder *b, const struct mkpcln_func *funcs, size_t n,
			 struct parts *parts)
{
	append(b, 0, 1); /* offset 0 is no name */
	for (size_t i = 0; i < n; i++) {
		parts[i].name = append_text(b, funcs[i].name);
		for (size_t k = 0; k < COUNT_OF(funcs[i].inlined); k++)
			if (funcs[i].inlined[k].name)
				parts[i].inlined_names[k] =
					append_text(b, funcs[i].inlined[k].name);
	}
}

/* The tables of values, and the names of the files that they number. */
static void append_all_values(struct builder *b, const struct mkpcln_func *funcs, size_t n,
			      struct parts *parts)
{
	b->pctab = b->form == MKPCLN_1_15 ? 0 : b->at;
	append(b, 0, 1);
	for (size_t i = 0; i < n; i++)
		for (int t = SP; t <= INLINED; t++)
			parts[i].tables[t] = append_values(b, &funcs[i], t);
	for (size_t i = 0; i < b->file_count; i++)
		b->file_at[i] = append_text(b, b->files[i]);
	b->at = align_up(b->at, 8);
}

/* The offsets of the files' names: by number up to 1.15, then by compilation unit, of which there
 * is one; entry 0 is nobody's. */
static u64 append_files(struct builder *b, u64 cutab)
{
	b->at = MAX(b->at, cutab + 4 * (1 + b->file_count));
	for (size_t i = 0; i < b->file_count; i++)
		put(b, cutab + 4 * (1 + i),
		    b->file_at[i] - (b->form == MKPCLN_1_15 ? 0 : b->file_at[0]), 4);
	b->at = align_up(b->at, 8);
	return cutab;
}

/* The trees of inlined calls stand behind the table, at a place that is known before. */
static void append_trees(struct builder *b, const struct mkpcln_func *funcs, size_t n,
			 struct parts *parts)
{
	u64 here = b->at;

	b->at = b->trees;
	for (size_t i = 0; i < n; i++) {
		parts[i].tree = b->at;
		if (has_tree(&funcs[i]))
			append_tree(b, &funcs[i], &parts[i]);
		b->at = align_up(b->at, 8);
	}
	b->p->size = b->at;
	b->at = here;
}

/* The table of entries, and the records that they lead to. */
static void append_functions(struct builder *b, u64 functab, const struct mkpcln_func *funcs,
			     size_t n, const struct parts *parts)
{
	u64 width = b->form < MKPCLN_1_18 ? 8 : 4, entry = b->text;

	for (size_t i = 0; i <= n; i++) {
		u64 at = functab + i * 2 * width;

		b->at = align_up(b->at, 8);
		put(b, at, entry - (b->form < MKPCLN_1_18 ? 0 : b->text), width);
		if (i == n)
			break;
		put(b, at + width, b->at - b->p->funcs, width);
		append_record(b, &funcs[i], entry, &parts[i]);
		entry += funcs[i].bytes;
	}
}

static void put_header(struct builder *b, size_t n)
{
	static const u32 magic[] = {0xfffffffb, 0xfffffffa, 0xfffffff0, 0xfffffff1};

	put(b, 0, magic[b->form], 4);
	put(b, 6, 1, 1);
	put(b, 7, 8, 1);
	put(b, 8, n, 8);
}

/* Up to 1.15: header, entries, where the files are, and anything else. */
static void build_single(struct builder *b, const struct mkpcln_func *funcs, size_t n,
			 struct parts *parts)
{
	u64 functab = 16, behind = functab + n * 16 + 8, files = behind + 8;

	b->at = files + 4 * FILES_MAX;
	append_names(b, funcs, n, parts);
	append_all_values(b, funcs, n, parts);
	put(b, behind, files, 4);
	put(b, files, b->file_count + 1, 4);
	append_files(b, files);
	append_trees(b, funcs, n, parts);
	append_functions(b, functab, funcs, n, parts);
}

/* From 1.16 on: a header with the offsets of five parts. */
static void build_parts(struct builder *b, const struct mkpcln_func *funcs, size_t n,
			struct parts *parts)
{
	u64 header = b->form == MKPCLN_1_16 ? 24 : 32, offsets[5];

	b->names = b->at = header + sizeof(offsets);
	append_names(b, funcs, n, parts);
	append_all_values(b, funcs, n, parts);
	offsets[0] = b->names;
	offsets[1] = append_files(b, b->at);
	offsets[2] = b->file_at[0];
	offsets[3] = b->pctab;
	offsets[4] = b->p->funcs = b->at;
	for (size_t i = 0; i < COUNT_OF(offsets); i++)
		put(b, header + 8 * i, offsets[i], 8);
	b->at += (n + 1) * (b->form < MKPCLN_1_18 ? 16 : 8);
	append_trees(b, funcs, n, parts);
	append_functions(b, b->p->funcs, funcs, n, parts);
}

void mkpcln(struct mkpcln *ret, enum mkpcln_form form, va_t base, va_t text,
	    const struct mkpcln_func *funcs, size_t n)
{
	struct builder b = {.p = ret, .form = form, .base = base, .text = text};
	struct parts parts[FUNCTIONS_MAX] = {{0}};

	assert_true(n < FUNCTIONS_MAX);
	memset(ret, 0, sizeof(*ret));
	b.trees = sizeof(ret->bytes) - 2048;
	put_header(&b, n);
	if (form == MKPCLN_1_15)
		build_single(&b, funcs, n, parts);
	else
		build_parts(&b, funcs, n, parts);
	assert_true(b.at <= b.trees);
	ret->table_bytes = b.at;
	ret->gofunc = b.trees;
}
