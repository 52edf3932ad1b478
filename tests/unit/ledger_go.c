/* The ledger of Go processes: each class has the bytes that were planted for it, in memory and not,
 * whatever release laid them out. */
#include "support/mkgo.h"
#include "support/test.h"
#include "support/tmp.h"

/* Planted bytes, by class: in memory, and not. */
struct planted {
	u64 resident[CAT_COUNT], absent[CAT_COUNT];
};

static void open_ledger(struct mkgo_core *c, struct ledger *l, struct mkgo *go)
{
	mkgo_open(c, go);
	assert_true(c->core.im.res.first_hand);
	mkgo_ledger(c, l);
	mkgo_assert_clean(c);
}

static void close_ledger(struct mkgo_core *c, struct ledger *l)
{
	ledger_fini(l);
	mkgo_close(c);
}

static void assert_class(const struct mkgo_core *c, const struct ledger *l, enum category cat,
			 u64 resident, u64 absent)
{
	struct columns sum = ledger_columns(l, cat);

	if (sum.state[STATE_RESIDENT] == resident && sum.state[STATE_ABSENT] == absent &&
	    sum.virtual == resident + absent)
		return;
	fail_msg("%s: %s has %llu resident, %llu absent, not %llu, %llu", c->go->rt.version.text,
		 category_id(cat), (unsigned long long)sum.state[STATE_RESIDENT],
		 (unsigned long long)sum.state[STATE_ABSENT], (unsigned long long)resident,
		 (unsigned long long)absent);
}

static bool is_resident(struct mkgo *go, va_t va)
{
	for (size_t i = 0; i < go->chunks.n; i++) {
		const struct mkgo_chunk *chunk = &go->chunks.v[i];

		if (va >= chunk->base && va - chunk->base < GO_CHUNK_BYTES)
			return chunk->letters[(va - chunk->base) / MK_PAGE] != '.';
	}
	return false;
}

static void plant(struct planted *p, struct mkgo *go, enum category cat, va_t va, u64 bytes)
{
	for (u64 i = 0; i < bytes; i++)
		*(is_resident(go, va + i) ? &p->resident[cat] : &p->absent[cat]) += 1;
}

static bool bit(const u64 *words, u64 i)
{
	return words[i / 64] >> i % 64 & 1;
}

static enum category slot_class(const struct mkgo *go, const struct mkgo_planted *s, unsigned slot)
{
	bool survived = bit(s->how.alloc, slot), marked = bit(s->how.marks, slot);

	if (slot >= s->how.freeindex && !survived)
		return CAT_HEAP_FREE;
	if (go->gcphase)
		return marked ? CAT_HEAP_LIVE : CAT_HEAP_UNDECIDED;
	switch (s->how.sweep) {
	case 0:
	case 3:
		return survived ? CAT_HEAP_LIVE : CAT_HEAP_FRESH;
	case -2:
	case 1:
		return marked ? CAT_HEAP_LIVE : CAT_HEAP_DEAD;
	default:
		return CAT_HEAP_UNDECIDED;
	}
}

/* Each byte of each span, and each page that is in none. */
static struct planted expect_heap(struct mkgo *go)
{
	struct planted p = {.resident = {0}};

	for (size_t i = 0; i < go->spans.n; i++) {
		const struct mkgo_planted *s = &go->spans.v[i];
		u64 bytes = s->npages * GO_PAGE_BYTES, slots = s->nelems * s->elemsize;

		if (s->state != SPAN_IN_USE) {
			plant(&p, go, s->workbuf ? CAT_META_GCWORK : CAT_STACK_CACHED, s->start,
			      bytes);
			continue;
		}
		for (unsigned slot = 0; slot < s->nelems; slot++)
			plant(&p, go, slot_class(go, s, slot), s->start + slot * s->elemsize,
			      s->elemsize);
		plant(&p, go, CAT_HEAP_TAIL, s->start + slots, bytes - slots);
	}
	for (size_t i = 0; i < go->chunks.n; i++)
		for (u64 page = 0; page < GO_CHUNK_PAGES; page++) {
			va_t va = go->chunks.v[i].base + page * GO_PAGE_BYTES;
			u8 use = go->chunks.v[i].use[page];

			if (use != MKGO_SPAN)
				plant(&p, go,
				      use == MKGO_RETAINED || use == MKGO_PCACHE_RETAINED
					      ? CAT_IDLE_RETAINED
					      : CAT_IDLE_RELEASED,
				      va, GO_PAGE_BYTES);
		}
	p.absent[CAT_IDLE_RELEASED] += mkgo_released_rest(go);
	p.absent[CAT_ARENA_UNUSED] = go->arenas.n * GO_ARENA_BYTES - go->chunks.n * GO_CHUNK_BYTES -
				     mkgo_released_rest(go);
	return p;
}

