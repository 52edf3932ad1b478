/* Single words of the runtime's memory, changed one at a time: the core is opened once, and only
 * what stands upon the changed word is read again, by the built-in layout instead of DWARF. */
#include "torture/torture.h"

#include "base/mem.h"
#include "cli/session.h"
#include "gort/rtget.h"
#include "out/render.h"

#include <unistd.h>

/* Nothing that is read of these cores needs more. */
#define BUDGET_BYTES ((u64)256 << 20)

enum pool_kind {
	POOL_GLOBALS, /* variables, and the fields that are read of them */
	POOL_SPANS,   /* mspans */
	POOL_OBJECTS, /* gs, ms, ps, mcaches, modules, profile buckets */
	POOL_TABLES,  /* heapArenas, allspans, address ranges, bitmaps of chunks */
	POOL_ANY,     /* whatever the process could write, outside the heap */
	POOL_COUNT,
};

/* Words of the core, by address. */
struct pool {
	ARRAY(struct range) v;
	u64 words;
};

struct flip {
	struct session base; /* of the untouched core */
	u64 charged;
	struct pool pools[POOL_COUNT];
	FILE *out;
	char *text;
	size_t text_bytes;
};

static void must(struct err *err)
{
	if (!err)
		return;
	fprintf(stderr, "torture: %s\n", err->msg);
	exit(97);
}

static void pool_add(struct flip *f, enum pool_kind kind, va_t lo, u64 bytes)
{
	va_t end = MIN(va_plus(lo, bytes), image_dumped_end(&f->base.image, lo));
	struct range r = {align_up(lo, 8), align_down(end, 8)};

	if (r.lo >= r.hi)
		return;
	must(array_push(&f->pools[kind].v, r));
	f->pools[kind].words += (r.hi - r.lo) / 8;
}

/* Where the fields of a structure lie that is a variable of its own. */
static void add_fields(struct flip *f, const char *root, va_t base)
{
	for (int i = 0; i < RT_FIELD_COUNT; i++) {
		enum rt_field field = (enum rt_field)i;

		if (!strcmp(layout_field_root(field), root) && rt_has(&f->base.gort.rt, field) &&
		    !strchr(layout_field_path(field), '*'))
			pool_add(f, POOL_GLOBALS, rt_addr(&f->base.gort.rt, base, field),
				 MIN(rt_size(&f->base.gort.rt, field), 96));
	}
}

static void add_globals(struct flip *f)
{
	static const struct {
		const char *root;
		enum rt_global global;
	} roots[] = {
		{"runtime.mheap", RT_G_MHEAP},
		{"runtime.mstats", RT_G_MEMSTATS},
		{"runtime.gcControllerState", RT_G_GC_CONTROLLER},
		{"runtime.work", RT_G_WORK},
		{"runtime.stackLarge", RT_G_STACK_LARGE},
		{"runtime.schedt", RT_G_SCHED},
		{"runtime.gcBitsArenas", RT_G_GCBITS_ARENAS},
		{"runtime.trace", RT_G_TRACE},
	};
	const struct rt *rt = &f->base.gort.rt;

	for (int g = 0; g < RT_GLOBAL_COUNT; g++)
		if (rt->globals[g])
			pool_add(f, POOL_GLOBALS, align_down(rt->globals[g], 8), 24);
	for (size_t i = 0; i < COUNT_OF(roots); i++)
		if (rt->globals[roots[i].global])
			add_fields(f, roots[i].root, rt->globals[roots[i].global]);
}

static void add_objects(struct flip *f)
{
	const struct gort *gort = &f->base.gort;
	const struct rt *rt = &gort->rt;

	for (size_t i = 0; i < gort->gs.v.n; i++)
		pool_add(f, POOL_OBJECTS, gort->gs.v.v[i].g, rt_size(rt, RT_G));
	for (size_t i = 0; i < gort->ms.v.n; i++)
		pool_add(f, POOL_OBJECTS, gort->ms.v.v[i].m, 1024);
	for (size_t i = 0; i < gort->procs.v.n; i++) {
		pool_add(f, POOL_OBJECTS, gort->procs.v.v[i].p, 256);
		pool_add(f, POOL_OBJECTS, rt_addr(rt, gort->procs.v.v[i].p, RT_P_PCACHE_BASE), 24);
		pool_add(f, POOL_OBJECTS, gort->procs.v.v[i].mcache, rt_size(rt, RT_MCACHE));
	}
	for (size_t i = 0; i < gort->modules.v.n; i++)
		pool_add(f, POOL_OBJECTS, gort->modules.v.v[i].addr, 600);
	for (size_t i = 0; i < gort->buckets.memory.n; i++)
		pool_add(f, POOL_OBJECTS, gort->buckets.memory.v[i].lo,
			 gort->buckets.memory.v[i].hi - gort->buckets.memory.v[i].lo);
}

