/* The classes of the ledger. */
#ifndef LEDGER_CATEGORY_H
#define LEDGER_CATEGORY_H

#include "base/types.h"
#include "image/residency.h"

enum category {
#define C(name, id, group, twin, meaning) CAT_##name,
#include "ledger/categories.def"
#undef C
	CAT_COUNT,
};

const char *category_id(enum category c);
const char *category_twin(enum category c);
const char *category_meaning(enum category c);

/* Whether it is memory that only the runtime's own tables tell apart from others'. */
bool category_is_runtime(enum category c);

/* The column of a page of some kind that this class owns. */
enum page_state category_state(enum category c, enum page_kind kind);

#endif
