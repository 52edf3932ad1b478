/* Any bytes as an executable: ELF and DWARF, up to the layout of the runtime. */
#include "fuzz/fuzz.h"

#include "base/mem.h"
#include "gort/layout.h"
#include "support/memfile.h"
#include "sym/dw.h"

#define BUDGET_BYTES ((u64)32 << 20)

static const char *const variables[] = {"runtime.mheap_", "runtime.memstats", "runtime.work"};
#define NAME_COUNT (RT_FIELD_COUNT + COUNT_OF(variables))

static struct err *read_layout(const char *path, struct dw **dw)
{
	const char *names[NAME_COUNT];
	bool needed[NAME_COUNT];
	struct slot slots[RT_FIELD_COUNT];
	struct go_version v = {.minor = 26};
	size_t n = 0;

	for (int f = 0; f < RT_FIELD_COUNT; f++) {
		names[n] = layout_field_root((enum rt_field)f);
		needed[n++] = layout_field_required((enum rt_field)f);
	}
	for (size_t i = 0; i < COUNT_OF(variables); i++) {
		names[n] = variables[i];
		needed[n++] = true;
	}
	TRY(dw_open(path, dw));
	TRY(dw_find(*dw, names, needed, n));
	for (size_t i = 0; i < COUNT_OF(variables); i++) {
		u64 address;

		dw_variable(*dw, variables[i], &address);
	}
	TRY(layout_from_dwarf(*dw, slots));
	return layout_complete(slots, &v, arch_get(ARCH_AMD64), NULL);
}

void fuzz_one(const u8 *data, size_t n)
{
	static struct memfile file;
	struct dw *dw = NULL;
	struct err *err;

	if (n == 0)
		return;
	if (file.size)
		memfile_set(&file, data, n);
	else
		memfile_new(&file, data, n);
	mem_set_limit(BUDGET_BYTES);
	err = read_layout(file.path, &dw);
	assert_always(!err || err->code != ERR_BUG);
	err_free(err);
	dw_close(dw);
	mem_set_limit(0);
	assert_always(mem_used() == 0);
}
