/* pack: the core, and what belongs to it, in an archive that keeps its holes. */
#include "report/common.h"

#include "base/cleanup.h"
#include "base/units.h"
#include "image/pack.h"
#include "image/sidecar.h"

#include <string.h>

/* What goes into the archive. */
struct contents {
	ARRAY(struct pack_file) files;
	const char *folder;  /* of these, that with what the kernel said; NULL: none */
	struct arena *arena; /* the doc's: names */
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

/* What the kernel said of the process, as it was read; a note is in the core itself. */
static struct err *add_sidecar(struct contents *c, const struct image *im)
{
	const struct sidecar *sc = im->sidecar;

	if (!sc || !sc->origin)
		return NULL;
	c->folder = arena_printf(c->arena, "%s.d", core_name(im));
	for (size_t i = 0; i < sc->files.n; i++) {
		AUTO_FREE char *name = xasprintf("%s/%s", c->folder, sc->files.v[i].name);

		TRY(add_file(c, &sc->files.v[i].mapped, name));
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
	doc_set(archive, "sidecar", doc_string(c->folder));
	doc_text(d, "%s: %s%s%s.", path, units_bytes((i64)bytes, size),
		 c->folder ? ", with what the kernel said of the process: " : "",
		 c->folder ? c->folder : "");
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
	array_free(&c.files);
	return err;
}
