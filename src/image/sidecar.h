/* What was kept of /proc/PID beside the core: it says which pages were in memory, whatever the core
 * itself lost of that.
 *
 * The files come from single options, from a folder (CORE.d beside the core, or with it in an
 * archive), or from a note in the core (note.h); each has the name that it has in /proc, and two
 * have names of ours:
 *
 *     smaps status stat auxv smaps_rollup maps cgroup limits   copies of /proc/PID/...
 *     memory.current memory.stat memory.max ...                copies of the cgroup's files
 *     pagemap        entries of /proc/PID/pagemap, 8 bytes a page       (pagerec.h)
 *     pages          the same as text, or as PAGEMAP_SCAN had it        (pagerec.h)
 *     exe-header     the first 4096 bytes of /proc/PID/exe
 *
 * They must be of the process of the core, as far as both tell who they are. */
#ifndef IMAGE_SIDECAR_H
#define IMAGE_SIDECAR_H

#include "image/image.h"
#include "image/pagerec.h"
#include "image/procfile.h"
#include "image/smaps.h"

/* Paths that the user named, or NULL. */
struct sidecar_options {
	const char *folder, *smaps, *pagemap, *status;
};

struct sidecar_file {
	const char *name, *path;
	const u8 *data;
	u64 n;
	struct os_file mapped; /* owns data when it has a path, */
	flate_bytes unpacked;  /* else this does */
};

struct sidecar {
	ARRAY(struct sidecar_file) files; /* one a name */
	struct smaps smaps;               /* without mappings: not there */
	struct pagerec pages;
	bool has_pages;
	struct proc_status status; /* without pids: not there */
	struct cgroup cgroup;
	struct proc_stat stat;
	const char
		*origin; /* folder or file that it came from; NULL: the core's note, or nothing */
	struct arena arena;
};

/* Collects what the options name, else what the core's note has, else the folder that came with it
 * in its archive, else the one that lies beside it, and reads it. Given files that are damaged or
 * of another process are errors (ERR_FORMAT, ERR_USAGE); a folder that nobody named is then left,
 * with a diagnostic, as is a damaged note. *sc must be zeroed; sidecar_close is due in any case. */
struct err *sidecar_open(struct sidecar *sc, const struct image *im,
			 const struct sidecar_options *options, struct diags *d) ERR_RESULT;
void sidecar_close(struct sidecar *sc);

/* The files of a folder alone, read and compared with the core. */
struct err *sidecar_open_folder(struct sidecar *sc, const struct image *im,
				const char *folder) ERR_RESULT;

/* Whether there is anything. */
bool sidecar_is_empty(const struct sidecar *sc);

const struct sidecar_file *sidecar_find(const struct sidecar *sc, const char *name);

/* The process's RSS as the kernel counts it; false where nobody said. */
bool sidecar_rss(const struct sidecar *sc, u64 *ret);

/* Whether the record tells this of each page (PG_HUGE, PG_LAZYFREE), or smaps does as far as it
 * can. */
bool sidecar_knows(const struct sidecar *sc, u16 flag);

/* Adds mappings that smaps has and the core has not, and what the core hides of the others. Before
 * anything else uses the mappings. */
struct err *sidecar_complete_vmas(const struct sidecar *sc, struct image *im) ERR_RESULT;

#endif
