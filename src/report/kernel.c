#include "report/kernel.h"

#include "base/units.h"
#include "image/sidecar.h"

/* ---- the process */

/* What the ledger has for a figure of status; false where it has nothing to compare. */
static bool ledger_figure(const struct snapshot *s, enum status_figure f, u64 *ret)
{
	struct ledger_counted c;

	if (s->im->res.evidence != EVIDENCE_EXACT)
		return false;
	c = ledger_counted(s->ledger);
	switch (f) {
	case STATUS_VMRSS:
		*ret = c.anon + c.file + c.shm;
		return true;
	case STATUS_RSSANON:
		*ret = c.anon;
		return true;
	case STATUS_RSSFILE:
		*ret = c.file;
		return true;
	case STATUS_RSSSHMEM:
		*ret = c.shm;
		return true;
	case STATUS_VMSWAP:
		*ret = c.swapped;
		return true;
	case STATUS_VMPTE:
	case STATUS_HUGETLB:
	case STATUS_COUNT:
		break;
	}
	return false;
}

static const char *const meanings[STATUS_COUNT] = {
	[STATUS_VMRSS] = "resident memory",
	[STATUS_RSSANON] = "of it private memory",
	[STATUS_RSSFILE] = "of it pages of files",
	[STATUS_RSSSHMEM] = "of it shared memory",
	[STATUS_VMSWAP] = "private memory in swap",
	[STATUS_VMPTE] = "page tables, not in VmRSS",
	[STATUS_HUGETLB] = "hugetlbfs pages, not in VmRSS",
};

static void add_process(struct doc *d, const struct snapshot *s, const struct proc_status *status,
			bool brief)
{
	static const struct doc_column columns[] = {
		{"id", "figure"}, {"ledger", "ledger"}, {"kernel", "kernel"}, {NULL, "what it is"}};
	struct doc_table *t = doc_table(d, "kernel", brief ? NULL : "What the kernel counts",
					columns, COUNT_OF(columns));

	for (int f = 0; f < STATUS_COUNT; f++) {
		u64 ours = 0;
		bool known = ledger_figure(s, (enum status_figure)f, &ours);

		if (known || status->known[f])
			doc_row(t, doc_string(proc_status_name((enum status_figure)f)),
				known ? doc_bytes(ours) : doc_null(),
				status->known[f] ? doc_bytes(status->bytes[f]) : doc_null(),
				doc_string(meanings[f]));
	}
}

/* What top does not show as resident, in a line. */
static void add_brief(struct doc *d, const struct proc_status *status)
{
	char tables[UNITS_BUF], swapped[UNITS_BUF];

	if (!status->known[STATUS_VMPTE])
		return;
	doc_text(d, "%s", "");
	doc_text(d, "Beside resident memory: page tables %s (VmPTE)%s%s%s.",
		 units_bytes((i64)status->bytes[STATUS_VMPTE], tables),
		 status->bytes[STATUS_VMSWAP] ? ", swapped out " : "",
		 status->bytes[STATUS_VMSWAP]
			 ? units_bytes((i64)status->bytes[STATUS_VMSWAP], swapped)
			 : "",
		 status->bytes[STATUS_VMSWAP] ? " (VmSwap)" : "");
}

/* ---- its cgroup */

/* Takes up to so many bytes out of what is left. */
static void add_part(struct cgroup_part *parts, size_t *n, const char *id, const char *title,
		     u64 bytes, u64 *left)
{
	bytes = MIN(bytes, *left);
	*left -= bytes;
	parts[(*n)++] = (struct cgroup_part){id, title, bytes};
}

/* Kernel memory by kind: the page tables and so on, then what its total has beyond them. */
static void add_kernel_parts(const struct cgroup *c, struct cgroup_part *parts, size_t *n,
			     u64 *left)
{
	static const struct {
		enum cgroup_figure figure;
		const char *id, *title;
	} kinds[] = {
		{CGROUP_PAGETABLES, "pagetables", "page tables"},
		{CGROUP_SLAB, "slab", "kernel objects: inodes, dentries, sockets"},
		{CGROUP_SOCK, "sock", "socket buffers"},
	};
	u64 named = 0;

	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		if (!c->known[kinds[i].figure])
			continue;
		if (kinds[i].figure != CGROUP_SOCK)
			named += c->bytes[kinds[i].figure];
		add_part(parts, n, kinds[i].id, kinds[i].title, c->bytes[kinds[i].figure], left);
	}
	if (c->known[CGROUP_KERNEL])
		add_part(parts, n, "kernel", "other kernel memory",
			 c->bytes[CGROUP_KERNEL] - MIN(named, c->bytes[CGROUP_KERNEL]), left);
}

size_t kernel_cgroup_parts(const struct snapshot *s, struct cgroup_part parts[static CGROUP_PARTS],
			   u64 *beyond)
{
	const struct sidecar *sc = s->im->sidecar;
	const struct cgroup *c = sc ? &sc->cgroup : NULL;
	u64 rss, left, mapped;
	size_t n = 0;

	if (!c || !c->known[CGROUP_USAGE] || !sidecar_rss(sc, &rss))
		return 0;
	left = c->bytes[CGROUP_USAGE];
	add_part(parts, &n, "rss", "this process (VmRSS)", rss, &left);
	*beyond = left;
	/* Files and shared memory that it has mapped are file cache as well. */
	mapped = sc->status.bytes[STATUS_RSSFILE] + sc->status.bytes[STATUS_RSSSHMEM];
	if (c->known[CGROUP_FILE])
		add_part(parts, &n, "file",
			 "file cache, and shared memory, of which it maps nothing",
			 c->bytes[CGROUP_FILE] - MIN(mapped, c->bytes[CGROUP_FILE]), &left);
	add_kernel_parts(c, parts, &n, &left);
	add_part(parts, &n, "others", "other processes of the group, and the rest", left, &left);
	return n;
}

static void add_cgroup(struct doc *d, const struct snapshot *s)
{
	static const struct doc_column columns[] = {
		{"id", "part"}, {"bytes", "bytes"}, {NULL, "what it is"}};
	struct cgroup_part parts[CGROUP_PARTS];
	u64 beyond;
	size_t n = kernel_cgroup_parts(s, parts, &beyond);
	struct doc_table *t;

	if (!n)
		return;
	t = doc_table(d, "cgroup", "What its cgroup is charged for (memory.current)", columns,
		      COUNT_OF(columns));
	for (size_t i = 0; i < n; i++) {
		size_t row = doc_row(t, doc_string(parts[i].id), doc_bytes(parts[i].bytes),
				     doc_string(parts[i].title));

		if (!parts[i].bytes)
			doc_hide(t, row);
	}
	doc_row(t, doc_string("usage"), doc_bytes(s->im->sidecar->cgroup.bytes[CGROUP_USAGE]),
		doc_string("the sum, with which the limit is compared"));
}

void kernel_tables(struct doc *d, const struct snapshot *s, bool brief)
{
	const struct sidecar *sc = s->im->sidecar;

	if (!sc)
		return;
	if (brief)
		add_brief(d, &sc->status);
	if (sc->status.pid_count || sc->has_pages)
		add_process(d, s, &sc->status, brief);
	add_cgroup(d, s);
}
