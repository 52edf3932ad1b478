#include "report/facts_fill.h"

#include "base/map.h"
#include "image/sidecar.h"
#include "report/common.h"

#include <string.h>

const struct level levels[] = {
#define L(id, plural, title, explains, phrase, fill) {#id, plural, title, explains, phrase, fill},
#include "report/levels.def"
#undef L
};

const size_t levels_count = COUNT_OF(levels);

_Static_assert(COUNT_OF(levels) <= FACTS_LEVELS_MAX, "a snapshot has room for all levels");

const struct level *level_find(const char *id)
{
	for (size_t i = 0; i < COUNT_OF(levels); i++)
		if (!strcmp(levels[i].id, id))
			return &levels[i];
	return NULL;
}

static u64 resident_fact(const struct columns *c)
{
	bool known = c->evidence != EVIDENCE_UNKNOWN || c->virtual == 0;

	return known ? c->state[STATE_RESIDENT] : FACT_UNKNOWN;
}

/* The newest file of the sidecar's folder: it was made while the process stood still. */
static i64 sidecar_time(const struct sidecar *sc)
{
	i64 time = 0;

	for (size_t i = 0; sc && i < sc->files.n; i++)
		if (sc->files.v[i].mapped.path)
			time = MAX(time, sc->files.v[i].mapped.mtime_ns);
	return time;
}

/* A tar has the time of the file that was put into it, and so keeps it when it is copied. */
static void set_time(struct facts_head *h, const struct image *im)
{
	i64 time = im->unpacked.packing ? 0 : sidecar_time(im->sidecar);

	h->time_ns = time ? time : im->core.mtime_ns;
	h->time_from = time ? "sidecar" : im->unpacked.member ? "archive" : "file";
}

/* The kernel puts a process's code, stack and vdso at random addresses when it starts, and says in
 * the auxiliary vector where: pairs of words up to AT_NULL, the same in whatever wrote the core. */
static const char *process_id(struct facts *f, const struct image *im)
{
	u64 hash = im->pid;
	Elf64_auxv_t pair = {.a_type = AT_IGNORE};

	if (!im->auxv_note)
		return NULL;
	for (u64 i = 0; pair.a_type != AT_NULL && i + sizeof(pair) <= im->auxv_bytes;
	     i += sizeof(pair)) {
		memcpy(&pair, im->auxv_note + i, sizeof(pair));
		hash = map_mix(map_mix(hash, pair.a_type), pair.a_un.a_val);
	}
	return arena_printf(&f->arena, "%u-%016llx", im->pid, (unsigned long long)hash);
}

static const char *partial_codes(struct facts *f, const struct diags *d)
{
	const char *list = NULL;

	for (int code = 0; code < DIAG_COUNT; code++)
		if (d->entries[code].count && diag_code_is_partial((enum diag_code)code))
			list = arena_printf(&f->arena, "%s%s%s", list ? list : "", list ? ", " : "",
					    diag_id((enum diag_code)code));
	return list;
}

static void fill_head(const struct snapshot *s, const char *path, struct facts *f)
{
	struct facts_head *h = &f->head;
	struct columns total = ledger_total(s->ledger);
	struct elf_ids ids;

	h->path = facts_string(f, path);
	set_time(h, s->im);
	h->go = *s->version->text ? facts_string(f, s->version->text) : NULL;
	h->arch = s->im->arch->name;
	binary_ids(s->bin, s->im, &ids);
	if (*ids.go || *ids.gnu)
		h->build = facts_string(f, *ids.go ? ids.go : ids.gnu);
	h->exe = facts_string(f, s->bin->core_path);
	h->process = process_id(f, s->im);
	h->evidence = evidence_name(s->im->res.evidence);
	h->total[FACT_VIRTUAL] = total.virtual;
	h->total[FACT_RESIDENT] = resident_fact(&total);
	h->total[FACT_COUNT] = FACT_UNKNOWN;
}

struct err *facts_fill(const struct snapshot *s, const char *path, struct facts *ret)
{
	struct err *err = NULL;

	fill_head(s, path, ret);
	for (size_t i = 0; !err && i < COUNT_OF(levels); i++) {
		struct doc d = {.arena = {NULL, 0}};
		struct filler f = {s, &d, ret};

		err = levels[i].fill(&f, levels[i].id);
		if (!err)
			err = doc_take_error(&d);
		doc_fini(&d);
	}
	ret->head.partial = partial_codes(ret, s->diags);
	facts_seal(ret);
	return err;
}

struct err *fill_classes(struct filler *f, const char *id)
{
	struct facts_level *level;

	TRY(facts_add_level(f->f, id, &level));
	for (int c = 0; c < CAT_COUNT; c++) {
		struct columns col = ledger_columns(f->s->ledger, (enum category)c);
		bool known = ledger_knows(f->s->ledger, (enum category)c);

		TRY(facts_add(f->f, level, category_id((enum category)c),
			      known ? col.virtual : FACT_UNKNOWN,
			      known ? resident_fact(&col) : FACT_UNKNOWN, FACT_UNKNOWN));
	}
	return NULL;
}

/* Memory of the Go runtime apart from other memory without a file: VMAs of both are alike. */
static const char *backing_name(const struct image *im, const struct vma *v, enum category owner)
{
	const char *special = report_special_name((enum vma_kind)v->kind);

	if (v->file >= 0)
		return im->files.v[v->file].path;
	if (special)
		return special;
	return !strncmp(category_id(owner), "go.", strlen("go.")) ? "go" : "anon";
}

struct err *fill_mappings(struct filler *f, const char *id)
{
	const struct image *im = f->s->im;
	struct facts_level *level;

	TRY(facts_add_level(f->f, id, &level));
	for (size_t i = 0; i < im->vmas.n; i++) {
		const struct vma *v = &im->vmas.v[i];
		enum category owner;
		struct columns c = ledger_vma_columns(f->s->ledger, i, &owner);
		char perm[4];
		const char *key = doc_printf(f->d, "%s %s", backing_name(im, v, owner),
					     report_perm(v->perm, v->perm_known, perm))
					  .string;

		TRY(facts_add(f->f, level, key, c.virtual, resident_fact(&c), 1));
	}
	return NULL;
}
