/* Which files a batch is about. */
#ifndef CLI_BATCH_FILES_H
#define CLI_BATCH_FILES_H

#include "base/arena.h"
#include "base/array.h"
#include "store/history.h"

struct batch_file {
	struct facts_head head; /* path and identity alone; 0 where it cannot be examined */
	const char *trouble;    /* why it cannot be analysed, or NULL */
};

struct batch_files {
	ARRAY(struct batch_file) v; /* in order, each once */
	u64 foreign;                /* files of folders that are no snapshots */
	struct arena arena;
};

/* Collects files, folders with all that is below them, and patterns (*, ?, [...]) that the shell
 * has left. A file that was named is one to be analysed, whatever it is; of a folder's files those
 * are that begin as a core, a compressed file or a tar, and that do not lie in the folder CORE.d of
 * a core. Not followed: folders whose name begins with a dot, links to folders. By time means here
 * by the file's: what is inside is not known yet. *ret must be zeroed; batch_files_fini is due in
 * any case. ERR_OS when a path that was named is not there. */
struct err *batch_files_find(char *const *paths, size_t n, enum history_order order,
			     struct batch_files *ret) ERR_RESULT;
void batch_files_fini(struct batch_files *f);

#endif
