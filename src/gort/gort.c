#include "gort/gort.h"

#include "gort/verify.h"

/* The heap itself: without one of these no page has an owner. */
static struct err *read_heap(struct gort *gort)
{
	const struct rt *rt = &gort->rt;

	TRY(err_wrap(arenas_read(rt, &gort->arenas), "the list of arenas"));
	TRY(err_wrap(pagealloc_read(rt, &gort->arenas, &gort->pagealloc), "the page allocator"));
	TRY(err_wrap(procs_read(rt, &gort->procs), "the Ps"));
	TRY(err_wrap(spans_read(rt, &gort->spans), "the spans"));
	spans_drop_freed(rt, &gort->pagealloc, &gort->procs, &gort->spans);
	return arenas_add_spans(rt, &gort->arenas, &gort->spans);
}

/* The rest may be missing in part. Running out of memory may not. */
static struct err *survive(struct gort *gort, struct err *err, enum gort_part part,
			   const char *what)
{
	if (!err || err->code == ERR_LIMIT)
		return err;
	gort->missing |= (u8)part;
	diag_err(gort->rt.d, DIAG_STRUCTURE, err_wrap(err, "%s", what));
	return NULL;
}

static struct err *read_rest(struct gort *gort)
{
	const struct rt *rt = &gort->rt;

	TRY(survive(gort, machines_read(rt, &gort->ms), GORT_MS, "the Ms"));
	TRY(survive(gort, goroutines_read(rt, &gort->ms, &gort->gs), GORT_GS, "the goroutines"));
	TRY(survive(gort, modules_read(rt, &gort->modules), GORT_MODULES, "the modules"));
	return survive(gort, buckets_read(rt, &gort->buckets), GORT_BUCKETS, "the profile buckets");
}

/* Another release's layout is believed when nothing contradicts it. */
static struct err *check_assumption(const struct gort *gort)
{
	const struct rt *rt = &gort->rt;
	struct verification v = {.arena = {0}};
	struct err *err = verify_run(gort, &v);

	for (size_t i = 0; !err && i < v.checks.n; i++)
		if (v.checks.v[i].result != VERIFY_OK)
			err = err_new(ERR_FORMAT,
				      "no layout of %s is built in, and by that of %s this does "
				      "not hold: %s",
				      rt->version.text, rt->layout_of, v.checks.v[i].name);
	verify_fini(&v);
	if (!err)
		diag(rt->d, DIAG_LAYOUT_ASSUMED, "%s was read by the layout of %s",
		     rt->version.text, rt->layout_of);
	return err;
}

struct err *gort_open(struct gort *gort, const struct image *im, const struct binary *bin,
		      struct diags *d)
{
	TRY(rt_attach(&gort->rt, im, bin, d));
	gort->attached = !*gort->rt.layout_of; /* an assumed layout has to be proved first */
	TRY(read_heap(gort));
	TRY(read_rest(gort));
	return *gort->rt.layout_of ? check_assumption(gort) : NULL;
}

struct err *gort_open_layout(struct gort *gort, const struct image *im, const struct go_version *v,
			     const va_t globals[static RT_GLOBAL_COUNT], struct diags *d)
{
	TRY(rt_attach_layout(&gort->rt, im, v, globals, d));
	gort->attached = true;
	TRY(read_heap(gort));
	return read_rest(gort);
}

void gort_close(struct gort *gort)
{
	array_free(&gort->arenas.v);
	spans_free(&gort->spans);
	array_free(&gort->pagealloc.in_use);
	array_free(&gort->procs.v);
	array_free(&gort->ms.v);
	array_free(&gort->gs.v);
	array_free(&gort->modules.v);
	array_free(&gort->buckets.memory);
}
