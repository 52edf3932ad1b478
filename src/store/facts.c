#include "store/facts.h"

#include "base/map.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

void facts_fini(struct facts *f)
{
	for (size_t i = 0; i < f->level_count; i++)
		array_free(&f->levels[i].rows);
	arena_fini(&f->arena);
	*f = (struct facts){0};
}

const char *facts_string(struct facts *f, const char *s)
{
	char *copy;

	if (!s)
		return NULL;
	copy = arena_strdup(&f->arena, s);
	for (char *p = copy; *p;) {
		size_t n = text_clean_bytes(p);

		if (!n)
			*p = '?';
		p += n ? n : 1;
	}
	return copy;
}

static u64 hash_of(const char *s)
{
	u64 hash = 0;

	while (*s)
		hash = map_mix(hash, (u8)*s++);
	return hash;
}

#define HASH_TEXT 20 /* "... #" and 15 digits */

static const char *key_string(struct facts *f, const char *key)
{
	size_t n = strlen(key), keep = FACTS_KEY_MAX - HASH_TEXT;

	if (n <= FACTS_KEY_MAX)
		return facts_string(f, key);
	while (keep && ((u8)key[keep] & 0xc0) == 0x80) /* not within a character */
		keep--;
	return facts_string(f, arena_printf(&f->arena, "%.*s... #%015llx", (int)keep, key,
					    (unsigned long long)(hash_of(key) >> 4)));
}

struct err *facts_add_level(struct facts *f, const char *id, struct facts_level **ret)
{
	for (size_t i = 0; i < f->level_count; i++)
		if (!strcmp(f->levels[i].id, id)) {
			*ret = &f->levels[i];
			return NULL;
		}
	if (f->level_count == FACTS_LEVELS_MAX)
		return err_new(ERR_LIMIT, "a snapshot has more than %d levels", FACTS_LEVELS_MAX);
	*ret = &f->levels[f->level_count++];
	(*ret)->id = facts_string(f, id);
	return NULL;
}

/* Beyond what JSON and SQL have, only a damaged core has figures. */
static u64 clamp(u64 v)
{
	return v <= INT64_MAX ? v : FACT_UNKNOWN;
}

struct err *facts_add(struct facts *f, struct facts_level *level, const char *key, u64 virtual,
		      u64 resident, u64 count)
{
	return array_push(&level->rows,
			  {key_string(f, key), {clamp(virtual), clamp(resident), clamp(count)}});
}

/* A row with a part that is not known is not known. */
static void add_up(struct fact *sum, const struct fact *more)
{
	for (int c = 0; c < FACT_COLUMNS; c++) {
		u64 a = sum->v[c], b = more->v[c];

		sum->v[c] = a == FACT_UNKNOWN || b == FACT_UNKNOWN ? FACT_UNKNOWN : clamp(a + b);
	}
}

static int by_key(const void *a, const void *b)
{
	const struct fact *x = a, *y = b;

	return strcmp(x->key, y->key);
}

static u64 known(u64 v)
{
	return v == FACT_UNKNOWN ? 0 : v;
}

/* Resident bytes first, then virtual ones, then the number, then the key. */
static int by_weight(const void *a, const void *b)
{
	static const enum fact_column order[] = {FACT_RESIDENT, FACT_VIRTUAL, FACT_COUNT};
	const struct fact *x = a, *y = b;

	for (size_t i = 0; i < COUNT_OF(order); i++) {
		u64 p = known(x->v[order[i]]), q = known(y->v[order[i]]);

		if (p != q)
			return p > q ? -1 : 1;
	}
	return by_key(a, b);
}

static void sort_rows(struct facts_level *l, int (*order)(const void *, const void *))
{
	if (l->rows.n)
		qsort(l->rows.v, l->rows.n, sizeof(*l->rows.v), order);
}

static void sum_rows(struct facts_level *l)
{
	size_t n = 0;

	sort_rows(l, by_key);
	for (size_t i = 0; i < l->rows.n; i++)
		if (n && !strcmp(l->rows.v[n - 1].key, l->rows.v[i].key))
			add_up(&l->rows.v[n - 1], &l->rows.v[i]);
		else
			l->rows.v[n++] = l->rows.v[i];
	l->rows.n = n;
}

static void cut_rows(struct facts_level *l)
{
	struct fact *last;

	if (l->rows.n <= FACTS_ROWS_MAX)
		return;
	sort_rows(l, by_weight);
	last = &l->rows.v[FACTS_ROWS_MAX - 1];
	for (size_t i = FACTS_ROWS_MAX; i < l->rows.n; i++)
		add_up(last, &l->rows.v[i]);
	last->key = FACTS_OTHER;
	l->cut += l->rows.n - FACTS_ROWS_MAX + 1;
	l->rows.n = FACTS_ROWS_MAX;
	sum_rows(l);
}

void facts_seal(struct facts *f)
{
	for (size_t i = 0; i < f->level_count; i++) {
		sum_rows(&f->levels[i]);
		cut_rows(&f->levels[i]);
	}
}

const struct facts_level *facts_level(const struct facts *f, const char *id)
{
	for (size_t i = 0; i < f->level_count; i++)
		if (!strcmp(f->levels[i].id, id))
			return &f->levels[i];
	return NULL;
}

const struct fact *facts_row(const struct facts_level *level, const char *key)
{
	size_t i = array_first(&level->rows, strcmp(e->key, key) >= 0);

	return i < level->rows.n && !strcmp(level->rows.v[i].key, key) ? &level->rows.v[i] : NULL;
}
