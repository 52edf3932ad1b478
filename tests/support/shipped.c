#include "support/shipped.h"

#include "base/mem.h"
#include "cli/result.h"
#include "gort/rtget.h"

#include <unistd.h>

static void must(struct err *err)
{
	if (!err)
		return;
	fprintf(stderr, "the shipped core cannot be read: %s\n", err->msg);
	exit(97);
}

static void add(struct shipped *s, enum shipped_pool pool, va_t lo, u64 bytes)
{
	va_t end = MIN(va_plus(lo, bytes), image_dumped_end(&s->base.image, lo));
	struct range r = {align_up(lo, 8), align_down(end, 8)};

	if (r.lo >= r.hi)
		return;
	must(array_push(&s->pools[pool].v, r));
	s->pools[pool].count += (r.hi - r.lo) / 8;
}

/* Where the fields of a structure lie that is a variable of its own. */
static void add_fields(struct shipped *s, const char *root, va_t base)
{
	const struct rt *rt = &s->base.gort.rt;

	for (int i = 0; i < RT_FIELD_COUNT; i++) {
		enum rt_field f = (enum rt_field)i;

		if (!strcmp(layout_field_root(f), root) && rt_has(rt, f) &&
		    !strchr(layout_field_path(f), '*'))
			add(s, POOL_GLOBALS, rt_addr(rt, base, f), MIN(rt_size(rt, f), 96));
	}
}

static void add_globals(struct shipped *s)
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
	const struct rt *rt = &s->base.gort.rt;

	for (int g = 0; g < RT_GLOBAL_COUNT; g++)
		if (rt->globals[g])
			add(s, POOL_GLOBALS, align_down(rt->globals[g], 8), 24);
	for (size_t i = 0; i < COUNT_OF(roots); i++)
		if (rt->globals[roots[i].global])
			add_fields(s, roots[i].root, rt->globals[roots[i].global]);
}

static void add_objects(struct shipped *s)
{
	const struct gort *gort = &s->base.gort;
	const struct rt *rt = &gort->rt;

	for (size_t i = 0; i < gort->spans.records.n; i++)
		add(s, POOL_SPANS, gort->spans.records.v[i].lo,
		    gort->spans.records.v[i].hi - gort->spans.records.v[i].lo);
	for (size_t i = 0; i < gort->gs.v.n; i++)
		add(s, POOL_OBJECTS, gort->gs.v.v[i].g, rt_size(rt, RT_G));
	for (size_t i = 0; i < gort->ms.v.n; i++) {
		va_t m = gort->ms.v.v[i].m;

		add(s, POOL_OBJECTS, m, 1024);
		add(s, POOL_OBJECTS, shipped_read(s, rt_addr(rt, m, RT_M_G0)), rt_size(rt, RT_G));
		add(s, POOL_OBJECTS, shipped_read(s, rt_addr(rt, m, RT_M_GSIGNAL)),
		    rt_size(rt, RT_G));
	}
	for (size_t i = 0; i < gort->procs.v.n; i++) {
		const struct proc *p = &gort->procs.v.v[i];

		add(s, POOL_OBJECTS, p->p, 256);
		add(s, POOL_OBJECTS, rt_addr(rt, p->p, RT_P_PCACHE_BASE), 24);
		add(s, POOL_OBJECTS, p->mcache, rt_size(rt, RT_MCACHE));
	}
	for (size_t i = 0; i < gort->modules.v.n; i++)
		add(s, POOL_OBJECTS, gort->modules.v.v[i].addr, 600);
	for (size_t i = 0; i < gort->buckets.memory.n; i++)
		add(s, POOL_OBJECTS, gort->buckets.memory.v[i].lo,
		    gort->buckets.memory.v[i].hi - gort->buckets.memory.v[i].lo);
}

static void add_slice(struct shipped *s, enum shipped_pool pool, va_t header, u64 element)
{
	struct go_slice slice;

	must(rt_slice(&s->base.gort.rt, header, GO_MAX_ADDR, &slice));
	add(s, pool, slice.ptr, slice.len * element);
}

