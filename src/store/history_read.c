/* What only reads a history. */
#include "store/history_priv.h"

#include <stdlib.h>
#include <string.h>

/* The columns of HEAD_COLUMNS. */
static void read_head(struct query *q, struct arena *arena, struct facts_head *h)
{
	const char **strings[] = {&h->go,      &h->arch,     &h->build,  &h->exe,
				  &h->process, &h->evidence, &h->partial};

	h->path = arena_strdup(arena, query_name(q));
	h->file_bytes = (u64)query_int(q);
	h->mtime_ns = query_int(q);
	h->inode = (u64)query_int(q);
	h->time_ns = query_int(q);
	h->time_from = arena_strdup(arena, query_name(q));
	for (size_t i = 0; i < COUNT_OF(strings); i++) {
		const char *s = query_text(q);

		*strings[i] = s ? arena_strdup(arena, s) : NULL;
	}
	for (int c = 0; c < FACT_COLUMNS; c++)
		h->total[c] = query_uint(q);
}

static bool is_same(const char *a, const char *wanted)
{
	return a && !strcmp(a, wanted);
}

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

static bool is_wanted(const struct history_filter *f, const struct facts_head *h)
{
	if (f->program && !is_same(base_name(h->exe), f->program) && !is_same(h->build, f->program))
		return false;
	if (f->process && !is_same(h->process, f->process))
		return false;
	return !f->complete || !h->partial;
}

static int by_number(u64 a, u64 b)
{
	return a > b ? 1 : -(a < b);
}

static int by_name(const void *a, const void *b)
{
	const struct facts_head *x = &((const struct history_entry *)a)->head,
				*y = &((const struct history_entry *)b)->head;
	int order = strverscmp(x->path, y->path);

	if (!order && x->mtime_ns != y->mtime_ns)
		return x->mtime_ns > y->mtime_ns ? 1 : -1;
	if (!order)
		order = by_number(x->file_bytes, y->file_bytes);
	return order ? order : by_number(x->inode, y->inode);
}

static int by_time(const void *a, const void *b)
{
	const struct facts_head *x = &((const struct history_entry *)a)->head,
				*y = &((const struct history_entry *)b)->head;

	if (x->time_ns != y->time_ns)
		return x->time_ns > y->time_ns ? 1 : -1;
	return by_name(a, b);
}

static void keep_last(struct history_list *l, u64 last)
{
	size_t drop = last && last < l->v.n ? l->v.n - last : 0;

	if (drop)
		memmove(l->v.v, l->v.v + drop, (l->v.n - drop) * sizeof(*l->v.v));
	l->v.n -= drop;
}

static struct err *list_rows(struct query *q, const struct history_filter *filter,
			     struct history_list *ret)
{
	bool row;

	for (;;) {
		struct history_entry e = {0};

		TRY(query_step(q, &row));
		if (!row)
			return NULL;
		e.id = query_int(q);
		read_head(q, &ret->arena, &e.head);
		if (is_wanted(filter, &e.head))
			TRY(array_push(&ret->v, e));
	}
}

struct err *history_list(struct history *h, const struct history_filter *filter,
			 struct history_list *ret)
{
	struct query q;
	struct err *err = query_begin(&q, h, "SELECT id, " HEAD_COLUMNS " FROM snapshot");

	if (!err)
		err = list_rows(&q, filter, ret);
	query_end(&q);
	if (!err && ret->v.n)
		qsort(ret->v.v, ret->v.n, sizeof(*ret->v.v),
		      filter->order == HISTORY_BY_NAME ? by_name : by_time);
	keep_last(ret, filter->last);
	return err;
}

void history_list_fini(struct history_list *l)
{
	array_free(&l->v);
	arena_fini(&l->arena);
}

static struct err *load_head(struct history *h, i64 id, struct facts *ret)
{
	struct query q;
	struct err *err = query_begin(&q, h, "SELECT " HEAD_COLUMNS " FROM snapshot WHERE id = ?");
	bool row = false;

	if (!err) {
		query_bind_int(&q, id);
		err = query_step(&q, &row);
	}
	if (row)
		read_head(&q, &ret->arena, &ret->head);
	else if (!err)
		err = err_new(ERR_MISSING, "%s: the snapshot is not there any more", h->path);
	query_end(&q);
	return err;
}

static struct err *load_levels(struct history *h, i64 id, struct facts *ret)
{
	struct facts_level *level;
	struct query q;
	struct err *err = query_begin(
		&q, h, "SELECT level, cut FROM level WHERE snapshot = ? ORDER BY level");
	bool row = true;

	if (!err)
		query_bind_int(&q, id);
	while (!err && row) {
		err = query_step(&q, &row);
		if (err || !row)
			break;
		err = facts_add_level(ret, query_name(&q), &level);
		if (!err)
			level->cut = (u64)query_int(&q);
	}
	query_end(&q);
	return err;
}

/* One row, to the level that it belongs to. */
static struct err *load_row(struct query *q, struct facts *ret)
{
	const char *id = query_name(q), *key = query_name(q);
	u64 v[FACT_COLUMNS];
	struct facts_level *level;

