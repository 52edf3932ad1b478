/* From an analysed core to facts (store/facts.h): one function a level. */
#ifndef REPORT_FACTS_FILL_H
#define REPORT_FACTS_FILL_H

#include "report/report.h"
#include "store/facts.h"

/* What a level is filled from. */
struct filler {
	const struct snapshot *s;
	struct doc *d; /* strings of the level under work */
	struct facts *f;
};

/* Adds the level and its rows; adds no level when the snapshot cannot tell. */
typedef struct err *fill_fn(struct filler *f, const char *id);

struct level {
	const char *id, *plural, *title, *explains, *phrase;
	fill_fn *fill;
};

/* All levels, in the order of levels.def. */
extern const struct level levels[];
extern const size_t levels_count;

/* NULL when there is none of this id. */
const struct level *level_find(const char *id);

/* Fills everything but the identity of the file (file_bytes, mtime_ns, inode), which is the
 * caller's, and seals. `path` is what the snapshot is called. The snapshot needs a ledger. *ret
 * must be zeroed; facts_fini is due in any case. The only error is the end of memory. */
struct err *facts_fill(const struct snapshot *s, const char *path, struct facts *ret) ERR_RESULT;

#define L(id, plural, title, explains, phrase, fill) fill_fn fill;
#include "report/levels.def"
#undef L

#endif
