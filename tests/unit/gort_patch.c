/* Walked figures follow the spans and bitmaps, not the counters: one word of a copy of a shipped
 * core is changed, and the walk, the counters and the invariants must each say so or not. */
#include "base/bits.h"
#include "gort/mstats.h"
#include "gort/rtget.h"
#include "gort/verify.h"
#include "gort/walk.h"
#include "support/test.h"
#include "support/tmp.h"

#include <fcntl.h>
#include <unistd.h>

static char *core_path, *exe_path;

/* One reading of the copy. */
struct reading {
	struct diags d;
	struct image im;
	struct binary bin;
	struct gort gort;
	struct walk walk;
	struct mstats stats;
	size_t failed; /* invariants that do not hold */
};

static void read_core(struct reading *r)
{
	const struct binary_options options = {.given = exe_path};
	struct verification v = {.arena = {0}};

	*r = (struct reading){.failed = 0};
	assert_ok(image_open(&r->im, core_path, &r->d));
	assert_ok(binary_find(&r->bin, &r->im, &options, &r->d));
	assert_ok(gort_open(&r->gort, &r->im, &r->bin, &r->d));
	walk_heap(&r->gort, &r->walk);
	assert_ok(mstats_read(&r->gort, &r->stats));
	assert_ok(verify_run(&r->gort, &v));
	for (size_t i = 0; i < v.checks.n; i++)
		r->failed += v.checks.v[i].result == VERIFY_FAILED;
	verify_fini(&v);
}

static void close_core(struct reading *r)
{
	gort_close(&r->gort);
	binary_close(&r->bin);
	image_close(&r->im);
	diags_fini(&r->d);
}

/* Changes the word at a target address, and returns what was there. */
static u64 patch(const struct image *im, va_t va, u64 word)
{
	const struct segment *seg = image_segment(im, va);
	off_t at;
	u64 old;
	int fd = open(core_path, O_RDWR | O_CLOEXEC);

	assert_non_null(seg);
	assert_true(fd >= 0);
	at = (off_t)(seg->off + (va - seg->lo));
	assert_int_equal(pread(fd, &old, sizeof(old), at), sizeof(old));
	assert_int_equal(pwrite(fd, &word, sizeof(word), at), sizeof(word));
	close(fd);
	return old;
}

/* Reads before, changes the word at va to its value ^ flip (or + add), reads again, restores. */
struct change {
	struct reading before, after;
};

static void change_word(struct change *c, va_t va, u64 flip, u64 add)
{
	u64 old;

	assert_true(image_u64(&c->before.im, va, &old));
	patch(&c->before.im, va, (old ^ flip) + add);
	read_core(&c->after);
	patch(&c->before.im, va, old);
}

static void begin(struct change *c)
{
	read_core(&c->before);
	assert_int_equal(c->before.failed, 0);
}

static void end(struct change *c)
{
	close_core(&c->after);
	close_core(&c->before);
}

/* A span in use with a free slot behind freeindex; *slot is that slot. */
static const struct span *span_with_room(const struct gort *gort, unsigned *slot)
{
	for (size_t i = 0; i < gort->spans.v.n; i++) {
		const struct span *s = &gort->spans.v.v[i];
		struct slots slots;

		if (s->state != SPAN_IN_USE || s->nelems < 2 ||
		    !slots_read(&gort->rt, &gort->arenas, s, &slots))
			continue;
		for (*slot = s->freeindex; *slot < s->nelems; (*slot)++)
			if (!bits_test(slots.alloc, *slot))
				return s;
	}
	fail_msg("no span has a free slot");
	return NULL;
}

static void alloc_bit_moves_the_walk(void **state)
{
	struct change c;
	const struct span *s;
	unsigned slot;

	(void)state;
	begin(&c);
	s = span_with_room(&c.before.gort, &slot);
	change_word(&c, s->alloc_bits + slot / 64 * 8, (u64)1 << (slot % 64), 0);
	assert_int_equal(c.after.walk.heap_alloc, c.before.walk.heap_alloc + s->elemsize);
	assert_int_equal(c.after.walk.heap_objects, c.before.walk.heap_objects + 1);
	assert_int_equal(c.after.stats.heap_alloc, c.before.stats.heap_alloc);
	assert_true(c.after.failed > 0);
	end(&c);
}