	for (int c = 0; c < FACT_COLUMNS; c++)
		v[c] = query_uint(q);
	TRY(facts_add_level(ret, id, &level));
	return facts_add(ret, level, key, v[FACT_VIRTUAL], v[FACT_RESIDENT], v[FACT_COUNT]);
}

static struct err *load_rows(struct history *h, i64 id, struct facts *ret)
{
	struct query q;
	struct err *err = query_begin(&q, h,
				      "SELECT level, key, virtual, resident, count"
				      " FROM fact JOIN name ON name.id = name WHERE snapshot = ?");
	bool row = true;

	if (!err)
		query_bind_int(&q, id);
	while (!err && row) {
		err = query_step(&q, &row);
		if (!err && row)
			err = load_row(&q, ret);
	}
	query_end(&q);
	return err;
}

struct err *history_load(struct history *h, i64 id, struct facts *ret)
{
	TRY(load_head(h, id, ret));
	TRY(load_levels(h, id, ret));
	TRY(load_rows(h, id, ret));
	facts_seal(ret);
	return NULL;
}

/* The row of a snapshot, and whether the snapshot has the level. */
static struct err *read_point(struct query *q, i64 id, const char *level, const char *key,
			      struct history_point *p)
{
	bool row;

	query_bind_text(q, level);
	query_bind_text(q, key);
	query_bind_int(q, id);
	query_bind_text(q, level);
	TRY(query_step(q, &row));
	if (row) {
		p->known = true;
		p->listed = query_int(q) != 0;
		for (int c = 0; c < FACT_COLUMNS; c++)
			p->v[c] = p->listed ? query_uint(q) : FACT_UNKNOWN;
	}
	query_again(q);
	return NULL;
}

/* Where the row is missing it is 0, in the columns in which it has figures elsewhere. */
static void fill_gaps(struct history_series *s)
{
	for (int c = 0; c < FACT_COLUMNS; c++) {
		bool any = false;

		for (size_t i = 0; i < s->v.n; i++)
			any = any || (s->v.v[i].listed && s->v.v[i].v[c] != FACT_UNKNOWN);
		for (size_t i = 0; any && i < s->v.n; i++)
			if (s->v.v[i].known && !s->v.v[i].listed)
				s->v.v[i].v[c] = 0;
	}
	for (size_t i = 0; i < s->v.n; i++)
		s->found = s->found || s->v.v[i].listed;
}

static struct err *follow_key(struct history *h, const struct history_list *list, const char *level,
			      const char *key, struct history_series *ret)
{
	struct query q;
	struct err *err =
		query_begin(&q, h,
			    "SELECT f.name IS NOT NULL, f.virtual, f.resident, f.count FROM level l"
			    " LEFT JOIN fact f ON f.snapshot = l.snapshot AND f.name ="
			    " (SELECT id FROM name WHERE level = ? AND key = ?)"
			    " WHERE l.snapshot = ? AND l.level = ?");

	for (size_t i = 0; !err && i < list->v.n; i++)
		err = read_point(&q, list->v.v[i].id, level, key, &ret->v.v[i]);
	query_end(&q);
	if (!err)
		fill_gaps(ret);
	return err;
}

struct err *history_follow(struct history *h, const struct history_list *list, const char *level,
			   const char *key, struct history_series *ret)
{
	for (size_t i = 0; i < list->v.n; i++) {
		struct history_point p = {.known = !level, .listed = !level};

		for (int c = 0; c < FACT_COLUMNS; c++)
			p.v[c] = level ? FACT_UNKNOWN : list->v.v[i].head.total[c];
		TRY(array_push(&ret->v, p));
	}
	ret->found = !level && list->v.n;
	return level ? follow_key(h, list, level, key, ret) : NULL;
}

void history_series_fini(struct history_series *s)
{
	array_free(&s->v);
}

struct err *history_keys(struct history *h, const char *level, history_key_visitor *visit,
			 void *arg)
{
	struct query q;
	struct err *err = query_begin(&q, h,
				      "SELECT level, key FROM name WHERE level = ifnull(?, level)"
				      " ORDER BY level, key");
	bool row = true;

	if (!err)
		query_bind_text(&q, level);
	while (!err && row) {
		err = query_step(&q, &row);
		if (!err && row) {
			const char *id = query_name(&q);

			err = visit(arg, id, query_name(&q));
		}
	}
	query_end(&q);
	return err;
}

static struct err *list_failures(struct query *q, struct history_failures *ret)
{
	bool row;

	for (;;) {
		struct history_failure f = {0};

		TRY(query_step(q, &row));
		if (!row)
			return NULL;
		f.path = arena_strdup(&ret->arena, query_name(q));
		f.status = query_uint(q);
		f.message = arena_strdup(&ret->arena, query_name(q));
		TRY(array_push(&ret->v, f));
	}
}

struct err *history_failures(struct history *h, struct history_failures *ret)
{
	struct query q;
	struct err *err =
		query_begin(&q, h, "SELECT path, status, message FROM failure ORDER BY path");

	if (!err)
		err = list_failures(&q, ret);
	query_end(&q);
	return err;
}

void history_failures_fini(struct history_failures *f)
{
	array_free(&f->v);
	arena_fini(&f->arena);
}
