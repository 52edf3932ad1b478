#include "base/map.h"

#include <string.h>

#define FIRST_SLOTS 1024

static struct map_slot *find(const struct map *m, u64 key)
{
	size_t mask = m->slots.n - 1, i = map_mix(0, key) & mask;

	while (m->slots.v[i].key && m->slots.v[i].key != key)
		i = (i + 1) & mask;
	return &m->slots.v[i];
}

static struct err *grow(struct map *m)
{
	struct map larger = {.used = m->used};
	size_t n = m->slots.n ? 2 * m->slots.n : FIRST_SLOTS;

	TRY(array_reserve(&larger.slots, n));
	larger.slots.n = n;
	memset(larger.slots.v, 0, n * sizeof(*larger.slots.v));
	for (size_t i = 0; i < m->slots.n; i++)
		if (m->slots.v[i].key)
			*find(&larger, m->slots.v[i].key) = m->slots.v[i];
	array_free(&m->slots);
	*m = larger;
	return NULL;
}

struct err *map_at(struct map *m, u64 key, u32 **value, bool *fresh)
{
	struct map_slot *slot;

	if (2 * m->used >= m->slots.n)
		TRY(grow(m));
	slot = find(m, key);
	*fresh = !slot->key;
	if (*fresh) {
		*slot = (struct map_slot){.key = key};
		m->used++;
	}
	*value = &slot->value;
	return NULL;
}

void map_fini(struct map *m)
{
	array_free(&m->slots);
	m->used = 0;
}
