/* cmocka, and how this project's errors are asserted.
 *
 * The only file that includes cmocka, whose header needs four others before it. */
#ifndef SUPPORT_TEST_H
#define SUPPORT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/types.h"

/* Fails with the message unless the error is NULL; frees it. */
#define assert_ok(err) test_assert_ok((err), #err, __FILE__, __LINE__)

/* Fails unless the error has this code and a message that contains the part; frees it. */
#define assert_err(err, code, part) test_assert_err((err), #err, (code), (part), __FILE__, __LINE__)

/* Fails unless the text contains the part; prints both. */
#define assert_contains(text, part) test_assert_contains((text), (part), __FILE__, __LINE__)

/* One line of a test program: the memory budget must be as before when the test is over. */
#define TEST(f) cmocka_unit_test_teardown(f, test_balance)

/* main() of a test program: all tests, or those that match the argument (with * and ?). */
#define TEST_MAIN(...)                                                                             \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		const struct CMUnitTest tests[] = {__VA_ARGS__};                                   \
                                                                                                   \
		if (argc > 1)                                                                      \
			cmocka_set_test_filter(argv[1]);                                           \
		return cmocka_run_group_tests(tests, NULL, NULL);                                  \
	}

void test_assert_ok(struct err *err, const char *expr, const char *file, int line);
void test_assert_err(struct err *err, const char *expr, enum err_code code, const char *part,
		     const char *file, int line);
void test_assert_contains(const char *text, const char *part, const char *file, int line);
int test_balance(void **state);

/* A small generator, the same on every run: the next of a sequence. */
static inline u64 test_random(u64 *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

#endif
