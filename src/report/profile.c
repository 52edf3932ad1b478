/* profile: what a profiler would have written, out of the core. */
#include "report/profile.h"

#include "base/bits.h"
#include "base/cleanup.h"
#include "gort/mstats.h"

#include <stdarg.h>
#include <string.h>

static const struct {
	const char *name;
	struct err *(*fill)(struct report *r);
} kinds[] = {
#define KIND(id, name, needs, fill, summary) [PROFILE_##id] = {name, fill},
#include "report/profiles.def"
#undef KIND
};

struct err *profile_none(struct report *r, const char *why)
{
	doc_text(r->doc, "%s", why);
	r->partial = true;
	return NULL;
}

struct err *profile_comment(struct report *r, const char *fmt, ...)
{
	AUTO_FREE char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	return array_push(&r->samples->comments, arena_strdup(&r->samples->arena, text));
}

struct err *profile_memstats(struct report *r)
{
	struct mstats m;

	TRY(mstats_read(r->snapshot->gort, &m));
	const struct {
		const char *name;
		u64 value;
	} lines[] = {
		{"Alloc", m.heap_alloc},
		{"TotalAlloc", m.total_alloc},
		{"Sys", m.sys},
		{"Mallocs", m.mallocs},
		{"Frees", m.frees},
		{"HeapAlloc", m.heap_alloc},
		{"HeapSys", m.heap_sys},
		{"HeapIdle", m.heap_idle},
		{"HeapInuse", m.heap_inuse},
		{"HeapReleased", m.heap_released},
		{"HeapObjects", m.heap_objects},
		{"StackInuse", m.stack_inuse},
		{"StackSys", m.stack_sys},
		{"MSpanInuse", m.mspan_inuse},
		{"MSpanSys", m.mspan_sys},
		{"MCacheInuse", m.mcache_inuse},
		{"MCacheSys", m.mcache_sys},
		{"BuckHashSys", m.buckhash_sys},
		{"GCSys", m.gc_sys},
		{"OtherSys", m.other_sys},
		{"NextGC", m.next_gc},
		{"LastGC", m.last_gc},
		{"NumGC", m.num_gc},
		{"NumForcedGC", m.num_forced_gc},
	};
	const char *text = "runtime.MemStats:";

	for (size_t i = 0; i < COUNT_OF(lines); i++)
		text = doc_printf(r->doc, "%s%s %s=%llu", text, i ? "," : "", lines[i].name,
				  (unsigned long long)lines[i].value)
			       .string;
	return profile_comment(r, "%s", text);
}

static bool has_code(const struct snapshot *s, const struct vma *v)
{
	if (v->perm_known)
		return v->perm & PERM_X;
	for (size_t i = 0; s->gort && i < s->gort->modules.v.n; i++)
		if (v->lo <= s->gort->modules.v.v[i].text.lo &&
		    s->gort->modules.v.v[i].text.lo < v->hi)
			return true;
	return v->kind == VMA_VDSO || v->kind == VMA_VSYSCALL;
}

/* GNU's build id, by the file's headers in the core. */
static const char *build_id_of(struct report *r, int file)
{
	const struct image *im = r->snapshot->im;
	struct elf_ids ids;

	if (file == r->snapshot->bin->file) {
		binary_ids(r->snapshot->bin, im, &ids);
		return arena_strdup(&r->samples->arena, ids.gnu);
	}
	for (size_t i = 0; i < im->vmas.n; i++) {
		const struct vma *v = &im->vmas.v[i];
		u64 n = v->file == file && !v->offset
				? MIN(image_dumped_end(im, v->lo), v->hi) - v->lo
				: 0;
		const u8 *bytes = n ? image_view(im, v->lo, n) : NULL;

		if (!bytes)
			continue;
		elf_build_ids((struct elf_bytes){bytes, n}, &ids);
		return arena_strdup(&r->samples->arena, ids.gnu);
	}
	return "";
}

/* A core that does not name its files has the executable's code among anonymous memory. */
static void name_executable(struct report *r, const struct vma *v, struct sample_mapping *m)
{
	const struct binary *bin = r->snapshot->bin;
	Elf64_Phdr ph;

	for (u64 i = 0; bin->match && binary_phdr(bin, r->snapshot->im, i, &ph); i++) {
		va_t lo = bin->bias + ph.p_vaddr;

		if (ph.p_type != PT_LOAD || !(ph.p_flags & PF_X) || lo < v->lo || lo >= v->hi ||
		    ph.p_offset < lo - v->lo)
			continue;
		m->file = bin->exe.path;
		m->build_id = build_id_of(r, bin->file);
		m->offset = ph.p_offset - (lo - v->lo);
	}
}

struct err *profile_mappings(struct report *r)
{
	const struct image *im = r->snapshot->im;

	for (size_t i = 0; i < im->vmas.n; i++) {
		const struct vma *v = &im->vmas.v[i];
		struct sample_mapping m = {v->lo, v->hi, v->offset, "", ""};

		if (!has_code(r->snapshot, v))
			continue;
		if (v->file >= 0) {
			m.file = im->files.v[v->file].path;
			m.build_id = build_id_of(r, v->file);
		} else if (v->kind == VMA_VDSO) {
			m.file = "[vdso]";
		} else if (v->kind == VMA_VSYSCALL) {
			m.file = "[vsyscall]";
		} else {
			name_executable(r, v, &m);
		}
		if (*m.file)
			TRY(array_push(&r->samples->mappings, m));
	}
	return NULL;
}

/* The type of value that the user asked for, or the one that pprof shows first. */
static struct err *find_type(const struct report *r, size_t *ret)
{
	const struct samples *s = r->samples;
	const char *wanted = r->options.sample_type;

	*ret = s->default_type;
	if (!wanted)
		return NULL;
	for (size_t i = 0; i < s->type_count; i++)
		if (!strcmp(s->types[i].type, wanted)) {
			*ret = i;
			return NULL;
		}
	return err_new(ERR_USAGE, "profile %s has no values '%s', but for example '%s'",
		       kinds[r->options.profile].name, wanted, s->types[s->default_type].type);
}

static void add_types(struct doc *d, const struct samples *s)
{
	static const struct doc_column columns[] = {
		{"type", NULL}, {"unit", NULL}, {"total", NULL}};
	struct doc_table *t = doc_table(d, "types", NULL, columns, COUNT_OF(columns));

	for (size_t i = 0; i < s->type_count; i++)
		doc_row(t, doc_string(s->types[i].type), doc_string(s->types[i].unit),
			doc_delta(samples_total(s, i)));
}

struct err *report_profile(struct report *r)
{
	size_t type;

	doc_value(r->doc, "kind", doc_string(kinds[r->options.profile].name));
	TRY(kinds[r->options.profile].fill(r));
	TRY(find_type(r, &type));
	r->samples->default_type = type;
	add_types(r->doc, r->samples);
	return profile_table(r, type);
}
