/* Calls of a stack as the runtime lists them: inlined ones expanded, wrappers left out. */
#ifndef STACK_CALLS_H
#define STACK_CALLS_H

#include "gort/pclntab.h"

/* Called for each call, the innermost first, until it returns false. Where no table has the
 * address, all of the call is empty. */
typedef bool call_visitor(void *arg, va_t pc, const struct call *c);

/* Visits the calls at these addresses (struct stack). */
void calls_visit(const struct symbols *s, const va_t *pcs, size_t n, call_visitor *visit,
		 void *arg);

/* The innermost call at one address, wrappers included. */
struct call calls_innermost(const struct symbols *s, va_t pc);

/* Whether the runtime leaves a call out: code that the compiler made to call another, unless a
 * panic came from it (runtime/traceback.go elideWrapperCalling). */
bool call_is_elided(const struct call *c, const char *callee);

/* Whether the function is one of the runtime's. */
bool call_is_runtime(const char *func);

/* Likewise, for the place of an allocation: maps have a package of their own (1.24). */
bool call_is_allocator(const char *func);

#endif