/* Moves a part of a stack span to another class. */
static void move(struct planted *p, struct mkgo *go, va_t lo, va_t hi, enum category to)
{
	for (va_t va = lo; va < hi; va++) {
		u64 *sums = is_resident(go, va) ? p->resident : p->absent;

		sums[CAT_STACK_CACHED]--;
		sums[to]++;
	}
}

static const enum category heap_classes[] = {
	CAT_HEAP_LIVE,    CAT_HEAP_FRESH,    CAT_HEAP_DEAD,     CAT_HEAP_UNDECIDED, CAT_HEAP_FREE,
	CAT_HEAP_TAIL,    CAT_IDLE_RETAINED, CAT_IDLE_RELEASED, CAT_ARENA_UNUSED,   CAT_STACK_USED,
	CAT_STACK_UNUSED, CAT_STACK_SYSTEM,  CAT_STACK_CACHED,  CAT_META_GCWORK,
};

static void check_heap(struct mkgo *go, const struct planted *p)
{
	struct mkgo_core c;
	struct ledger l;

	open_ledger(&c, &l, go);
	for (size_t i = 0; i < COUNT_OF(heap_classes); i++)
		assert_class(&c, &l, heap_classes[i], p->resident[heap_classes[i]],
			     p->absent[heap_classes[i]]);
	close_ledger(&c, &l);
}

/* One span, by hand. Slots of 1408 bytes, pages of 4096:
 *
 *	page      0 resident        1 absent          2 resident        3 absent
 *	slot      0    1    2 ------- 3    4    5 ------- 6    7    8 ------- 9   10   (tail)
 *	class     fresh     live                live                live
 */
static void test_by_hand(void **state)
{
	(void)state;
	if (!tmp_has_holes())
		skip();
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++) {
		struct mkgo *go = mkgo_new(r->minor, r->patch);
		struct range stack;
		struct mkgo_core c;
		struct ledger l;

		mkgo_span(go, (struct mkgo_span){
				      .spanclass = 2 * 35, .freeindex = 3, .alloc = {0x124}});
		mkgo_pages(go, MKGO_HEAP, "#.0.");
		stack = mkgo_stack(go, 2048);
		mkgo_goroutine(go, (struct mkgo_g){.status = G_WAITING,
						   .stack = stack,
						   .sched_sp = stack.hi - 600});
		mkgo_pages(go, stack.lo, "#.......");
		mkgo_idle(go, MKGO_HEAP + 0x200000, 3, false);
		mkgo_pages(go, MKGO_HEAP + 0x200000, "#..#..##.");
		open_ledger(&c, &l, go);
		assert_class(&c, &l, CAT_HEAP_LIVE, 1280 + 256 + 1024, 128 + 1152 + 384);
		assert_class(&c, &l, CAT_HEAP_FRESH, 2816, 0);
		assert_class(&c, &l, CAT_HEAP_FREE, 2816, 5632);
		assert_class(&c, &l, CAT_HEAP_TAIL, 0, 896);
		assert_class(&c, &l, CAT_STACK_USED, 600, 0);
		assert_class(&c, &l, CAT_STACK_UNUSED, 1448, 0);
		assert_class(&c, &l, CAT_STACK_CACHED, 2048, 28672);
		assert_class(&c, &l, CAT_IDLE_RETAINED, 8192, 16384);
		assert_class(&c, &l, CAT_IDLE_RELEASED, 8192,
			     4194304 - 16384 - 32768 - 24576 - 8192 + mkgo_released_rest(go));
		assert_class(&c, &l, CAT_ARENA_UNUSED, 0, 60 * 1048576 - mkgo_released_rest(go));
		close_ledger(&c, &l);
	}
}

