#include "support/test.h"

#include "base/mem.h"

void test_assert_ok(struct err *err, const char *expr, const char *file, int line)
{
	if (!err)
		return;
	print_error("%s: error %d, \"%s\"\n", expr, (int)err->code, err->msg);
	err_free(err);
	_fail(file, line);
}

void test_assert_err(struct err *err, const char *expr, enum err_code code, const char *part,
		     const char *file, int line)
{
	if (err && err->code == code && strstr(err->msg, part)) {
		err_free(err);
		return;
	}
	print_error("%s: ", expr);
	if (err)
		print_error("error %d, \"%s\"", (int)err->code, err->msg);
	else
		print_error("no error");
	print_error(", not error %d, \"...%s...\"\n", (int)code, part);
	err_free(err);
	_fail(file, line);
}

void test_assert_contains(const char *text, const char *part, const char *file, int line)
{
	if (text && strstr(text, part))
		return;
	print_error("\"%s\" does not contain \"%s\"\n", text ? text : "(null)", part);
	_fail(file, line);
}

int test_balance(void **state)
{
	static u64 level;
	u64 before = level;

	(void)state;
	mem_set_limit(0);
	level = mem_used(); /* one test's leak is not the next one's */
	if (level == before)
		return 0;
	print_error("%llu bytes are charged, before the test it was %llu\n",
		    (unsigned long long)level, (unsigned long long)before);
	return -1;
}
