#include "base/json.h"

#include "base/mem.h"
#include "support/test.h"

#include <string.h>

/* The text of a value, which is freed; the text is the caller's. */
static char *text_of(struct json *v)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	assert_non_null(f);
	assert_ok(json_write(v, f));
	assert_int_equal(fclose(f), 0);
	json_free(v);
	return text;
}

static struct json *in_array(struct json *v)
{
	struct json *array = json_new_array();

	json_append(array, v);
	return array;
}

static void assert_value(struct json *v, const char *expected)
{
	char *text = text_of(in_array(v)), wanted[256];

	snprintf(wanted, sizeof(wanted), "[\n %s\n]\n", expected);
	assert_string_equal(text, wanted);
	free(text);
}

static void test_scalars(void **state)
{
	(void)state;
	assert_value(json_new_null(), "null");
	assert_value(json_new_flag(true), "true");
	assert_value(json_new_flag(false), "false");
	assert_value(json_new_int(-5), "-5");
	assert_value(json_new_int(INT64_MIN), "-9223372036854775808");
	assert_value(json_new_uint(0), "0");
	assert_value(json_new_uint(INT64_MAX), "9223372036854775807");
	assert_value(json_new_number(0.5), "0.5");
}

static void test_no_number(void **state)
{
	(void)state;
	assert_value(json_new_number(__builtin_nan("")), "null");
	assert_value(json_new_number(__builtin_inf()), "null");
	assert_value(json_new_number(-__builtin_inf()), "null");
}

static void test_strings(void **state)
{
	(void)state;
	assert_value(json_new_string(""), "\"\"");
	assert_value(json_new_string("a\"b\\c/d"), "\"a\\\"b\\\\c/d\"");
	assert_value(json_new_string("\n\t\x01\x1f"), "\"\\n\\t\\u0001\\u001F\"");
	assert_value(json_new_string("h\xc3\xb6he"), "\"h\xc3\xb6he\"");
	assert_value(json_new_string("\xf0\x9f\x90\xb9"), "\"\xf0\x9f\x90\xb9\"");
}

/* Paths and names may hold any bytes: the result is JSON all the same. */
static void test_invalid_utf8(void **state)
{
	(void)state;
	assert_value(json_new_string("a\xff"
				     "b"),
		     "\"a?b\"");
	assert_value(json_new_string("\xc3"), "\"?\"");
	assert_value(json_new_string("\x80\x80"), "\"??\"");
	assert_value(json_new_string("\xed\xa0\x80"), "\"???\""); /* a surrogate */
	assert_value(json_new_string("\xc0\xaf"), "\"??\"");      /* an overlong slash */
	assert_value(json_new_string("\xff\n\""), "\"?\\n\\\"\"");
}

static void test_order_and_nesting(void **state)
{
	struct json *root = json_new_object(), *list = json_new_array();
	char *text;

	(void)state;
	json_append(list, json_new_int(1));
	json_append(list, json_new_object());
	json_put(root, "z", json_new_int(1));
	json_put(root, "a", list);
	json_put(root, "m", json_new_string("x"));
	text = text_of(root);
	assert_string_equal(text, "{\n \"z\": 1,\n \"a\": [\n  1,\n  {}\n ],\n \"m\": \"x\"\n}\n");
	free(text);
}

static void test_write_fails(void **state)
{
	struct json *root = in_array(json_new_string("a result that does not fit"));
	FILE *f = fopen("/dev/full", "we");

	(void)state;
	if (!f) {
		json_free(root);
		skip();
	}
	setvbuf(f, NULL, _IONBF, 0);
	assert_err(json_write(root, f), ERR_OS, "cannot be written");
	fclose(f);
	json_free(root);
	json_free(NULL);
}

static struct json *parse(const char *text)
{
	struct json *v = NULL;

	assert_ok(json_parse(text, strlen(text), "text", &v));
	return v;
}

static void test_reads(void **state)
{
	struct json *root = parse("{\"b\": [1, -2, 3.5, \"x\"], \"a\": null}");
	const struct json *list = json_get(root, "b"), *v;
	const char *key;
	void *step = NULL;
	u64 u = 7;
	i64 i = 7;

	(void)state;
	assert_int_equal(json_length(list), 4);
	assert_true(json_uint(json_item(list, 0), &u) && u == 1);
	assert_false(json_uint(json_item(list, 1), &u));
	assert_true(json_int(json_item(list, 1), &i) && i == -2);
	assert_false(json_int(json_item(list, 2), &i));
	assert_string_equal(json_text(json_item(list, 3)), "x");
	assert_null(json_text(json_item(list, 2)));
	assert_null(json_text(json_get(json_get(root, "none"), "x")));
	assert_int_equal(json_length(json_get(root, "a")), 0);
	assert_true(json_next(root, &step, &key, &v));
	assert_string_equal(key, "b");
	assert_true(json_next(root, &step, &key, &v));
	assert_string_equal(key, "a");
	assert_false(json_next(root, &step, &key, &v));
	json_free(root);
}

static void test_refuses(void **state)
{
	struct json *v;

	(void)state;
	assert_err(json_parse("[1,", 3, "f.json", &v), ERR_FORMAT, "f.json: is not JSON: line 1");
	assert_err(json_parse("[1] 2", 5, "f.json", &v), ERR_FORMAT, "f.json: is not JSON");
	assert_err(json_parse("[\"\\u0000\"]", 10, "f.json", &v), ERR_FORMAT, "f.json");
	mem_set_limit(mem_used() + 64);
	assert_err(json_parse("[[[[[[[[[1]]]]]]]]]", 19, "f.json", &v), ERR_LIMIT, "f.json");
	mem_set_limit(0);
}

TEST_MAIN(TEST(test_reads), TEST(test_refuses), TEST(test_scalars), TEST(test_no_number),
	  TEST(test_strings), TEST(test_invalid_utf8), TEST(test_order_and_nesting),
	  TEST(test_write_fails))