static void add_slice(struct flip *f, va_t header, u64 element)
{
	struct go_slice s;

	must(rt_slice(&f->base.gort.rt, header, GO_MAX_ADDR, &s));
	pool_add(f, POOL_TABLES, s.ptr, s.len * element);
}

static void add_tables(struct flip *f)
{
	const struct gort *gort = &f->base.gort;
	const struct rt *rt = &gort->rt;
	va_t mheap = rt->globals[RT_G_MHEAP];

	add_slice(f, rt_addr(rt, mheap, RT_MHEAP_ALLSPANS), sizeof(va_t));
	add_slice(f, rt_addr(rt, mheap, RT_MHEAP_IN_USE_RANGES), sizeof(struct range));
	add_slice(f, rt_addr(rt, mheap, RT_MHEAP_ARENA_LIST), sizeof(u64));
	add_slice(f, rt->globals[RT_G_ALLP], sizeof(va_t));
	add_slice(f, rt->globals[RT_G_ALLGS], sizeof(va_t));
	for (size_t i = 0; i < gort->arenas.v.n; i++)
		pool_add(f, POOL_TABLES, gort->arenas.v.v[i].meta, rt_size(rt, RT_HEAP_ARENA));
	for (size_t i = 0; i < gort->pagealloc.in_use.n; i++) {
		u64 chunk = (gort->pagealloc.in_use.v[i].lo - rt->dialect.arena_base_offset) /
			    GO_CHUNK_BYTES;
		va_t table;

		if (image_u64(rt->im, rt_addr(rt, mheap, RT_MHEAP_CHUNKS) + chunk / 8192 * 8,
			      &table))
			pool_add(f, POOL_TABLES, table + chunk % 8192 * rt_size(rt, RT_PALLOC_DATA),
				 2048);
	}
}

static bool in_heap(const struct gort *gort, va_t va)
{
	for (size_t i = 0; i < gort->arenas.v.n; i++)
		if (va - gort->arenas.v.v[i].base < GO_ARENA_BYTES)
			return true;
	return false;
}

/* Dumped pages of writable memory that are no holes and not of the heap. */
static void add_any(struct flip *f, const struct memfile *file)
{
	for (size_t i = 0; i < f->base.image.segs.n; i++) {
		const struct segment *s = &f->base.image.segs.v[i];
		off_t data = (off_t)s->off, end = data + (off_t)s->file_bytes;

		if (!(s->flags & PF_W) || in_heap(&f->base.gort, s->lo))
			continue;
		while ((data = lseek(file->fd, data, SEEK_DATA)) >= 0 && data < end) {
			off_t hole = MIN(lseek(file->fd, data, SEEK_HOLE), end);

			pool_add(f, POOL_ANY, s->lo + ((u64)data - s->off), (u64)(hole - data));
			data = hole;
		}
	}
}

static void begin_flip(struct bench *b)
{
	struct flip *f = xcalloc(1, sizeof(*f));
	const char *argv[] = {"spanscope", "ledger", "--exe", b->exe, b->file.path, NULL};
	struct opts o;

	must(opts_parse(COUNT_OF(argv) - 1, (char **)argv, &o));
	must(session_open(&f->base, &o));
	if (!f->base.has_gort)
		must(err_new(ERR_MISSING, "the untouched core has no runtime"));
	for (size_t i = 0; i < f->base.gort.spans.records.n; i++)
		pool_add(f, POOL_SPANS, f->base.gort.spans.records.v[i].lo,
			 f->base.gort.spans.records.v[i].hi - f->base.gort.spans.records.v[i].lo);
	add_globals(f);
	add_objects(f);
	add_tables(f);
	add_any(f, &b->file);
	f->out = open_memstream(&f->text, &f->text_bytes);
	f->charged = mem_used();
	b->own = f;
}

static void end_flip(struct bench *b)
{
	struct flip *f = b->own;

	for (int i = 0; i < POOL_COUNT; i++)
		array_free(&f->pools[i].v);
	fclose(f->out);
	free(f->text);
	session_close(&f->base);
	free(f);
}

static va_t pick_word(const struct flip *f, struct trial *t)
{
	static const u8 kinds[] = {POOL_GLOBALS, POOL_GLOBALS, POOL_SPANS, POOL_SPANS,
				   POOL_OBJECTS, POOL_TABLES,  POOL_ANY};
	const struct pool *p = &f->pools[kinds[trial_below(t, COUNT_OF(kinds))]];
	u64 word = trial_below(t, p->words);
	const struct range *r = p->v.v;

	for (; word >= (r->hi - r->lo) / 8; r++)
		word -= (r->hi - r->lo) / 8;
	return r->lo + word * 8;
}

