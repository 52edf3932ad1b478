/* Any bytes as a core: headers, notes, mappings, residency, ledger; the last byte may ask for a
 * report, and for the executable of a shipped core. */
#include "fuzz/fuzz.h"

#include "base/mem.h"
#include "cli/session.h"
#include "out/render.h"
#include "support/memfile.h"

#define MAX_BYTES ((size_t)128 << 10)
#define BUDGET_BYTES ((u64)64 << 20)

static const struct render_options options = {.exact_bytes = false};

static struct err *render(const struct doc *doc, unsigned format, FILE *out)
{
	switch (format) {
	case 0:
		return render_text(doc, &options, out);
	case 1:
		return render_json(doc, out);
	default:
		return render_csv(doc, out);
	}
}

/* One report in one format: all of them take longer than everything before. */
static void report(struct session *s, unsigned which, FILE *out)
{
	static struct err *(*const reports[])(struct report * r) = {report_overview, report_ledger,
								    report_vmas};
	struct snapshot snapshot = session_snapshot(s);
	struct doc doc = {0};
	struct report r = {.doc = &doc, .snapshot = &snapshot, .diags = &s->diags};
	struct err *err;

	r.options.by_vma = which & 1;
	err = reports[which / 2 % COUNT_OF(reports)](&r);
	report_diagnostics(&doc, &snapshot);
	if (!err)
		err = doc_take_error(&doc);
	if (!err)
		err = render(&doc, which / 6 % 3, out);
	assert_always(!err || err->code == ERR_LIMIT);
	err_free(err);
	doc_fini(&doc);
}

static const char *executable(void)
{
	static char *path;
	const char *folder = getenv("SPANSCOPE_TESTDATA");

	if (!path)
		path = xasprintf("%s/quiet-go1.19/quiet", folder ? folder : "build/testdata");
	return path;
}

static struct err *read_core(struct session *s, const char *path, bool with_exe)
{
	const struct binary_options o = {.none = !with_exe,
					 .given = with_exe ? executable() : NULL};

	TRY(image_open(&s->image, path, &s->diags));
	TRY(binary_find(&s->binary, &s->image, &o, &s->diags));
	TRY(residency_build(&s->image, &s->diags));
	return session_build_ledger(s);
}

void fuzz_one(const u8 *data, size_t n)
{
	static struct memfile file;
	static FILE *out;
	struct session *s;
	struct err *err;

	if (n == 0 || n > MAX_BYTES)
		return;
	if (!out) {
		out = fopen("/dev/null", "we");
		memfile_new(&file, data, n);
	} else {
		memfile_set(&file, data, n);
	}
	s = xcalloc(1, sizeof(*s));
	mem_set_limit(BUDGET_BYTES);
	err = read_core(s, file.path, data[n - 1] % 128 >= 64);
	assert_always(!err || err->code != ERR_BUG);
	if (!err && data[n - 1] >= 128)
		report(s, data[n - 1], out);
	err_free(err);
	session_close(s);
	free(s);
	mem_set_limit(0);
	assert_always(mem_used() == 0);
}
