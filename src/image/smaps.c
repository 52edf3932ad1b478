#include "image/smaps.h"

#include "base/text.h"
#include "image/image.h"

#include <string.h>

/* One letter of the permissions: set, or '-'. */
static bool take_perm(struct text *t, char letter, u8 bit, u8 *perm)
{
	if (text_char(t, letter))
		*perm |= bit;
	else
		return text_char(t, '-');
	return true;
}

/* "c000000000-c000400000 rw-p 00000000 00:00 0   [anon: Go: heap]" */
static bool parse_mapping(struct text t, struct smaps_vma *v, struct arena *arena)
{
	u64 major, minor;

	*v = (struct smaps_vma){.lo = 0};
	if (!text_number(&t, 16, &v->lo) || !text_char(&t, '-') || !text_number(&t, 16, &v->hi) ||
	    !text_char(&t, ' ') || !take_perm(&t, 'r', PERM_R, &v->perm) ||
	    !take_perm(&t, 'w', PERM_W, &v->perm) || !take_perm(&t, 'x', PERM_X, &v->perm))
		return false;
	v->shared = text_char(&t, 's');
	if ((!v->shared && !text_char(&t, 'p')) || !text_char(&t, ' ') ||
	    !text_number(&t, 16, &v->offset) || !text_char(&t, ' ') ||
	    !text_number(&t, 16, &major) || !text_char(&t, ':') || !text_number(&t, 16, &minor) ||
	    !text_char(&t, ' ') || !text_number(&t, 10, &v->inode))
		return false;
	if (t.p < t.end && *t.p != ' ')
		return false;
	text_blanks(&t);
	v->path = arena_strndup(arena, t.p, (size_t)(t.end - t.p));
	return true;
}

/* The sizes that are kept. */
static const struct {
	const char *key;
	size_t member;
} sizes[] = {
	{"Rss:", offsetof(struct smaps_vma, rss)},
	{"Anonymous:", offsetof(struct smaps_vma, anonymous)},
	{"Swap:", offsetof(struct smaps_vma, swap)},
	{"LazyFree:", offsetof(struct smaps_vma, lazyfree)},
	{"AnonHugePages:", offsetof(struct smaps_vma, anon_huge)},
	{"FilePmdMapped:", offsetof(struct smaps_vma, file_huge)},
	{"ShmemPmdMapped:", offsetof(struct smaps_vma, shm_huge)},
};

static const struct {
	const char *code;
	u8 flag;
} flags[] = {
	{"dd", SMAPS_DONTDUMP},
	{"hg", SMAPS_HUGEPAGE},
	{"nh", SMAPS_NOHUGEPAGE},
	{"ht", SMAPS_HUGETLB},
};

/* "Rss:                 132 kB", of which no mapping has more than its length. */
static bool parse_size(struct text t, const struct smaps_vma *v, u64 *bytes)
{
	u64 kib;

	text_blanks(&t);
	if (!text_number(&t, 10, &kib) || !text_word(&t, " kB") || t.p != t.end ||
	    kib > (v->hi - v->lo) >> 10)
		return false;
	*bytes = kib << 10;
	return true;
}

/* "VmFlags: rd wr mr mw me ac hg " */
static void parse_flags(struct text t, struct smaps_vma *v)
{
	for (text_blanks(&t); t.end - t.p >= 2; text_blanks(&t)) {
		for (size_t i = 0; i < COUNT_OF(flags); i++)
			if (memcmp(t.p, flags[i].code, 2) == 0)
				v->flags |= flags[i].flag;
		t.p += 2;
	}
}

/* A line of a mapping; lines with other keys are none of ours. */
static bool parse_entry(struct text t, struct smaps_vma *v, bool *has_rss)
{
	if (text_word(&t, "VmFlags:")) {
		parse_flags(t, v);
		return true;
	}
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		if (!text_word(&t, sizes[i].key))
			continue;
		*has_rss |= i == 0;
		return parse_size(t, v, (u64 *)((char *)v + sizes[i].member));
	}
	return memchr(t.p, ':', (size_t)(t.end - t.p)) != NULL;
}

