/* The sites of a profile as a table. A site is the innermost call of the program, with the frames
 * that are no calls. */
#include "report/profile.h"

#include "report/common.h"
#include "stack/calls.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_ROWS 20 /* unless --top says otherwise */

/* What is the same in all samples of a site. */
struct site_key {
	const struct sample_line *line; /* the call; NULL: none has a name */
	va_t address;                   /* then: inside the innermost; 0: there is none */
	u64 named;                      /* hash of the frames that are no calls */
};

struct row {
	struct site_key key;
	size_t sample; /* one of them */
	u64 samples;
	i64 values[SAMPLE_TYPES_MAX];
	i64 sorted_by;
};

struct rows {
	ARRAY(struct row) v;
	struct map index; /* hash of a key -> index + 1 */
};

static const struct sample_location *location_at(const struct samples *s, const struct sample *v,
						 u32 i)
{
	return &s->locations.v[s->stacks.v[v->first + i]];
}

/* Whether a call is of what all programs wait or allocate in, and says nothing of this one. */
static bool is_machinery(const char *func)
{
	return call_is_allocator(func) || !strncmp(func, "sync.", strlen("sync.")) ||
	       !strncmp(func, "internal/sync.", strlen("internal/sync."));
}

/* The innermost call of the program at a location, or else the innermost at all. */
static const struct sample_line *find_line(const struct samples *s, const struct sample_location *l,
					   const struct sample_line *otherwise, bool *own)
{
	for (u32 k = 0; k < l->count && !*own; k++) {
		const struct sample_line *line = &s->lines.v[l->first + k];

		*own = !is_machinery(samples_line_function(s, line)->name);
		otherwise = *own || !otherwise ? line : otherwise;
	}
	return otherwise;
}

static struct site_key key_of(const struct samples *s, const struct sample *v)
{
	struct site_key key = {.line = NULL};
	bool own = false;

	for (u32 i = 0; i < v->depth; i++) {
		const struct sample_location *l = location_at(s, v, i);

		if (!l->address) {
			key.named = map_mix(key.named, l->first + 1);
			continue;
		}
		key.line = find_line(s, l, key.line, &own);
		key.address = key.address ? key.address : l->address;
	}
	if (key.line)
		key.address = 0;
	return key;
}

static bool same_key(const struct site_key *a, const struct site_key *b)
{
	if (a->address != b->address || a->named != b->named || !a->line != !b->line)
		return false;
	return !a->line ||
	       (a->line->function == b->line->function && a->line->line == b->line->line);
}

static u64 hash_key(const struct site_key *k)
{
	u64 hash = map_mix(k->address, k->named);

	return k->line ? map_mix(map_mix(hash, k->line->function), k->line->line) : hash;
}

static struct err *new_row(struct rows *rows, const struct site_key *key, size_t sample)
{
	return array_push(&rows->v, {.key = *key, .sample = sample});
}

/* The row of a key, made when there is none. */
static struct err *row_of(struct rows *rows, const struct site_key *key, size_t sample,
			  struct row **ret)
{
	for (u64 hash = hash_key(key);; hash = map_mix(hash, 1)) {
		bool fresh;
		u32 *index;

		TRY(map_at(&rows->index, hash | 1, &index, &fresh));
		if (fresh) {
			TRY(new_row(rows, key, sample));
			*index = (u32)rows->v.n;
		}
		*ret = &rows->v.v[*index - 1];
		if (fresh || same_key(&(*ret)->key, key))
			return NULL;
	}
}

static i64 plus(i64 a, i64 b)
{
	i64 sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static struct err *collect(struct rows *rows, const struct samples *s, size_t type)
{
	for (size_t i = 0; i < s->v.n; i++) {
		struct site_key key = key_of(s, &s->v.v[i]);
		struct row *row;

		TRY(row_of(rows, &key, i, &row));
		row->samples++;
		for (size_t k = 0; k < s->type_count; k++)
			row->values[k] = plus(row->values[k], samples_value(s, i, k));
		row->sorted_by = row->values[type];
	}
	return NULL;
}

static int by_value(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->sorted_by != y->sorted_by)
		return x->sorted_by > y->sorted_by ? -1 : 1;
	return x->sample < y->sample ? -1 : x->sample > y->sample;
}

