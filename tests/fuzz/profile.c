/* Any bytes as a heap profile that the user gives. */
#include "fuzz/fuzz.h"

#include "base/mem.h"
#include "out/pprof.h"
#include "support/memfile.h"

#define BUDGET_BYTES ((u64)32 << 20)

void fuzz_one(const u8 *data, size_t n)
{
	static struct memfile file;
	struct pprof_heap heap = {.inuse_bytes = 0};
	struct err *err;

	if (n == 0)
		return;
	if (file.size)
		memfile_set(&file, data, n);
	else
		memfile_new(&file, data, n);
	mem_set_limit(BUDGET_BYTES);
	err = pprof_read_heap(file.path, &heap);
	assert_always(!err || err->code == ERR_FORMAT || err->code == ERR_LIMIT);
	assert_always(memchr(heap.build_id, '\0', sizeof(heap.build_id)));
	err_free(err);
	mem_set_limit(0);
	assert_always(mem_used() == 0);
}
