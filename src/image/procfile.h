/* Figures of the kernel's about a process and its cgroup: /proc/PID/status, /proc/PID/stat, and
 * the memory controller's files.
 *
 * Formats: Linux 6.18, fs/proc/array.c, fs/proc/task_mmu.c (task_mem), mm/memcontrol.c (version
 * 2), mm/memcontrol-v1.c (version 1). Lines that are not read do not matter. */
#ifndef IMAGE_PROCFILE_H
#define IMAGE_PROCFILE_H

#include "base/err.h"

enum status_figure {
	STATUS_VMRSS,
	STATUS_RSSANON,
	STATUS_RSSFILE,
	STATUS_RSSSHMEM,
	STATUS_VMSWAP,
	STATUS_VMPTE,
	STATUS_HUGETLB,
	STATUS_COUNT,
};

#define STATUS_MAX_PIDS 8 /* nested namespaces; the kernel allows 32 */

struct proc_status {
	u64 bytes[STATUS_COUNT];
	bool known[STATUS_COUNT];
	u32 pids[STATUS_MAX_PIDS]; /* of the process, in each namespace that it has one in */
	size_t pid_count;          /* 0: nothing was read */
};

/* ERR_FORMAT names the line. */
struct err *proc_status_parse(struct proc_status *s, const char *text, size_t n) ERR_RESULT;

/* "VmRSS" */
const char *proc_status_name(enum status_figure f);

/* Whether the process has this pid in one of its namespaces. */
bool proc_status_has_pid(const struct proc_status *s, u32 pid);

/* A line like that of /proc/PID/stat. Ticks are hundredths of a second. */
struct proc_stat {
	u32 pid;       /* 0: nothing was read */
	u64 start;     /* in ticks since boot */
	u64 cpu_ticks; /* that all its threads have had, in the kernel too */
};

#define PROC_TICKS_PER_SECOND 100 /* USER_HZ */

/* ERR_FORMAT names the field. */
struct err *proc_stat_parse(struct proc_stat *s, const char *text, size_t n) ERR_RESULT;

/* Of both versions of the controller. Bytes. */
enum cgroup_figure {
	CGROUP_USAGE, /* what the limit is compared with */
	CGROUP_LIMIT,
	CGROUP_ANON,
	CGROUP_FILE,   /* page cache: mapped files and shared memory included */
	CGROUP_KERNEL, /* all kernel memory; version 2: without socket buffers */
	CGROUP_SOCK,   /* socket buffers */
	CGROUP_SLAB,
	CGROUP_PAGETABLES,
	CGROUP_STACKS,
	CGROUP_PERCPU,
	CGROUP_COUNT,
};

struct cgroup {
	u64 bytes[CGROUP_COUNT];
	bool known[CGROUP_COUNT];
};

/* Reads the controller's file of this name ("memory.stat"); *ours is false for a name of none that
 * is read. ERR_FORMAT says what is wrong. */
struct err *cgroup_parse(struct cgroup *c, const char *name, const char *text, size_t n,
			 bool *ours) ERR_RESULT;

#endif
