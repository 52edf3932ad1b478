/* Files that people write: their tree, their lines, and what is refused. */
#include "base/yaml.h"
#include "support/test.h"

#include <string.h>

static const struct yaml *parse(struct arena *a, const char *text)
{
	const struct yaml *root;

	assert_ok(yaml_parse(text, strlen(text), "file", a, &root));
	return root;
}

static void test_tree(void **state)
{
	struct arena a = {NULL, 0};
	const struct yaml *root = parse(&a, "# a comment\n"
					    "one: 1\n"
					    "list:\n"
					    "- x: 'a: b'\n"
					    "  y: [p, \"q\"]\n"
					    "- plain\n");
	const struct yaml *list = yaml_get(root, "list"), *y;

	(void)state;
	assert_int_equal(root->kind, YAML_MAP);
	assert_string_equal(yaml_get(root, "one")->text, "1");
	assert_int_equal(yaml_get(root, "one")->line, 2);
	assert_int_equal(list->kind, YAML_LIST);
	assert_string_equal(yaml_get(list->first, "x")->text, "a: b");
	assert_int_equal(yaml_get(list->first, "x")->line, 4);
	y = yaml_get(list->first, "y");
	assert_string_equal(y->first->text, "p");
	assert_string_equal(y->first->next->text, "q");
	assert_null(y->first->next->next);
	assert_string_equal(list->first->next->text, "plain");
	assert_null(yaml_get(list, "x"));
	assert_null(yaml_get(NULL, "x"));
	assert_null(yaml_get(root, "three"));
	arena_fini(&a);
}

static void test_json(void **state)
{
	struct arena a = {NULL, 0};
	const struct yaml *root = parse(&a, "{\"rules\": [{\"max\": 5}],\n \"warmup\": 2}");

	(void)state;
	assert_string_equal(yaml_get(yaml_get(root, "rules")->first, "max")->text, "5");
	assert_int_equal(yaml_get(root, "warmup")->line, 2);
	arena_fini(&a);
}

static void test_empty(void **state)
{
	struct arena a = {NULL, 0};

	(void)state;
	assert_null(parse(&a, ""));
	assert_null(parse(&a, "# nothing\n"));
	arena_fini(&a);
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"a: 1\nb: [\n", "file:3: "},
		{"a: 1\na: 2\n", "file:2: 'a' is here a second time"},
		{"a: &x 1\nb: *x\n", "file:2: references"},
		{"? [a]\n: b\n", "file:1: a key must be a word"},
		{"a: 1\n---\nb: 2\n", "file:2: there is a second document"},
		{"a: \"x\\0y\"\n", "file:1: there is a zero byte"},
		{"[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]", "file:1: this is too deep"},
		{"a: \x80\n", "file:1: "},
		{"\tx\n", "file:1: "},
	};
	const struct yaml *root;
	struct arena a = {NULL, 0};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_err(yaml_parse(cases[i].text, strlen(cases[i].text), "file", &a, &root),
			   ERR_FORMAT, cases[i].message);
	assert_err(yaml_parse("", YAML_BYTES_MAX + 1, "file", &a, &root), ERR_FORMAT,
		   "more than 1 MiB");
	arena_fini(&a);
}

TEST_MAIN(TEST(test_tree), TEST(test_json), TEST(test_empty), TEST(test_refused))
