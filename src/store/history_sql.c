/* The database as such: opening it, statements, transactions, errors. */
#include "store/history_priv.h"

#include "base/mem.h"
#include "store/history_schema.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUSY_MS 5000

struct err *history_error(const struct history *h)
{
	int system = sqlite3_system_errno(h->db);

	switch (sqlite3_errcode(h->db) & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return err_new(ERR_OS, "%s: is in use by another program; try again later",
			       h->path);
	case SQLITE_FULL:
		return err_new(ERR_OS, "%s: cannot grow: the disk is full", h->path);
	case SQLITE_NOTADB:
		return err_new(ERR_FORMAT, "%s: is no database of spanscope's", h->path);
	case SQLITE_CORRUPT:
		return err_new(ERR_OS, "%s: is damaged: %s", h->path, sqlite3_errmsg(h->db));
	case SQLITE_NOMEM:
		mem_die();
	default:
		break;
	}
	if (system)
		return err_new(ERR_OS, "%s: cannot be read or written: %s", h->path,
			       strerror(system));
	return err_new(ERR_OS, "%s: %s", h->path, sqlite3_errmsg(h->db));
}

struct err *history_run(struct history *h, const char *sql)
{
	return sqlite3_exec(h->db, sql, NULL, NULL, NULL) == SQLITE_OK ? NULL : history_error(h);
}

struct err *query_begin(struct query *q, struct history *h, const char *sql)
{
	*q = (struct query){.h = h};
	return sqlite3_prepare_v2(h->db, sql, -1, &q->stmt, NULL) == SQLITE_OK ? NULL
									       : history_error(h);
}

void query_end(struct query *q)
{
	sqlite3_finalize(q->stmt);
	q->stmt = NULL;
}

static void note_binding(struct query *q, int status)
{
	if (status != SQLITE_OK)
		q->bad = status;
}

void query_bind_int(struct query *q, i64 v)
{
	note_binding(q, sqlite3_bind_int64(q->stmt, ++q->bound, v));
}

void query_bind_uint(struct query *q, u64 v)
{
	if (v <= INT64_MAX)
		query_bind_int(q, (i64)v);
	else
		note_binding(q, sqlite3_bind_null(q->stmt, ++q->bound));
}

void query_bind_text(struct query *q, const char *s)
{
	/* Statements do not outlive the strings of their callers. */
	note_binding(q, sqlite3_bind_text(q->stmt, ++q->bound, s, -1, SQLITE_STATIC));
}

struct err *query_step(struct query *q, bool *row)
{
	int status = q->bad ? q->bad : sqlite3_step(q->stmt);

	q->column = 0;
	*row = status == SQLITE_ROW;
	return *row || status == SQLITE_DONE ? NULL : history_error(q->h);
}

struct err *query_run(struct query *q)
{
	bool row;
	struct err *err = query_step(q, &row);

	query_again(q);
	return err;
}

void query_again(struct query *q)
{
	sqlite3_reset(q->stmt); /* says once more what the last step said */
	q->bound = 0;
}

i64 query_int(struct query *q)
{
	return sqlite3_column_int64(q->stmt, q->column++);
}

u64 query_uint(struct query *q)
{
	bool null = sqlite3_column_type(q->stmt, q->column) == SQLITE_NULL;
	i64 v = query_int(q);

	return null || v < 0 ? FACT_UNKNOWN : (u64)v;
}

const char *query_text(struct query *q)
{
	return (const char *)sqlite3_column_text(q->stmt, q->column++);
}

const char *query_name(struct query *q)
{
	const char *s = query_text(q);

	return s ? s : "";
}

struct err *history_begin(struct history *h)
{
	return history_run(h, "BEGIN IMMEDIATE");
}

struct err *history_end(struct history *h, struct err *err)
{
	if (!err)
		err = history_run(h, "COMMIT");
	if (err) /* which fails where the failure has ended the transaction by itself */
		err_free(history_run(h, "ROLLBACK"));
	return err;
}

