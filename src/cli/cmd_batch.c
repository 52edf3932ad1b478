#include "cli/cmd_batch.h"

#include "base/log.h"
#include "base/os.h"
#include "base/units.h"
#include "cli/batch_files.h"
#include "cli/core_facts.h"
#include "cli/workers.h"
#include "out/doc.h"
#include "report/snapshots.h"
#include "store/history.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum outcome { OUTCOME_KNOWN, OUTCOME_DONE, OUTCOME_PARTIAL, OUTCOME_FAILED, OUTCOME_COUNT };

/* What became of a file; strings are the doc's. */
struct fate {
	enum outcome outcome;
	const char *text; /* why in part, or not at all */
	i64 time_ns;
	u64 total[FACT_COLUMNS];
};

struct batch {
	struct report *r;
	struct history *h; /* NULL: documents alone */
	struct batch_files files;
	ARRAY(struct fate) fates; /* by file */
	ARRAY(u32) todo;          /* files that are analysed now */
	struct log_stage stage;
	u64 finished;
};

static struct err *analyse_file(void *arg, size_t i, FILE *out)
{
	const struct batch *b = arg;
	const char *path = b->files.v.v[b->todo.v[i]].head.path;
	struct facts f = {.level_count = 0};

	TRY(core_facts(b->r->opts, path, NULL, NULL, &f));
	return facts_write(&f, out); /* the process ends: nothing is freed */
}

/* The name of a file's document: two files of one name are told apart by a checksum of the whole
 * path and of the file's identity. */
static char *document_path(const char *folder, const struct facts_head *h)
{
	u64 hash = 0xcbf29ce484222325u;
	const u64 words[] = {h->file_bytes, h->inode, (u64)h->mtime_ns};

	for (const char *p = h->path; *p; p++)
		hash = (hash ^ (u8)*p) * 0x100000001b3u;
	for (size_t i = 0; i < COUNT_OF(words); i++)
		hash = (hash ^ words[i]) * 0x100000001b3u;
	return xasprintf("%s/%.200s-%016llx.json", folder, os_base_name(h->path),
			 (unsigned long long)hash);
}

/* Writes a document under its name once it is whole. */
static struct err *write_document(const char *folder, const struct facts *f)
{
	char *path = document_path(folder, &f->head), *temp = xasprintf("%s.part", path);
	FILE *out = fopen(temp, "we");
	struct err *err = NULL;

	if (!out) {
		err = err_os("%s: cannot be written", temp);
	} else {
		err = facts_write(f, out);
		if (fclose(out) != 0 && !err)
			err = err_os("%s: cannot be written", temp);
	}
	if (!err && rename(temp, path) < 0)
		err = err_os("%s: cannot be written", path);
	if (err)
		unlink(temp);
	free(temp);
	free(path);
	return err;
}

static struct err *keep_facts(struct batch *b, const struct batch_file *file, struct facts *f,
			      struct fate *fate)
{
	/* As it was before it was read: changed meanwhile, it is another one the next time. */
	f->head.file_bytes = file->head.file_bytes;
	f->head.inode = file->head.inode;
	f->head.mtime_ns = file->head.mtime_ns;
	if (b->r->options.documents)
		TRY(write_document(b->r->options.documents, f));
	if (b->h)
		TRY(history_add(b->h, f));
	fate->outcome = f->head.partial ? OUTCOME_PARTIAL : OUTCOME_DONE;
	fate->text = f->head.partial ? doc_printf(b->r->doc, "%s", f->head.partial).string : NULL;
	fate->time_ns = f->head.time_ns;
	memcpy(fate->total, f->head.total, sizeof(fate->total));
	return NULL;
}

static struct err *keep_failure(struct batch *b, const struct batch_file *file, const char *text,
				bool bug, struct fate *fate)
{
	size_t n = strlen(file->head.path);

	/* Most messages begin with the path, which stands beside them here. */
	if (!strncmp(text, file->head.path, n) && !strncmp(text + n, ": ", 2))
		text += n + 2;
	fate->outcome = OUTCOME_FAILED;
	fate->text = doc_printf(b->r->doc, "%s", *text ? text : "ended without a word").string;
	return b->h ? history_add_failure(b->h, file->head.path, bug ? 5 : 3, fate->text) : NULL;
}

static struct err *take_result(void *arg, size_t i, const struct work_result *result)
{
	struct batch *b = arg;
	const struct batch_file *file = &b->files.v.v[b->todo.v[i]];
	struct fate *fate = &b->fates.v[b->todo.v[i]];
	struct facts f = {.level_count = 0};
	struct err *err;

	if (result->done) {
		err = facts_read(result->text, result->n, file->head.path, &f);
		if (!err)
			err = keep_facts(b, file, &f, fate);
	} else {
		err = keep_failure(b, file, result->text, result->bug, fate);
	}
	facts_fini(&f);
	log_progress(++b->finished, b->todo.n);
	return err;
}

/* What there is to do: files that the database does not have yet. */
static struct err *plan(struct batch *b)
{
	for (size_t i = 0; i < b->files.v.n; i++) {
		const struct batch_file *file = &b->files.v.v[i];
		struct fate fate = {.outcome = OUTCOME_KNOWN};
		bool known = false;

		if (file->trouble)
			TRY(keep_failure(b, file, file->trouble, false, &fate));
		else if (b->h && !b->r->options.force)
			TRY(history_has(b->h, &file->head, &known));
		TRY(array_push(&b->fates, fate));
		if (!known && !file->trouble)
			TRY(array_push(&b->todo, (u32)i));
	}
	return NULL;
}

