/* A core does not say why it was cut, but its size does:
 *
 *   RLIMIT_CORE counts the bytes that the kernel writes, not the holes that it leaves
 * (fs/coredump.c, dump_emit and dump_skip of Linux 6.18): what a sparse core has of data ends
 * within a page of it. systemd-coredump gets all bytes through a pipe and stops at ProcessSizeMax
 * or ExternalSizeMax: the size itself is round, also when the file was given holes later. On a full
 * disk the kernel stops at whatever page it was, which is round once in 256 times. */
#include "image/truncation.h"

#include "base/units.h"

#include <unistd.h>

#define PAGE_BYTES ((u64)4096)
#define MIB ((u64)1 << 20)
#define SPARE_BYTES ((u64)64 << 20) /* a disk with less is full */

static u64 data_bytes(const struct os_file *f)
{
	u64 sum = 0;

	for (u64 pos = 0, hole; pos < f->size; pos = hole) {
		u64 data = os_file_seek(f, pos, f->size, SEEK_DATA);

		hole = os_file_seek(f, data, f->size, SEEK_HOLE);
		sum += hole - data;
	}
	return sum;
}

/* A limit that somebody may have set within a page of these bytes, or 0. `ulimit -c` counts in KiB,
 * systemd's settings in MiB: both are round in their own unit. */
static u64 limit_near(u64 bytes)
{
	static const u64 units[] = {MIB, (u64)1000 << 10};

	for (size_t i = 0; i < COUNT_OF(units); i++) {
		u64 limit = (bytes + PAGE_BYTES) / units[i] * units[i];

		if (limit && bytes - MIN(bytes, limit) <= PAGE_BYTES)
			return limit;
	}
	return 0;
}

const char *truncation_cause(struct image *im)
{
	bool own_holes = !im->unpacked.packing || im->unpacked.keeps_holes;
	u64 size = im->core.size, data = own_holes ? data_bytes(&im->core) : size, limit;
	bool sparse = im->kind == CORE_KERNEL && data < size;
	char text[UNITS_BUF];

	limit = sparse ? limit_near(data) : 0;
	if (limit)
		return arena_printf(&im->arena,
				    "likely by RLIMIT_CORE (ulimit -c): %s were written",
				    units_bytes((i64)limit, text));
	if (size % MIB == 0)
		return arena_printf(&im->arena,
				    "likely by a size limit (systemd's ProcessSizeMax, ulimit -c): "
				    "%s is round%s",
				    units_bytes((i64)size, text),
				    sparse ? "; else the disk was full when the kernel wrote it"
					   : "");
	if (!im->unpacked.packing && os_free_bytes(im->core.fd) < SPARE_BYTES)
		return "likely because the disk was full, as it is now";
	if (sparse && size % PAGE_BYTES == 0)
		return "likely because the disk was full when the kernel wrote it";
	return "likely because writing or copying it was interrupted";
}
