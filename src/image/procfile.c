#include "image/procfile.h"

#include "base/text.h"

#include <string.h>

static const char *const status_keys[STATUS_COUNT] = {
	[STATUS_VMRSS] = "VmRSS",          [STATUS_RSSANON] = "RssAnon",
	[STATUS_RSSFILE] = "RssFile",      [STATUS_RSSSHMEM] = "RssShmem",
	[STATUS_VMSWAP] = "VmSwap",        [STATUS_VMPTE] = "VmPTE",
	[STATUS_HUGETLB] = "HugetlbPages",
};

const char *proc_status_name(enum status_figure f)
{
	return status_keys[f];
}

/* "Key:" in front of a line, without the colon. */
static bool take_key(struct text *t, struct text *key)
{
	const char *colon = memchr(t->p, ':', text_length(*t));

	if (!colon)
		return false;
	*key = (struct text){t->p, colon};
	t->p = colon + 1;
	return true;
}

static bool is_key(struct text key, const char *word)
{
	return text_word(&key, word) && text_is_end(key);
}

/* "	    1234 kB" */
static bool parse_size(struct text t, u64 *bytes)
{
	u64 kib;

	text_blanks(&t);
	if (!text_number(&t, 10, &kib) || !text_word(&t, " kB") || !text_is_end(t) ||
	    kib > UINT64_MAX >> 10)
		return false;
	*bytes = kib << 10;
	return true;
}

/* One or more pids of the process: what Pid has may be a thread's. "Tgid" comes first and is the
 * first of "NStgid" again. */
static bool parse_pids(struct text t, struct proc_status *s)
{
	u64 pid;

	for (s->pid_count = 0, text_blanks(&t); !text_is_end(t); text_blanks(&t)) {
		if (!text_number(&t, 10, &pid) || !pid || pid > UINT32_MAX)
			return false;
		if (s->pid_count < STATUS_MAX_PIDS)
			s->pids[s->pid_count++] = (u32)pid;
	}
	return s->pid_count;
}

static bool parse_status_line(struct proc_status *s, struct text line)
{
	struct text key;

	if (text_has_nul(line) || !take_key(&line, &key))
		return false;
	if (is_key(key, "Tgid") || is_key(key, "NStgid"))
		return parse_pids(line, s);
	for (size_t i = 0; i < STATUS_COUNT; i++) {
		if (!is_key(key, status_keys[i]))
			continue;
		s->known[i] = parse_size(line, &s->bytes[i]);
		return s->known[i];
	}
	return true;
}

struct err *proc_status_parse(struct proc_status *s, const char *text, size_t n)
{
	struct text left = {text, text + n}, line;
	bool whole;

	for (unsigned long number = 1; text_line(&left, &line, &whole); number++) {
		if (!whole)
			return err_new(ERR_FORMAT, "line %lu: cut off", number);
		if (!parse_status_line(s, line))
			return err_new(ERR_FORMAT, "line %lu: this is no line of status", number);
	}
	return s->pid_count ? NULL : err_new(ERR_FORMAT, "has no Tgid: not /proc/PID/status");
}

bool proc_status_has_pid(const struct proc_status *s, u32 pid)
{
	for (size_t i = 0; i < s->pid_count; i++)
		if (s->pids[i] == pid)
			return true;
	return false;
}

/* The number of a field, where it is wanted; else the field is left out. */
static struct err *stat_field(struct text *t, unsigned field, u64 *ret)
{
	if (!text_char(t, ' ') || (ret && !text_number(t, 10, ret)))
		return err_new(ERR_FORMAT, "field %u is missing", field);
	while (!ret && !text_is_end(*t) && *t->p != ' ')
		t->p++;
	return NULL;
}

struct err *proc_stat_parse(struct proc_stat *s, const char *text, size_t n)
{
	enum { BEHIND_NAME = 3, UTIME = 14, STIME = 15, START = 22 };
	struct text t = {text, text + n};
	const char *name_end = n ? memrchr(text, ')', n) : NULL; /* the name may have one too */
	u64 pid = 0, numbers[START + 1] = {0};