/* Spans of each state and of many sizes, each second page and each third absent. */
static void plant_spans(struct mkgo *go, u32 phase)
{
	static const unsigned classes[] = {1, 2, 5, 8, 24, 26, 27, 34, 35, 41, 46, 56, 60, 67};
	static const int sweeps[] = {0, -2, 3, 1, -1};
	u64 seed = 0x2545f4914f6cdd1d;
	size_t n = 0;

	mkgo_gcphase(go, phase);
	for (size_t i = 0; i < COUNT_OF(classes); i++)
		for (size_t k = 0; k < COUNT_OF(sweeps); k++) {
			struct mkgo_span s = {.spanclass = (u8)(2 * classes[i] + (i + k) % 2),
					      .sweep = sweeps[k]};
			u32 bytes = mkgo_class_bytes(classes[i]);

			for (size_t w = 0; w < SLOT_WORDS; w++) {
				s.alloc[w] = test_random(&seed);
				s.marks[w] = test_random(&seed);
			}
			s.inline_marks = mkgo_has(go, RT_HEAP_ARENA_INLINE_MARKS) && bytes >= 16 &&
					 bytes <= 512;
			s.freeindex = (u16)(mkgo_class_pages(classes[i]) * 8000 / bytes * k / 5);
			mkgo_span(go, s);
		}
	for (u32 npages = 1; npages < 30; npages += 7)
		mkgo_span(go, (struct mkgo_span){.npages = npages, .freeindex = 1, .alloc = {1}});
	for (size_t i = 0; i < go->spans.n; i++) {
		const struct mkgo_planted *s = &go->spans.v[i];

		for (u64 page = 0; page < s->npages * (u64)2; page++, n++)
			/* Marks in a page keep it there. */
			if ((n % 2 || n % 3 == 0) && !(s->how.inline_marks && page == 1))
				mkgo_pages(go, s->start + page * MK_PAGE, ".");
	}
}

static void test_slots(void **state)
{
	(void)state;
	if (!tmp_has_holes())
		skip();
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++)
		for (u32 phase = 0; phase < 2; phase++) {
			struct mkgo *go = mkgo_new(r->minor, r->patch);
			struct planted p;

			plant_spans(go, phase);
			p = expect_heap(go);
			assert_true(p.resident[CAT_HEAP_LIVE] > 0 && p.absent[CAT_HEAP_LIVE] > 0);
			check_heap(go, &p);
		}
}

/* Free pages of all kinds; released ones that the kernel has not taken yet. */
static void test_pages(void **state)
{
	(void)state;
	if (!tmp_has_holes())
		skip();
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++) {
		struct mkgo *go = mkgo_new(r->minor, r->patch);
		struct planted p;

		mkgo_idle(go, MKGO_HEAP + 0x3fc000, 5, false);
		mkgo_pages(go, MKGO_HEAP + 0x3fc000, "#..#..#.#");
		mkgo_pcache(go, go->p0, MKGO_HEAP + 0x80000, 0xff0f, 0x3c05);
		mkgo_pages(go, MKGO_HEAP + 0x80000, "#.#.#.#..................##");
		mkgo_padding(go, MKGO_HEAP, 10);
		mkgo_pages(go, MKGO_HEAP + 0x2000, "##.");
		mkgo_pages(go, MKGO_HEAP + 0x100000, "#.#");
		mkgo_span(go, (struct mkgo_span){.start = MKGO_HEAP + GO_ARENA_BYTES * 700,
						 .npages = 2,
						 .freeindex = 1});
		p = expect_heap(go);
		check_heap(go, &p);
	}
}

