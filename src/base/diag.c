#include "base/diag.h"

#include "base/mem.h"

static const struct {
	const char *id, *text;
	bool partial;
} diag_table[DIAG_COUNT] = {
#define D(name, id, partial, text) [DIAG_##name] = {id, text, partial},
#include "base/diag.def"
#undef D
};

void diag(struct diags *d, enum diag_code code, const char *fmt, ...)
{
	struct diag_entry *entry;
	va_list ap;
	char *text;

	if (!d)
		return;
	entry = &d->entries[code];
	if (entry->count++ >= DIAG_EXAMPLES)
		return;
	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	entry->examples[entry->count - 1] = arena_strdup(&d->arena, text);
	free(text);
}

void diag_err(struct diags *d, enum diag_code code, struct err *err)
{
	if (err)
		diag(d, code, "%s", err->msg);
	err_free(err);
}

const char *diag_id(enum diag_code code)
{
	return diag_table[code].id;
}

const char *diag_text(enum diag_code code)
{
	return diag_table[code].text;
}

bool diag_code_is_partial(enum diag_code code)
{
	return diag_table[code].partial;
}

bool diag_is_partial(const struct diags *d)
{
	for (int code = 0; code < DIAG_COUNT; code++)
		if (d->entries[code].count && diag_table[code].partial)
			return true;
	return false;
}

void diags_fini(struct diags *d)
{
	arena_fini(&d->arena);
}
