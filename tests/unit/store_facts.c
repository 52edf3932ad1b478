/* Facts as rows, cut to size, written and read back. */
#include "store/facts.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

static const struct fact *row_of(const struct facts *f, const char *level, const char *key)
{
	const struct facts_level *l = facts_level(f, level);

	assert_non_null(l);
	return facts_row(l, key);
}

static void assert_row(const struct facts *f, const char *level, const char *key, u64 virtual,
		       u64 resident, u64 count)
{
	const struct fact *row = row_of(f, level, key);

	assert_non_null(row);
	assert_int_equal(row->v[FACT_VIRTUAL], virtual);
	assert_int_equal(row->v[FACT_RESIDENT], resident);
	assert_int_equal(row->v[FACT_COUNT], count);
}

static struct facts_level *add_level(struct facts *f, const char *id)
{
	struct facts_level *level;

	assert_ok(facts_add_level(f, id, &level));
	return level;
}

static void test_rows_of_one_key_are_summed(void **state)
{
	struct facts f = {.level_count = 0};
	struct facts_level *l = add_level(&f, "mapping");

	(void)state;
	assert_ok(facts_add(&f, l, "b", 10, 5, 1));
	assert_ok(facts_add(&f, l, "a", 1, 1, FACT_UNKNOWN));
	assert_ok(facts_add(&f, l, "b", 20, FACT_UNKNOWN, 1));
	facts_seal(&f);
	assert_int_equal(l->rows.n, 2);
	assert_row(&f, "mapping", "b", 30, FACT_UNKNOWN, 2);
	assert_row(&f, "mapping", "a", 1, 1, FACT_UNKNOWN);
	assert_null(row_of(&f, "mapping", "c"));
	assert_null(facts_level(&f, "site"));
	facts_fini(&f);
}

static void test_levels_are_cut(void **state)
{
	struct facts f = {.level_count = 0};
	struct facts_level *l = add_level(&f, "goroutines");
	char key[32];

	(void)state;
	for (u64 i = 0; i < FACTS_ROWS_MAX + 7; i++) {
		snprintf(key, sizeof(key), "%llu", (unsigned long long)i);
		assert_ok(facts_add(&f, l, key, 1000 + i, 1000 + i, 1));
	}
	facts_seal(&f);
	assert_int_equal(l->rows.n, FACTS_ROWS_MAX);
	assert_int_equal(l->cut, 8);
	assert_row(&f, "goroutines", FACTS_OTHER, 8 * 1000 + 28, 8 * 1000 + 28, 8);
	assert_null(row_of(&f, "goroutines", "7"));
	assert_row(&f, "goroutines", "8", 1008, 1008, 1);
	facts_fini(&f);
}

static void test_more_levels_than_there_is_room(void **state)
{
	struct facts f = {.level_count = 0};
	struct facts_level *l;
	char id[16];

	(void)state;
	for (int i = 0; i < FACTS_LEVELS_MAX; i++) {
		snprintf(id, sizeof(id), "l%d", i);
		add_level(&f, id);
	}
	assert_ptr_equal(add_level(&f, "l3"), &f.levels[3]);
	assert_err(facts_add_level(&f, "more", &l), ERR_LIMIT, "more than 32 levels");
	facts_fini(&f);
}

static void test_keys_are_clean_and_short(void **state)
{
	struct facts f = {.level_count = 0};
	struct facts_level *l = add_level(&f, "site");
	char key[2000];

	(void)state;
	memset(key, 'x', sizeof(key));
	key[sizeof(key) - 1] = '\0';
	assert_ok(facts_add(&f, l, "a\x1b[31m\xff\xc3\xa9", 1, 1, 1));
	assert_ok(facts_add(&f, l, key, 1, 1, 1));
	key[1999 - 1] = 'y';
	assert_ok(facts_add(&f, l, key, 1, 1, 1));
	facts_seal(&f);
	assert_int_equal(l->rows.n, 3); /* the long ones differ beyond what is kept */
	assert_string_equal(l->rows.v[0].key, "a?[31m?\xc3\xa9");
	assert_int_equal(strlen(l->rows.v[1].key), FACTS_KEY_MAX);
	facts_fini(&f);
}

static char *document_of(const struct facts *f, size_t *n)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, n);

	assert_non_null(out);
	assert_ok(facts_write(f, out));
	assert_int_equal(fclose(out), 0);
	return text;
}

static void fill(struct facts *f)
{
	f->head = (struct facts_head){
		.path = "cores/a",
		.file_bytes = 4096,
		.inode = 7,
		.mtime_ns = 1700000000000000001,
		.time_ns = 1700000000000000000,
		.time_from = "sidecar",
		.go = "go1.26.11",
		.exe = "/srv/a",
		.evidence = "exact",
		.total = {1000, FACT_UNKNOWN, FACT_UNKNOWN},
	};
	assert_ok(facts_add(f, add_level(f, "class"), "anon", 1000, FACT_UNKNOWN, FACT_UNKNOWN));
	assert_ok(facts_add(f, add_level(f, "class"), "shm", (u64)INT64_MAX + 1, INT64_MAX, 0));
	add_level(f, "verdict");
	facts_seal(f);
}

static void test_a_document_is_what_was_written(void **state)
{
	struct facts f = {.level_count = 0}, back = {.level_count = 0};
	size_t n, again;
	char *text, *second;

	(void)state;
	fill(&f);
	text = document_of(&f, &n);
	assert_ok(facts_read(text, n, "a.json", &back));
	assert_string_equal(back.head.path, "cores/a");
	assert_string_equal(back.head.exe, "/srv/a");
	assert_null(back.head.build);
	assert_null(back.head.partial);
	assert_int_equal(back.head.time_ns, 1700000000000000000);
	assert_int_equal(back.head.mtime_ns, 1700000000000000001);
	assert_int_equal(back.head.inode, 7);
	assert_int_equal(back.head.total[FACT_VIRTUAL], 1000);
	assert_true(back.head.total[FACT_RESIDENT] == FACT_UNKNOWN);
	assert_row(&back, "class", "shm", FACT_UNKNOWN, INT64_MAX, 0);
	assert_int_equal(facts_level(&back, "verdict")->rows.n, 0);
	second = document_of(&back, &again);
	assert_string_equal(text, second);
	free(text);
	free(second);
	facts_fini(&f);
	facts_fini(&back);
}

static void test_other_documents_are_refused(void **state)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{"", "d.json: is not JSON: line 1"},
		{"{\"schema\": \"spanscope/ledger/1\"}", "d.json: is no document of the form"},
		{"[]", "d.json: is no document of the form"},
		{"{\"schema\": \"spanscope/snapshot/1\"}", "does not say which snapshot"},
		{"{\"schema\": \"spanscope/snapshot/1\", \"schema\": 1}", "duplicate"},
		{"{\"schema\": \"spanscope/snapshot/1\", \"snapshot\": {\"path\": \"a\","
		 " \"time_from\": \"file\", \"time_ns\": 1}, \"levels\": {\"class\": {\"rows\":"
		 " [{}]}}}",
		 "row 1 of level class has no key"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct facts f = {.level_count = 0};

		assert_err(facts_read(bad[i].text, strlen(bad[i].text), "d.json", &f), ERR_FORMAT,
			   bad[i].why);
		facts_fini(&f);
	}
}

TEST_MAIN(TEST(test_rows_of_one_key_are_summed), TEST(test_levels_are_cut),
	  TEST(test_more_levels_than_there_is_room), TEST(test_keys_are_clean_and_short),
	  TEST(test_a_document_is_what_was_written), TEST(test_other_documents_are_refused))
