/* What the files of the history share: the database, and statements with errors as values. */
#ifndef STORE_HISTORY_PRIV_H
#define STORE_HISTORY_PRIV_H

#include "store/history.h"

#include <sqlite3.h>

struct history {
	char *path;
	sqlite3 *db;
	bool has_log; /* we have asked for the write-ahead log */
};

/* The database's last error in words: "history.db: the disk is full". */
struct err *history_error(const struct history *h) __attribute__((returns_nonnull));

/* Runs statements that have no result. */
struct err *history_run(struct history *h, const char *sql) ERR_RESULT;

/* A prepared statement, to be finished with query_end in any case (zeroed: nothing to do). */
struct query {
	struct history *h;
	sqlite3_stmt *stmt;
	int bound, column, bad; /* bad: what a parameter was refused for */
};

struct err *query_begin(struct query *q, struct history *h, const char *sql) ERR_RESULT;
void query_end(struct query *q);

/* Gives the next parameter a value. A failure comes out of query_step: there is memory, or the
 * program ends. Text must live until then. */
void query_bind_int(struct query *q, i64 v);
void query_bind_uint(struct query *q, u64 v); /* FACT_UNKNOWN: NULL */
void query_bind_text(struct query *q, const char *s);

/* The next row; false at the end. */
struct err *query_step(struct query *q, bool *row) ERR_RESULT;

/* For a statement without rows: runs it, and makes it ready for the next time. */
struct err *query_run(struct query *q) ERR_RESULT;

/* Takes the parameters and rows back, for the next time. */
void query_again(struct query *q);

/* The next column. Text lives until the next step; where it is null, NULL, or the name "". */
i64 query_int(struct query *q);
u64 query_uint(struct query *q); /* FACT_UNKNOWN where it is null or negative */
const char *query_text(struct query *q);
const char *query_name(struct query *q);

/* A transaction that writes. history_end ends it well, or, given an error, takes everything back
 * and returns the error. */
struct err *history_begin(struct history *h) ERR_RESULT;
struct err *history_end(struct history *h, struct err *err) ERR_RESULT;

/* The columns of a head in a statement, in the order of history.c and history_read.c. */
#define HEAD_COLUMNS                                                                               \
	"path, file_bytes, mtime_ns, inode, time_ns, time_from, go, arch, build, exe, process,"    \
	" evidence, partial, virtual, resident, count"

#endif
