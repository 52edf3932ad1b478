#include "report/given_profile.h"

#include "base/bits.h"
#include "gort/mstats.h"
#include "gort/pclntab.h"

#include <string.h>

#define HOUR_NS ((i64)3600 * 1000 * 1000 * 1000)

/* Where the page of the executable's file at this offset was mapped as code; 0: nowhere. */
static va_t code_at(const struct snapshot *s, u64 offset)
{
	u64 page = MAX(s->im->auxv.page_size, 1);
	Elf64_Phdr ph;

	for (u64 i = 0; binary_phdr(s->bin, s->im, i, &ph); i++)
		if (ph.p_type == PT_LOAD && ph.p_flags & PF_X &&
		    ph.p_offset / page * page == offset)
			return s->bin->bias + ph.p_vaddr - ph.p_offset % page;
	return 0;
}

static const char *last_part(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot ? dot + 1 : name;
}

/* Whether a profile of this very build may give the code of `real` this name: it leaves out
 * wrappers that the compiler made around what it inlined, and writes type arguments in two ways. */
static bool may_be_called(const char *real, const char *name)
{
	return !strncmp(real, name, PPROF_NAME_MAX - 1) || strchr(name, '[') ||
	       strstr(real, "wrap") || strstr(real, "-fm") ||
	       !strcmp(last_part(real), last_part(name));
}

/* Whether the core has another function where a call of the profile is: of the same build all are
 * equal, of another many may be. C has no names here. */
static bool calls_differ(const struct snapshot *s, const struct pprof_heap *p)
{
	va_t code = code_at(s, p->code_offset);
	bool found = false, differ = false;
	struct pclntab t;
	struct err *err;

	if (!s->gort || !s->gort->modules.v.n)
		return false;
	err = pclntab_open(&s->gort->rt, &s->gort->modules.v.v[0], &t);
	err_free(err);
	for (size_t i = 0; i < p->call_count && !err; i++) {
		struct func f;
		bool known = pclntab_find(&t, va_plus(code, p->calls[i].at), &f);

		found = found || known;
		differ = differ || (known && !may_be_called(func_name(&f), p->calls[i].function));
	}
	return differ || (!err && p->call_count && !found);
}

/* By build ids where both have one, else by what the functions are called. */
static void doubt_build(const struct report *r, const struct pprof_heap *p)
{
	const struct snapshot *s = r->snapshot;
	const char *path = r->options.heap_profile;
	struct elf_ids ids;

	binary_ids(s->bin, s->im, &ids);
	if (*p->build_id && *ids.gnu) {
		if (strcmp(p->build_id, ids.gnu) != 0)
			diag(r->diags, DIAG_PROFILE_BUILD,
			     "%s has build id %s, the core's executable %s", path, p->build_id,
			     ids.gnu);
	} else if (calls_differ(s, p)) {
		diag(r->diags, DIAG_PROFILE_BUILD,
		     "the core's executable has other functions at the addresses of %s", path);
	}
}

/* The core was written between its last GC and the time of its file, which a copy may have later.
 * Without a GC the process is young. */
static void doubt_time(const struct report *r, const struct pprof_heap *p)
{
	const struct snapshot *s = r->snapshot;
	i64 written = s->im->core.mtime_ns, gc = written;
	struct mstats m;
	struct err *err = s->gort ? mstats_read(s->gort, &m) : NULL;

	if (s->gort && !err && m.last_gc && m.last_gc < (u64)written)
		gc = (i64)m.last_gc;
	err_free(err);
	if (p->time_ns && (p->time_ns < gc - HOUR_NS || p->time_ns > written + HOUR_NS))
		diag(r->diags, DIAG_PROFILE_TIME, "%s", r->options.heap_profile);
}

void given_profile_doubt(const struct report *r, const struct pprof_heap *p)
{
	doubt_build(r, p);
	doubt_time(r, p);
}