/* A damaged word: a number, or the content of another word, which makes lists into circles. */
static u64 new_word(const struct flip *f, struct trial *t, u64 old)
{
	u64 word;

	if (trial_below(t, 4))
		return trial_word(t, old);
	if (!trial_below(t, 3))
		return pick_word(f, t);
	return image_u64(&f->base.image, pick_word(f, t), &word) ? word : 0;
}

static struct err *write_report(struct flip *f, struct session *s, struct opts *o, struct report *r)
{
	const struct render_options options = {.exact_bytes = o->exact_bytes};
	struct snapshot snapshot = session_snapshot(s);
	struct err *err;

	r->snapshot = &snapshot;
	err = o->command->run(r);
	if (err)
		return err;
	report_diagnostics(r->doc, &snapshot);
	rewind(f->out);
	switch (o->format) {
	case FORMAT_TEXT:
		return render_text(r->doc, &options, f->out);
	case FORMAT_JSON:
		return render_json(r->doc, f->out);
	case FORMAT_CSV:
		break;
	}
	return render_csv(r->doc, f->out);
}

/* Reads the runtime anew, as far as it can be read. */
static struct err *read_runtime(const struct flip *f, struct session *s)
{
	struct go_version v;
	struct err *err = version_find(&s->image, &s->binary, &v);

	if (!err)
		err = gort_open_layout(&s->gort, &s->image, &v, f->base.gort.rt.globals, &s->diags);
	s->has_gort = !err;
	if (!err || err->code == ERR_LIMIT || err->code == ERR_BUG)
		return err;
	diag_err(&s->diags, DIAG_RUNTIME, err);
	gort_close(&s->gort);
	return NULL;
}

static void analyse(struct flip *f, struct trial *t, struct opts *o)
{
	/* The image does not change once it is open, and the residency hardly. */
	struct session s = {.image = f->base.image, .binary = f->base.binary};
	struct doc doc = {0};
	struct report r = {.doc = &doc, .diags = &s.diags, .options = o->report};
	struct err *err;

	mem_set_limit(f->charged + BUDGET_BYTES);
	err = read_runtime(f, &s);
	if (!err)
		err = session_build_ledger(&s);
	if (!err)
		err = write_report(f, &s, o, &r);
	if (err)
		trial_fail(t, "an error (%d) instead of a result: %s", (int)err->code, err->msg);
	else if (ftell(f->out) <= 0 && (s.has_gort || o->format != FORMAT_CSV))
		trial_fail(t, "nothing was written");
	err_free(err);
	doc_fini(&doc);
	ledger_fini(&s.ledger);
	gort_close(&s.gort);
	diags_fini(&s.diags);
	mem_set_limit(0);
	if (mem_used() != f->charged)
		trial_fail(t, "%llu bytes are charged, not %llu", (unsigned long long)mem_used(),
			   (unsigned long long)f->charged);
}

/* Changes a word that the trial's numbers choose. */
static struct memfile_change change_word(struct bench *b, struct trial *t)
{
	struct flip *f = b->own;
	va_t va = pick_word(f, t);
	const struct segment *seg = image_segment(&f->base.image, va);
	u64 old, word;

	must(image_u64(&f->base.image, va, &old) ? NULL : err_fault());
	word = new_word(f, t, old);
	trial_what(t, "word at 0x%llx: 0x%llx -> 0x%llx", (unsigned long long)va,
		   (unsigned long long)old, (unsigned long long)word);
	return memfile_poke(&b->file, seg->off + (va - seg->lo), word);
}

static void run_flip(struct bench *b, struct trial *t)
{
	const struct variant *v = &variants[t->number % variant_count];
	struct memfile_change change = change_word(b, t);
	const char *argv[8] = {"spanscope"};
	char text[STDERR_TEXT];
	struct opts o;
	int argc = 1;

	for (size_t i = 0; i < COUNT_OF(v->words) && v->words[i]; i++) {
		trial_what(t, "%s%s", i ? " " : ", spanscope ", v->words[i]);
		argv[argc++] = v->words[i];
	}
	argv[argc++] = b->file.path;
	must(opts_parse(argc, (char **)argv, &o));
	analyse(b->own, t, &o);
	memfile_undo(&b->file, &change);
	take_stderr(b, text, sizeof(text));
	if (*text)
		trial_fail(t, "a line on stderr: %.300s", text);
}

const struct part part_flip = {.name = "flip",
			       .full = 50000,
			       .sample = 1500,
			       .begin = begin_flip,
			       .end = end_flip,
			       .run = run_flip};

/* The same with all that the program does, DWARF included. */
static void run_whole(struct bench *b, struct trial *t)
{
	struct memfile_change change = change_word(b, t);
	const char *more[] = {"--exe", b->exe, NULL};

	run_program(b, t, &variants[t->number % variant_count], more);
	memfile_undo(&b->file, &change);
}

const struct part part_whole = {.name = "whole",
				.full = 2000,
				.sample = 40,
				.begin = begin_flip,
				.end = end_flip,
				.run = run_whole};
