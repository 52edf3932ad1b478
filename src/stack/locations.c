#include "stack/locations.h"

#include "stack/calls.h"

#include <string.h>

/* What one address stands for: the innermost of the calls there. */
struct frame {
	struct call call;
	va_t entry; /* of the function whose code it is; 0: of none */
};

/* Calls that are inlined into each other, until the one whose code it is. */
struct deck {
	struct frame frames[CALLS_MAX];
	size_t n;
};

void locations_init(struct locations *l, const struct symbols *symbols, struct samples *samples)
{
	*l = (struct locations){.symbols = symbols, .samples = samples};
}

void locations_fini(struct locations *l)
{
	map_fini(&l->known);
	map_fini(&l->runtime);
	array_free(&l->infos);
	array_free(&l->pcs);
	array_free(&l->stack);
}

static struct frame frame_at(const struct locations *l, va_t pc)
{
	struct call calls[CALLS_MAX];
	struct func f;

	if (!symbols_find(l->symbols, pc, &f))
		return (struct frame){.call = {.func = "", .file = "", .pc = pc}};
	func_calls(&f, pc, calls);
	return (struct frame){.call = calls[0], .entry = f.entry};
}

/* Adds the addresses of the calls that the one at pc was inlined into, unless they follow anyway
 * (runtime/symtab.go Frames.Next, runtime_expandFinalInlineFrame). */
static struct err *expand(struct locations *l, va_t pc, va_t following, bool wrappers,
			  const char **callee)
{
	struct call calls[CALLS_MAX];
	struct func f;
	size_t n;

	if (!symbols_find(l->symbols, pc, &f)) {
		*callee = "";
		return array_push(&l->pcs, pc);
	}
	n = func_calls(&f, pc, calls);
	for (size_t i = 0; i < n && !(i && calls[i].pc == following); i++) {
		if ((wrappers && !i) || !call_is_elided(&calls[i], *callee))
			TRY(array_push(&l->pcs, calls[i].pc));
		*callee = calls[i].func;
	}
	return NULL;
}

static struct err *expand_all(struct locations *l, const va_t *pcs, size_t n, bool wrappers)
{
	const char *callee = "";

	l->pcs.n = 0;
	for (size_t i = 0; i < n; i++)
		if (pcs[i])
			TRY(expand(l, pcs[i], i + 1 < n ? pcs[i + 1] : 0, wrappers, &callee));
	return NULL;
}

/* Whether the call at f was inlined together with those in the deck (proto.go pcDeck.tryAdd). */
static bool deck_add(struct deck *d, const struct frame *f)
{
	if (d->n) {
		const struct frame *last = &d->frames[d->n - 1];

		if (!last->call.inlined || !f->entry || last->entry != f->entry ||
		    !strcmp(last->call.func, f->call.func) || d->n == CALLS_MAX)
			return false;
	}
	d->frames[d->n++] = *f;
	return true;
}

static struct err *make_location(struct locations *l, const struct deck *d, u32 *ret)
{
	struct sample_line lines[CALLS_MAX];
	size_t n = 0;

	for (size_t i = 0; i < d->n && d->frames[i].entry; i++, n++) {
		const struct call *c = &d->frames[i].call;
		struct sample_function f = {c->func, c->file, c->start_line};

		TRY(samples_function(l->samples, &f, &lines[i].function));
		lines[i].line = c->line;
	}
	return samples_location(l->samples, d->frames[0].call.pc, lines, n, ret);
}

/* Ends the location that is being made, if there is one. */
static struct err *flush(struct locations *l, struct deck *d)
{
	struct location_info info = {.pcs = (u32)d->n};
	bool fresh;
	u32 *index;

	if (!d->n)
		return NULL;
	TRY(make_location(l, d, &info.location));
	TRY(array_push(&l->infos, info));
	TRY(map_at(&l->known, d->frames[0].call.pc, &index, &fresh));
	*index = (u32)l->infos.n;
	d->n = 0;
	return array_push(&l->stack, info.location);
}

/* Takes the address at l->pcs.v[*i]: to the location that is being made, or as one that is known.
 */
static struct err *take(struct locations *l, struct deck *d, size_t *i)
{
	va_t pc = l->pcs.v[*i];
	struct frame f;
	bool fresh;
	u32 *index, known;

	TRY(map_at(&l->known, pc, &index, &fresh));
	known = *index;
	if (!known || d->n) {
		f = frame_at(l, pc);
		if (strcmp(f.call.func, "runtime.goexit") != 0 && deck_add(d, &f)) {
			++*i;
			return NULL;
		}
		TRY(flush(l, d));
		*i += !strcmp(f.call.func, "runtime.goexit"); /* never shown */
		return NULL; /* another address comes once more, with an empty deck */
	}
	*i += l->infos.v[known - 1].pcs;
	return array_push(&l->stack, l->infos.v[known - 1].location);
}

struct err *locations_of(struct locations *l, const va_t *pcs, size_t n, bool wrappers)
{
	struct deck d = {.n = 0};

	l->stack.n = 0;
	TRY(expand_all(l, pcs, n, wrappers));
	for (size_t i = 0; i < l->pcs.n;)
		TRY(take(l, &d, &i));
	return flush(l, &d);
}

/* runtime.FuncForPC of a return address, whose code may be that of the next function. */
static struct err *is_runtime(struct locations *l, va_t pc, bool *ret)
{
	bool fresh;
	u32 *known;

	TRY(map_at(&l->runtime, pc, &known, &fresh));
	if (fresh) {
		const char *name = frame_at(l, pc + 1).call.func;

		*known = 1 + (l->hides_internal ? call_is_allocator(name) : call_is_runtime(name));
	}
	*ret = *known == 2;
	return NULL;
}

struct err *locations_runtime_calls(struct locations *l, const va_t *pcs, size_t n, size_t *ret)
{
	bool runtime = true;
	size_t i = 0;

	*ret = 0;
	for (; i < n && runtime; i++)
		if (pcs[i])
			TRY(is_runtime(l, pcs[i], &runtime));
	*ret = runtime ? 0 : i - 1;
	return NULL;
}