static const char *line_text(struct doc *d, const struct samples *s, const struct sample_line *l)
{
	const struct sample_function *f = samples_line_function(s, l);

	return l->line ? doc_printf(d, "%s (%s:%u)", f->name, f->file, l->line).string : f->name;
}

static const char *site_text(struct doc *d, const struct samples *s, const struct row *row)
{
	const struct sample *v = &s->v.v[row->sample];
	const char *text = "", *code = "";

	for (u32 i = v->depth; i-- > 0;) { /* the outermost first */
		const struct sample_location *l = location_at(s, v, i);

		if (!l->address && l->count)
			text = doc_printf(d, "%s%s%s", text, *text ? " " : "",
					  line_text(d, s, &s->lines.v[l->first]))
				       .string;
	}
	if (row->key.line)
		code = line_text(d, s, row->key.line);
	else if (row->key.address)
		code = doc_printf(d, "0x%llx", (unsigned long long)row->key.address).string;
	if (!*text || !*code)
		return *text ? text : *code ? code : "(no stack)";
	return doc_printf(d, "%s %s", code, text).string;
}

/* Columns: the site, the values of each type beginning with the one that sorts, their share. */
static struct doc_table *make_table(struct doc *d, const struct samples *s,
				    const size_t order[static SAMPLE_TYPES_MAX])
{
	size_t n = 0;
	struct doc_column *columns =
		arena_alloc(&d->arena, (SAMPLE_TYPES_MAX + 3) * sizeof(*columns));

	for (size_t i = 0; i < s->type_count; i++) {
		const char *type = s->types[order[i]].type;

		columns[n++] = (struct doc_column){type, type};
		if (!i)
			columns[n++] = (struct doc_column){NULL, "%"};
	}
	columns[n++] = (struct doc_column){"samples", NULL};
	columns[n++] = (struct doc_column){"site", "site"};
	return doc_table(d, "sites", "Sites", columns, n);
}

static struct doc_value value_of(const struct samples *s, size_t type, i64 value)
{
	if (!strcmp(s->types[type].unit, "bytes"))
		return doc_delta(value);
	return value < 0 ? doc_null() : doc_count((u64)value);
}

static void add_row(struct doc *d, struct doc_table *t, const struct samples *s,
		    const struct row *row, const size_t order[static SAMPLE_TYPES_MAX], i64 total)
{
	struct doc_value values[SAMPLE_TYPES_MAX + 3];
	char share[REPORT_PERCENT_BUF];
	size_t n = 0;

	for (size_t i = 0; i < s->type_count; i++) {
		values[n++] = value_of(s, order[i], row->values[order[i]]);
		if (!i)
			values[n++] = doc_printf(d, "%s",
						 report_percent((u64)MAX(row->sorted_by, 0),
								(u64)MAX(total, 0), share));
	}
	values[n++] = doc_count(row->samples);
	values[n++] = doc_string(site_text(d, s, row));
	doc_add_row(t, values, n);
}

static void add_rows(struct report *r, const struct rows *rows, size_t type)
{
	const struct samples *s = r->samples;
	size_t order[SAMPLE_TYPES_MAX] = {type}, n = 1;
	i64 total = samples_total(s, type);
	size_t shown = 0;
	struct doc_table *t;

	for (size_t i = 0; i < s->type_count; i++)
		if (i != type)
			order[n++] = i;
	t = make_table(r->doc, s, order);
	for (size_t i = 0; i < rows->v.n; i++) {
		shown += rows->v.v[i].sorted_by != 0;
		add_row(r->doc, t, s, &rows->v.v[i], order, total);
		if ((i >= TEXT_ROWS && !r->options.top) || !rows->v.v[i].sorted_by)
			doc_hide(t, i);
	}
	r->doc->csv_table = t;
	if (shown > TEXT_ROWS && !r->options.top)
		doc_text(r->doc, "(%zu more: --top N)", shown - TEXT_ROWS);
}

struct err *profile_table(struct report *r, size_t type)
{
	struct rows rows = {.index = {.used = 0}};
	struct err *err = collect(&rows, r->samples, type);

	if (!err && rows.v.n)
		qsort(rows.v.v, rows.v.n, sizeof(*rows.v.v), by_value);
	if (!err)
		add_rows(r, &rows, type);
	array_free(&rows.v);
	map_fini(&rows.index);
	return err;
}
