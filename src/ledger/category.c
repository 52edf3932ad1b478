#include "ledger/category.h"

enum group { OTHER, RUNTIME, RESERVED };

static const struct {
	const char *id, *twin, *meaning;
	enum group group;
} table[CAT_COUNT] = {
#define C(name, id, group, twin, meaning) [CAT_##name] = {id, twin, meaning, group},
#include "ledger/categories.def"
#undef C
};

const char *category_id(enum category c)
{
	return table[c].id;
}

const char *category_twin(enum category c)
{
	return table[c].twin;
}

const char *category_meaning(enum category c)
{
	return table[c].meaning;
}

bool category_is_runtime(enum category c)
{
	return table[c].group != OTHER;
}

enum page_state category_state(enum category c, enum page_kind kind)
{
	return residency_state(kind, table[c].group == RESERVED, table[c].group == RUNTIME);
}
