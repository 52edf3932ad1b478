/* Any bytes as a linker's table of functions, asked about many addresses.
 *
 * The last eight bytes are the address of the trees of inlined calls; the text is as long as the
 * address space allows, so that any entry may be inside. */
#include "fuzz/fuzz.h"

#include "gort/pclntab.h"

#include <string.h>

#define TABLE ((va_t)0x100000000)
#define TEXT ((va_t)0x400000)
#define MAX_BYTES ((size_t)64 << 10)
#define ADDRESSES 64

/* Everything that can be asked of one address. */
static void ask(const struct pclntab *t, va_t pc)
{
	struct call calls[CALLS_MAX];
	struct func f;
	size_t n;
	u64 bytes;

	if (!pclntab_find(t, pc, &f))
		return;
	assert_always(f.entry <= pc && pc < f.end);
	assert_always(func_name(&f));
	(void)func_is_top(&f);
	(void)func_writes_sp(&f);
	if (func_frame_bytes(&f, pc, &bytes))
		assert_always(bytes % 8 == 0);
	n = func_calls(&f, pc, calls);
	assert_always(n > 0 && n <= CALLS_MAX);
	for (size_t i = 0; i < n; i++)
		assert_always(strlen(calls[i].func) + strlen(calls[i].file) <= 2 * MAX_BYTES);
	assert_always(!calls[n - 1].inlined || n > 1);
}

void fuzz_one(const u8 *data, size_t n)
{
	struct segment seg = {.lo = TABLE, .hi = TABLE + n, .file_bytes = n};
	struct image im = {.core = {.data = data, .size = n}, .segs = {&seg, 1, 0}};
	struct rt rt = {.im = &im};
	struct module module = {.text = {TEXT, TEXT + ((va_t)1 << 40)}};
	struct pclntab t;
	struct err *err;

	if (n < 32 || n > MAX_BYTES)
		return;
	for (int f = 0; f < RT_FIELD_COUNT; f++)
		rt.slots[f].offset = -1;
	rt.slots[RT_MODULE_GOFUNC] = (struct slot){0, 8, 1};
	module.addr = TABLE + n - 8;
	module.pclntab = (struct range){TABLE, TABLE + n - 8};
	err = pclntab_open(&rt, &module, &t);
	assert_always(!err || err->code == ERR_FORMAT);
	for (va_t i = 0; i < ADDRESSES && !err; i++)
		ask(&t, TEXT + i * 7);
	err_free(err);
}
