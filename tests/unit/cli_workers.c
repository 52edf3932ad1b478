/* Children at work: results come, deaths are told, and nobody is left. */
#include "cli/workers.h"

#include "base/mem.h"
#include "support/test.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ITEMS = 7 };

struct seen {
	char text[ITEMS][200];
	bool done[ITEMS], bug[ITEMS];
	size_t count, stop_after;
};

static struct err *work(void *arg, size_t i, FILE *out)
{
	(void)arg;
	switch (i) {
	case 1:
		return err_new(ERR_FORMAT, "is no core");
	case 2:
		raise(SIGABRT); /* cmocka catches those that are worse */
		break;
	case 3:
		raise(SIGKILL);
		break;
	case 4:
		return err_new(ERR_BUG, "broken");
	case 5:
		if (fprintf(stderr, "spanscope: too little memory\nmore\n") < 0)
			_exit(0);
		_exit(3);
	default:
		break;
	}
	fprintf(out, "result %zu, limit %llu", i, (unsigned long long)mem_limit());
	return NULL;
}

static struct err *result(void *arg, size_t i, const struct work_result *r)
{
	struct seen *s = arg;

	assert_true(i < ITEMS);
	snprintf(s->text[i], sizeof(s->text[i]), "%s", r->text);
	s->done[i] = r->done;
	s->bug[i] = r->bug;
	return ++s->count == s->stop_after ? err_new(ERR_OS, "no more") : NULL;
}

static void test_each_has_its_result(void **state)
{
	(void)state;
	for (unsigned jobs = 1; jobs <= 4; jobs += 3) {
		struct seen s = {.count = 0};
		const struct work w = {ITEMS, jobs, 0, work, result, &s};

		mem_set_limit((u64)1 << 30);
		assert_ok(workers_run(&w));
		mem_set_limit(0);
		assert_int_equal(s.count, ITEMS);
		assert_string_equal(s.text[0], jobs == 1 ? "result 0, limit 1073741824"
							 : "result 0, limit 268435456");
		assert_true(s.done[0] && s.done[6] && !s.done[1] && !s.bug[1]);
		assert_string_equal(s.text[1], "is no core");
		assert_true(s.bug[2] && !s.done[2]);
		assert_string_equal(s.text[3],
				    "its worker was ended by signal 9: too little memory?");
		assert_true(!s.bug[3] && s.bug[4]);
		assert_string_equal(s.text[5], "too little memory");
	}
}

static void test_an_error_ends_all(void **state)
{
	struct seen s = {.stop_after = 2};
	const struct work w = {ITEMS, 3, 0, work, result, &s};

	(void)state;
	assert_err(workers_run(&w), ERR_OS, "no more");
	assert_int_equal(s.count, 2);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* there are no children */
}

static struct err *hang_once(void *arg, size_t i, FILE *out)
{
	(void)arg;
	if (i == 1)
		pause();
	fprintf(out, "result %zu", i);
	return NULL;
}

static void test_a_hanging_one_is_ended(void **state)
{
	struct seen s = {.count = 0};
	const struct work w = {3, 1, 200000000, hang_once, result, &s};

	(void)state;
	assert_ok(workers_run(&w));
	assert_int_equal(s.count, 3);
	assert_true(s.done[0] && !s.done[1] && !s.bug[1] && s.done[2]);
	assert_string_equal(s.text[1], "it took longer than 200 ms (--timeout)");
}

TEST_MAIN(TEST(test_each_has_its_result), TEST(test_an_error_ends_all),
	  TEST(test_a_hanging_one_is_ended))
