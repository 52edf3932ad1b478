#include "image/sidecar.h"

#include "image/elf64.h"
#include "image/note.h"

#include <string.h>
#include <unistd.h>

#define HEADER_BYTES 4096

/* Every file that is taken from a folder; others are nobody's business. */
static const char *const names[] = {
	"smaps",
	"status",
	"stat",
	"auxv",
	"pages",
	"pagemap",
	"exe-header",
	"smaps_rollup",
	"maps",
	"cgroup",
	"limits",
	"coredump_filter",
	"memory.current",
	"memory.max",
	"memory.stat",
	"memory.swap.current",
	"memory.events",
	"memory.usage_in_bytes",
	"memory.limit_in_bytes",
	"memory.kmem.usage_in_bytes",
};

const struct sidecar_file *sidecar_find(const struct sidecar *sc, const char *name)
{
	for (size_t i = 0; i < sc->files.n; i++)
		if (!strcmp(sc->files.v[i].name, name))
			return &sc->files.v[i];
	return NULL;
}

bool sidecar_is_empty(const struct sidecar *sc)
{
	return sc->files.n == 0 && !sc->has_pages;
}

/* Takes the open file over. */
static struct err *take_file(struct sidecar *sc, const char *name, struct os_file *opened)
{
	struct err *err = array_push(&sc->files, {.name = name,
						  .path = arena_strdup(&sc->arena, opened->path),
						  .data = opened->data,
						  .n = opened->size,
						  .mapped = *opened});

	if (err)
		os_file_close(opened);
	return err;
}

static struct err *add_file(struct sidecar *sc, const char *name, const char *path)
{
	struct os_file f = {0};

	TRY(os_file_open(path, &f));
	return take_file(sc, name, &f);
}

/* Files of the folder that are there, and not empty. */
static struct err *add_folder(struct sidecar *sc, const char *folder)
{
	sc->origin = arena_strdup(&sc->arena, folder);
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		const char *path = arena_printf(&sc->arena, "%s/%s", folder, names[i]);
		struct err *err;

		if (access(path, F_OK))
			continue;
		err = add_file(sc, names[i], path);
		/* What could not be read from /proc, or the cgroup, is an empty copy. */
		if (err && err->code == ERR_FORMAT) {
			err_free(err);
			continue;
		}
		TRY(err);
	}
	if (sidecar_is_empty(sc))
		return err_new(ERR_USAGE, "%s: has no copy of /proc/PID/smaps, status or pagemap",
			       folder);
	return NULL;
}

/* A name in an archive without what changes nothing. */
static const char *plain_name(const char *name)
{
	while (name[0] == '.' && name[1] == '/')
		name += 2;
	return name;
}

static const char *folder_of(struct sidecar *sc, const char *name)
{
	name = plain_name(name);
	return arena_strndup(&sc->arena, name, (size_t)(os_base_name(name) - name));
}

/* The folder that came with the core in an archive: MEMBER.d/, else the only one. NULL: there is
 * none, or nothing tells which. */
static const char *archived_folder(struct sidecar *sc, const struct unpacked *u)
{
	const char *own = arena_printf(&sc->arena, "%s.d/", plain_name(u->member ? u->member : "")),
		   *only = NULL;
	bool several = false;

	for (size_t i = 0; i < u->files.n; i++) {
		const char *folder = folder_of(sc, u->files.v[i].name);

		if (u->files.v[i].elf)
			continue;
		if (!strcmp(folder, own))
			return folder;
		several |= only && strcmp(only, folder) != 0;
		only = folder;
	}
	return several ? NULL : only;
}

/* The file's name in /proc; NULL for one that is nobody's business. */
static const char *known_name(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (!strcmp(names[i], name))
			return names[i];
	return NULL;
}

static struct err *add_archived(struct sidecar *sc, const struct image *im, const char *folder)
{
	sc->origin = arena_printf(&sc->arena, "%s: %s", im->core.path, folder);
	for (size_t i = 0; i < im->unpacked.files.n; i++) {
		const struct unpacked_file *u = &im->unpacked.files.v[i];
		const char *name = known_name(os_base_name(u->name));
		struct os_file f = {0};

		if (!name || u->elf || strcmp(folder_of(sc, u->name), folder) != 0 ||
		    sidecar_find(sc, name))
			continue;
		TRY(os_file_dup(&u->file, &f));
		TRY(take_file(sc, name, &f));
	}
	return NULL;
}