static struct err *add_mapping(struct smaps *s, struct text line)
{
	struct smaps_vma v;
	va_t before = s->vmas.n ? s->vmas.v[s->vmas.n - 1].hi : 0;

	if (!parse_mapping(line, &v, &s->arena))
		return err_new(ERR_FORMAT, "this is no mapping");
	if (v.lo >= v.hi || v.lo < before)
		return err_new(ERR_FORMAT, "a mapping out of order");
	return array_push(&s->vmas, v);
}

/* Reads one line; *has_rss is whether the mapping that it belongs to has had its Rss. */
static struct err *parse_line(struct smaps *s, struct text line, bool *has_rss)
{
	struct err *err;

	if (text_has_nul(line))
		return err_new(ERR_FORMAT, "this is no text");
	/* Keys begin with a capital letter, addresses with a digit or a small one. */
	if (line.p < line.end && text_digit(*line.p) < 16) {
		if (s->vmas.n && !*has_rss)
			return err_new(ERR_FORMAT, "the mapping before has no Rss: not smaps");
		err = add_mapping(s, line);
		*has_rss = false;
		return err;
	}
	if (!s->vmas.n)
		return err_new(ERR_FORMAT, "no mapping yet: not smaps");
	if (!parse_entry(line, &s->vmas.v[s->vmas.n - 1], has_rss))
		return err_new(ERR_FORMAT, "this is no figure of a mapping");
	return NULL;
}

struct err *smaps_parse(struct smaps *s, const char *text, size_t n)
{
	struct text left = {text, text + n}, line;
	bool has_rss = false, whole;

	for (unsigned long number = 1; text_line(&left, &line, &whole); number++) {
		if (!whole)
			return err_new(ERR_FORMAT, "line %lu: cut off", number);
		TRY(err_wrap(parse_line(s, line, &has_rss), "line %lu", number));
	}
	if (!has_rss)
		return err_new(ERR_FORMAT, "the last mapping has no Rss: not smaps, or cut off");
	return NULL;
}

struct err *smaps_read(struct smaps *s, const char *path)
{
	struct os_file f = {0};
	struct err *err;

	TRY(os_file_open(path, &f));
	err = smaps_parse(s, (const char *)f.data, f.size);
	os_file_close(&f);
	return err_wrap(err, "%s", path);
}

void smaps_fini(struct smaps *s)
{
	array_free(&s->vmas);
	arena_fini(&s->arena);
}

const struct smaps_vma *smaps_find(const struct smaps *s, va_t va)
{
	size_t i = array_first(&s->vmas, e->hi > va);

	return i < s->vmas.n && s->vmas.v[i].lo <= va ? &s->vmas.v[i] : NULL;
}

static bool is_named(const struct smaps *s, va_t va, const char *name)
{
	const struct smaps_vma *v = smaps_find(s, va);

	return v && !strcmp(v->path, name);
}

/* Whether the mapping at the entry point is of the same file, if both name it. */
static bool same_executable(const struct smaps *s, const struct image *im)
{
	const struct vma *ours = image_vma(im, im->auxv.entry);
	const struct smaps_vma *v = smaps_find(s, im->auxv.entry);
	const char *path, *rest;

	if (!ours || ours->file < 0 || im->files.v[ours->file].unnamed)
		return true;
	path = im->files.v[ours->file].path;
	if (!v || strncmp(v->path, path, strlen(path)) != 0)
		return false;
	rest = v->path + strlen(path);
	return !*rest || !strcmp(rest, " (deleted)");
}

struct err *smaps_check(const struct smaps *s, const struct image *im)
{
	const struct auxv *a = &im->auxv;

	if (!a->vdso || !a->random)
		return err_new(ERR_USAGE, "the core does not tell whether these mappings are its "
					  "process's");
	if (!is_named(s, a->vdso, "[vdso]") || !is_named(s, a->random, "[stack]") ||
	    !same_executable(s, im))
		return err_new(ERR_USAGE, "the mappings of another process");
	return NULL;
}

u64 smaps_rss(const struct smaps *s)
{
	u64 sum = 0;

	for (size_t i = 0; i < s->vmas.n; i++)
		sum += s->vmas.v[i].rss;
	return sum;
}