/* Who has which part of which stack. */
static void test_stacks(void **state)
{
	(void)state;
	if (!tmp_has_holes())
		skip();
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++) {
		struct mkgo *go = mkgo_new(r->minor, r->patch);
		struct range waits = mkgo_stack(go, 8192), runs = mkgo_stack(go, 65536);
		struct range dead = mkgo_stack(go, 2048), lost = mkgo_stack(go, 4096);
		struct range g0 = mkgo_stack(go, 16384), gsignal = mkgo_stack(go, 32768);
		struct range gcrash = mkgo_stack(go, 16384);
		struct planted p;
		va_t g;

		mkgo_goroutine(go, (struct mkgo_g){.status = G_WAITING,
						   .stack = waits,
						   .sched_sp = waits.lo + 5000});
		g = mkgo_goroutine(go, (struct mkgo_g){.status = G_RUNNING, .stack = runs});
		mkgo_goroutine(go, (struct mkgo_g){.status = G_DEAD, .stack = dead});
		/* Nobody knows where its stack pointer is. */
		mkgo_goroutine(go, (struct mkgo_g){.status = G_RUNNING, .stack = lost});
		/* On a stack of C, as a callback may be. */
		mkgo_goroutine(go, (struct mkgo_g){.status = G_WAITING,
						   .stack = {MKGO_OS_STACK + 0x1000,
							     MKGO_OS_STACK + 0x2000}});
		mkgo_m(go, (struct mkgo_m){.tid = 5, .curg = g, .g0 = g0, .gsignal = gsignal});
		mkgo_cached_stack(go, go->p0, 4096);
		mkgo_free_stack(go, 65536);
		mkgo_workbuf(go, true);
		mkcore_thread(go->mk, (struct mkcore_thread){.tid = 5, .rsp = runs.lo + 60000});
		mkgo_pages(go, waits.lo, "#.");
		mkgo_pages(go, runs.lo, "..............#.");
		mkgo_pages(go, gsignal.lo, ".......#");
		p = expect_heap(go);
		move(&p, go, waits.lo, waits.lo + 5000, CAT_STACK_UNUSED);
		move(&p, go, waits.lo + 5000, waits.hi, CAT_STACK_USED);
		move(&p, go, runs.lo, runs.lo + 60000, CAT_STACK_UNUSED);
		move(&p, go, runs.lo + 60000, runs.hi, CAT_STACK_USED);
		move(&p, go, lost.lo, lost.hi, CAT_STACK_USED);
		move(&p, go, g0.lo, g0.hi, CAT_STACK_SYSTEM);
		move(&p, go, gsignal.lo, gsignal.hi, CAT_STACK_SYSTEM);
		if (mkgo_gcrash(go, gcrash))
			move(&p, go, gcrash.lo, gcrash.hi, CAT_STACK_SYSTEM);
		check_heap(go, &p);
	}
}

/* An M that serves a thread of C's has two signal stacks: C's, which no span is for, and its own,
 * which counts once whether or not it is back in use. */
static void test_signal_stacks(void **state)
{
	(void)state;
	if (!tmp_has_holes())
		skip();
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++) {
		struct mkgo *go = mkgo_new(r->minor, r->patch);
		struct range own = mkgo_stack(go, 32768), again = mkgo_stack(go, 32768);
		/* C's variables; Go's, which are known to be that; no memory at all. */
		const struct range c_data = {MKGO_DATA + 0x3000, MKGO_DATA + 0x4000};
		const struct range go_data = {MKGO_DATA + 0x1000, MKGO_DATA + 0x2000};
		const struct range nowhere = {0x1000, 0x9000};
		struct planted p;
		struct mkgo_core c;
		struct ledger l;

		mkgo_m(go, (struct mkgo_m){.tid = 5, .gsignal = c_data, .own_signal = own});
		/* Two threads cannot use one stack: the second has gone without a word. */
		mkgo_m(go, (struct mkgo_m){.tid = 6, .gsignal = c_data});
		mkgo_m(go, (struct mkgo_m){.tid = 7, .gsignal = again, .own_signal = again});
		mkgo_m(go, (struct mkgo_m){.tid = 8, .gsignal = nowhere});
		mkgo_m(go, (struct mkgo_m){.tid = 10, .gsignal = go_data});
		/* An M that waits to be freed has given its stack back already. */
		mkgo_m(go, (struct mkgo_m){.tid = 9, .own_signal = own, .freed = true});
		p = expect_heap(go);
		move(&p, go, own.lo, own.hi, CAT_STACK_SYSTEM);
		move(&p, go, again.lo, again.hi, CAT_STACK_SYSTEM);
		open_ledger(&c, &l, go);
		assert_class(&c, &l, CAT_STACK_SYSTEM, p.resident[CAT_STACK_SYSTEM], 0);
		assert_class(&c, &l, CAT_STACK_CACHED, 0, 0);
		assert_int_equal(ledger_columns(&l, CAT_THREAD_STACK).virtual,
				 MKGO_OS_STACK_BYTES + 0x1000);
		mkgo_assert_failed(&c, "");
		close_ledger(&c, &l);
	}
}

