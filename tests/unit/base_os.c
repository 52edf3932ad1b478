#include "base/os.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "support/test.h"
#include "support/tmp.h"

#include <sys/stat.h>
#include <unistd.h>

static void test_open(void **state)
{
	AUTO_FREE char *path = tmp_path("file");
	struct os_file f = {0};

	(void)state;
	tmp_write(path, "eleven byte", 11);
	assert_ok(os_file_open(path, &f));
	assert_int_equal(f.size, 11);
	assert_memory_equal(f.data, "eleven byte", 11);
	assert_string_equal(f.path, path);
	assert_true(f.fd >= 0);
	os_file_close(&f);
	assert_null(f.path);
	os_file_close(&f); /* once more does nothing */
}

static void test_refuses(void **state)
{
	AUTO_FREE char *dir = tmp_dir("folder");
	AUTO_FREE char *empty = tmp_path("empty");
	AUTO_FREE char *fifo = tmp_path("fifo");
	AUTO_FREE char *missing = tmp_path("missing");
	AUTO_FREE char *below = xasprintf("%s/x", empty);
	struct os_file f = {0};

	(void)state;
	tmp_write(empty, "", 0);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_err(os_file_open(dir, &f), ERR_FORMAT, "folder: is a directory, not a file");
	assert_err(os_file_open(empty, &f), ERR_FORMAT, "empty: is empty");
	assert_err(os_file_open(fifo, &f), ERR_FORMAT, "fifo: is not a regular file");
	assert_err(os_file_open("/dev/zero", &f), ERR_FORMAT, "/dev/zero: is not a regular file");
	assert_err(os_file_open(missing, &f), ERR_OS, "missing: cannot be opened: No such file");
	assert_err(os_file_open(below, &f), ERR_OS, "cannot be opened: Not a directory");
	assert_null(f.path);
}

static void test_unreadable(void **state)
{
	AUTO_FREE char *path = tmp_path("locked");
	struct os_file f = {0};
	bool root = geteuid() == 0;

	(void)state;
	tmp_write(path, "x", 1);
	assert_int_equal(chmod(path, 0), 0);
	/* Root reads everything: be somebody else for a moment. */
	if (root)
		assert_int_equal(seteuid(65534), 0);
	assert_err(os_file_open(path, &f), ERR_OS, "locked: cannot be opened: Permission denied");
	if (root)
		assert_int_equal(seteuid(0), 0);
}

TEST_MAIN(TEST(test_open), TEST(test_refuses), TEST(test_unreadable))
