#include "gort/verify.h"

#include "gort/rtget.h"
#include "gort/verify_priv.h"

#include <stdarg.h>

void faults_add(struct faults *f, const char *fmt, ...)
{
	va_list ap;

	if (f->count++)
		return;
	va_start(ap, fmt);
	vsnprintf(f->first, sizeof(f->first), fmt, ap);
	va_end(ap);
}

static struct err *add(struct verification *v, const char *name, enum verify_result result,
		       u64 walked, u64 counter, const char *detail)
{
	const char *kept = detail && *detail ? arena_strdup(&v->arena, detail) : NULL;

	return array_push(&v->checks, {name, result, walked, counter, kept});
}

/* Adds a check that does not hold, unless a thread explains it. */
static struct err *add_difference(struct verification *v, const char *name, u64 walked, u64 counter,
				  const char *detail, const struct insider *in)
{
	char text[160];

	if (!in)
		return add(v, name, VERIFY_FAILED, walked, counter, detail);
	v->explained++;
	snprintf(text, sizeof(text), "thread %u was inside %s", in->tid, in->function);
	return add(v, name, VERIFY_OK, walked, counter, text);
}

struct err *verify_close(struct verification *v, const char *name, u64 walked, u64 counter,
			 u64 slack, const char *detail, unsigned inside)
{
	u64 distance = walked > counter ? walked - counter : counter - walked;
	const struct insider *in;

	if (distance <= slack)
		return add(v, name, VERIFY_OK, walked, counter, distance ? detail : NULL);
	insiders_count(&v->inside, inside, &in);
	return add_difference(v, name, walked, counter, detail, in);
}

struct err *verify_equal(struct verification *v, const char *name, u64 walked, u64 counter,
			 unsigned inside)
{
	return verify_close(v, name, walked, counter, 0, NULL, inside);
}

struct err *verify_no_faults(struct verification *v, const char *name, const struct faults *f,
			     unsigned inside)
{
	const struct insider *in;
	size_t threads = insiders_count(&v->inside, inside, &in);

	if (!f->count && f->unreadable)
		return add(v, name, VERIFY_UNREADABLE, 0, 0, "some of it is not in the core");
	if (!f->count)
		return add(v, name, VERIFY_OK, 0, 0, NULL);
	return add_difference(v, name, f->count, 0, f->first, f->count <= threads ? in : NULL);
}

struct err *verify_unreadable(struct verification *v, const char *name, struct err *err)
{
	struct err *result = add(v, name, VERIFY_UNREADABLE, 0, 0, err->msg);

	err_free(err);
	return result;
}

/* mheap_ and memstats point to each other: the first sign of a wrong layout. */
static struct err *verify_self(const struct gort *gort, struct verification *v)
{
	const struct rt *rt = &gort->rt;
	va_t mheap = rt->globals[RT_G_MHEAP], memstats = rt->globals[RT_G_MEMSTATS];
	const struct {
		const char *name;
		enum rt_field alloc, field;
		va_t expected;
	} pointers[] = {
		{"mheap self pointer", RT_MHEAP_SPANALLOC, RT_FIXALLOC_ARG, mheap},
		{"mspan_sys pointer", RT_MHEAP_SPANALLOC, RT_FIXALLOC_STAT,
		 rt_addr(rt, memstats, RT_MSTATS_MSPAN_SYS)},
		{"mcache_sys pointer", RT_MHEAP_CACHEALLOC, RT_FIXALLOC_STAT,
		 rt_addr(rt, memstats, RT_MSTATS_MCACHE_SYS)},
	};

	for (size_t i = 0; i < COUNT_OF(pointers); i++) {
		u64 value;
		struct err *err =
			rt_u(rt, rt_addr(rt, mheap, pointers[i].alloc), pointers[i].field, &value);

		if (err)
			TRY(verify_unreadable(v, pointers[i].name, err));
		else
			TRY(verify_equal(v, pointers[i].name, value, pointers[i].expected, 0));
	}
	return NULL;
}

struct err *verify_run(const struct gort *gort, struct verification *ret)
{
	TRY(insiders_find(gort, &ret->inside));
	TRY(verify_self(gort, ret));
	TRY(verify_spans(gort, ret));
	TRY(verify_arenas(gort, ret));
	TRY(verify_pages(gort, ret));
	TRY(verify_stacks(gort, ret));
	return verify_counters(gort, ret);
}

void verify_fini(struct verification *v)
{
	array_free(&v->checks);
	array_free(&v->inside.v);
	arena_fini(&v->arena);
}
