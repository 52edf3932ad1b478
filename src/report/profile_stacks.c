/* profile stacks: the memory of goroutines' stacks by the frames that take it. What lies below the
 * innermost frame, stacks of the runtime itself and free ones are frames of their own, so that the
 * whole is StackInuse. */
#include "report/profile.h"

#include "base/units.h"
#include "report/common.h"
#include "stack/gounwind.h"

static const struct sample_type stack_types[] = {
	{"goroutines", "count"}, {"virtual", "bytes"}, {"resident", "bytes"}};

enum { GOROUTINES, VIRTUAL, RESIDENT, TYPES };

static const struct stack_columns own_columns = {
	.goroutines = GOROUTINES, .virtual = VIRTUAL, .resident = RESIDENT};

/* A frame of the stack at hand: from lo to where the next one begins. */
struct piece {
	u32 location;
	va_t lo;
};

struct fill {
	struct report *r;
	const struct stack_columns *columns;
	struct unwinder u;
	struct locations locations;
	struct stack stack;
	ARRAY(struct piece) pieces; /* the innermost first */
	ARRAY(u32) calls; /* their locations; before them room for one more, then the root */
	u64 count;
};

/* The frames by their locations. The end of all stacks has none: it goes to what it called. */
static struct err *find_pieces(struct fill *f)
{
	f->pieces.n = 0;
	f->calls.n = 0;
	TRY(array_push(&f->calls, 0));
	for (size_t i = 0; i < f->stack.n; i++) {
		TRY(locations_of(&f->locations, &f->stack.pc[i], 1, true));
		if (!f->locations.stack.n)
			continue;
		TRY(array_push(&f->pieces, {f->locations.stack.v[0], f->stack.sp[i]}));
		TRY(array_push(&f->calls, f->locations.stack.v[0]));
	}
	return f->columns->has_root ? array_push(&f->calls, f->columns->root) : NULL;
}

static struct err *add(struct fill *f, const u32 *stack, size_t depth, struct range memory,
		       i64 goroutines)
{
	const struct stack_columns *c = f->columns;
	i64 values[SAMPLE_TYPES_MAX] = {0};

	if (c->goroutines >= 0)
		values[c->goroutines] = goroutines;
	if (memory.lo < memory.hi) {
		values[c->virtual] = (i64)(memory.hi - memory.lo);
		values[c->resident] =
			(i64)report_resident(f->r->snapshot->im, memory.lo, memory.hi);
	}
	return samples_merge(f->r->samples, stack, depth, values);
}

/* What is used of a stack, frame by frame; a frame has what the calls in it have besides. */
static struct err *add_used(struct fill *f, const struct goroutine *g)
{
	size_t n = f->pieces.n;
	va_t at = g->sp;

	for (size_t i = 0; i < n; i++) {
		va_t end = i + 1 < n ? MIN(f->pieces.v[i + 1].lo, g->stack.hi) : g->stack.hi;

		end = MAX(end, at);
		TRY(add(f, f->calls.v + 1 + i, f->calls.n - 1 - i, (struct range){at, end},
			i == 0));
		at = end;
	}
	if (n)
		return NULL;
	TRY(samples_frame(f->r->samples, "[not followed]", &f->calls.v[0]));
	return add(f, f->calls.v, f->calls.n, (struct range){at, g->stack.hi}, 1);
}

static bool is_in_heap(const struct gort *gort, struct range stack)
{
	const struct span *s = stack.lo < stack.hi ? spans_find(&gort->spans, stack.lo) : NULL;

	return s && s->state == SPAN_MANUAL && stack.hi <= span_end(s);
}

static struct err *add_goroutine(struct fill *f, const struct goroutine *g)
{
	struct goroutine_detail detail;

	if (goroutine_is_dead(g) || !is_in_heap(f->u.gort, g->stack))
		return NULL;
	f->stack.n = 0;
	if (goroutine_detail(f->u.rt, g, &detail))
		TRY(unwind_goroutine(&f->u, g, &detail, &f->stack));
	TRY(find_pieces(f));
	f->count++;
	TRY(add_used(f, g));
	TRY(samples_frame(f->r->samples, "[unused]", &f->calls.v[0]));
	return add(f, f->calls.v, f->calls.n, (struct range){g->stack.lo, g->sp}, 0);
}

/* All memory of one class. */
static struct err *add_class(struct report *r, enum category c, const char *name)
{
	struct columns columns = ledger_columns(r->snapshot->ledger, c);
	const i64 values[TYPES] = {0, (i64)columns.virtual, (i64)columns.state[STATE_RESIDENT]};
	u32 frame;

	TRY(samples_frame(r->samples, name, &frame));
	return samples_merge(r->samples, &frame, 1, values);
}

struct err *profile_add_stacks(struct report *r, const struct stack_columns *columns, u64 *count)
{
	const struct gort *gort = r->snapshot->gort;
	struct fill *f = xcalloc(1, sizeof(*f));
	struct err *err = unwinder_open(&f->u, gort, r->diags);

	f->r = r;
	f->columns = columns;
	locations_init(&f->locations, &f->u.symbols, r->samples);
	for (size_t i = 0; i < gort->gs.v.n && !err; i++)
		err = add_goroutine(f, &gort->gs.v.v[i]);
	*count = f->count;
	locations_fini(&f->locations);
	unwinder_close(&f->u);
	array_free(&f->pieces);
	array_free(&f->calls);
	free(f);
	return err;
}

struct err *profile_stacks(struct report *r)
{
	struct samples *s = r->samples;
	char all[UNITS_BUF], resident[UNITS_BUF];
	u64 count = 0;

	s->types = stack_types;
	s->type_count = TYPES;
	s->default_type = RESIDENT;
	s->says_default = true;
	if (!r->snapshot->gort)
		return profile_none(r, "No profile of stacks: the Go heap could not be read.");
	TRY(profile_comment(r, "%s", r->snapshot->version->text));
	TRY(profile_mappings(r));
	TRY(profile_add_stacks(r, &own_columns, &count));
	TRY(add_class(r, CAT_STACK_SYSTEM, "[system stacks]"));
	TRY(add_class(r, CAT_STACK_CACHED, "[free stacks]"));
	doc_text(r->doc,
		 "%s of stacks (StackInuse), %s resident, of %llu goroutines and the runtime.",
		 units_bytes(samples_total(s, VIRTUAL), all),
		 units_bytes(samples_total(s, RESIDENT), resident), (unsigned long long)count);
	return NULL;
}
