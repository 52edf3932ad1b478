#include "base/diag.h"

#include "support/test.h"

static void test_counts_and_keeps_the_first(void **state)
{
	struct diags d = {0};
	const struct diag_entry *e = &d.entries[DIAG_SPAN];

	(void)state;
	for (int i = 0; i < 20; i++)
		diag(&d, DIAG_SPAN, "span %d", i);
	diag(&d, DIAG_LIST, "one");
	assert_int_equal(e->count, 20);
	assert_string_equal(e->examples[0], "span 0");
	assert_string_equal(e->examples[DIAG_EXAMPLES - 1], "span 7");
	assert_int_equal(d.entries[DIAG_LIST].count, 1);
	assert_null(d.entries[DIAG_LIST].examples[1]);
	assert_int_equal(d.entries[DIAG_NOTE].count, 0);
	diags_fini(&d);
}

static void test_partial(void **state)
{
	struct diags d = {0};

	(void)state;
	assert_false(diag_is_partial(&d));
	diag(&d, DIAG_NO_NOTES, "harmless");
	assert_false(diag_code_is_partial(DIAG_NO_NOTES));
	assert_false(diag_is_partial(&d));
	diag(&d, DIAG_TRUNCATED, "half");
	assert_true(diag_code_is_partial(DIAG_TRUNCATED));
	assert_true(diag_is_partial(&d));
	diags_fini(&d);
}

static void test_errors(void **state)
{
	struct diags d = {0};

	(void)state;
	diag_err(&d, DIAG_STRUCTURE, NULL);
	assert_int_equal(d.entries[DIAG_STRUCTURE].count, 0);
	diag_err(&d, DIAG_STRUCTURE, err_new(ERR_MISSING, "100%% gone"));
	assert_int_equal(d.entries[DIAG_STRUCTURE].count, 1);
	assert_string_equal(d.entries[DIAG_STRUCTURE].examples[0], "100% gone");
	diag_err(&d, DIAG_STRUCTURE, err_fault());
	assert_int_equal(d.entries[DIAG_STRUCTURE].count, 2);
	diags_fini(&d);
}

/* Nobody collects: the error is freed all the same. */
static void test_nowhere(void **state)
{
	(void)state;
	diag(NULL, DIAG_SPAN, "%d", 1);
	diag_err(NULL, DIAG_SPAN, err_new(ERR_OS, "freed"));
}

/* Ids are part of the JSON contract. */
static void test_table(void **state)
{
	(void)state;
	for (int a = 0; a < DIAG_COUNT; a++) {
		const char *id = diag_id((enum diag_code)a);

		assert_true(*id && *diag_text((enum diag_code)a));
		assert_int_equal(strspn(id, "abcdefghijklmnopqrstuvwxyz-"), strlen(id));
		for (int b = 0; b < a; b++)
			assert_string_not_equal(id, diag_id((enum diag_code)b));
	}
	assert_string_equal(diag_id(DIAG_OVERLAP), "overlap");
}

TEST_MAIN(TEST(test_counts_and_keeps_the_first), TEST(test_partial), TEST(test_errors),
	  TEST(test_nowhere), TEST(test_table))