	if (!text_number(&t, 10, &pid) || !pid || pid > UINT32_MAX || !name_end)
		return err_new(ERR_FORMAT, "not /proc/PID/stat");
	t.p = name_end + 1;
	for (unsigned field = BEHIND_NAME; field <= START; field++) {
		bool wanted = field == UTIME || field == STIME || field == START;

		TRY(stat_field(&t, field, wanted ? &numbers[field] : NULL));
	}
	*s = (struct proc_stat){.pid = (u32)pid,
				.start = numbers[START],
				.cpu_ticks = va_plus(numbers[UTIME], numbers[STIME])};
	return NULL;
}

/* ---- cgroups */

/* Files with one number. */
static const struct {
	const char *name;
	enum cgroup_figure figure;
} numbers[] = {
	{"memory.current", CGROUP_USAGE},
	{"memory.max", CGROUP_LIMIT},
	{"memory.usage_in_bytes", CGROUP_USAGE},
	{"memory.limit_in_bytes", CGROUP_LIMIT},
	{"memory.kmem.usage_in_bytes", CGROUP_KERNEL},
};

/* Lines of memory.stat. Those of version 1 that begin with "total_" include groups below. */
static const struct {
	const char *key;
	enum cgroup_figure figure;
} stats[] = {
	{"anon", CGROUP_ANON},           {"file", CGROUP_FILE},
	{"kernel", CGROUP_KERNEL},       {"sock", CGROUP_SOCK},
	{"slab", CGROUP_SLAB},           {"pagetables", CGROUP_PAGETABLES},
	{"kernel_stack", CGROUP_STACKS}, {"percpu", CGROUP_PERCPU},
	{"total_rss", CGROUP_ANON},      {"total_cache", CGROUP_FILE},
};

/* Version 1 has "no limit" as the largest number of pages. */
#define NO_LIMIT ((u64)1 << 62)

static void set_figure(struct cgroup *c, enum cgroup_figure f, u64 bytes)
{
	c->bytes[f] = bytes;
	c->known[f] = f != CGROUP_LIMIT || bytes < NO_LIMIT;
}

static struct err *parse_number(struct cgroup *c, enum cgroup_figure f, struct text t)
{
	u64 bytes;

	if (text_word(&t, "max"))
		bytes = UINT64_MAX;
	else if (!text_number(&t, 10, &bytes))
		return err_new(ERR_FORMAT, "this is no number");
	if (!text_char(&t, '\n') || !text_is_end(t))
		return err_new(ERR_FORMAT, "more than a number, or cut off");
	set_figure(c, f, bytes);
	return NULL;
}

static struct err *parse_stats(struct cgroup *c, struct text left)
{
	struct text line;
	bool whole;

	for (unsigned long number = 1; text_line(&left, &line, &whole); number++) {
		const char *blank = memchr(line.p, ' ', text_length(line));
		struct text key = {line.p, blank};
		u64 bytes;

		line.p = blank ? blank + 1 : line.p;
		if (!whole || !blank || !text_number(&line, 10, &bytes) || !text_is_end(line))
			return err_new(ERR_FORMAT, "line %lu: this is no line of memory.stat",
				       number);
		for (size_t i = 0; i < COUNT_OF(stats); i++)
			if (is_key(key, stats[i].key))
				set_figure(c, stats[i].figure, bytes);
	}
	return NULL;
}

struct err *cgroup_parse(struct cgroup *c, const char *name, const char *text, size_t n, bool *ours)
{
	struct text t = {text, text + n};

	*ours = true;
	if (!strcmp(name, "memory.stat"))
		return parse_stats(c, t);
	for (size_t i = 0; i < COUNT_OF(numbers); i++)
		if (!strcmp(name, numbers[i].name))
			return parse_number(c, numbers[i].figure, t);
	*ours = false;
	return NULL;
}
