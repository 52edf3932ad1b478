/* Spans in the ledger: their slots, what is cut out of them, and spans that lie. */
#include "ledger/ledger.h"

#include "support/core.h"
#include "support/test.h"

#define HEAP ((va_t)0xc000000000)
#define BITS ((va_t)0x100000)

/* Eight pages of heap, the first of each two resident, and a page of bitmaps:
 * words of allocBits 0b0011 at BITS + 0, 0b1111 at + 8. */
static struct core open_heap(void)
{
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);

	mkcore_load(mk, BITS, PF_R | PF_W, "#");
	mkcore_poke_u64(mk, BITS, 3);
	mkcore_poke_u64(mk, BITS + 8, 15);
	mkcore_load(mk, HEAP, PF_R | PF_W, "#0#0#0#0");
	return core_open_pages(mk);
}

static struct span in_use(u64 page, u32 npages, va_t bits, unsigned freeindex)
{
	return (struct span){
		.start = HEAP + page * GO_PAGE_BYTES,
		.alloc_bits = bits,
		.mark_bits = bits,
		.npages = npages,
		.nelems = 4,
		.freeindex = (u16)freeindex,
		.elemsize = 1920,
		.state = SPAN_IN_USE,
	};
}

static struct span manual(u64 page, u32 npages, u8 flags)
{
	return (struct span){.start = HEAP + page * GO_PAGE_BYTES,
			     .npages = npages,
			     .state = SPAN_MANUAL,
			     .flags = flags};
}

struct heap_ledger {
	struct core c;
	struct gort *gort;
	struct ledger l;
};

static struct heap_ledger *ledger_over(const struct span *spans, size_t n)
{
	struct heap_ledger *h = xcalloc(1, sizeof(*h));

	h->c = open_heap();
	h->gort = xcalloc(1, sizeof(*h->gort));
	h->gort->rt.im = &h->c.im;
	h->gort->rt.d = &h->c.d;
	for (size_t i = 0; i < n; i++)
		assert_ok(array_push(&h->gort->spans.v, spans[i]));
	ledger_init(&h->l, &h->c.im, h->gort, &h->c.d);
	for (size_t v = 0; v < h->c.im.vmas.n; v++)
		assert_ok(ledger_claim(&h->l, LEVEL_MAPPING, h->c.im.vmas.v[v].lo,
				       h->c.im.vmas.v[v].hi, v ? CAT_COUNT : CAT_SHM));
	assert_ok(ledger_claim(&h->l, LEVEL_CONTAINER, HEAP, HEAP + GO_ARENA_BYTES,
			       CAT_ARENA_UNUSED));
	return h;
}

static void close_ledger(struct heap_ledger *h)
{
	assert_int_equal(ledger_total(&h->l).virtual, 9 * MK_PAGE);
	ledger_fini(&h->l);
	array_free(&h->gort->spans.v);
	free(h->gort);
	core_close(&h->c);
	free(h);
}

static void assert_class(const struct heap_ledger *h, enum category cat, u64 bytes, u64 resident)
{
	struct columns c = ledger_columns(&h->l, cat);

	if (c.virtual != bytes || c.state[STATE_RESIDENT] != resident)
		fail_msg("%s has %llu bytes, %llu resident", category_id(cat),
			 (unsigned long long)c.virtual,
			 (unsigned long long)c.state[STATE_RESIDENT]);
}

/* Two survivors, one fresh, one free slot; slots cross the border of pages at 4096. */
static void test_slots(void **state)
{
	const struct span spans[] = {in_use(1, 1, BITS, 3)};
	struct heap_ledger *h = ledger_over(spans, 1);

	(void)state;
	assert_ok(ledger_seal(&h->l));
	assert_class(h, CAT_HEAP_LIVE, 2 * 1920, 2 * 1920);
	assert_class(h, CAT_HEAP_FRESH, 1920, 4096 - 2 * 1920);
	assert_class(h, CAT_HEAP_FREE, 1920, 0);
	assert_class(h, CAT_HEAP_TAIL, 8192 - 4 * 1920, 0);
	assert_class(h, CAT_ARENA_UNUSED, 3 * 8192, 3 * 4096);
	core_assert_diag(&h->c, DIAG_OVERLAP, 0, "");
	close_ledger(h);
}

