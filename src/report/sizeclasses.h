/* Occupancy of the size classes, for the report and for the verdict on fragmentation. */
#ifndef REPORT_SIZECLASSES_H
#define REPORT_SIZECLASSES_H

#include "report/report.h"

#define SPANCLASS_COUNT 256 /* a span class is a byte */

/* Sums over the spans of one span class (size class and scan/noscan), in bytes where no other
 * unit is said. */
struct class_row {
	unsigned spanclass;
	u64 slot_bytes;                /* of one slot; 0 for large objects */
	u64 spans, pages, slots, used; /* numbers */
	u64 live, fresh, dead, undecided, free, tail, slack, resident;
	u64 reclaimable; /* whole spans, if the used slots stood side by side */
};

/* Fills the rows, most free bytes first; rows without spans come last. */
void sizeclass_rows(const struct snapshot *s, struct class_row rows[static SPANCLASS_COUNT]);

#endif