static struct err *add_given(struct sidecar *sc, const struct sidecar_options *o)
{
	const struct {
		const char *name, *path;
	} given[] = {{"smaps", o->smaps}, {"pagemap", o->pagemap}, {"status", o->status}};

	for (size_t i = 0; i < COUNT_OF(given); i++) {
		if (!given[i].path)
			continue;
		sc->origin = arena_strdup(&sc->arena, given[i].path);
		TRY(add_file(sc, given[i].name, given[i].path));
	}
	return NULL;
}

/* ---- reading */

/* The file's name in messages. */
static const char *label(const struct sidecar_file *f)
{
	return f->path ? f->path : f->name;
}

static struct err *read_cgroup(struct sidecar *sc, const struct sidecar_file *f)
{
	bool ours;

	return cgroup_parse(&sc->cgroup, f->name, (const char *)f->data, f->n, &ours);
}

static struct err *read_text(struct sidecar *sc, const struct sidecar_file *f)
{
	const char *text = (const char *)f->data;

	if (!strcmp(f->name, "smaps"))
		return smaps_parse(&sc->smaps, text, f->n);
	if (!strcmp(f->name, "status"))
		return proc_status_parse(&sc->status, text, f->n);
	if (!strcmp(f->name, "stat"))
		return proc_stat_parse(&sc->stat, text, f->n);
	return read_cgroup(sc, f);
}

/* The text begins with a word that no entry of pagemap has for its bits. */
static bool is_pages_text(const struct sidecar_file *f)
{
	return f->n >= 5 && !memcmp(f->data, "known", 5);
}

static struct err *read_pages(struct sidecar *sc, const struct image *im)
{
	const struct sidecar_file *f = sidecar_find(sc, "pages");

	if (!f)
		f = sidecar_find(sc, "pagemap");
	if (!f)
		return NULL;
	sc->has_pages = true;
	if (!strcmp(f->name, "pages") || is_pages_text(f))
		return err_wrap(pagerec_parse_text(&sc->pages, (const char *)f->data, f->n), "%s",
				label(f));
	if (!sc->smaps.vmas.n)
		return err_new(ERR_USAGE, "%s: needs the smaps of the same moment", label(f));
	return err_wrap(
		pagerec_parse_pagemap(&sc->pages, f->data, f->n, &sc->smaps, im->auxv.page_size),
		"%s", label(f));
}

static struct err *read_all(struct sidecar *sc, const struct image *im)
{
	for (size_t i = 0; i < sc->files.n; i++)
		TRY(err_wrap(read_text(sc, &sc->files.v[i]), "%s", label(&sc->files.v[i])));
	if (!sc->has_pages)
		TRY(read_pages(sc, im));
	return pagerec_derive_parts(&sc->pages, &sc->smaps, im->auxv.page_size);
}

/* ---- whose is it? */

static const char *label_of(const struct sidecar *sc, const char *name)
{
	const struct sidecar_file *f = sidecar_find(sc, name);

	return f ? label(f) : name;
}

/* Whether the auxiliary vectors are equal up to their end. It has the random places of the
 * executable, the vdso and the main stack. */
static bool same_auxv(const struct sidecar_file *f, const struct image *im)
{
	u64 n = MIN(f->n, im->auxv_bytes);

	for (u64 i = 0; i + 16 <= n; i += 16) {
		u64 key;

		if (memcmp(f->data + i, im->auxv_note + i, 16) != 0)
			return false;
		memcpy(&key, f->data + i, sizeof(key));
		if (key == AT_NULL)
			return true;
	}
	return false;
}

