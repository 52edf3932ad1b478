/* The history: what is put in comes out, in order, whatever happens to the file meanwhile. */
#include "store/history.h"
#include "support/test.h"
#include "support/tmp.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND ((i64)1000000000)

/* Facts of a snapshot number i, taken i seconds after an epoch. */
static struct facts facts_of(const char *path, int i)
{
	struct facts f = {.level_count = 0};
	struct facts_level *l;

	f.head = (struct facts_head){.path = path,
				     .file_bytes = 100,
				     .inode = (u64)i,
				     .time_ns = i * SECOND,
				     .time_from = "file",
				     .exe = "/srv/app",
				     .build = "b1",
				     .total = {1000, (u64)(100 * i), FACT_UNKNOWN}};
	assert_ok(facts_add_level(&f, "class", &l));
	assert_ok(facts_add(&f, l, "anon", 1000, (u64)(10 * i), FACT_UNKNOWN));
	if (i % 2)
		assert_ok(facts_add(&f, l, "shm", 7, 7, 7));
	facts_seal(&f);
	return f;
}

static void add(struct history *h, const char *path, int i)
{
	struct facts f = facts_of(path, i);

	assert_ok(history_add(h, &f));
	facts_fini(&f);
}

static struct history *open_new(const char *path)
{
	struct history *h;

	unlink(path);
	assert_ok(history_open(path, HISTORY_CREATE, &h));
	return h;
}

static void assert_paths(struct history *h, const struct history_filter *filter,
			 const char *expected)
{
	struct history_list list = {.arena = {NULL, 0}};
	char paths[256] = "";

	assert_ok(history_list(h, filter, &list));
	for (size_t i = 0; i < list.v.n; i++) {
		size_t n = strlen(paths);

		snprintf(paths + n, sizeof(paths) - n, "%s ", list.v.v[i].head.path);
	}
	assert_string_equal(paths, expected);
	history_list_fini(&list);
}

static void test_lists_in_order(void **state)
{
	char *path = tmp_path("order.db");
	struct history *h = open_new(path);
	struct facts other = facts_of("z", 9);

	(void)state;
	add(h, "core.10", 1);
	add(h, "core.9", 3);
	add(h, "core.2", 2);
	other.head.exe = "/srv/other";
	other.head.partial = "truncated";
	assert_ok(history_add(h, &other));
	facts_fini(&other);
	assert_paths(h, &(struct history_filter){.last = 0}, "core.10 core.2 core.9 z ");
	assert_paths(h, &(struct history_filter){.order = HISTORY_BY_NAME},
		     "core.2 core.9 core.10 z ");
	assert_paths(h, &(struct history_filter){.last = 2}, "core.9 z ");
	assert_paths(h, &(struct history_filter){.program = "app"}, "core.10 core.2 core.9 ");
	assert_paths(h, &(struct history_filter){.program = "b1", .last = 1}, "z ");
	assert_paths(h, &(struct history_filter){.complete = true}, "core.10 core.2 core.9 ");
	history_close(h);
	free(path);
}

static void test_loads_what_was_added(void **state)
{
	char *path = tmp_path("load.db");
	struct history *h = open_new(path);
	struct facts f = facts_of("a", 3), back = {.level_count = 0}, gone = {.level_count = 0};
	const struct history_filter all = {.last = 0};
	struct history_list list = {.arena = {NULL, 0}};
	struct facts_level *empty;

	(void)state;
	assert_ok(facts_add_level(&f, "verdict", &empty));
	assert_ok(history_add(h, &f));
	history_close(h);
	assert_ok(history_open(path, HISTORY_READ, &h));
	assert_ok(history_list(h, &all, &list));
	assert_int_equal(list.v.n, 1);
	assert_ok(history_load(h, list.v.v[0].id, &back));
	assert_string_equal(back.head.path, "a");
	assert_string_equal(back.head.exe, "/srv/app");
	assert_null(back.head.go);
	assert_int_equal(back.head.total[FACT_RESIDENT], 300);
	assert_true(back.head.total[FACT_COUNT] == FACT_UNKNOWN);
	assert_int_equal(back.level_count, 2);
	assert_int_equal(facts_level(&back, "verdict")->rows.n, 0);
	assert_int_equal(facts_row(facts_level(&back, "class"), "anon")->v[FACT_RESIDENT], 30);
	assert_true(facts_row(facts_level(&back, "class"), "anon")->v[FACT_COUNT] == FACT_UNKNOWN);
	assert_err(history_load(h, 77, &gone), ERR_MISSING, "not there any more");
	facts_fini(&f);
	facts_fini(&back);
	facts_fini(&gone);
	history_list_fini(&list);
	history_close(h);
	free(path);
}