static void add_tables(struct shipped *s)
{
	const struct gort *gort = &s->base.gort;
	const struct rt *rt = &gort->rt;
	va_t mheap = rt->globals[RT_G_MHEAP];

	/* The small ones would be lost among the large. */
	add_slice(s, POOL_GLOBALS, rt_addr(rt, mheap, RT_MHEAP_IN_USE_RANGES),
		  sizeof(struct range));
	add_slice(s, POOL_GLOBALS, rt_addr(rt, mheap, RT_MHEAP_ARENA_LIST), sizeof(u64));
	add_slice(s, POOL_GLOBALS, rt->globals[RT_G_ALLP], sizeof(va_t));
	add_slice(s, POOL_OBJECTS, rt->globals[RT_G_ALLGS], sizeof(va_t));
	add_slice(s, POOL_TABLES, rt_addr(rt, mheap, RT_MHEAP_ALLSPANS), sizeof(va_t));
	for (size_t i = 0; i < gort->arenas.v.n; i++)
		add(s, POOL_TABLES, gort->arenas.v.v[i].meta, rt_size(rt, RT_HEAP_ARENA));
	for (size_t i = 0; i < gort->pagealloc.in_use.n; i++) {
		u64 chunk = (gort->pagealloc.in_use.v[i].lo - rt->dialect.arena_base_offset) /
			    GO_CHUNK_BYTES;
		va_t table;

		if (image_u64(rt->im, rt_addr(rt, mheap, RT_MHEAP_CHUNKS) + chunk / 8192 * 8,
			      &table))
			add(s, POOL_TABLES, table + chunk % 8192 * rt_size(rt, RT_PALLOC_DATA),
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
static void add_any(struct shipped *s)
{
	int fd = s->file.fd;

	for (size_t i = 0; i < s->base.image.segs.n; i++) {
		const struct segment *seg = &s->base.image.segs.v[i];
		off_t data = (off_t)seg->off, end = data + (off_t)seg->file_bytes;

		if (!(seg->flags & PF_W) || in_heap(&s->base.gort, seg->lo))
			continue;
		while ((data = lseek(fd, data, SEEK_DATA)) >= 0 && data < end) {
			off_t hole = MIN(lseek(fd, data, SEEK_HOLE), end);

			add(s, POOL_ANY, seg->lo + ((u64)data - seg->off), (u64)(hole - data));
			data = hole;
		}
	}
}

void shipped_open(struct shipped *s, const char *core, const char *exe)
{
	const char *argv[] = {"spanscope", "ledger", "--exe", exe, NULL, NULL};
	struct opts o;

	*s = (struct shipped){.charged = 0};
	memfile_copy(&s->file, core);
	argv[4] = s->file.path;
	must(opts_parse(COUNT_OF(argv) - 1, (char **)argv, &o));
	must(session_open(&s->base, &o));
	if (!s->base.has_gort)
		must(err_new(ERR_MISSING, "no runtime"));
	add_globals(s);
	add_objects(s);
	add_tables(s);
	add_any(s);
	s->out = open_memstream(&s->text, &s->text_bytes);
	s->charged = mem_used();
}

void shipped_close(struct shipped *s)
{
	for (int i = 0; i < POOL_COUNT; i++)
		array_free(&s->pools[i].v);
	(void)fclose(s->out);
	free(s->text);
	session_close(&s->base);
	memfile_free(&s->file);
}

va_t shipped_word(const struct shipped *s, enum shipped_pool pool, u64 i)
{
	const struct range *r = s->pools[pool].v.v;

	for (i %= s->pools[pool].count; i >= (r->hi - r->lo) / 8; r++)
		i -= (r->hi - r->lo) / 8;
	return r->lo + i * 8;
}

u64 shipped_read(const struct shipped *s, va_t va)
{
	u64 word = 0;

	return image_u64(&s->base.image, va, &word) ? word : 0;
}

struct memfile_change shipped_poke(struct shipped *s, va_t va, u64 word)
{
	const struct segment *seg = image_segment(&s->base.image, va);

	return memfile_poke(&s->file, seg->off + (va - seg->lo), word);
}

/* Reads the runtime anew, as far as it can be read. */
static struct err *read_runtime(const struct shipped *s, struct session *now)
{
	struct go_version v;
	struct err *err = version_find(&now->image, &now->binary, &v);

	if (!err)
		err = gort_open_layout(&now->gort, &now->image, &v, s->base.gort.rt.globals,
				       &now->diags);
	now->has_gort = !err;
	now->gort.rt.bin = &now->binary; /* for the names of functions */
	if (!err || err->code == ERR_LIMIT || err->code == ERR_BUG)
		return err;
	diag_err(&now->diags, DIAG_RUNTIME, err);
	gort_close(&now->gort);
	return NULL;
}

static struct err *write_report(struct shipped *s, struct session *now, const struct opts *o,
				struct doc *doc)
{
	struct snapshot snapshot = session_snapshot(now);
	struct samples samples = {.type_count = 0};
	struct report r = {.doc = doc,
			   .samples = &samples,
			   .snapshot = &snapshot,
			   .diags = &now->diags,
			   .options = o->report};
	struct err *err = o->command->run(&r);

	report_diagnostics(doc, &snapshot);
	if (!err)
		err = doc_take_error(doc);
	if (!err) {
		rewind(s->out);
		err = result_render(doc, &samples, o, s->out);
	}
	samples_fini(&samples);
	return err;
}

struct err *shipped_analyse(struct shipped *s, const struct opts *o, u64 budget,
			    struct shipped_result *ret)
{
	/* The image does not change once it is open, and the residency hardly. */
	struct session now = {.image = s->base.image, .binary = s->base.binary};
	struct doc doc = {0};
	struct err *err;

	mem_set_limit(s->charged + budget);
	err = read_runtime(s, &now);
	if (!err)
		err = session_build_ledger(&now);
	if (!err)
		err = write_report(s, &now, o, &doc);
	ret->has_heap = now.has_gort;
	ret->written = ftell(s->out);
	doc_fini(&doc);
	ledger_fini(&now.ledger);
	gort_close(&now.gort);
	diags_fini(&now.diags);
	mem_set_limit(0);
	ret->leaked = (i64)(mem_used() - s->charged);
	return err;
}
