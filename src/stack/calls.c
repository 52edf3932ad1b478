#include "stack/calls.h"

#include <string.h>

bool call_is_runtime(const char *func)
{
	return !strncmp(func, "runtime.", strlen("runtime."));
}

bool call_is_allocator(const char *func)
{
	return call_is_runtime(func) ||
	       !strncmp(func, "internal/runtime/", strlen("internal/runtime/"));
}

bool call_is_elided(const struct call *c, const char *callee)
{
	return c->wrapper && strcmp(callee, "runtime.gopanic") != 0 &&
	       strcmp(callee, "runtime.sigpanic") != 0 && strcmp(callee, "runtime.panicwrap") != 0;
}

/* The calls at one address; without a table an empty one. */
static size_t calls_at(const struct symbols *s, va_t pc, struct call calls[static CALLS_MAX])
{
	struct func f;

	calls[0] = (struct call){.func = "", .file = ""};
	return symbols_find(s, pc, &f) ? func_calls(&f, pc, calls) : 1;
}

void calls_visit(const struct symbols *s, const va_t *pcs, size_t n, call_visitor *visit, void *arg)
{
	const char *callee = "";

	for (size_t i = 0; i < n; i++) {
		struct call calls[CALLS_MAX];
		size_t count = calls_at(s, pcs[i], calls);

		for (size_t k = 0; k < count; k++) {
			if (!call_is_elided(&calls[k], callee) && !visit(arg, pcs[i], &calls[k]))
				return;
			callee = calls[k].func;
		}
	}
}

struct call calls_innermost(const struct symbols *s, va_t pc)
{
	struct call calls[CALLS_MAX];

	calls_at(s, pc, calls);
	return calls[0];
}
