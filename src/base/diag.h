/* Findings that do not end the analysis, collected, counted and printed with every result. */
#ifndef BASE_DIAG_H
#define BASE_DIAG_H

#include "base/arena.h"
#include "base/err.h"

enum diag_code {
#define D(name, id, partial, text) DIAG_##name,
#include "base/diag.def"
#undef D
	DIAG_COUNT,
};

#define DIAG_EXAMPLES 8

struct diag_entry {
	u64 count;
	char *examples[DIAG_EXAMPLES];
};

struct diags {
	struct arena arena;
	struct diag_entry entries[DIAG_COUNT];
};

/* Counts a finding; the first DIAG_EXAMPLES texts of each code are kept. d may be NULL. */
void diag(struct diags *d, enum diag_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Records an error that was survived, and frees it. NULL does nothing. */
void diag_err(struct diags *d, enum diag_code code, struct err *err);

const char *diag_id(enum diag_code code);
const char *diag_text(enum diag_code code);

/* Whether findings of this code make a result incomplete. */
bool diag_code_is_partial(enum diag_code code);

/* Whether any finding makes the result incomplete. */
bool diag_is_partial(const struct diags *d);

void diags_fini(struct diags *d);

#endif