/* A leaf is cut out of a span, between slots or through one. */
static void test_leaf_in_a_span(void **state)
{
	const struct span spans[] = {in_use(0, 1, BITS + 8, 4)};
	struct heap_ledger *h = ledger_over(spans, 1);

	(void)state;
	assert_ok(ledger_claim(&h->l, LEVEL_LEAF, HEAP + 1000, HEAP + 3000, CAT_META_GCBITS));
	assert_ok(ledger_seal(&h->l));
	assert_class(h, CAT_META_GCBITS, 2000, 2000);
	assert_class(h, CAT_HEAP_LIVE, 4 * 1920 - 2000, 4096 - 2000);
	assert_class(h, CAT_HEAP_TAIL, 512, 0);
	close_ledger(h);
}

/* A manual span is free stacks, or work buffers; goroutines' stacks are cut out of it. */
static void test_manual_spans(void **state)
{
	const struct span spans[] = {manual(0, 2, 0), manual(2, 1, SPAN_WORKBUF)};
	struct heap_ledger *h = ledger_over(spans, 2);

	(void)state;
	assert_ok(ledger_claim(&h->l, LEVEL_LEAF, HEAP, HEAP + 2048, CAT_STACK_UNUSED));
	assert_ok(ledger_claim(&h->l, LEVEL_LEAF, HEAP + 2048, HEAP + 4096, CAT_STACK_USED));
	assert_ok(ledger_seal(&h->l));
	assert_class(h, CAT_STACK_CACHED, 3 * 4096, 4096);
	assert_class(h, CAT_STACK_USED, 2048, 2048);
	assert_class(h, CAT_STACK_UNUSED, 2048, 2048);
	assert_class(h, CAT_META_GCWORK, 8192, 4096);
	close_ledger(h);
}

static void test_overlapping_spans(void **state)
{
	const struct span spans[] = {manual(0, 3, 0), manual(1, 1, SPAN_WORKBUF),
				     manual(2, 2, SPAN_WORKBUF)};
	struct heap_ledger *h = ledger_over(spans, 3);

	(void)state;
	assert_ok(ledger_seal(&h->l));
	assert_class(h, CAT_STACK_CACHED, 3 * 8192, 3 * 4096);
	assert_class(h, CAT_META_GCWORK, 8192, 4096);
	core_assert_diag(&h->c, DIAG_OVERLAP, 2, "the span at 0xc000002000 overlaps another");
	close_ledger(h);
}

/* Bitmaps that are not in the core: of the slots nothing is known. */
static void test_missing_bitmaps(void **state)
{
	const struct span spans[] = {in_use(0, 1, 0x999000, 4), in_use(1, 1, BITS + 8, 4)};
	struct heap_ledger *h = ledger_over(spans, 2);

	(void)state;
	assert_ok(ledger_seal(&h->l));
	assert_class(h, CAT_HEAP_UNDECIDED, 8192, 4096);
	assert_class(h, CAT_HEAP_LIVE, 4 * 1920, 4096);
	core_assert_diag(&h->c, DIAG_STRUCTURE, 1,
			 "the bitmaps of the span at 0xc000000000 are missing");
	close_ledger(h);
}

/* A span that is mapped only in part counts with what is. */
static void test_span_leaves_its_mapping(void **state)
{
	const struct span spans[] = {in_use(3, 2, BITS + 8, 4), manual(5, 1, 0)};
	struct heap_ledger *h = ledger_over(spans, 2);

	(void)state;
	assert_ok(ledger_seal(&h->l));
	assert_class(h, CAT_HEAP_LIVE, 4 * 1920, 4096);
	assert_class(h, CAT_HEAP_TAIL, 512, 0);
	assert_class(h, CAT_STACK_CACHED, 0, 0);
	close_ledger(h);
}

TEST_MAIN(TEST(test_slots), TEST(test_leaf_in_a_span), TEST(test_manual_spans),
	  TEST(test_overlapping_spans), TEST(test_missing_bitmaps),
	  TEST(test_span_leaves_its_mapping))
