/* A process of mkgo's, written and read. */
#include "gort/verify.h"
#include "gort/walk.h"
#include "ledger/claim.h"
#include "support/mkgo_priv.h"
#include "support/test.h"

/* Ends the file where the memory from va on begins. */
static void cut_core(struct mkcore *mk, va_t va)
{
	size_t i = 0;

	mkcore_write(mk);
	while (mk->loads.v[i].ph.p_vaddr < va)
		i++;
	mkcore_truncate(mk, mkcore_offset(mk, i));
}

struct err *mkgo_try(struct mkgo_core *c, struct mkgo *go)
{
	mkgo_finish(go);
	mkgo_emit(go);
	if (go->cut)
		cut_core(go->mk, go->cut);
	*c = (struct mkgo_core){.go = go, .core = core_open_pages(go->mk)};
	return gort_open_layout(&c->gort, &c->core.im, &go->rt.version, go->rt.globals, &c->core.d);
}

void mkgo_open(struct mkgo_core *c, struct mkgo *go)
{
	struct err *err = mkgo_try(c, go);

	/* A failing test does not return: c holds what it would leave behind. */
	if (err)
		fail_msg("%s: %s", go->rt.version.text, err->msg);
}

void mkgo_close(struct mkgo_core *c)
{
	struct mkcore *mk = c->core.mk;

	gort_close(&c->gort);
	image_close(&c->core.im);
	diags_fini(&c->core.d);
	c->go->mk = mk;
	mkgo_free(c->go);
}

void mkgo_assert_failed(const struct mkgo_core *c, const char *names)
{
	struct verification v = {.arena = {0}};
	char text[2048] = "";
	size_t n = 0;

	assert_ok(verify_run(&c->gort, &v));
	assert_true(v.checks.n > 10);
	for (size_t i = 0; i < v.checks.n; i++) {
		const struct verify_check *check = &v.checks.v[i];

		if (check->result != VERIFY_OK)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s\n", check->name,
					      check->result == VERIFY_UNREADABLE ? ": unreadable"
										 : "");
	}
	if (strcmp(text, names) != 0)
		for (size_t i = 0; i < v.checks.n; i++)
			if (v.checks.v[i].result != VERIFY_OK)
				print_error("%s: %s: %llx, %llx, %s\n", c->go->rt.version.text,
					    v.checks.v[i].name,
					    (unsigned long long)v.checks.v[i].walked,
					    (unsigned long long)v.checks.v[i].counter,
					    v.checks.v[i].detail ? v.checks.v[i].detail : "");
	assert_string_equal(text, names);
	verify_fini(&v);
}

void mkgo_assert_clean(const struct mkgo_core *c)
{
	for (int code = 0; code < DIAG_COUNT; code++) {
		const struct diag_entry *e = &c->core.d.entries[code];

		/* The executable of these processes is nowhere. */
		if (e->count && code != DIAG_FILE_UNPROVED)
			fail_msg("%s: %s: %s", c->go->rt.version.text,
				 diag_id((enum diag_code)code), e->examples[0]);
	}
}

void mkgo_ledger(struct mkgo_core *c, struct ledger *l)
{
	const struct binary bin = {.file = 0, .header = MKGO_BINARY};

	ledger_init(l, &c->core.im, &c->gort, &c->core.d);
	assert_ok(claim_mappings(l, &bin));
	assert_ok(claim_binary(l, &bin));
	assert_ok(claim_go(l));
	claim_unread(l, &bin);
	assert_ok(claim_signal_stacks(l));
	assert_ok(ledger_seal(l));
}

static void use_all(struct mkgo_core *c)
{
	struct verification v = {.arena = {0}};
	struct ledger l;
	struct mstats m;
	struct walk w;

	walk_heap(&c->gort, &w);
	err_free(mstats_read(&c->gort, &m));
	assert_ok(verify_run(&c->gort, &v));
	verify_fini(&v);
	mkgo_ledger(c, &l);
	ledger_fini(&l);
}

static bool has_finding(const struct diag_entry *e, const char *text)
{
	for (size_t i = 0; i < DIAG_EXAMPLES && e->examples[i]; i++)
		if (strstr(e->examples[i], text))
			return true;
	return false;
}

void mkgo_assert_finding(struct mkgo *go, enum diag_code code, const char *text)
{
	struct mkgo_core c;

	mkgo_open(&c, go);
	use_all(&c);
	if (!text)
		mkgo_assert_clean(&c);
	else if (!has_finding(&c.core.d.entries[code], text))
		fail_msg("%s: no finding of \"%s\"", go->rt.version.text, text);
	mkgo_close(&c);
}

void mkgo_assert_error(struct mkgo *go, enum err_code code, const char *text)
{
	struct mkgo_core c;

	assert_err(mkgo_try(&c, go), code, text);
	mkgo_close(&c);
}
