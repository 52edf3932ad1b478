#include "cli/cmd_note.h"

#include "image/note.h"

static void say(struct doc *d, const struct sidecar *sc, const struct image *im, u64 added)
{
	static const struct doc_column columns[] = {{"name", "file"}, {"bytes", "bytes"}};
	struct doc_table *t;

	doc_text(d, "%s: a note of %llu bytes was added: %zu runs of pages and the files below.",
		 im->core.path, (unsigned long long)added, sc->pages.runs.n);
	doc_value(d, "core", doc_string(im->core.path));
	doc_value(d, "added_bytes", doc_count(added));
	doc_value(d, "page_runs", sc->has_pages ? doc_count(sc->pages.runs.n) : doc_null());
	t = doc_table(d, "files", "Files", columns, COUNT_OF(columns));
	for (size_t i = 0; i < sc->files.n; i++)
		doc_row(t, doc_printf(d, "%s", sc->files.v[i].name), doc_bytes(sc->files.v[i].n));
}

/* Whether the core, opened anew, has in its note what was given. */
static struct err *check_again(const struct sidecar *sc, const char *path)
{
	struct image im = {0};
	struct sidecar again = {0};
	struct diags d = {0};
	struct err *err = image_open(&im, path, &d);

	if (!err)
		err = note_read(&again, &im);
	if (!err && (again.pages.runs.n != sc->pages.runs.n || again.has_pages != sc->has_pages))
		err = err_new(ERR_BUG, "%s: its note does not have what was written", path);
	sidecar_close(&again);
	image_close(&im);
	diags_fini(&d);
	return err;
}

struct err *cmd_note(struct report *r)
{
	const struct image *im = r->snapshot->im;
	struct sidecar sc = {0};
	const char *folder = r->options.from;
	struct err *err;
	u64 added = 0;

	if (!folder)
		folder = doc_printf(r->doc, "%s.d", im->core.path).string;
	err = sidecar_open_folder(&sc, im, folder);
	if (!err)
		err = note_write(&sc, im, &added);
	if (!err)
		err = check_again(&sc, im->core.path);
	if (!err)
		say(r->doc, &sc, im, added);
	sidecar_close(&sc);
	return err;
}
