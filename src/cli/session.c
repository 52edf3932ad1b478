#include "cli/session.h"

#include "base/log.h"
#include "ledger/claim.h"

/* Why the heap is not read, as a diagnostic: the ledger goes on with mappings alone. */
static enum diag_code heap_diag(const struct session *s, const struct err *err)
{
	if (s->gort.attached)
		return DIAG_TABLES;
	if (!*s->gort.rt.version.text && s->image.truncated)
		return DIAG_RUNTIME;
	if (!version_is_go(&s->gort.rt.version))
		return DIAG_NOT_GO;
	if (err->code == ERR_UNSUPPORTED)
		return DIAG_RELEASE;
	if (err->code == ERR_MISSING)
		return DIAG_NO_LAYOUT;
	return DIAG_RUNTIME;
}

static struct err *open_heap(struct session *s)
{
	struct log_stage stage = log_stage_begin("read the Go runtime");
	struct err *err = gort_open(&s->gort, &s->image, &s->binary, &s->diags);
	const struct go_version *v = &s->gort.rt.version;

	if (err && (err->code == ERR_LIMIT || err->code == ERR_BUG))
		return err;
	s->has_gort = !err;
	if (err) {
		diag_err(&s->diags, heap_diag(s, err), err);
		gort_close(&s->gort);
	} else if (dialect_support(v) == RELEASE_UNTESTED) {
		diag(&s->diags, DIAG_RELEASE_UNTESTED, "%s; %s were tested", v->text,
		     dialect_supported_text());
	}
	log_stage_end(&stage, s->gort.spans.v.n, "spans");
	return NULL;
}

struct err *session_build_ledger(struct session *s)
{
	struct log_stage stage = log_stage_begin("ledger");
	struct ledger *l = &s->ledger;

	ledger_init(l, &s->image, s->has_gort ? &s->gort : NULL, &s->diags);
	TRY(claim_mappings(l, &s->binary));
	TRY(claim_binary(l, &s->binary));
	TRY(claim_libraries(l, &s->binary));
	TRY(claim_threads(l));
	if (s->has_gort)
		TRY(claim_go(l));
	if (!s->diags.entries[DIAG_NOT_GO].count)
		claim_unread(l, &s->binary);
	TRY(claim_signal_stacks(l));
	TRY(ledger_seal(l));
	log_stage_end(&stage, l->cells.n, "cells");
	return NULL;
}

static struct err *build_residency(struct session *s)
{
	struct log_stage stage = log_stage_begin("residency");

	if (s->binary.match && s->binary.file >= 0)
		residency_set_file(&s->image, s->binary.file, &s->binary.exe);
	TRY(residency_build(&s->image, &s->diags));
	log_stage_end(&stage, s->image.res.runs.n, "runs of pages");
	return NULL;
}

static struct err *open_sidecar(struct session *s, const struct opts *o)
{
	if (o->no_sidecar)
		return NULL;
	TRY(sidecar_open(&s->sidecar, &s->image, &o->sidecar, &s->diags));
	if (sidecar_is_empty(&s->sidecar))
		return NULL;
	s->image.sidecar = &s->sidecar;
	return sidecar_complete_vmas(&s->sidecar, &s->image);
}

struct err *session_open(struct session *s, const struct opts *o)
{
	struct log_stage stage = log_stage_begin("open the core");
	const char *temp = getenv("TMPDIR");
	unsigned needs = o->command->needs | o->needs;

	if (needs == NEED_ARGUMENTS)
		return NULL;
	s->image.temp_dir = temp && *temp ? temp : NULL;
	TRY(image_open(&s->image, o->core, &s->diags));
	if (needs == NEED_FILE)
		return NULL;
	TRY(open_sidecar(s, o));
	TRY(binary_find(&s->binary, &s->image, &o->binary, &s->diags));
	TRY(binary_find_debug(&s->binary, &s->image, &o->binary));
	log_stage_end(&stage, s->image.vmas.n, "mappings");
	if (!(needs & NEED_HEAP))
		return NULL;
	TRY(open_heap(s));
	if ((needs & NEED_PAGES) != NEED_PAGES)
		return NULL;
	s->image.res.test_zero = o->test_zero;
	TRY(build_residency(s));
	return (needs & NEED_LEDGER) == NEED_LEDGER ? session_build_ledger(s) : NULL;
}

void session_close(struct session *s)
{
	ledger_fini(&s->ledger);
	gort_close(&s->gort);
	binary_close(&s->binary);
	sidecar_close(&s->sidecar);
	image_close(&s->image);
	diags_fini(&s->diags);
}

struct snapshot session_snapshot(const struct session *s)
{
	return (struct snapshot){
		.im = &s->image,
		.bin = &s->binary,
		.gort = s->has_gort ? &s->gort : NULL,
		.remains = !s->has_gort && s->gort.attached ? &s->gort : NULL,
		.ledger = &s->ledger,
		.diags = &s->diags,
		.version = &s->gort.rt.version,
	};
}