/* Bytes of mappings in [lo, lo + bytes). */
static u64 mapped(const struct image *im, va_t lo, u64 bytes)
{
	u64 sum = 0;

	for (size_t i = 0; i < im->vmas.n; i++)
		if (im->vmas.v[i].lo >= lo && im->vmas.v[i].hi <= lo + bytes)
			sum += im->vmas.v[i].hi - im->vmas.v[i].lo;
	return sum;
}

#define INDEX_ENTRIES ((u64)(1 << 14) + (1 << 17) + (1 << 20) + (1 << 23) + (1 << 26))

static void expect_tables(const struct mkgo_core *c, u64 expected[static CAT_COUNT])
{
	struct mkgo *go = c->go;
	const struct mstats *m = &go->expect;
	const struct slot *slots = go->rt.slots;
	u64 arenas = c->gort.arenas.v.n, bits = 0, chunks = 0;
	u64 arena = align_up(slots[RT_HEAP_ARENA].size, MK_PAGE);
	u64 index = !mkgo_has(go, RT_MHEAP_SCAV_CHUNKS)    ? 0
		    : slots[RT_MHEAP_SCAV_CHUNK].size == 1 ? (u64)1 << 23
							   : (u64)8 << 26;
	u64 indexes = mkgo_has(go, RT_MHEAP_SCAV_CHUNKS) ? 6 : 5; /* over the address space */
	u64 tables = 0, queues = mkgo_has(go, RT_WORK_SPAN_SPMCS) ? 2 : 0;

	if (mkgo_has(go, RT_HEAP_ARENA_BITMAP))
		bits += slots[RT_HEAP_ARENA_BITMAP].size;
	if (mkgo_has(go, RT_HEAP_ARENA_NO_MORE_PTRS))
		bits += slots[RT_HEAP_ARENA_NO_MORE_PTRS].size;
	for (va_t p = mkgo_peek_u64(go, go->rt.globals[RT_G_PERSISTENT_CHUNKS]); p;
	     p = mkgo_peek_u64(go, p))
		chunks++;
	for (va_t va = MKGO_HEAP; va < MKGO_HEAP + ((u64)4 << 35); va += (u64)1 << 35) {
		va_t table = mkgo_peek_u64(go, mkgo_chunk_entry(go, va));

		tables += table ? mapped(&c->core.im, table, 8192 * slots[RT_PALLOC_DATA].size) : 0;
	}
	expected[CAT_META_MSPAN] = m->mspan_sys;
	expected[CAT_META_MCACHE] = m->mcache_sys;
	/* Tables that are mapped by themselves have the rest of their last page. */
	expected[CAT_META_BUCKET] = m->buckhash_sys + -GO_BUCKHASH_BYTES % MK_PAGE;
	expected[CAT_META_GCWORK] = m->work_bufs + go->queue_bytes;
	expected[CAT_META_SPECIAL] = go->special_bytes;
	expected[CAT_META_TRACE] = go->trace_bytes;
	expected[CAT_META_ALLSPANS] = 65536;
	expected[CAT_META_GCBITS] = 4 * 65536 + arenas * bits;
	expected[CAT_META_HEAPARENA] = arenas * (arena - bits) +
				       mapped(&c->core.im, c->gort.arenas.l2, GO_ARENA_COUNT * 8);
	expected[CAT_META_PAGEALLOC] = indexes * MK_PAGE + tables;
	expected[CAT_META_RESERVED] = INDEX_ENTRIES * 8 + index - indexes * MK_PAGE;
	/* What is cut out of the chunks, and what is not. */
	expected[CAT_META_PERSISTENT] = chunks * GO_PERSISTENT_CHUNK_BYTES - m->mspan_sys -
					m->mcache_sys - (m->buckhash_sys - GO_BUCKHASH_BYTES) -
					go->special_bytes - queues * slots[RT_SPAN_SPMC].size;
	expected[CAT_BINARY_TEXT] = 0x4000;
	expected[CAT_BINARY_RODATA] = 0x2000;
	expected[CAT_BINARY_PCLNTAB] = 0x2000;
	expected[CAT_BINARY_DATA] = 0x4000;
	expected[CAT_BINARY_BSS] = MKGO_BSS_BYTES;
	expected[CAT_THREAD_STACK] = MKGO_OS_STACK_BYTES;
	/* The map that only proves something. */
	expected[CAT_UNATTRIBUTED] = 5 * MK_PAGE;
}

