#include "base/err.h"

#include "support/test.h"

#include <errno.h>

static void test_new(void **state)
{
	struct err *err = err_new(ERR_LIMIT, "%d of %s", 7, "nine");

	(void)state;
	assert_int_equal(err->code, ERR_LIMIT);
	assert_string_equal(err->msg, "7 of nine");
	err_free(err);
	err_free(NULL);
}

static void test_os(void **state)
{
	struct err *err;

	(void)state;
	errno = ENOENT;
	err = err_os("%s: cannot be opened", "x");
	assert_int_equal(err->code, ERR_OS);
	assert_string_equal(err->msg, "x: cannot be opened: No such file or directory");
	err_free(err);
}

/* A missed read costs nothing: one object, which survives being freed and wrapped. */
static void test_fault_is_static(void **state)
{
	struct err *fault = err_fault(), *wrapped;

	(void)state;
	assert_ptr_equal(fault, err_fault());
	assert_int_equal(fault->code, ERR_FAULT);
	err_free(fault);
	wrapped = err_wrap(fault, "reading 0x%x", 16);
	assert_ptr_not_equal(wrapped, fault);
	assert_int_equal(wrapped->code, ERR_FAULT);
	assert_string_equal(wrapped->msg, "reading 0x10: address is not in the core");
	err_free(wrapped);
	assert_string_equal(err_fault()->msg, "address is not in the core");
}

static void test_wrap(void **state)
{
	struct err *err = err_new(ERR_FORMAT, "not an ELF file");

	(void)state;
	err = err_wrap(err_wrap(err, "core.%d", 1), "opening");
	assert_int_equal(err->code, ERR_FORMAT);
	assert_string_equal(err->msg, "opening: core.1: not an ELF file");
	err_free(err);
	assert_null(err_wrap(NULL, "nothing"));
}

static unsigned steps;

static struct err *three_steps(struct err *second)
{
	steps++;
	TRY(second);
	steps++;
	return NULL;
}

static void test_try(void **state)
{
	(void)state;
	steps = 0;
	assert_ok(three_steps(NULL));
	assert_int_equal(steps, 2);
	steps = 0;
	assert_err(three_steps(err_new(ERR_MISSING, "gone")), ERR_MISSING, "gone");
	assert_int_equal(steps, 1);
}

/* The leak checker of the asan build is what fails here. */
static void test_scope_guard(void **state)
{
	AUTO_ERR struct err *err = err_new(ERR_OS, "dropped at the end");
	AUTO_ERR struct err *none = NULL;

	(void)state;
	assert_non_null(err);
	assert_null(none);
}

TEST_MAIN(TEST(test_new), TEST(test_os), TEST(test_fault_is_static), TEST(test_wrap),
	  TEST(test_try), TEST(test_scope_guard))
