#include "gort/rt.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "gort/find.h"
#include "gort/rtget.h"
#include "sym/dw.h"

#include <string.h>

enum { REQ = 1, OPT = 0 };

static const struct {
	const char *names;
	bool required;
} global_table[RT_GLOBAL_COUNT] = {
#define G(id, name, need) [RT_G_##id] = {name, need},
#include "gort/globals.def"
#undef G
};

struct err *rt_u(const struct rt *rt, va_t base, enum rt_field f, u64 *ret)
{
	u64 raw = 0;

	TRY(image_read(rt->im, rt_addr(rt, base, f), &raw, MIN(rt_size(rt, f), sizeof(raw))));
	*ret = raw; /* little-endian: the unread high bytes are 0 */
	return NULL;
}

struct err *rt_pointer(const struct rt *rt, enum rt_global g, va_t *ret)
{
	*ret = 0;
	return rt->globals[g] ? image_read(rt->im, rt->globals[g], ret, sizeof(*ret)) : NULL;
}

struct err *rt_slice(const struct rt *rt, va_t va, u64 limit, struct go_slice *ret)
{
	struct go_slice s;

	TRY(image_read(rt->im, va, &s, sizeof(s)));
	if (s.len > s.cap || s.cap > limit)
		return err_new(ERR_FORMAT, "slice at 0x%llx has length %llu, capacity %llu",
			       (unsigned long long)va, (unsigned long long)s.len,
			       (unsigned long long)s.cap);
	*ret = s;
	return NULL;
}

const char *rt_phase_name(const struct rt *rt)
{
	static const char *const names[] = {"off", "mark", "marktermination"};

	return rt->gcphase < COUNT_OF(names) ? names[rt->gcphase] : "unknown";
}

/* All names that are looked up in DWARF: structures, variables, and each alternative. */
struct wanted {
	const char *names[RT_FIELD_COUNT + 2 * RT_GLOBAL_COUNT];
	bool needed[RT_FIELD_COUNT + 2 * RT_GLOBAL_COUNT];
	size_t n;
	struct arena arena;
};

static void collect_wanted(struct wanted *w)
{
	for (int f = 0; f < RT_FIELD_COUNT; f++) {
		w->names[w->n] = layout_field_root((enum rt_field)f);
		w->needed[w->n++] = layout_field_required((enum rt_field)f);
	}
	for (int g = 0; g < RT_GLOBAL_COUNT; g++) {
		const char *names = global_table[g].names;
		size_t len = strcspn(names, "|");

		w->names[w->n] = arena_strndup(&w->arena, names, len);
		w->needed[w->n++] = global_table[g].required && !names[len];
		if (names[len])
			w->names[w->n++] = names + len + 1;
	}
}

static struct err *resolve_globals(struct rt *rt, const struct dw *dw, va_t bias)
{
	for (int g = 0; g < RT_GLOBAL_COUNT; g++) {
		const char *names = global_table[g].names;
		size_t len = strcspn(names, "|");
		AUTO_FREE char *first = xstrndup(names, len);
		u64 addr;

		if (dw_variable(dw, first, &addr) ||
		    (names[len] && dw_variable(dw, names + len + 1, &addr)))
			rt->globals[g] = addr + bias;
		else if (global_table[g].required)
			return err_new(ERR_UNSUPPORTED, "DWARF has no variable %s", names);
	}
	return NULL;
}

static struct err *resolve_dwarf(struct rt *rt, const struct os_file *f, va_t bias)
{
	struct wanted w = {.n = 0};
	struct dw *dw = NULL;
	struct err *err;

	collect_wanted(&w);
	err = dw_open_file(f, &dw);
	if (!err)
		err = dw_find(dw, w.names, w.needed, w.n);
	if (!err)
		err = layout_from_dwarf(dw, rt->slots);
	if (!err)
		err = layout_complete(rt->slots, &rt->version, rt->im->arch, rt->d);
	if (!err)
		err = resolve_globals(rt, dw, bias);
	dw_close(dw);
	arena_fini(&w.arena);
	return err;
}

