#include "out/samples.h"

#include <string.h>

void samples_fini(struct samples *s)
{
	array_free(&s->comments);
	array_free(&s->mappings);
	array_free(&s->functions);
	array_free(&s->lines);
	array_free(&s->locations);
	array_free(&s->stacks);
	array_free(&s->values);
	array_free(&s->v);
	map_fini(&s->names);
	map_fini(&s->merged);
	map_fini(&s->synthetic);
	arena_fini(&s->arena);
}

static u64 hash_name(const char *name)
{
	u64 hash = 1;

	for (; *name; name++)
		hash = map_mix(hash, (u8)*name);
	return hash ? hash : 1;
}

/* Indices are 32 bits wide. */
static struct err *check_room(size_t used, size_t more)
{
	return more > UINT32_MAX - 1 - used
		       ? err_new(ERR_LIMIT, "the profile has more than %u parts", UINT32_MAX - 1)
		       : NULL;
}

static struct err *add_function(struct samples *s, const struct sample_function *f)
{
	TRY(check_room(s->functions.n, 1));
	return array_push(&s->functions, *f);
}

struct err *samples_function(struct samples *s, const struct sample_function *f, u32 *ret)
{
	for (u64 hash = hash_name(f->name);; hash = map_mix(hash, 1) | 1) {
		bool fresh;
		u32 *index;

		TRY(map_at(&s->names, hash, &index, &fresh));
		if (fresh) {
			TRY(add_function(s, f));
			*index = (u32)s->functions.n;
		}
		*ret = *index - 1;
		if (fresh || !strcmp(s->functions.v[*ret].name, f->name))
			return NULL;
	}
}

struct err *samples_location(struct samples *s, va_t address, const struct sample_line *lines,
			     size_t n, u32 *ret)
{
	TRY(check_room(s->lines.n, n));
	TRY(check_room(s->locations.n, 1));
	TRY(array_push(&s->locations, {address, (u32)s->lines.n, (u32)n}));
	for (size_t i = 0; i < n; i++)
		TRY(array_push(&s->lines, lines[i]));
	*ret = (u32)s->locations.n - 1;
	return NULL;
}

struct err *samples_frame(struct samples *s, const char *name, u32 *ret)
{
	const struct sample_function f = {.name = name, .file = ""};
	struct sample_line line = {0};
	bool fresh;
	u32 *known;

	TRY(samples_function(s, &f, &line.function));
	TRY(map_at(&s->synthetic, (u64)line.function + 1, &known, &fresh));
	if (fresh) {
		TRY(samples_location(s, 0, &line, 1, ret));
		*known = *ret + 1;
	}
	*ret = *known - 1;
	return NULL;
}

struct err *samples_add(struct samples *s, const u32 *stack, size_t depth, i64 bytes,
			const i64 *values)
{
	struct sample sample = {(u32)s->stacks.n, (u32)depth, bytes};

	TRY(check_room(s->stacks.n, depth));
	TRY(array_reserve(&s->stacks, depth));
	TRY(array_reserve(&s->values, s->type_count));
	TRY(array_push(&s->v, sample));
	for (size_t i = 0; i < depth; i++)
		s->stacks.v[s->stacks.n++] = stack[i];
	for (size_t i = 0; i < s->type_count; i++)
		s->values.v[s->values.n++] = values[i];
	return NULL;
}

static bool has_stack(const struct samples *s, const struct sample *v, const u32 *stack,
		      size_t depth)
{
	for (size_t i = 0; i < depth && v->depth == depth; i++)
		if (s->stacks.v[v->first + i] != stack[i])
			return false;
	return v->depth == depth;
}

static i64 plus(i64 a, i64 b)
{
	i64 sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum; /* of a damaged core */
}

struct err *samples_merge(struct samples *s, const u32 *stack, size_t depth, const i64 *values)
{
	u64 hash = depth;

	for (size_t i = 0; i < depth; i++)
		hash = map_mix(hash, stack[i]);
	for (;; hash = map_mix(hash, 1)) {
		bool fresh;
		u32 *index;

		TRY(map_at(&s->merged, hash | 1, &index, &fresh));
		if (fresh) {
			TRY(check_room(s->v.n, 1));
			TRY(samples_add(s, stack, depth, 0, values));
			*index = (u32)s->v.n;
			return NULL;
		}
		if (!has_stack(s, &s->v.v[*index - 1], stack, depth))
			continue;
		for (size_t i = 0; i < s->type_count; i++) {
			i64 *value = &s->values.v[(*index - 1) * s->type_count + i];

			*value = plus(*value, values[i]);
		}
		return NULL;
	}
}

i64 samples_value(const struct samples *s, size_t i, size_t type)
{
	return s->values.v[i * s->type_count + type];
}

i64 samples_total(const struct samples *s, size_t type)
{
	i64 sum = 0;

	for (size_t i = 0; i < s->v.n; i++)
		sum = plus(sum, samples_value(s, i, type));
	return sum;
}

/* A name in a line of frames; control characters would end the line. */
static void put_name(const char *name, FILE *f)
{
	for (; *name; name++)
		putc(*name == ';' ? ',' : (u8)*name < ' ' ? '?' : *name, f);
}

static void put_location(const struct samples *s, const struct sample_location *l, FILE *f)
{
	if (!l->count)
		fprintf(f, "0x%llx", (unsigned long long)l->address);
	for (u32 i = l->count; i-- > 0;) {
		put_name(samples_line_function(s, &s->lines.v[l->first + i])->name, f);
		if (i)
			putc(';', f);
	}
}

struct err *samples_write_folded(const struct samples *s, size_t type, FILE *f)
{
	for (size_t i = 0; i < s->v.n; i++) {
		const struct sample *sample = &s->v.v[i];
		i64 value = samples_value(s, i, type);

		if (value <= 0 || !sample->depth)
			continue;
		for (u32 k = sample->depth; k-- > 0;) {
			put_location(s, &s->locations.v[s->stacks.v[sample->first + k]], f);
			if (k)
				putc(';', f);
		}
		fprintf(f, " %lld\n", (long long)value);
	}
	return ferror(f) ? err_os("the result cannot be written") : NULL;
}
