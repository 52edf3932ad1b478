#include "report/calls.h"

#include <string.h>

#define TEXT_CALLS 50 /* of one stack; more are for programs */

enum {
	COLUMN_NAME,
	COLUMN_PLACE,
	COLUMN_FUNC,
	COLUMN_FILE,
	COLUMN_LINE,
	COLUMN_INLINED,
	COLUMN_PC
};

static const struct doc_column columns[] = {
	[COLUMN_NAME] = {NULL, ""},     [COLUMN_PLACE] = {NULL, ""},
	[COLUMN_FUNC] = {"func", NULL}, [COLUMN_FILE] = {"file", NULL},
	[COLUMN_LINE] = {"line", NULL}, [COLUMN_INLINED] = {"inlined", NULL},
	[COLUMN_PC] = {"pc", NULL},
};

/* Rows of one stack. */
struct rows {
	struct doc *d;
	struct doc_table *t;
	size_t shown, first; /* rows of the text; the row that later ones may repeat */
	size_t repeated;
	va_t last;
	bool any_user; /* a call that is not the runtime's was seen */
};

static struct doc_value known(const char *s)
{
	return *s ? doc_string(s) : doc_null();
}

static struct doc_value name_text(struct doc *d, va_t pc, const struct call *c)
{
	return *c->func ? doc_string(c->func) : doc_printf(d, "0x%llx", (unsigned long long)pc);
}

/* A call from the very place of the one before is the same line again. */
static bool repeats(struct rows *r, va_t pc, const struct call *c, size_t row)
{
	if (c->inlined || pc != r->last) {
		r->first = row;
		r->repeated = 1;
		r->last = c->inlined ? 0 : pc;
		return false;
	}
	r->t->cells.v[r->first * r->t->column_count + COLUMN_NAME] =
		doc_printf(r->d, "%s (%zu times)", name_text(r->d, pc, c).string, ++r->repeated);
	return true;
}

static bool add_row(void *arg, va_t pc, const struct call *c)
{
	struct rows *r = arg;
	struct doc *d = r->d;
	size_t row =
		doc_row(r->t, name_text(d, pc, c),
			*c->file ? doc_printf(d, "%s:%u", c->file, c->line) : doc_string(""),
			known(c->func), known(c->file), c->line ? doc_count(c->line) : doc_null(),
			doc_flag(c->inlined), doc_address(pc));

	if (row == SIZE_MAX)
		return false; /* no memory for more; the doc knows */
	r->any_user = r->any_user || !call_is_runtime(c->func);
	if (repeats(r, pc, c, row) || !strcmp(c->func, "runtime.goexit") || r->shown >= TEXT_CALLS)
		doc_hide(r->t, row);
	else
		r->shown++;
	return true;
}

/* As runtime/pprof prints stacks: without the runtime's calls at the end of one that has others. */
static void hide_waiting(struct rows *r)
{
	for (size_t row = 0; row < r->t->hidden.n && r->any_user; row++) {
		const struct doc_value *func =
			&r->t->cells.v[row * r->t->column_count + COLUMN_NAME];

		if (!call_is_runtime(func->string))
			return;
		doc_hide(r->t, row);
	}
}

struct doc_table *calls_table(struct doc *d, const struct symbols *s, const va_t *pcs, size_t n)
{
	struct rows r = {.d = d, .t = doc_new_subtable(d, columns, COUNT_OF(columns))};

	calls_visit(s, pcs, n, add_row, &r);
	if (!s->v.n)
		doc_hide_column(r.t, COLUMN_PLACE);
	hide_waiting(&r);
	return r.t;
}

size_t calls_left_out(const struct doc_table *t)
{
	size_t shown = 0;

	for (size_t row = 0; row < t->hidden.n; row++)
		shown += !t->hidden.v[row];
	return shown >= TEXT_CALLS ? t->hidden.n - shown : 0;
}

static const char *place_text(struct doc *d, va_t pc, const struct call *c)
{
	if (!*c->func)
		return name_text(d, pc, c).string;
	return doc_printf(d, "%s (%s:%u)", c->func, c->file, c->line).string;
}

struct place {
	struct doc *d;
	const char *text;
	bool (*skip)(const char *func);
};

static bool visit_place(void *arg, va_t pc, const struct call *c)
{
	struct place *p = arg;
	bool runtime = p->skip(c->func);

	if (!p->text || !runtime)
		p->text = place_text(p->d, pc, c);
	return runtime;
}

const char *calls_place(struct doc *d, const struct symbols *s, const va_t *pcs, size_t n)
{
	struct place p = {.d = d, .skip = call_is_runtime};

	calls_visit(s, pcs, n, visit_place, &p);
	return p.text ? p.text : "";
}

const char *calls_site(struct doc *d, const struct symbols *s, const va_t *pcs, size_t n)
{
	struct place p = {.d = d, .skip = call_is_allocator};

	calls_visit(s, pcs, n, visit_place, &p);
	return p.text ? p.text : "";
}

const char *calls_creation(struct doc *d, const struct symbols *s, va_t gopc)
{
	struct call c;

	if (!gopc)
		return "";
	c = calls_innermost(s, gopc - 1);
	return place_text(d, gopc - 1, &c);
}

struct doc_object *calls_creation_object(struct doc *d, const struct symbols *s, va_t gopc)
{
	struct doc_object *o;
	struct call c;

	if (!gopc)
		return NULL;
	c = calls_innermost(s, gopc - 1);
	o = doc_new_subobject(d);
	doc_set(o, "func", known(c.func));
	doc_set(o, "file", known(c.file));
	doc_set(o, "line", c.line ? doc_count(c.line) : doc_null());
	doc_set(o, "pc", doc_address(gopc - 1));
	return o;
}