static unsigned job_count(const struct batch *b)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	u64 jobs = b->r->options.jobs ? b->r->options.jobs : cpus > 0 ? (u64)cpus : 1;

	return (unsigned)MAX(1, MIN(jobs, b->todo.n));
}

static void add_snapshots(const struct batch *b)
{
	static const struct doc_column columns[] = {
		{"path", "snapshot"}, {NULL, "taken at"},       {"time_ns", NULL},
		{"virtual", NULL},    {"resident", "resident"}, {"partial", "in part"}};
	struct doc *d = b->r->doc;
	struct doc_table *t = doc_table(d, "snapshots", "Snapshots", columns, COUNT_OF(columns));
	char time[UNITS_TIME_BUF];

	for (size_t i = 0; i < b->fates.n; i++) {
		const struct fate *f = &b->fates.v[i];

		if (f->outcome != OUTCOME_DONE && f->outcome != OUTCOME_PARTIAL)
			continue;
		doc_row(t, doc_printf(d, "%s", b->files.v.v[i].head.path),
			doc_printf(d, "%s", units_time(f->time_ns, time)), doc_delta(f->time_ns),
			snapshots_figure(f->total[FACT_VIRTUAL], true),
			snapshots_figure(f->total[FACT_RESIDENT], true),
			f->text ? doc_string(f->text) : doc_null());
	}
}

static void add_failures(const struct batch *b)
{
	static const struct doc_column columns[] = {{"path", "not analysed"}, {"message", "why"}};
	struct doc_table *t =
		doc_table(b->r->doc, "failures", "Failures", columns, COUNT_OF(columns));

	for (size_t i = 0; i < b->fates.n; i++)
		if (b->fates.v[i].outcome == OUTCOME_FAILED)
			doc_row(t, doc_printf(b->r->doc, "%s", b->files.v.v[i].head.path),
				doc_string(b->fates.v[i].text));
}

static void summarize(struct batch *b)
{
	struct doc *d = b->r->doc;
	u64 n[OUTCOME_COUNT] = {0}, analysed;

	for (size_t i = 0; i < b->fates.n; i++)
		n[b->fates.v[i].outcome]++;
	analysed = n[OUTCOME_DONE] + n[OUTCOME_PARTIAL];
	doc_text(d,
		 "%llu of %zu snapshots analysed, %llu of them in part; %llu failed, %llu were "
		 "known.",
		 (unsigned long long)analysed, b->files.v.n, (unsigned long long)n[OUTCOME_PARTIAL],
		 (unsigned long long)n[OUTCOME_FAILED], (unsigned long long)n[OUTCOME_KNOWN]);
	if (b->files.foreign)
		doc_text(d, "%llu other files of the folders are no snapshots.",
			 (unsigned long long)b->files.foreign);
	doc_value(d, "db", doc_string(b->r->options.db));
	doc_value(d, "found", doc_count(b->files.v.n));
	doc_value(d, "analysed", doc_count(analysed));
	doc_value(d, "partial", doc_count(n[OUTCOME_PARTIAL]));
	doc_value(d, "failed", doc_count(n[OUTCOME_FAILED]));
	doc_value(d, "known", doc_count(n[OUTCOME_KNOWN]));
	doc_value(d, "foreign", doc_count(b->files.foreign));
	add_snapshots(b);
	add_failures(b);
	b->r->partial = n[OUTCOME_PARTIAL] || n[OUTCOME_FAILED];
	b->r->nothing = !analysed && !n[OUTCOME_KNOWN];
}

static struct err *run(struct batch *b)
{
	const struct report_options *o = &b->r->options;
	struct work work = {.work = analyse_file, .result = take_result, .arg = b};

	if (o->documents && mkdir(o->documents, 0777) < 0 && errno != EEXIST)
		return err_os("%s: cannot be made", o->documents);
	TRY(batch_files_find(o->args, o->arg_count, o->by_name ? HISTORY_BY_NAME : HISTORY_BY_TIME,
			     &b->files));
	TRY(plan(b));
	work.n = b->todo.n;
	work.jobs = job_count(b);
	work.timeout_ns = o->timeout_ns;
	b->stage = log_stage_begin("batch");
	TRY(workers_run(&work));
	log_stage_end(&b->stage, b->todo.n, "snapshots");
	summarize(b);
	return NULL;
}

struct err *batch_into(struct report *r, struct history *h)
{
	struct batch b = {.r = r, .h = h};
	struct err *err = run(&b);

	batch_files_fini(&b.files);
	array_free(&b.fates);
	array_free(&b.todo);
	return err;
}

struct err *cmd_batch(struct report *r)
{
	struct history *h = NULL;
	struct err *err;

	if (!r->options.arg_count)
		return err_new(ERR_USAGE, "batch takes files and folders: spanscope batch PATH... "
					  "--db FILE");
	if (!r->options.db && !r->options.documents)
		return err_new(ERR_USAGE, "batch needs --db FILE or --documents DIR");
	if (r->options.db)
		TRY(history_open(r->options.db, HISTORY_CREATE, &h));
	err = batch_into(r, h);
	history_close(h);
	return err;
}
