/* Snapshots over time: facts in a SQLite database (history_schema.h has its tables).
 *
 * Each snapshot is one transaction: after kill -9 or a full disk the database has every snapshot
 * that was finished, whole, and no other; after a power cut the newest ones may be missing. While
 * somebody changes it there is a write-ahead log beside it, which needs no wait for the disk at
 * each snapshot; at rest it is one file. Programs may share it; each waits a few seconds for
 * another's transaction.
 *
 * Nothing that is read from it depends on the order in which snapshots were added. */
#ifndef STORE_HISTORY_H
#define STORE_HISTORY_H

#include "store/facts.h"

struct history;

enum history_mode {
	HISTORY_READ,
	HISTORY_CHANGE, /* it must be there */
	HISTORY_CREATE, /* or is made */
};

/* Opens a database; with the path "" one that is gone when it is closed. ERR_OS when it cannot be
 * opened, is in use for longer than one waits, or is damaged; ERR_FORMAT when it is no database of
 * ours; ERR_UNSUPPORTED when a newer release made it. All functions below fail the same way;
 * ERR_LIMIT is the end of memory. */
struct err *history_open(const char *path, enum history_mode mode, struct history **ret) ERR_RESULT;
void history_close(struct history *h); /* NULL does nothing */

/* Adds a snapshot, in place of one of the same file (path, size, time, inode), and takes the file
 * out of the failures. */
struct err *history_add(struct history *h, const struct facts *f) ERR_RESULT;

/* Whether a snapshot of this file is there, by the first fields of the head. */
struct err *history_has(struct history *h, const struct facts_head *file, bool *ret) ERR_RESULT;

enum history_order {
	HISTORY_BY_TIME, /* of the snapshot, then as by name */
	HISTORY_BY_NAME, /* of the file, numbers in it as numbers; then its time, size and inode */
};

/* Which snapshots. Zero: all, by time. */
struct history_filter {
	enum history_order order;
	const char *program; /* base name of the executable's path, or a build id; NULL: all */
	const char *process; /* NULL: all */
	bool complete;       /* only those that were read completely */
	u64 last;            /* only so many, the last in this order; 0: all */
};

struct history_entry {
	i64 id; /* in this database; says nothing of the order */
	struct facts_head head;
};

struct history_list {
	ARRAY(struct history_entry) v;
	struct arena arena; /* owns the strings */
};

/* Lists snapshots in order. *ret must be zeroed; history_list_fini is due in any case. */
struct err *history_list(struct history *h, const struct history_filter *filter,
			 struct history_list *ret) ERR_RESULT;
void history_list_fini(struct history_list *l);

/* All facts of a snapshot. ERR_MISSING when it is not there any more. *ret must be zeroed. */
struct err *history_load(struct history *h, i64 id, struct facts *ret) ERR_RESULT;

/* A key in one snapshot of a list. A row that is missing in a level that is there has zeros where
 * the row has figures in other snapshots of the list. */
struct history_point {
	bool known;  /* false: the snapshot has no such level */
	bool listed; /* false: its level has no such row, or has it in FACTS_OTHER */
	u64 v[FACT_COLUMNS];
};

struct history_series {
	ARRAY(struct history_point) v; /* one for each entry of the list */
	bool found;                    /* any of them has the row */
};

/* Follows one key through the snapshots of a list. With level NULL, it is the total. *ret must be
 * zeroed; history_series_fini is due in any case. */
struct err *history_follow(struct history *h, const struct history_list *list, const char *level,
			   const char *key, struct history_series *ret) ERR_RESULT;
void history_series_fini(struct history_series *s);

/* Calls visit for each level and key that any snapshot has, in order of their bytes; an error ends
 * the walk and is returned. level NULL: all levels. */
typedef struct err *history_key_visitor(void *arg, const char *level, const char *key);
struct err *history_keys(struct history *h, const char *level, history_key_visitor *visit,
			 void *arg) ERR_RESULT;

/* Removes the snapshots of a list, all or none. */
struct err *history_remove(struct history *h, const struct history_list *list) ERR_RESULT;

/* Adds the snapshots of another database that are not here: *added of *seen. All or none. */
struct err *history_merge(struct history *h, const char *path, u64 *added, u64 *seen) ERR_RESULT;

/* Keeps the facts as what a program's snapshots are compared with, in place of what was kept
 * before. They outlive the snapshot. */
struct err *history_set_baseline(struct history *h, const char *program,
				 const struct facts *f) ERR_RESULT;

/* The facts that were kept; *found is false where there are none. *ret must be zeroed; facts_fini
 * is due in any case. */
struct err *history_baseline(struct history *h, const char *program, struct facts *ret,
			     bool *found) ERR_RESULT;

/* A file that could not be analysed, and why. It is tried again by the next batch. */
struct history_failure {
	const char *path, *message;
	u64 status; /* as an exit status */
};

struct err *history_add_failure(struct history *h, const char *path, u64 status,
				const char *message) ERR_RESULT;

/* By name. The strings belong to the list's arena. */
struct history_failures {
	ARRAY(struct history_failure) v;
	struct arena arena;
};

struct err *history_failures(struct history *h, struct history_failures *ret) ERR_RESULT;
void history_failures_fini(struct history_failures *f);

#endif
