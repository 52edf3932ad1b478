/* What the kernel counts, beside the ledger: the process's figures, and those of its cgroup. */
#ifndef REPORT_KERNEL_H
#define REPORT_KERNEL_H

#include "report/report.h"

/* One part of what the cgroup is charged for. */
struct cgroup_part {
	const char *id, *title;
	u64 bytes;
};

#define CGROUP_PARTS 8

/* The parts of the cgroup's usage, which sum to it: the process's RSS, file cache beyond it, kernel
 * memory by kind, and what is left: other processes. 0 without a sidecar that has the figures.
 * *beyond is all but the RSS. */
size_t kernel_cgroup_parts(const struct snapshot *s, struct cgroup_part parts[static CGROUP_PARTS],
			   u64 *beyond);

/* The tables "kernel" and "cgroup", as far as their figures are known. brief: for people a line in
 * place of the first. */
void kernel_tables(struct doc *d, const struct snapshot *s, bool brief);

#endif