static void test_a_file_is_there_once(void **state)
{
	char *path = tmp_path("once.db");
	struct history *h = open_new(path);
	struct facts_head file = {.path = "a", .file_bytes = 100, .inode = 1};
	bool there;

	(void)state;
	assert_ok(history_has(h, &file, &there));
	assert_false(there);
	add(h, "a", 1);
	add(h, "a", 1);
	add(h, "a", 2); /* another file of that name */
	assert_ok(history_has(h, &file, &there));
	assert_true(there);
	file.mtime_ns = 1;
	assert_ok(history_has(h, &file, &there));
	assert_false(there);
	assert_paths(h, &(struct history_filter){.last = 0}, "a a ");
	history_close(h);
	free(path);
}

static void test_follows_a_key(void **state)
{
	char *path = tmp_path("follow.db");
	struct history *h = open_new(path);
	const struct history_filter all = {.last = 0};
	struct history_list list = {.arena = {NULL, 0}};
	struct history_series anon = {.found = false}, shm = anon, none = anon, total = anon;
	struct facts bare = {.head = {.path = "c", .time_from = "file", .time_ns = 99 * SECOND}};

	(void)state;
	add(h, "a", 1);
	add(h, "b", 2);
	assert_ok(history_add(h, &bare));
	assert_ok(history_list(h, &all, &list));
	assert_ok(history_follow(h, &list, "class", "anon", &anon));
	assert_int_equal(anon.v.n, 3);
	assert_true(anon.found && anon.v.v[1].listed && !anon.v.v[2].known);
	assert_int_equal(anon.v.v[1].v[FACT_RESIDENT], 20);
	assert_true(anon.v.v[2].v[FACT_RESIDENT] == FACT_UNKNOWN);
	assert_ok(history_follow(h, &list, "class", "shm", &shm));
	assert_true(shm.v.v[1].known && !shm.v.v[1].listed);
	assert_int_equal(shm.v.v[0].v[FACT_COUNT], 7);
	assert_int_equal(shm.v.v[1].v[FACT_COUNT], 0);
	assert_ok(history_follow(h, &list, "class", "nothing", &none));
	assert_false(none.found);
	assert_ok(history_follow(h, &list, NULL, NULL, &total));
	assert_int_equal(total.v.v[1].v[FACT_RESIDENT], 200);
	history_series_fini(&anon);
	history_series_fini(&shm);
	history_series_fini(&none);
	history_series_fini(&total);
	history_list_fini(&list);
	history_close(h);
	free(path);
}

#define KEYS_BUF 128

static struct err *join_keys(void *arg, const char *level, const char *key)
{
	char *text = arg;
	size_t n = strlen(text);

	snprintf(text + n, KEYS_BUF - n, "%s:%s ", level, key);
	return NULL;
}

static void test_removes_and_forgets_names(void **state)
{
	char *path = tmp_path("remove.db"), keys[KEYS_BUF] = "";
	struct history *h = open_new(path);
	const struct history_filter odd = {.order = HISTORY_BY_NAME, .last = 1};
	struct history_list list = {.arena = {NULL, 0}};

	(void)state;
	add(h, "a", 2);
	add(h, "b", 1);
	assert_ok(history_keys(h, NULL, join_keys, keys));
	assert_string_equal(keys, "class:anon class:shm ");
	assert_ok(history_list(h, &odd, &list));
	assert_ok(history_remove(h, &list));
	*keys = '\0';
	assert_ok(history_keys(h, "class", join_keys, keys));
	assert_string_equal(keys, "class:anon ");
	assert_paths(h, &(struct history_filter){.last = 0}, "a ");
	history_list_fini(&list);
	history_close(h);
	free(path);
}

static void test_merges(void **state)
{
	char *path = tmp_path("merge.db"), *from = tmp_path("from.db");
	struct history *h = open_new(from);
	u64 added, seen;

	(void)state;
	add(h, "a", 1);
	add(h, "b", 2);
	history_close(h);
	h = open_new(path);
	add(h, "b", 2);
	add(h, "c", 3);
	assert_ok(history_merge(h, from, &added, &seen));
	assert_int_equal(added, 1);
	assert_int_equal(seen, 2);
	assert_paths(h, &(struct history_filter){.last = 0}, "a b c ");
	assert_err(history_merge(h, "nowhere.db", &added, &seen), ERR_OS, "cannot be opened");
	history_close(h);
	free(path);
	free(from);
}

static void test_failures_go_when_the_file_comes(void **state)
{
	char *path = tmp_path("failures.db");
	struct history *h = open_new(path);
	struct history_failures f = {.arena = {NULL, 0}}, none = f;

	(void)state;
	assert_ok(history_add_failure(h, "b", 3, "is not a core"));
	assert_ok(history_add_failure(h, "a", 3, "killed"));
	assert_ok(history_add_failure(h, "a", 4, "again"));
	assert_ok(history_failures(h, &f));
	assert_int_equal(f.v.n, 2);
	assert_string_equal(f.v.v[0].message, "again");
	assert_int_equal(f.v.v[0].status, 4);
	add(h, "a", 1);
	add(h, "b", 1);
	assert_ok(history_failures(h, &none));
	assert_int_equal(none.v.n, 0);
	history_failures_fini(&f);
	history_failures_fini(&none);
	history_close(h);
	free(path);
}

