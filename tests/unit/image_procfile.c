/* The kernel's figures of a process and of its cgroup, in both versions, good and bad. */
#include "image/procfile.h"

#include "support/test.h"

#include <string.h>

#define STATUS                                                                                     \
	"Name:\ta b\n"                                                                             \
	"Tgid:\t4711\n"                                                                            \
	"NStgid:\t4711\t17\t1\n"                                                                   \
	"VmRSS:\t   73684 kB\n"                                                                    \
	"RssAnon:\t   71996 kB\n"                                                                  \
	"VmSwap:\t       0 kB\n"                                                                   \
	"Cpus_allowed:\t3\n"

static void test_status(void **state)
{
	static const char text[] = STATUS;
	struct proc_status s = {0};

	(void)state;
	assert_ok(proc_status_parse(&s, text, sizeof(text) - 1));
	assert_true(s.known[STATUS_VMRSS] && s.bytes[STATUS_VMRSS] == (u64)73684 << 10);
	assert_true(s.known[STATUS_RSSANON] && s.known[STATUS_VMSWAP] && !s.bytes[STATUS_VMSWAP]);
	assert_false(s.known[STATUS_RSSFILE] || s.known[STATUS_VMPTE]);
	assert_int_equal(s.pid_count, 3);
	assert_true(proc_status_has_pid(&s, 4711) && proc_status_has_pid(&s, 1));
	assert_false(proc_status_has_pid(&s, 4712));
	assert_string_equal(proc_status_name(STATUS_RSSSHMEM), "RssShmem");
}

static void test_bad_status(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"", "has no Tgid"},
		{"VmRSS:\t1 kB\n", "has no Tgid"},
		{"Tgid:\t1", "line 1: cut off"},
		{"Tgid:\t\n", "line 1: this is no line"},
		{"Tgid:\t0\n", "line 1: this is no line"},
		{"Tgid:\t-1\n", "line 1: this is no line"},
		{"Tgid:\t4294967296\n", "line 1: this is no line"},
		{"Tgid:\t1\nVmRSS\n", "line 2: this is no line"},
		{"Tgid:\t1\nVmRSS:\t1\n", "line 2: this is no line"},
		{"Tgid:\t1\nVmRSS:\t1 kB \n", "line 2: this is no line"},
		{"Tgid:\t1\nVmRSS:\t18014398509481984 kB\n", "line 2: this is no line"},
		{"\x7f"
		 "ELF\n",
		 "line 1: this is no line"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct proc_status s = {0};

		assert_err(proc_status_parse(&s, cases[i].text, strlen(cases[i].text)), ERR_FORMAT,
			   cases[i].message);
	}
}

static void test_stat(void **state)
{
	static const char good[] = "27190 (a) b) t 27189 27189 27189 0 -1 4195848 23168 0 0 0 1 22 "
				   "0 0 25 5 1 0 106337 1391480832\n";
	struct proc_stat s = {.pid = 0};

	(void)state;
	assert_ok(proc_stat_parse(&s, good, sizeof(good) - 1));
	assert_int_equal(s.pid, 27190);
	assert_int_equal(s.start, 106337);
	assert_int_equal(s.cpu_ticks, 23);
	assert_err(proc_stat_parse(&s, "", 0), ERR_FORMAT, "not /proc/PID/stat");
	assert_err(proc_stat_parse(&s, "1 x", 3), ERR_FORMAT, "not /proc/PID/stat");
	assert_err(proc_stat_parse(&s, "1 (x) S 1", 9), ERR_FORMAT, "field 5 is missing");
	assert_err(proc_stat_parse(&s, "1 (x) S 1 1 1 1 1 1 1 1 1 1 x 1 1", 33), ERR_FORMAT,
		   "field 14 is missing");
	assert_err(proc_stat_parse(&s, good, 62), ERR_FORMAT, "is missing");
}

static void parse(struct cgroup *c, const char *name, const char *text)
{
	bool ours;

	assert_ok(cgroup_parse(c, name, text, strlen(text), &ours));
	assert_true(ours);
}

static void test_cgroup(void **state)
{
	struct cgroup new = {{0}, {0}}, old = {{0}, {0}};

	(void)state;
	parse(&new, "memory.current", "900000000\n");
	parse(&new, "memory.max", "max\n");
	parse(&new, "memory.stat", "anon 10\nfile 20\nkernel 30\nfile_mapped 5\nsock 7\n");
	assert_true(new.known[CGROUP_USAGE] && new.bytes[CGROUP_USAGE] == 900000000);
	assert_false(new.known[CGROUP_LIMIT] || new.known[CGROUP_SLAB]);
	assert_true(new.bytes[CGROUP_ANON] == 10 && new.bytes[CGROUP_FILE] == 20);
	assert_true(new.bytes[CGROUP_KERNEL] == 30 && new.bytes[CGROUP_SOCK] == 7);
	parse(&new, "memory.max", "1073741824\n");
	assert_true(new.known[CGROUP_LIMIT] && new.bytes[CGROUP_LIMIT] == 1 << 30);

	parse(&old, "memory.usage_in_bytes", "5000\n");
	parse(&old, "memory.limit_in_bytes", "9223372036854771712\n");
	parse(&old, "memory.kmem.usage_in_bytes", "12\n");
	parse(&old, "memory.stat", "cache 1\nrss 2\ntotal_cache 100\ntotal_rss 200\n");
	assert_true(old.bytes[CGROUP_USAGE] == 5000 && !old.known[CGROUP_LIMIT]);
	assert_true(old.bytes[CGROUP_KERNEL] == 12);
	assert_true(old.bytes[CGROUP_FILE] == 100 && old.bytes[CGROUP_ANON] == 200);
}

static void test_bad_cgroup(void **state)
{
	static const struct {
		const char *name, *text, *message;
	} cases[] = {
		{"memory.current", "", "no number"},
		{"memory.current", "x\n", "no number"},
		{"memory.current", "1", "cut off"},
		{"memory.current", "1 2\n", "cut off"},
		{"memory.max", "maximum\n", "cut off"},
		{"memory.stat", "anon", "line 1: this is no line"},
		{"memory.stat", "anon 1", "line 1: this is no line"},
		{"memory.stat", "anon 1\nfile\n", "line 2: this is no line"},
		{"memory.stat", "anon 1 2\n", "line 1: this is no line"},
		{"memory.stat", "anon 18446744073709551616\n", "line 1: this is no line"},
	};
	struct cgroup c = {{0}, {0}};
	bool ours;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_err(cgroup_parse(&c, cases[i].name, cases[i].text, strlen(cases[i].text),
					&ours),
			   ERR_FORMAT, cases[i].message);
	assert_ok(cgroup_parse(&c, "memory.events", "x", 1, &ours));
	assert_false(ours);
}

TEST_MAIN(TEST(test_status), TEST(test_bad_status), TEST(test_stat), TEST(test_cgroup),
	  TEST(test_bad_cgroup))
