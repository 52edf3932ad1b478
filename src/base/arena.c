#include "base/arena.h"

#include "base/mem.h"

#define ARENA_BLOCK_BYTES ((size_t)64 << 10)

struct arena_block {
	struct arena_block *next;
	size_t size;
	_Alignas(16) u8 bytes[];
};

/* The names and rows of a large core are many blocks: all but the first, which always is there,
 * count for the budget. */
static void charge(size_t bytes)
{
	struct err *err = mem_charge(bytes);

	if (err)
		mem_die();
}

void *arena_alloc(struct arena *a, size_t size)
{
	struct arena_block *block = a->head;
	size_t need = align_up(size ? size : 1, 16);

	if (!block || need > a->left) {
		size_t bytes = MAX(need, ARENA_BLOCK_BYTES);

		if (block)
			charge(sizeof(*block) + bytes);
		block = xcalloc(1, sizeof(*block) + bytes);
		block->next = a->head;
		block->size = bytes;
		a->head = block;
		a->left = bytes;
	}
	a->left -= need;
	return block->bytes + (block->size - a->left - need);
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
	char *copy = arena_alloc(a, n + 1);

	memcpy(copy, s, n);
	return copy;
}

char *arena_strdup(struct arena *a, const char *s)
{
	return arena_strndup(a, s, strlen(s));
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	char *s, *copy;

	va_start(ap, fmt);
	s = xvasprintf(fmt, ap);
	va_end(ap);
	copy = arena_strdup(a, s);
	free(s);
	return copy;
}

void arena_fini(struct arena *a)
{
	while (a->head) {
		struct arena_block *next = a->head->next;

		if (next)
			mem_discharge(sizeof(*a->head) + a->head->size);
		free(a->head);
		a->head = next;
	}
	a->left = 0;
}
