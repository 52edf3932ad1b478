/* Weighted stacks: kept, merged, and written as folded lines and as a profile. */
#include "out/pprof.h"

#include "base/flate.h"
#include "support/test.h"
#include "support/tmp.h"

#include <string.h>

static const struct sample_type types[] = {{"inuse_objects", "count"}, {"inuse_space", "bytes"}};

static void begin(struct samples *s)
{
	*s = (struct samples){.types = types, .type_count = COUNT_OF(types), .default_type = 1};
}

static u32 location(struct samples *s, va_t address, const char *inner, const char *outer)
{
	const struct sample_function in = {inner, "/in.go", 3}, out = {outer, "/out.go", 7};
	struct sample_line lines[2] = {{.line = 5}, {.line = 9}};
	u32 index;

	if (inner)
		assert_ok(samples_function(s, &in, &lines[0].function));
	if (outer)
		assert_ok(samples_function(s, &out, &lines[1].function));
	assert_ok(samples_location(s, address, lines, (size_t) !!inner + !!outer, &index));
	return index;
}

static u32 frame(struct samples *s, const char *name)
{
	u32 index;

	assert_ok(samples_frame(s, name, &index));
	return index;
}

static void assert_folded(const struct samples *s, size_t type, const char *expected)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	assert_ok(samples_write_folded(s, type, f));
	assert_int_equal(fclose(f), 0);
	assert_string_equal(text, expected);
	free(text);
}

/* A name is one function; a frame without an address is one location. */
static void test_names(void **state)
{
	struct samples s;
	u32 first = location((begin(&s), &s), 0x10, "f", NULL), second;

	(void)state;
	second = location(&s, 0x20, "f", NULL);
	assert_int_not_equal(first, second);
	assert_int_equal(s.functions.n, 1);
	assert_int_equal(frame(&s, "[free]"), frame(&s, "[free]"));
	assert_int_not_equal(frame(&s, "[free]"), frame(&s, "[dead]"));
	assert_int_equal(s.functions.n, 3);
	samples_fini(&s);
}

static void test_folded(void **state)
{
	struct samples s;
	u32 stack[3];

	(void)state;
	begin(&s);
	stack[0] = frame(&s, "[a;b\n]");
	stack[1] = location(&s, 0x10, "in", "out");
	stack[2] = location(&s, 0xabc, NULL, NULL);
	assert_ok(samples_add(&s, stack, 3, 0, (const i64[]){2, 300}));
	assert_ok(samples_add(&s, stack + 1, 2, 0, (const i64[]){0, 44}));
	assert_ok(samples_add(&s, stack, 0, 0, (const i64[]){1, 1})); /* no stack */
	assert_folded(&s, 1, "0xabc;out;in;[a,b?] 300\n0xabc;out;in 44\n");
	assert_folded(&s, 0, "0xabc;out;in;[a,b?] 2\n");
	assert_int_equal(samples_total(&s, 1), 345);
	samples_fini(&s);
}

/* Equal stacks are one sample, whatever the order in which they come; sums do not overflow. */
static void test_merged(void **state)
{
	struct samples s;

	(void)state;
	begin(&s);
	for (u32 round = 0; round < 2; round++)
		for (u32 i = 0; i < 5000; i++) {
			const u32 stack[] = {i % 50, i / 50};

			assert_ok(samples_merge(&s, stack, 1 + i % 2, (const i64[]){1, i}));
		}
	/* Even ones have one location, of 25; odd ones all differ. */
	assert_int_equal(s.v.n, 25 + 2500);
	assert_int_equal(samples_total(&s, 0), 10000);
	assert_int_equal(samples_total(&s, 1), 4999 * 5000);
	assert_ok(samples_merge(&s, (const u32[]){1}, 1, (const i64[]){INT64_MAX, 0}));
	assert_ok(samples_merge(&s, (const u32[]){1}, 1, (const i64[]){INT64_MAX, 0}));
	assert_int_equal(samples_total(&s, 0), INT64_MAX);
	samples_fini(&s);
}

static void fill(struct samples *s)
{
	static const struct sample_mapping text = {0x1000, 0x2000, 0x40, "/bin/prog", "00ff"};

	begin(s);
	assert_ok(array_push(&s->mappings, text));
	assert_ok(array_push(&s->comments, "a comment"));
	s->period_type = (struct sample_type){"space", "bytes"};
	s->period = 512;
	s->time_ns = 77;
	for (u32 i = 0; i < 20000; i++) {
		const u32 stack[] = {location(s, 0x1000 + i % 0x1000, "in", "out"), 0};

		assert_ok(samples_add(s, stack, 2, 16, (const i64[]){1, 10}));
	}
}

/* What was written is read again; twice the same bytes. */
static void test_pprof(void **state)
{
	struct pprof_heap heap;
	struct samples s;
	char *text[2] = {NULL, NULL}, *path = tmp_path("profile");
	size_t n[2];

	(void)state;
	fill(&s);
	for (int i = 0; i < 2; i++) {
		FILE *f = open_memstream(&text[i], &n[i]);

		assert_ok(pprof_write(&s, f));
		assert_int_equal(fclose(f), 0);
	}
	assert_int_equal(n[0], n[1]);
	assert_memory_equal(text[0], text[1], n[0]);
	assert_true(flate_is_gzip((const u8 *)text[0], n[0]));
	tmp_write(path, text[0], n[0]);
	assert_ok(pprof_read_heap(path, &heap));
	assert_int_equal(heap.inuse_bytes, 200000);
	assert_int_equal(heap.time_ns, 77);
	assert_string_equal(heap.build_id, "00ff");
	assert_int_equal(heap.code_offset, 0x40);
	assert_int_equal(heap.calls[0].at, 0);
	assert_string_equal(heap.calls[0].function, "out");
	free(path);
	free(text[0]);
	free(text[1]);
	samples_fini(&s);
}

static void test_full(void **state)
{
	struct samples s;
	FILE *f = fopen("/dev/full", "w");

	(void)state;
	if (!f)
		skip();
	setbuf(f, NULL);
	fill(&s);
	assert_err(pprof_write(&s, f), ERR_OS, "cannot be written");
	assert_err(samples_write_folded(&s, 1, f), ERR_OS, "cannot be written");
	fclose(f);
	samples_fini(&s);
}

TEST_MAIN(TEST(test_names), TEST(test_folded), TEST(test_merged), TEST(test_pprof), TEST(test_full))
