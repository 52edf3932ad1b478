/* What one snapshot says of its memory, as rows that can be compared with those of another.
 *
 * A level is one way to look at all of it ("class", "sizeclass", "goroutines", ...), a key is a row
 * of a level that means the same in each snapshot ("go.heap.live", "64 noscan"). This module knows
 * nothing of what levels and keys there are: report/levels.def has them.
 *
 *     facts ── head: which snapshot, of what, and how well it could be read
 *           └─ level "class" ── row "anon"          {virtual, resident, count}
 *                            └─ row "go.heap.live"  {virtual, resident, count}
 *
 * Facts stand by themselves. They become a JSON document (spanscope/snapshot/1, which
 * schema/snapshot.json describes) and are read from one; store/history.h keeps them in a database.
 */
#ifndef STORE_FACTS_H
#define STORE_FACTS_H

#include "base/arena.h"
#include "base/array.h"
#include "base/json.h"

#include <stdio.h>

#define FACT_UNKNOWN UINT64_MAX

enum fact_column {
	FACT_VIRTUAL,  /* bytes */
	FACT_RESIDENT, /* bytes of them that were in memory */
	FACT_COUNT,    /* things of the level's own kind */
	FACT_COLUMNS,
};

/* Values are at most INT64_MAX, or FACT_UNKNOWN: JSON and SQL have null there. */
struct fact {
	const char *key;
	u64 v[FACT_COLUMNS];
};

#define FACTS_LEVELS_MAX 32

/* A level keeps its largest rows; the others are summed in one row, so that neither a document nor
 * a database grows with what is in a process. */
#define FACTS_ROWS_MAX 1000
#define FACTS_OTHER "(other)"

/* Bytes of a key; longer ones end in a checksum of the whole. */
#define FACTS_KEY_MAX 480

/* A level that is there with no row has seen that there is nothing; one that could not be read is
 * not there. */
struct facts_level {
	const char *id;
	ARRAY(struct fact) rows; /* once sealed: by key, each once */
	u64 cut;                 /* rows that FACTS_OTHER stands for */
};

/* Which snapshot. Strings may be NULL where nothing is known but for path and time_from. */
struct facts_head {
	/* The file: the same path, size, time and inode are the same content. 0: a document from
	 * elsewhere did not say. */
	const char *path;
	u64 file_bytes, inode;
	i64 mtime_ns; /* Unix time */

	i64 time_ns;           /* when the snapshot was taken, Unix time, */
	const char *time_from; /* by what: "sidecar", "archive" or "file" */
	const char *go, *arch; /* "go1.26.11", "amd64" */
	const char *build;     /* id of the executable, Go's or else GNU's */
	const char *exe;       /* its path in the process */
	const char *process;   /* the same in all snapshots of one process */
	const char *evidence;  /* of the resident figures */
	const char *partial;   /* ids of the diagnostics that limit it, "a, b"; NULL: complete */
	u64 total[FACT_COLUMNS];
};

struct facts {
	struct facts_head head;
	struct facts_level levels[FACTS_LEVELS_MAX];
	size_t level_count;
	struct arena arena; /* owns all strings */
};

/* Zeroed facts are empty; facts_fini is due in any case. */
void facts_fini(struct facts *f);

/* A copy of a string that lives as long as the facts, fit for documents and terminals: what is no
 * UTF-8 or a control character is '?'. NULL stays NULL. */
const char *facts_string(struct facts *f, const char *s);

/* Adds an empty level, or finds the one of this id. ERR_LIMIT beyond FACTS_LEVELS_MAX. */
struct err *facts_add_level(struct facts *f, const char *id, struct facts_level **ret) ERR_RESULT;

/* Adds a row; a key that is there already gets the sum. The key is copied as by facts_string. */
struct err *facts_add(struct facts *f, struct facts_level *level, const char *key, u64 virtual,
		      u64 resident, u64 count) ERR_RESULT;

/* Sorts each level, sums rows of one key, and cuts it to FACTS_ROWS_MAX. To be called once, before
 * anything below. */
void facts_seal(struct facts *f);

/* NULL when the level could not be read; when the level has no such row. */
const struct facts_level *facts_level(const struct facts *f, const char *id);
const struct fact *facts_row(const struct facts_level *level, const char *key);

/* Writes the document. */
struct err *facts_write(const struct facts *f, FILE *out) ERR_RESULT;

/* Reads a document, which `name` names in messages; sealed afterwards. ERR_FORMAT when it is none,
 * or one of a newer form. *ret must be zeroed. */
struct err *facts_read(const char *text, size_t n, const char *name, struct facts *ret) ERR_RESULT;

#endif
