/* A hash table from 64-bit keys to 32-bit numbers, for things that are looked up millions of
 * times: open addressing, never more than half full, budgeted. Nothing is ever taken out. */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/array.h"

struct map_slot {
	u64 key; /* 0: free */
	u32 value;
};

struct map {
	ARRAY(struct map_slot) slots; /* n is a power of two, or 0 */
	size_t used;
};

/* The slot of a key, which may not be 0; *fresh says that it was put in now, with value 0. The
 * pointer is good until the next call. ERR_LIMIT when there is no memory to grow. */
struct err *map_at(struct map *m, u64 key, u32 **value, bool *fresh) ERR_RESULT;

void map_fini(struct map *m);

/* Mixes a word into a hash. */
static inline u64 map_mix(u64 hash, u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 32;
}

#endif