/* Address of the bitmap word and bit of a page in the page allocator. */
static va_t page_bit(const struct rt *rt, va_t page, u64 *bit)
{
	u64 chunk = (page - rt->dialect.arena_base_offset) / GO_CHUNK_BYTES;
	u64 index = page % GO_CHUNK_BYTES / GO_PAGE_BYTES;
	va_t table;

	assert_true(image_u64(
		rt->im, rt_addr(rt, rt->globals[RT_G_MHEAP], RT_MHEAP_CHUNKS) + chunk / 8192 * 8,
		&table));
	*bit = (u64)1 << (index % 64);
	return rt_addr(rt, table + chunk % 8192 * rt_size(rt, RT_PALLOC_DATA),
		       RT_PALLOC_DATA_ALLOC) +
	       index / 64 * 8;
}

static void palloc_bit_moves_the_walk(void **state)
{
	struct change c;
	unsigned slot;
	va_t word;
	u64 bit;

	(void)state;
	begin(&c);
	word = page_bit(&c.before.gort.rt, span_with_room(&c.before.gort, &slot)->start, &bit);
	change_word(&c, word, bit, 0);
	assert_int_equal(c.after.walk.heap_idle, c.before.walk.heap_idle + GO_PAGE_BYTES);
	assert_int_equal(c.after.stats.heap_idle, c.before.stats.heap_idle);
	assert_true(c.after.failed > 0);
	end(&c);
}

static void npages_moves_the_walk(void **state)
{
	struct change c;
	const struct span *s;
	unsigned slot;

	(void)state;
	begin(&c);
	s = span_with_room(&c.before.gort, &slot);
	change_word(&c, rt_addr(&c.before.gort.rt, s->mspan, RT_MSPAN_NPAGES), 0, 1);
	assert_int_equal(c.after.walk.heap_inuse, c.before.walk.heap_inuse + GO_PAGE_BYTES);
	assert_int_equal(c.after.stats.heap_inuse, c.before.stats.heap_inuse);
	assert_true(c.after.failed > 0);
	end(&c);
}

static void counter_does_not_move_the_walk(void **state)
{
	struct change c;
	const struct rt *rt;

	(void)state;
	begin(&c);
	rt = &c.before.gort.rt;
	change_word(&c, rt_addr(rt, rt->globals[RT_G_GC_CONTROLLER], RT_GCC_HEAP_IN_USE), 0, 8192);
	assert_int_equal(c.after.walk.heap_inuse, c.before.walk.heap_inuse);
	assert_int_equal(c.after.stats.heap_inuse, c.before.stats.heap_inuse + 8192);
	assert_true(c.after.failed > 0);
	end(&c);
}

/* The shipped core is copied: the tests write into it. */
static int copy_core(void **state)
{
	const char *folder = getenv("SPANSCOPE_TESTDATA");
	struct os_file f = {0};
	char *source;

	(void)state;
	if (!folder) {
		print_error("SPANSCOPE_TESTDATA must name the folder of unpacked cores\n");
		return -1;
	}
	source = xasprintf("%s/fragmented-go1.26/core", folder);
	exe_path = xasprintf("%s/fragmented-go1.26/fragmented", folder);
	core_path = tmp_path("core");
	assert_ok(os_file_open(source, &f));
	tmp_write(core_path, f.data, f.size);
	os_file_close(&f);
	free(source);
	return 0;
}

static int remove_copy(void **state)
{
	(void)state;
	free(core_path);
	free(exe_path);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(alloc_bit_moves_the_walk),
		TEST(palloc_bit_moves_the_walk),
		TEST(npages_moves_the_walk),
		TEST(counter_does_not_move_the_walk),
	};

	return cmocka_run_group_tests(tests, copy_core, remove_copy);
}