/* A release that has no table: another's may fit. */
static struct err *resolve_by_assumption(struct rt *rt)
{
	if (!layout_assume(&rt->version, rt->im->arch, rt->layout_of, rt->slots))
		return err_new(ERR_MISSING, "no layout of %s is built in", rt->version.text);
	return err_wrap(find_globals(rt),
			"no layout of %s is built in, and that of %s does not fit",
			rt->version.text, rt->layout_of);
}

/* The release is not known: that of the table that fits. The tables of releases that may be it
 * differ in where mheap_ points to itself. */
static struct err *resolve_nameless(struct rt *rt)
{
	for (unsigned i = 0; layout_of_nameless(i, rt->im->arch, &rt->version, rt->slots); i++) {
		struct err *err;

		rt->dialect = dialect_of(&rt->version, rt->im->arch);
		err = find_globals(rt);
		if (!err) {
			diag(rt->d, DIAG_BY_STRUCTURE, "the layout of %s is built in and fits",
			     rt->version.text);
			return NULL;
		}
		if (err->code == ERR_LIMIT)
			return err;
		err_free(err);
	}
	rt->version = (struct go_version){.nameless = true};
	return err_new(ERR_MISSING, "its release is not in the core, and no built-in layout of "
				    "a release from 1.13 to 1.17 fits: give the executable");
}

/* Without DWARF: the table of the release, and what the globals hold. Where a release has several
 * tables the structures tell which is right. */
static struct err *resolve_by_structure(struct rt *rt)
{
	struct err *first = NULL;

	if (rt->version.nameless)
		return resolve_nameless(rt);
	for (unsigned i = 0; layout_from_table(&rt->version, rt->im->arch, i, rt->slots); i++) {
		struct err *err = find_globals(rt);

		if (!err) {
			err_free(first);
			diag(rt->d, DIAG_BY_STRUCTURE, "the layout of %s is built in",
			     rt->version.text);
			return NULL;
		}
		if (err->code == ERR_LIMIT || first) {
			err_free(first);
			return err;
		}
		first = err;
	}
	return first ? first : resolve_by_assumption(rt);
}

/* The executable's own DWARF, else that of a separate file, else what can be found without. */
static struct err *resolve(struct rt *rt, const struct binary *bin)
{
	const struct os_file *const files[] = {&bin->exe, &bin->debug};

	/* What DWARF means depends on the release too. */
	for (size_t i = 0; i < COUNT_OF(files) && !rt->version.nameless; i++) {
		struct err *err = files[i]->path ? resolve_dwarf(rt, files[i], bin->bias) : NULL;

		if (files[i]->path && !err && binary_count_go(rt->im) > 1)
			return find_single_runtime(rt);
		if (files[i]->path && (!err || err->code != ERR_MISSING))
			return err;
		err_free(err);
	}
	return resolve_by_structure(rt);
}

/* mheap_ holds pointers to itself and sizes that the layout must agree with: a wrong executable
 * or layout shows here, before a single figure is made of it. */
static struct err *check_self(const struct rt *rt)
{
	va_t mheap = rt->globals[RT_G_MHEAP];
	va_t spanalloc = rt_addr(rt, mheap, RT_MHEAP_SPANALLOC);
	va_t cachealloc = rt_addr(rt, mheap, RT_MHEAP_CACHEALLOC);
	u64 arg, span_bytes, cache_bytes;

	TRY(rt_u(rt, spanalloc, RT_FIXALLOC_ARG, &arg));
	TRY(rt_u(rt, spanalloc, RT_FIXALLOC_SIZE, &span_bytes));
	TRY(rt_u(rt, cachealloc, RT_FIXALLOC_SIZE, &cache_bytes));
	if (arg != mheap)
		return err_new(ERR_FORMAT, "mheap_ at 0x%llx does not point to itself",
			       (unsigned long long)mheap);
	if (span_bytes != rt_size(rt, RT_MSPAN) || cache_bytes != rt_size(rt, RT_MCACHE))
		return err_new(ERR_FORMAT,
			       "mspan and mcache have %llu and %llu bytes in the core, "
			       "but %llu and %llu in DWARF",
			       (unsigned long long)span_bytes, (unsigned long long)cache_bytes,
			       (unsigned long long)rt_size(rt, RT_MSPAN),
			       (unsigned long long)rt_size(rt, RT_MCACHE));
	return NULL;
}