static struct err *check_pids(const struct sidecar *sc, const struct image *im)
{
	if (sc->stat.pid && sc->status.pid_count && !proc_status_has_pid(&sc->status, sc->stat.pid))
		return err_new(ERR_USAGE, "%s: stat is of process %u, status of %u", sc->origin,
			       sc->stat.pid, sc->status.pids[0]);
	if (!im->pid)
		return NULL;
	if (sc->status.pid_count && !proc_status_has_pid(&sc->status, im->pid))
		return err_new(ERR_USAGE, "%s: of another process, %u; the core is of %u",
			       label_of(sc, "status"), sc->status.pids[0], im->pid);
	if (sc->stat.pid && !sc->status.pid_count && sc->stat.pid != im->pid)
		return err_new(ERR_USAGE, "%s: of another process, %u; the core is of %u",
			       label_of(sc, "stat"), sc->stat.pid, im->pid);
	return NULL;
}

/* The header page of the executable as the core has it, or NULL. */
static const u8 *core_header(const struct image *im)
{
	const struct vma *v = im->auxv.entry ? image_vma(im, im->auxv.entry) : NULL;

	if (!v || v->file < 0)
		return NULL;
	for (size_t i = 0; i < im->vmas.n; i++)
		if (im->vmas.v[i].file == v->file && im->vmas.v[i].offset == 0)
			return image_view(im, im->vmas.v[i].lo, HEADER_BYTES);
	return NULL;
}

static struct err *check_build(const struct sidecar *sc, const struct image *im)
{
	const struct sidecar_file *f = sidecar_find(sc, "exe-header");
	const u8 *page = f ? core_header(im) : NULL;
	struct elf_ids ours, theirs;

	if (!page)
		return NULL;
	elf_build_ids((struct elf_bytes){page, HEADER_BYTES}, &ours);
	elf_build_ids((struct elf_bytes){f->data, f->n}, &theirs);
	if ((!*ours.go && !*ours.gnu) || elf_ids_match(&ours, &theirs))
		return NULL;
	return err_new(ERR_USAGE, "%s: of another executable, build id %s; the core has %s",
		       label_of(sc, "exe-header"), elf_ids_text(&theirs), elf_ids_text(&ours));
}

/* Everything that either side tells must agree, and something must. */
static struct err *check_process(const struct sidecar *sc, const struct image *im)
{
	const struct sidecar_file *auxv = sidecar_find(sc, "auxv");
	const struct sidecar_file *smaps = sidecar_find(sc, "smaps");
	bool proved = false;

	TRY(check_pids(sc, im));
	TRY(check_build(sc, im));
	if (auxv && im->auxv_note) {
		if (!same_auxv(auxv, im))
			return err_new(ERR_USAGE,
				       "%s: of another process, or of another start of it",
				       label(auxv));
		proved = true;
	}
	if (smaps) {
		struct err *err = smaps_check(&sc->smaps, im);

		if (err && !(proved && !im->auxv.random))
			return err_wrap(err, "%s", label(smaps));
		err_free(err);
		proved = true;
	}
	proved |= im->pid && (sc->status.pid_count || sc->stat.pid);
	return proved ? NULL
		      : err_new(ERR_USAGE, "%s: nothing tells whether it is of the core's process",
				sc->origin ? sc->origin : "the core's note");
}

/* ---- opening */

void sidecar_close(struct sidecar *sc)
{
	for (size_t i = 0; i < sc->files.n; i++) {
		os_file_close(&sc->files.v[i].mapped);
		array_free(&sc->files.v[i].unpacked);
	}
	array_free(&sc->files);
	smaps_fini(&sc->smaps);
	pagerec_fini(&sc->pages);
	arena_fini(&sc->arena);
	*sc = (struct sidecar){.has_pages = false};
}

static struct err *read_and_check(struct sidecar *sc, const struct image *im)
{
	TRY(read_all(sc, im));
	return check_process(sc, im);
}

struct err *sidecar_open_folder(struct sidecar *sc, const struct image *im, const char *folder)
{
	TRY(add_folder(sc, folder));
	return read_and_check(sc, im);
}

static struct err *open_archived(struct sidecar *sc, const struct image *im, const char *folder)
{
	TRY(add_archived(sc, im, folder));
	return read_and_check(sc, im);
}

/* ---- of the same moment? */

