/* Rules about single pages: they need to know which were resident, most of them by a record of the
 * kernel's. */
#include "image/sidecar.h"
#include "report/kernel.h"
#include "report/verdicts_priv.h"

#include <string.h>

static u64 sum_state(const struct judged *f, enum category first, enum category last,
		     enum page_state state)
{
	u64 sum = 0;

	for (int c = (int)first; c <= (int)last; c++)
		sum += ledger_columns(f->s->ledger, (enum category)c).state[state];
	return sum;
}

void judge_idle_absent(const struct judged *f, struct verdict *v)
{
	struct columns c = ledger_columns(f->s->ledger, CAT_IDLE_RETAINED);

	/* A page or two of every span are nothing to speak of. */
	if (c.state[STATE_ABSENT] * 4 < c.virtual)
		return;
	v->bytes = c.state[STATE_ABSENT];
	v->summary = SAY(f,
			 "%s of the %s of free pages that the runtime keeps (HeapIdle-"
			 "HeapReleased) are not in memory",
			 judged_size(f, v->bytes), judged_size(f, c.virtual));
	v->remedy = SAY(f,
			"They were freed without ever having been written: to release them gives "
			"nothing back. debug.FreeOSMemory() gives back %s, not what MemStats says.",
			judged_size(f, c.state[STATE_RESIDENT]));
	verdict_evidence(v, "HeapIdle", f->m.heap_idle);
	verdict_evidence(v, "HeapReleased", f->m.heap_released);
	verdict_evidence(v, "resident", c.state[STATE_RESIDENT]);
}

void judge_zero_resident(const struct judged *f, struct verdict *v)
{
	struct columns total = ledger_total(f->s->ledger);
	u64 most = 0;
	int largest = 0;

	if (!residency_knows(f->s->im, PART_ZERO))
		return;
	for (int c = 0; c < CAT_COUNT; c++) {
		u64 zero = ledger_columns(f->s->ledger, (enum category)c).zero;

		if (zero > most) {
			most = zero;
			largest = c;
		}
	}
	v->bytes = total.zero;
	v->summary =
		SAY(f, "%s are pages full of zeros, most of them (%s) %s (%s)",
		    judged_size(f, v->bytes), judged_size(f, most),
		    category_meaning((enum category)largest), category_id((enum category)largest));
	v->remedy = "Written with zeros, or brought in by a huge page and never used, they cost as "
		    "much as others. Where huge pages are the cause: THP 'madvise' or "
		    "khugepaged/max_ptes_none 0; where buffers are: smaller ones.";
	verdict_evidence(v, "largest_class", most);
	if (ledger_knows_part(f->s->ledger, &total, PART_HUGE))
		verdict_evidence(v, "huge", total.huge);
}

void judge_swapped_heap(const struct judged *f, struct verdict *v)
{
	u64 objects = sum_state(f, CAT_HEAP_LIVE, CAT_HEAP_UNDECIDED, STATE_SWAPPED);
	u64 idle = sum_state(f, CAT_IDLE_RETAINED, CAT_IDLE_RELEASED, STATE_SWAPPED);
	u64 stacks = sum_state(f, CAT_STACK_USED, CAT_STACK_CACHED, STATE_SWAPPED);

	v->bytes = sum_state(f, CAT_HEAP_LIVE, CAT_STACK_CACHED, STATE_SWAPPED);
	v->summary = SAY(f,
			 "%s of the Go heap are in swap (VmSwap): %s of objects, %s of free "
			 "pages, %s of stacks",
			 judged_size(f, v->bytes), judged_size(f, objects), judged_size(f, idle),
			 judged_size(f, stacks));
	v->remedy = "Every GC reads the objects with pointers back in, and waits for the disk "
		    "meanwhile: set GOMEMLIMIT below what the machine has to spare, and no swap "
		    "for this service (memory.swap.max).";
	verdict_evidence(v, "objects", objects);
	verdict_evidence(v, "idle", idle);
	verdict_evidence(v, "stacks", stacks);
}

/* The bytes of a part by its id; 0 when there is none. */
static u64 part_bytes(const struct cgroup_part *parts, size_t n, const char *id)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(parts[i].id, id))
			return parts[i].bytes;
	return 0;
}

void judge_cgroup(const struct judged *f, struct verdict *v)
{
	struct cgroup_part parts[CGROUP_PARTS];
	u64 beyond = 0, file, others, rss, usage;
	size_t n = kernel_cgroup_parts(f->s, parts, &beyond);
	const struct cgroup *c = n ? &f->s->im->sidecar->cgroup : NULL;

	/* RSS nearly all: it tells the same. */
	if (!n || beyond * 4 < c->bytes[CGROUP_USAGE])
		return;
	usage = c->bytes[CGROUP_USAGE];
	rss = part_bytes(parts, n, "rss");
	file = part_bytes(parts, n, "file");
	others = part_bytes(parts, n, "others");
	v->bytes = beyond;
	v->summary = SAY(f,
			 "the cgroup is charged %s (memory.current%s%s): this process's RSS is %s "
			 "of it, file cache %s, the kernel's memory %s, others %s",
			 judged_size(f, usage), c->known[CGROUP_LIMIT] ? ", limit " : "",
			 c->known[CGROUP_LIMIT] ? judged_size(f, c->bytes[CGROUP_LIMIT]) : "",
			 judged_size(f, rss), judged_size(f, file),
			 judged_size(f, beyond - file - others), judged_size(f, others));
	v->remedy = "A container is killed for the sum, not for RSS. File cache goes first when it "
		    "gets tight, but for shared memory; the others have to be looked for "
		    "elsewhere.";
	for (size_t i = 0; i < n; i++)
		verdict_evidence(v, parts[i].id, parts[i].bytes);
	if (c->known[CGROUP_LIMIT])
		verdict_evidence(v, "limit", c->bytes[CGROUP_LIMIT]);
}