/* runtime/sizeclasses.go: the table of slot sizes, ascending. */
static struct err *read_size_classes(struct rt *rt)
{
	u16 *table = rt->size_class_bytes;
	u32 n = 1;

	/* The variable's length is not a slot: the table ends where it stops to grow. */
	while (n < GO_MAX_SIZE_CLASSES) {
		va_t va = rt->globals[RT_G_SIZE_CLASSES] + n * sizeof(table[n]);
		struct err *err = image_read(rt->im, va, &table[n], sizeof(table[n]));

		err_free(err);
		if (err || table[n] <= table[n - 1] || table[n] % 8 != 0)
			break;
		n++;
	}
	if (n < 2 || table[n - 1] != 32768)
		return err_new(ERR_FORMAT, "the table of size classes is damaged");
	rt->size_class_count = n;
	return NULL;
}

static struct err *read_state(struct rt *rt)
{
	u64 sweepgen;

	/* Where the variable has no place its value was derived (gort/find.h). */
	if (rt->globals[RT_G_GCPHASE])
		TRY(image_read(rt->im, rt->globals[RT_G_GCPHASE], &rt->gcphase,
			       sizeof(rt->gcphase)));
	if (rt->gcphase > GC_MARK_TERMINATION)
		diag(rt->d, DIAG_STRUCTURE, "gcphase is %u", rt->gcphase);
	TRY(rt_u(rt, rt->globals[RT_G_MHEAP], RT_MHEAP_SWEEPGEN, &sweepgen));
	rt->sweepgen = (u32)sweepgen;
	return read_size_classes(rt);
}

/* The release decides what the structures mean, and whether they are read at all. */
static struct err *check_release(struct rt *rt)
{
	rt->dialect = dialect_of(&rt->version, rt->im->arch);
	if (rt->version.nameless || dialect_support(&rt->version) != RELEASE_UNREAD)
		return NULL;
	return err_new(ERR_UNSUPPORTED, "%s: the heap of %s is read%s", rt->version.text,
		       dialect_supported_text(),
		       rt->dialect.frees_lazily
			       ? ". This release gives free memory back by MADV_FREE: it counts as "
				 "resident until the kernel takes it; GODEBUG=madvdontneed=1 makes "
				 "RSS follow"
			       : "");
}

static struct err *check_and_read(struct rt *rt)
{
	TRY(err_wrap(check_self(rt), "the runtime's heap"));
	return err_wrap(read_state(rt), "the runtime's state");
}

struct err *rt_attach(struct rt *rt, const struct image *im, const struct binary *bin,
		      struct diags *d)
{
	rt->im = im;
	rt->bin = bin;
	rt->d = d;
	TRY(version_find(im, bin, &rt->version));
	TRY(check_release(rt));
	TRY(resolve(rt, bin));
	return check_and_read(rt);
}

struct err *rt_attach_table(struct rt *rt, const struct image *im, const struct binary *bin,
			    unsigned table, struct diags *d)
{
	rt->im = im;
	rt->bin = bin;
	rt->d = d;
	if (!layout_of_any(table, im->arch, &rt->version, rt->slots))
		return err_new(ERR_MISSING, "there are only %u layouts", table);
	rt->dialect = dialect_of(&rt->version, im->arch);
	TRY(find_globals(rt));
	diag(d, DIAG_BY_STRUCTURE,
	     "nothing names the release; the layout of %s is built in and fits", rt->version.text);
	return check_and_read(rt);
}

struct err *rt_attach_layout(struct rt *rt, const struct image *im, const struct go_version *v,
			     const va_t globals[static RT_GLOBAL_COUNT], struct diags *d)
{
	rt->im = im;
	rt->d = d;
	rt->version = *v;
	TRY(check_release(rt));
	if (!layout_from_table(v, im->arch, 0, rt->slots))
		return err_new(ERR_MISSING, "no layout of %s is built in", v->text);
	memcpy(rt->globals, globals, sizeof(rt->globals));
	return check_and_read(rt);
}