/* A number that a statement has as its only result. */
static struct err *read_number(struct history *h, const char *sql, i64 *ret)
{
	struct query q;
	struct err *err = query_begin(&q, h, sql);
	bool row = false;

	if (!err)
		err = query_step(&q, &row);
	*ret = row ? query_int(&q) : 0;
	query_end(&q);
	return err;
}

static struct err *make_tables(struct history *h)
{
	char mark[128];

	TRY(history_run(h, HISTORY_TABLES));
	snprintf(mark, sizeof(mark), "PRAGMA application_id=%d; PRAGMA user_version=%d",
		 HISTORY_APPLICATION, HISTORY_SCHEMA);
	return history_run(h, mark);
}

/* Whether the tables are ours and of a form that is known; makes them in an empty database if it
 * may. */
static struct err *check_tables(struct history *h, enum history_mode mode)
{
	i64 application, version, tables;

	TRY(read_number(h, "PRAGMA application_id", &application));
	TRY(read_number(h, "PRAGMA user_version", &version));
	TRY(read_number(h, "SELECT count(*) FROM sqlite_master", &tables));
	if (!tables && !application)
		return mode == HISTORY_CREATE
			       ? make_tables(h)
			       : err_new(ERR_FORMAT, "%s: is an empty database", h->path);
	if (application != HISTORY_APPLICATION)
		return err_new(ERR_FORMAT, "%s: is a database of another program", h->path);
	if (version > HISTORY_SCHEMA)
		return err_new(ERR_UNSUPPORTED,
			       "%s: was made by a newer spanscope (form %lld; this one reads %d)",
			       h->path, (long long)version, HISTORY_SCHEMA);
	return NULL;
}

/* Puts the write-ahead log in the place of the rollback journal, unless another program, or the
 * file system, is in the way: both are safe. */
static struct err *begin_log(struct history *h)
{
	struct query q;
	struct err *err = query_begin(&q, h, "PRAGMA journal_mode=WAL");
	bool row = false;

	if (!err)
		err_free(query_step(&q, &row));
	h->has_log = row && !strcmp(query_name(&q), "wal");
	query_end(&q);
	if (!err && h->has_log)
		err = history_run(h, "PRAGMA synchronous=NORMAL");
	return err;
}

static struct err *open_database(struct history *h, const char *path, enum history_mode mode)
{
	/* A reader may have to end the transaction of a batch that was killed: it needs to write.
	 */
	int flags = SQLITE_OPEN_READWRITE | (mode == HISTORY_CREATE ? SQLITE_OPEN_CREATE : 0);

	if (mode != HISTORY_CREATE && access(path, F_OK) < 0)
		return err_os("%s: cannot be opened", h->path);
	if (sqlite3_open_v2(path, &h->db, flags, NULL) != SQLITE_OK)
		return history_error(h);
	sqlite3_extended_result_codes(h->db, 1);
	sqlite3_busy_timeout(h->db, BUSY_MS);
	sqlite3_db_config(h->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(h->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	TRY(history_run(h, "PRAGMA foreign_keys=ON; PRAGMA synchronous=FULL"));
	if (mode != HISTORY_CREATE) {
		TRY(check_tables(h, mode));
	} else {
		TRY(history_begin(h)); /* two batches may begin at once */
		TRY(history_end(h, check_tables(h, mode)));
	}
	return mode == HISTORY_READ ? NULL : begin_log(h);
}

struct err *history_open(const char *path, enum history_mode mode, struct history **ret)
{
	struct history *h = xcalloc(1, sizeof(*h));
	struct err *err;

	h->path = xstrdup(*path ? path : "the temporary database");
	err = open_database(h, path, mode);
	if (err)
		history_close(h);
	else
		*ret = h;
	return err;
}

void history_close(struct history *h)
{
	if (!h)
		return;
	if (h->has_log) /* stays where others have it open; the last one ends it */
		err_free(history_run(h, "PRAGMA journal_mode=DELETE"));
	sqlite3_close(h->db);
	free(h->path);
	free(h);
}
