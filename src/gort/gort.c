#include "gort/gort.h"

#include "gort/verify.h"

#include <stdlib.h>

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

/* The first invariant that does not hold; NULL when all do. */
static struct err *check_invariants(const struct gort *gort)
{
	struct verification v = {.arena = {0}};
	struct err *err = verify_run(gort, &v);

	for (size_t i = 0; !err && i < v.checks.n; i++)
		if (v.checks.v[i].result != VERIFY_OK)
			err = err_new(ERR_FORMAT, "this does not hold: %s", v.checks.v[i].name);
	verify_fini(&v);
	return err;
}

/* Another release's layout is believed when nothing contradicts it. */
static struct err *check_assumption(const struct gort *gort)
{
	const struct rt *rt = &gort->rt;

	TRY(err_wrap(check_invariants(gort), "no layout of %s is built in, and by that of %s",
		     rt->version.text, rt->layout_of));
	diag(rt->d, DIAG_LAYOUT_ASSUMED, "%s was read by the layout of %s", rt->version.text,
	     rt->layout_of);
	return NULL;
}

/* Reads all by the layout of that number. */
static struct err *open_table(struct gort *gort, const struct image *im, const struct binary *bin,
			      unsigned table, struct diags *d)
{
	TRY(rt_attach_table(&gort->rt, im, bin, table, d));
	TRY(read_heap(gort));
	return read_rest(gort);
}

/* Whether all invariants hold by the layout of that number. *found: there is a module at least. */
static struct err *try_table(const struct image *im, const struct binary *bin, unsigned table,
			     bool *found)
{
	struct gort *gort = xcalloc(1, sizeof(*gort));
	struct diags unheard = {0};
	struct err *err = open_table(gort, im, bin, table, &unheard);

	*found |= gort->rt.globals[RT_G_FIRSTMODULEDATA] != 0;
	if (!err)
		err = check_invariants(gort);
	gort_close(gort);
	free(gort);
	diags_fini(&unheard);
	return err;
}

/* A process of which nothing says that it is Go's: it is, when the structures of a release are in
 * it. Most such are of programs whose build info was taken out. why is what was wrong so far. */
static struct err *open_unnamed(struct gort *gort, const struct image *im, const struct binary *bin,
				struct diags *d, struct err *why)
{
	struct slot slots[RT_FIELD_COUNT];
	struct go_version v;
	bool found = false;

	for (unsigned i = 0; layout_of_any(i, im->arch, &v, slots); i++) {
		struct err *err = try_table(im, bin, i, &found);

		if (!err) {
			err_free(why);
			return open_table(gort, im, bin, i, d);
		}
		if (err->code == ERR_LIMIT || err->code == ERR_BUG) {
			err_free(why);
			return err;
		}
		err_free(err);
	}
	gort->rt.version.nameless = found;
	if (!found)
		return why;
	err_free(why);
	return err_new(ERR_MISSING,
		       "nothing names the Go release, and no layout that is built in fits");
}

struct err *gort_open(struct gort *gort, const struct image *im, const struct binary *bin,
		      struct diags *d)
{
	struct err *err = rt_attach(&gort->rt, im, bin, d);

	if (err && err->code == ERR_MISSING && !*gort->rt.version.text &&
	    !gort->rt.version.nameless)
		return open_unnamed(gort, im, bin, d, err);
	TRY(err);
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