/* All classes, so that nothing is where it should not be. */
static void test_all_classes(void **state)
{
	(void)state;
	if (!tmp_has_holes())
		skip();
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++) {
		struct mkgo *go = mkgo_new(r->minor, r->patch);
		u64 expected[CAT_COUNT] = {0};
		struct mkgo_core c;
		struct ledger l;

		mkgo_sample(go);
		mkgo_span(go, (struct mkgo_span){.start = MKGO_HEAP + ((u64)1 << 35),
						 .npages = 1,
						 .freeindex = 1});
		open_ledger(&c, &l, go);
		expect_tables(&c, expected);
		for (int cat = 0; cat < CAT_COUNT; cat++) {
			u64 bytes = ledger_columns(&l, (enum category)cat).virtual;

			/* The heap's own have tests of their own. */
			if (cat <= CAT_STACK_CACHED)
				continue;
			if (bytes != expected[cat])
				fail_msg("%s: %s has %llu bytes, not %llu", go->rt.version.text,
					 category_id((enum category)cat), (unsigned long long)bytes,
					 (unsigned long long)expected[cat]);
		}
		/* Address space that nobody may touch is never in memory. */
		assert_int_equal(ledger_columns(&l, CAT_META_RESERVED).state[STATE_ABSENT],
				 expected[CAT_META_RESERVED]);
		assert_int_equal(ledger_columns(&l, CAT_META_PAGEALLOC).state[STATE_RESIDENT],
				 expected[CAT_META_PAGEALLOC]);
		close_ledger(&c, &l);
	}
}

/* The runtime's figures and the ledger's classes are two views of the same bytes. */
static void test_twins(void **state)
{
	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++) {
		struct mkgo *go = mkgo_new(r->minor, r->patch);
		const struct mstats *m = &go->expect;
		struct mkgo_core c;
		struct ledger l;
		u64 sums[6] = {0};

		if (!tmp_has_holes()) {
			mkgo_free(go);
			skip();
		}
		mkgo_sample(go);
		open_ledger(&c, &l, go);
		for (int cat = 0; cat <= CAT_STACK_CACHED; cat++) {
			u64 bytes = ledger_columns(&l, (enum category)cat).virtual;

			sums[0] += cat <= CAT_HEAP_UNDECIDED ? bytes : 0;
			sums[1] += cat <= CAT_HEAP_TAIL ? bytes : 0;
			sums[2] += cat == CAT_IDLE_RETAINED || cat == CAT_IDLE_RELEASED ? bytes : 0;
			sums[3] += cat == CAT_IDLE_RELEASED ? bytes : 0;
			sums[4] += cat >= CAT_STACK_USED ? bytes : 0;
			sums[5] += cat <= CAT_ARENA_UNUSED ? bytes : 0;
		}
		assert_int_equal(sums[0], m->heap_alloc);
		assert_int_equal(sums[1], m->heap_inuse);
		assert_int_equal(sums[2], m->heap_idle);
		assert_int_equal(sums[3], m->heap_released);
		assert_int_equal(sums[4], m->stack_inuse);
		assert_int_equal(sums[5] + sums[4] + m->work_bufs,
				 c.gort.arenas.v.n * GO_ARENA_BYTES);
		close_ledger(&c, &l);
	}
}

TEST_MAIN(TEST(test_by_hand), TEST(test_slots), TEST(test_pages), TEST(test_stacks),
	  TEST(test_signal_stacks), TEST(test_all_classes), TEST(test_twins))