#define MICROSECONDS_PER_TICK (1000000 / PROC_TICKS_PER_SECOND)

/* The CPU time of the whole process, which the kernel's cores have; 0: not known. */
static u64 core_cpu_us(const struct image *im)
{
	for (size_t i = 0; i < im->threads.n; i++)
		if (im->threads.v[i].tid == im->pid)
			return im->threads.v[i].cpu_us;
	return 0;
}

/* What the process did between the copies and the core, it did with CPU time. The kernel counts
 * that in two ways: by ticks for the core, exactly for /proc. They are not compared any finer than
 * to a second and an eighth. */
static void compare_moments(const struct sidecar *sc, const struct image *im, struct diags *d)
{
	u64 core_ms = core_cpu_us(im) / 1000, copy_ms = 0;

	if (!sc->stat.pid ||
	    __builtin_mul_overflow(sc->stat.cpu_ticks, (u64)MICROSECONDS_PER_TICK / 1000, &copy_ms))
		return;
	if (core_ms > va_plus(copy_ms, copy_ms / 8 + 1000))
		diag(d, DIAG_SIDECAR_TIME, "%s: %llu.%llu s of CPU time, the core %llu.%llu s",
		     label_of(sc, "stat"), (unsigned long long)(copy_ms / 1000),
		     (unsigned long long)(copy_ms % 1000 / 100),
		     (unsigned long long)(core_ms / 1000),
		     (unsigned long long)(core_ms % 1000 / 100));
}

/* CORE.d; of a compressed CORE.zst both CORE.zst.d and CORE.d. NULL: there is none. */
static const char *folder_beside(struct sidecar *sc, const struct image *im)
{
	const char *path = im->core.path, *suffix = strrchr(os_base_name(path), '.');
	const char *folder = arena_printf(&sc->arena, "%s.d", path);

	if (!access(folder, F_OK))
		return folder;
	if (!im->unpacked.packing || !suffix)
		return NULL;
	folder = arena_printf(&sc->arena, "%.*s.d", (int)(suffix - path), path);
	return access(folder, F_OK) ? NULL : folder;
}

/* What nobody asked for is left with a diagnostic when it does not serve. */
static struct err *leave(struct sidecar *sc, struct err *err, struct diags *d, enum diag_code code)
{
	if (!err || err->code == ERR_LIMIT || err->code == ERR_BUG)
		return err;
	diag_err(d, code, err);
	sidecar_close(sc);
	return NULL;
}

static struct err *open_any(struct sidecar *sc, const struct image *im,
			    const struct sidecar_options *options, struct diags *d)
{
	const char *folder;
	struct err *err;

	if (options->folder)
		return sidecar_open_folder(sc, im, options->folder);
	if (options->smaps || options->pagemap || options->status) {
		TRY(add_given(sc, options));
		return read_and_check(sc, im);
	}
	if (im->record_notes.n) {
		err = note_read(sc, im);
		if (!err)
			err = read_and_check(sc, im);
		return leave(sc, err, d, DIAG_RECORD);
	}
	folder = archived_folder(sc, &im->unpacked);
	if (folder)
		return leave(sc, open_archived(sc, im, folder), d, DIAG_SIDECAR_IGNORED);
	folder = folder_beside(sc, im);
	if (folder)
		return leave(sc, sidecar_open_folder(sc, im, folder), d, DIAG_SIDECAR_IGNORED);
	return NULL;
}

struct err *sidecar_open(struct sidecar *sc, const struct image *im,
			 const struct sidecar_options *options, struct diags *d)
{
	TRY(open_any(sc, im, options, d));
	compare_moments(sc, im, d);
	return NULL;
}

/* ---- answers */

bool sidecar_rss(const struct sidecar *sc, u64 *ret)
{
	if (sc->status.known[STATUS_VMRSS])
		*ret = sc->status.bytes[STATUS_VMRSS];
	else if (sc->smaps.vmas.n)
		*ret = smaps_rss(&sc->smaps);
	else
		return false;
	return true;
}

bool sidecar_knows(const struct sidecar *sc, u16 flag)
{
	return (sc->pages.known | sc->pages.by_smaps) & flag;
}