/* Runs SQL on a database that is not open here. */
static void change(const char *path, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void test_refuses_what_is_not_ours(void **state)
{
	char *path = tmp_path("bad.db");
	struct history *h = open_new(path);

	(void)state;
	history_close(h);
	change(path, "PRAGMA user_version = 99");
	assert_err(history_open(path, HISTORY_READ, &h), ERR_UNSUPPORTED,
		   "was made by a newer spanscope (form 99; this one reads 1)");
	assert_err(history_open(path, HISTORY_CREATE, &h), ERR_UNSUPPORTED, "newer spanscope");
	unlink(path);
	assert_err(history_open(path, HISTORY_CHANGE, &h), ERR_OS, "cannot be opened: No such");
	change(path, "CREATE TABLE t(x)");
	assert_err(history_open(path, HISTORY_CREATE, &h), ERR_FORMAT, "of another program");
	tmp_write(path, "this is text, and as long as it has to be for that ...............", 66);
	assert_err(history_open(path, HISTORY_READ, &h), ERR_FORMAT, "is no database");
	unlink(path);
	tmp_write(path, "", 0);
	assert_err(history_open(path, HISTORY_READ, &h), ERR_FORMAT, "is an empty database");
	assert_ok(history_open(path, HISTORY_CREATE, &h));
	history_close(h);
	free(path);
}

static void test_a_disk_that_is_full(void **state)
{
	char *path = tmp_path("full.db");
	struct history *h = open_new(path);
	struct facts f = facts_of("big", 5);
	struct facts_level *l;
	struct rlimit old, small = {.rlim_cur = 200000, .rlim_max = RLIM_INFINITY};
	char key[64];

	(void)state;
	add(h, "a", 1);
	assert_ok(facts_add_level(&f, "site", &l));
	for (int i = 0; i < 20000; i++) {
		snprintf(key, sizeof(key), "a site with a name of its own: %d", i);
		assert_ok(facts_add(&f, l, key, 1, 1, 1));
	}
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small.rlim_max = old.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_err(history_add(h, &f), ERR_OS, "full.db: ");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_paths(h, &(struct history_filter){.last = 0}, "a ");
	add(h, "b", 2);
	history_close(h);
	assert_ok(history_open(path, HISTORY_READ, &h));
	assert_paths(h, &(struct history_filter){.last = 0}, "a b ");
	history_close(h);
	facts_fini(&f);
	free(path);
}

/* Adds snapshots until it is killed. */
static void add_for_ever(const char *path, int ready)
{
	struct history *h;

	if (history_open(path, HISTORY_CHANGE, &h) != NULL)
		_exit(1);
	for (int i = 1;; i++) {
		struct facts f = facts_of("killed", i);

		if (history_add(h, &f) != NULL || write(ready, "x", 1) != 1)
			_exit(1);
		facts_fini(&f);
	}
}

static void test_survives_kill(void **state)
{
	char *path = tmp_path("kill.db"), byte;
	struct history *h = open_new(path);

	(void)state;
	history_close(h);
	for (int round = 0; round < 5; round++) {
		struct history_list list = {.arena = {NULL, 0}};
		const struct history_filter all = {.last = 0};
		int fds[2];
		pid_t pid;

		assert_int_equal(pipe(fds), 0);
		pid = fork();
		if (!pid)
			add_for_ever(path, fds[1]);
		close(fds[1]);
		for (int i = 0; i < 5 * round + 2; i++)
			assert_int_equal(read(fds[0], &byte, 1), 1);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		close(fds[0]);
		assert_ok(history_open(path, HISTORY_READ, &h));
		assert_ok(history_list(h, &all, &list));
		assert_true(list.v.n >= (size_t)(5 * round + 2));
		for (size_t i = 0; i < list.v.n; i++) {
			struct facts f = {.level_count = 0};

			assert_ok(history_load(h, list.v.v[i].id, &f));
			assert_int_equal(facts_row(facts_level(&f, "class"), "anon")->v[1],
					 10 * (i + 1));
			facts_fini(&f);
		}
		history_list_fini(&list);
		history_close(h);
	}
	free(path);
}

static void test_waits_for_others_but_not_for_ever(void **state)
{
	char *path = tmp_path("locked.db");
	struct history *h = open_new(path);
	struct facts f = facts_of("a", 1);
	sqlite3 *db;

	(void)state;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
	assert_err(history_add(h, &f), ERR_OS, "locked.db: is in use by another program");
	sqlite3_close(db);
	assert_ok(history_add(h, &f));
	facts_fini(&f);
	history_close(h);
	free(path);
}

TEST_MAIN(TEST(test_lists_in_order), TEST(test_loads_what_was_added),
	  TEST(test_a_file_is_there_once), TEST(test_follows_a_key),
	  TEST(test_removes_and_forgets_names), TEST(test_merges),
	  TEST(test_failures_go_when_the_file_comes), TEST(test_refuses_what_is_not_ours),
	  TEST(test_a_disk_that_is_full), TEST(test_survives_kill),
	  TEST(test_waits_for_others_but_not_for_ever))
