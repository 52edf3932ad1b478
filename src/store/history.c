/* What changes a history. */
#include "store/history_priv.h"

#include <string.h>

/* The parameters of HEAD_COLUMNS. */
static void bind_head(struct query *q, const struct facts_head *h)
{
	query_bind_text(q, h->path);
	query_bind_int(q, (i64)h->file_bytes);
	query_bind_int(q, h->mtime_ns);
	query_bind_int(q, (i64)h->inode);
	query_bind_int(q, h->time_ns);
	query_bind_text(q, h->time_from);
	query_bind_text(q, h->go);
	query_bind_text(q, h->arch);
	query_bind_text(q, h->build);
	query_bind_text(q, h->exe);
	query_bind_text(q, h->process);
	query_bind_text(q, h->evidence);
	query_bind_text(q, h->partial);
	for (int c = 0; c < FACT_COLUMNS; c++)
		query_bind_uint(q, h->total[c]);
}

/* The identity of a file, as parameters. */
static void bind_file(struct query *q, const struct facts_head *h)
{
	query_bind_text(q, h->path);
	query_bind_int(q, (i64)h->file_bytes);
	query_bind_int(q, h->mtime_ns);
	query_bind_int(q, (i64)h->inode);
}

#define OF_FILE "WHERE path = ? AND file_bytes = ? AND mtime_ns = ? AND inode = ?"

/* Runs a statement whose only parameters are a file's identity. */
static struct err *run_for_file(struct history *h, const char *sql, const struct facts_head *file)
{
	struct query q;
	struct err *err = query_begin(&q, h, sql);

	if (!err) {
		bind_file(&q, file);
		err = query_run(&q);
	}
	query_end(&q);
	return err;
}

static struct err *add_head(struct history *h, const struct facts_head *head, i64 *id)
{
	struct query q;
	struct err *err = query_begin(&q, h,
				      "INSERT INTO snapshot(" HEAD_COLUMNS
				      ") VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");

	if (!err) {
		bind_head(&q, head);
		err = query_run(&q);
	}
	query_end(&q);
	*id = sqlite3_last_insert_rowid(h->db);
	return err;
}

/* The statements for rows, prepared once a snapshot. */
struct row_queries {
	struct query level, name, fact;
};

static struct err *add_rows(struct row_queries *q, const struct facts_level *l, i64 id)
{
	query_bind_int(&q->level, id);
	query_bind_text(&q->level, l->id);
	query_bind_uint(&q->level, l->cut);
	TRY(query_run(&q->level));
	for (size_t i = 0; i < l->rows.n; i++) {
		const struct fact *row = &l->rows.v[i];

		query_bind_text(&q->name, l->id);
		query_bind_text(&q->name, row->key);
		TRY(query_run(&q->name));
		query_bind_int(&q->fact, id);
		for (int c = 0; c < FACT_COLUMNS; c++)
			query_bind_uint(&q->fact, row->v[c]);
		query_bind_text(&q->fact, l->id);
		query_bind_text(&q->fact, row->key);
		TRY(query_run(&q->fact));
	}
	return NULL;
}

static struct err *add_levels(struct history *h, const struct facts *f, i64 id)
{
	struct row_queries q = {.level = {.h = NULL}};
	struct err *err = query_begin(&q.level, h, "INSERT INTO level VALUES(?,?,?)");

	if (!err)
		err = query_begin(
			&q.name, h,
			"INSERT INTO name(level, key) VALUES(?,?) ON CONFLICT DO NOTHING");
	if (!err)
		err = query_begin(&q.fact, h,
				  "INSERT INTO fact SELECT ?, id, ?, ?, ? FROM name"
				  " WHERE level = ? AND key = ?");
	for (size_t i = 0; !err && i < f->level_count; i++)
		err = add_rows(&q, &f->levels[i], id);
	query_end(&q.level);
	query_end(&q.name);
	query_end(&q.fact);
	return err;
}

static struct err *forget_failure(struct history *h, const char *path)
{
	struct query q;
	struct err *err = query_begin(&q, h, "DELETE FROM failure WHERE path = ?");

	if (!err) {
		query_bind_text(&q, path);
		err = query_run(&q);
	}
	query_end(&q);
	return err;
}

/* Within a transaction. */
static struct err *add_snapshot(struct history *h, const struct facts *f)
{
	i64 id;

	TRY(run_for_file(h, "DELETE FROM snapshot " OF_FILE, &f->head));
	TRY(add_head(h, &f->head, &id));
	TRY(add_levels(h, f, id));
	return forget_failure(h, f->head.path);
}

struct err *history_add(struct history *h, const struct facts *f)
{
	TRY(history_begin(h));
	return history_end(h, add_snapshot(h, f));
}

struct err *history_has(struct history *h, const struct facts_head *file, bool *ret)
{
	struct query q;
	struct err *err = query_begin(&q, h, "SELECT 1 FROM snapshot " OF_FILE);

	if (!err) {
		bind_file(&q, file);
		err = query_step(&q, ret);
	}
	query_end(&q);
	return err;
}

struct err *history_add_failure(struct history *h, const char *path, u64 status,
				const char *message)
{
	struct query q;
	struct err *err = query_begin(&q, h, "INSERT OR REPLACE INTO failure VALUES(?,?,?)");

	if (!err) {
		query_bind_text(&q, path);
		query_bind_uint(&q, status);
		query_bind_text(&q, message);
		err = query_run(&q);
	}
	query_end(&q);
	return err;
}

static struct err *remove_all(struct history *h, const struct history_list *list)
{
	struct query q;
	struct err *err = query_begin(&q, h, "DELETE FROM snapshot WHERE id = ?");

	for (size_t i = 0; !err && i < list->v.n; i++) {
		query_bind_int(&q, list->v.v[i].id);
		err = query_run(&q);
	}
	query_end(&q);
	/* Names that nobody uses any more. */
	return err ? err
		   : history_run(h, "DELETE FROM name WHERE id NOT IN (SELECT name FROM fact)");
}

struct err *history_remove(struct history *h, const struct history_list *list)
{
	TRY(history_begin(h));
	return history_end(h, remove_all(h, list));
}

/* Adds a snapshot of another database unless it is here. */
static struct err *merge_one(struct history *h, struct history *from,
			     const struct history_entry *entry, u64 *added)
{
	struct facts f = {.level_count = 0};
	struct err *err;
	bool here;

	TRY(history_has(h, &entry->head, &here));
	if (here)
		return NULL;
	err = history_load(from, entry->id, &f);
	if (!err)
		err = add_snapshot(h, &f);
	*added += !err;
	facts_fini(&f);
	return err;
}

static struct err *merge_all(struct history *h, struct history *from, u64 *added, u64 *seen)
{
	const struct history_filter all = {.last = 0};
	struct history_list list = {.arena = {NULL, 0}};
	struct err *err = history_list(from, &all, &list);

	for (size_t i = 0; !err && i < list.v.n; i++)
		err = merge_one(h, from, &list.v.v[i], added);
	*seen = list.v.n;
	history_list_fini(&list);
	return err;
}

struct err *history_merge(struct history *h, const char *path, u64 *added, u64 *seen)
{
	struct history *from;
	struct err *err;

	*added = *seen = 0;
	TRY(history_open(path, HISTORY_READ, &from));
	err = history_begin(h);
	if (!err)
		err = history_end(h, merge_all(h, from, added, seen));
	history_close(from);
	return err;
}
