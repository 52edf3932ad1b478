/* pack: the core, and what belongs to it, in an archive that keeps its holes. */
#include "report/common.h"

#include "base/cleanup.h"
#include "base/units.h"
#include "image/pack.h"

#include <dirent.h>
#include <string.h>

/* What goes into the archive. */
struct contents {
	ARRAY(struct pack_file) files;
	ARRAY(struct os_file) opened; /* of the folder beside the core */
	struct arena *arena;          /* the doc's: names */
};

/* The core's name in the new archive: that of its file, or the one it had in the old archive. */
static const char *core_name(const struct image *im)
{
	if (im->unpacked.member)
		return os_base_name(im->unpacked.member);
	return im->unpacked.packing ? "core" : os_base_name(im->core.path);
}

static struct err *add_file(struct contents *c, const struct os_file *f, const char *name)
{
	return array_push(&c->files, {.file = f, .name = arena_strdup(c->arena, name)});
}

static struct err *add_exe(struct contents *c, const struct snapshot *s)
{
	const char *name = os_base_name(s->bin->exe.path), *behind = strrchr(name, ':');
	AUTO_FREE char *other = NULL;

	if (s->im->unpacked.packing && behind && behind[1] == ' ') /* "ARCHIVE: NAME" */
		name = behind + 2;
	if (!strcmp(name, core_name(s->im))) {
		other = xasprintf("exe/%s", name);
		name = other;
	}
	return add_file(c, &s->bin->exe, name);
}

static struct err *open_one(struct contents *c, const char *folder, const char *name)
{
	AUTO_FREE char *path = xasprintf("%s/%s", folder, name);
	struct os_file f = {0};
	struct err *skip = *name == '.' ? NULL : os_file_open(path, &f);

	err_free(skip); /* folders, empty files */
	return f.path ? array_push(&c->opened, f) : NULL;
}

/* The files of the folder CORE.d, copies of what /proc said of the process. */
static struct err *open_folder(struct contents *c, const struct image *im)
{
	AUTO_FREE char *folder = xasprintf("%s.d", im->core.path);
	struct dirent **names = NULL;
	int n = im->unpacked.packing ? 0 : scandir(folder, &names, NULL, alphasort);
	struct err *err = NULL;

	for (int i = 0; i < n; i++) {
		if (!err)
			err = open_one(c, folder, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	return err;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct os_file *)a)->path, ((const struct os_file *)b)->path);
}

static struct err *add_sidecar(struct contents *c, const struct image *im)
{
	TRY(open_folder(c, im));
	if (c->opened.n)
		qsort(c->opened.v, c->opened.n, sizeof(*c->opened.v), by_name);
	for (size_t i = 0; i < c->opened.n; i++) {
		AUTO_FREE char *name =
			xasprintf("%s.d/%s", core_name(im), os_base_name(c->opened.v[i].path));

		TRY(add_file(c, &c->opened.v[i], name));
	}
	for (size_t i = 0; i < im->unpacked.files.n; i++) {
		const struct unpacked_file *u = &im->unpacked.files.v[i];
		AUTO_FREE char *name = xasprintf("%s.d/%s", core_name(im), os_base_name(u->name));

		if (!u->elf)
			TRY(add_file(c, &u->file, name));
	}
	return NULL;
}

static struct err *collect(struct contents *c, const struct report *r)
{
	const struct snapshot *s = r->snapshot;

	TRY(add_file(c, &s->im->core, core_name(s->im)));
	if (r->options.with_exe && s->bin->match)
		TRY(add_exe(c, s));
	return add_sidecar(c, s->im);
}

static void describe(struct doc *d, const struct contents *c, const char *path, u64 bytes)
{
	static const struct doc_column columns[] = {
		{"name", "file"}, {"bytes", "size"}, {"data", "data"}};
	struct doc_object *archive = doc_object(d, "archive", NULL);
	struct doc_table *t;
	char size[UNITS_BUF];

	doc_set(archive, "path", doc_string(path));
	doc_set(archive, "bytes", doc_bytes(bytes));
	doc_text(d, "%s: %s.", path, units_bytes((i64)bytes, size));
	t = doc_table(d, "files", "What is in it; holes are kept as such", columns,
		      COUNT_OF(columns));
	for (size_t i = 0; i < c->files.n; i++)
		doc_row(t, doc_string(c->files.v[i].name), doc_bytes(c->files.v[i].file->size),
			doc_bytes(c->files.v[i].data_bytes));
}

struct err *report_pack(struct report *r)
{
	struct contents c = {.arena = &r->doc->arena};
	struct err *err = collect(&c, r);
	u64 bytes = 0;

	if (!err)
		err = pack_write(r->options.output, r->options.force, c.files.v, c.files.n, &bytes);
	if (!err)
		describe(r->doc, &c, r->options.output, bytes);
	for (size_t i = 0; i < c.opened.n; i++)
		os_file_close(&c.opened.v[i]);
	array_free(&c.opened);
	array_free(&c.files);
	return err;
}
