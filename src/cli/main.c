/* spanscope: where is the memory of this Go process? Parse, read, report, render, exit. */
#include "base/log.h"
#include "base/os.h"
#include "cli/opts.h"
#include "cli/result.h"
#include "cli/session.h"
#include "out/arrange.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static enum exit_status status_of(const struct err *err)
{
	switch (err->code) {
	case ERR_USAGE:
		return EXIT_USAGE;
	case ERR_BUG:
		return EXIT_BUG;
	case ERR_OS:
	case ERR_FORMAT:
	case ERR_FAULT:
	case ERR_MISSING:
	case ERR_UNSUPPORTED:
	case ERR_LIMIT:
		break;
	}
	return EXIT_NOTHING;
}

/* Says what went wrong, frees it, and gives the exit status. */
static enum exit_status fail(struct err *err)
{
	enum exit_status status = status_of(err);

	log_error("%s%s", err->msg, status == EXIT_BUG ? " (a bug: please report it)" : "");
	err_free(err);
	return status;
}

static void warn_of_gaps(const struct diags *d)
{
	for (int code = 0; code < DIAG_COUNT; code++) {
		const struct diag_entry *e = &d->entries[code];

		if (e->count && diag_code_is_partial((enum diag_code)code))
			log_warn("%s (%s%s)", diag_text((enum diag_code)code), e->examples[0],
				 e->count > 1 ? "; and more" : "");
	}
}

static int finish(FILE *f)
{
	if (f == stdout)
		return fflush(f);
	return fclose(f);
}

/* Writes to -o FILE or stdout; what a buffer could not deliver is an error too. */
static struct err *write_result(const struct doc *d, const struct samples *samples,
				const struct opts *o)
{
	const char *name = o->output ? o->output : "standard output";
	FILE *f = o->output ? fopen(o->output, "we") : stdout;
	struct err *err;

	if (!f)
		return err_os("%s cannot be written", name);
	err = result_render(d, samples, o, f);
	if (finish(f) != 0 && !err)
		err = err_os("the result cannot be written");
	return err && err->code == ERR_OS ? err_wrap(err, "%s", name) : err;
}

/* A check that could not run weighs more than one that does not hold, and that more than other
 * gaps: they are most likely what it found. */
static enum exit_status outcome(const struct report *r, const struct diags *d, bool strict)
{
	if (r->nothing)
		return EXIT_NOTHING;
	if (!r->partial && r->fired)
		return EXIT_FIRED;
	if (!r->partial && !diag_is_partial(d))
		return EXIT_DONE;
	return strict ? EXIT_NOTHING : EXIT_PART;
}

/* The answer, for a result that cannot say it. */
static const char *first_line(const struct doc *d)
{
	for (size_t i = 0; i < d->items.n; i++)
		if (d->items.v[i].type == ITEM_TEXT)
			return d->items.v[i].text;
	return "the profile is empty";
}

static enum exit_status make_report(struct session *s, const struct opts *o)
{
	struct snapshot snapshot = session_snapshot(s);
	struct doc doc = {0};
	struct samples samples = {0};
	struct report r = {.doc = &doc,
			   .samples = &samples,
			   .snapshot = &snapshot,
			   .diags = &s->diags,
			   .options = o->report,
			   .opts = o};
	char schema[64];
	struct err *err;

	snprintf(schema, sizeof(schema), "spanscope/%s/1", o->command->name);
	doc_value(&doc, "schema", doc_string(schema));
	err = o->command->run(&r);
	if (!err && (o->sort || o->top))
		err = doc_arrange(&doc, o->sort, o->top);
	warn_of_gaps(&s->diags); /* what the report itself found included */
	if (!err) {
		report_diagnostics(&doc, &snapshot);
		err = doc_take_error(&doc);
	}
	if (!err && o->format & (FORMAT_PPROF | FORMAT_FOLDED) && !samples.v.n)
		log_warn("%s", first_line(&doc));
	if (!err)
		err = write_result(&doc, &samples, o);
	doc_fini(&doc);
	samples_fini(&samples);
	return err ? fail(err) : outcome(&r, &s->diags, o->strict);
}

/* A profile in pprof's format is for a file or another program. */
static struct err *check_terminal(const struct opts *o)
{
	if (o->format != FORMAT_PPROF || o->output || !isatty(STDOUT_FILENO))
		return NULL;
	return err_new(ERR_USAGE, "a profile is binary: name a file with -o FILE, or read it by "
				  "--format text");
}

static enum exit_status analyse(const struct opts *o)
{
	struct session *s = xcalloc(1, sizeof(*s));
	struct err *err = check_terminal(o);
	enum exit_status status;

	if (!err)
		err = session_open(s, o);
	if (err)
		status = fail(err);
	else
		status = make_report(s, o);
	log_verbose("own memory at most %llu KiB", (unsigned long long)(mem_peak() >> 10));
	session_close(s);
	free(s);
	return status;
}

static enum exit_status print_info(const struct opts *o, bool one_command)
{
	struct err *err = o->version ? opts_print_version(stdout)
				     : opts_print_help(one_command ? o->command : NULL, stdout);

	if (!err && fflush(stdout) != 0)
		err = err_os("the result cannot be written");
	return err ? fail(err_wrap(err, "standard output")) : EXIT_DONE;
}

int main(int argc, char **argv)
{
	struct opts opts;
	struct err *err;

	/* A closed pipe is an error of write(), and has its own message and status. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* so has a file that is to become larger than allowed */
	os_catch_sigbus();
	err = opts_parse(argc, argv, &opts);
	if (err)
		return fail(err);
	if (opts.help || opts.version)
		return print_info(&opts, argc > 2);
	return analyse(&opts);
}
