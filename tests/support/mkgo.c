/* What there is before anything is planted: the binary, the globals, the runtime's tables. */
#include "base/cleanup.h"
#include "support/mkelf.h"
#include "support/mkgo_priv.h"
#include "support/test.h"

#include <string.h>

const struct mkgo_release mkgo_releases[] = {
#define V(name, minor, first, last, experiment) {minor, last, ARCH_AMD64},
#include "gort/versions.def"
#undef V
	{0, 0, ARCH_AMD64},
};

const struct mkgo_release mkgo_everywhere[] = {
#define V(name, minor, first, last, experiment)                                                    \
	{minor, last, ARCH_AMD64}, {minor, last, ARCH_ARM64},
#include "gort/versions.def"
#undef V
	{0, 0, ARCH_AMD64},
};

/* runtime/sizeclasses.go, the same in all these releases. */
static const struct {
	u16 bytes;
	u8 pages;
} classes[] = {
	{0, 0},     {8, 1},     {16, 1},     {24, 1},    {32, 1},    {48, 1},    {64, 1},
	{80, 1},    {96, 1},    {112, 1},    {128, 1},   {144, 1},   {160, 1},   {176, 1},
	{192, 1},   {208, 1},   {224, 1},    {240, 1},   {256, 1},   {288, 1},   {320, 1},
	{352, 1},   {384, 1},   {416, 1},    {448, 1},   {480, 1},   {512, 1},   {576, 1},
	{640, 1},   {704, 1},   {768, 1},    {896, 1},   {1024, 1},  {1152, 1},  {1280, 1},
	{1408, 2},  {1536, 1},  {1792, 2},   {2048, 1},  {2304, 2},  {2688, 1},  {3072, 3},
	{3200, 2},  {3456, 3},  {4096, 1},   {4864, 3},  {5376, 2},  {6144, 3},  {6528, 4},
	{6784, 5},  {6912, 6},  {8192, 1},   {9472, 7},  {9728, 6},  {10240, 5}, {10880, 4},
	{12288, 3}, {13568, 5}, {14336, 7},  {16384, 2}, {18432, 9}, {19072, 7}, {20480, 5},
	{21760, 8}, {24576, 3}, {27264, 10}, {28672, 7}, {32768, 4},
};

u32 mkgo_class_bytes(unsigned size_class)
{
	return size_class < COUNT_OF(classes) ? classes[size_class].bytes : 0;
}

#define CLASS_24_BYTES 3

static bool lacks_class(const struct mkgo *go)
{
	return go->rt.version.minor < 16;
}

unsigned mkgo_own_class(const struct mkgo *go, unsigned size_class)
{
	return size_class - (lacks_class(go) && size_class > CLASS_24_BYTES);
}

unsigned mkgo_class_of_own(const struct mkgo *go, unsigned own)
{
	return own + (lacks_class(go) && own >= CLASS_24_BYTES);
}

unsigned mkgo_last_own_class(const struct mkgo *go)
{
	return COUNT_OF(classes) - 1 - lacks_class(go);
}

u32 mkgo_class_pages(unsigned size_class)
{
	return size_class < COUNT_OF(classes) ? classes[size_class].pages : 0;
}

static u64 structure_bytes(const struct mkgo *go, const char *root)
{
	u64 bytes = 0;

	for (int f = 0; f < RT_FIELD_COUNT; f++) {
		const struct slot *slot = &go->rt.slots[f];

		if (slot->offset >= 0 && !strcmp(layout_field_root((enum rt_field)f), root) &&
		    !strchr(layout_field_path((enum rt_field)f), '*'))
			bytes = MAX(bytes, (u64)slot->offset + slot->size);
	}
	return bytes;
}

/* Globals that are structures; the others are words or tables. All others fit into a page. */
static const struct {
	enum rt_global global;
	const char *structure;
} structures[] = {
	{RT_G_SCHED, "runtime.schedt"},
	{RT_G_WORK, "runtime.work"},
	{RT_G_TRACE, "runtime.trace"},
	{RT_G_GC_CLEANUPS, "runtime.gcCleanups"},
	{RT_G_MHEAP, "runtime.mheap"},
	{RT_G_MEMSTATS, "runtime.mstats"},
	{RT_G_GC_CONTROLLER, "runtime.gcControllerState"},
	{RT_G_FIRSTMODULEDATA, "runtime.moduledata"},
};

static void place_globals(struct mkgo *go)
{
	for (int g = 0; g < RT_GLOBAL_COUNT; g++) {
		u64 bytes = MK_PAGE;

		/* The stack that a crash runs on came with 1.22. */
		if ((g == RT_G_GCPERCENT && mkgo_has(go, RT_GCC_PERCENT)) ||
		    (g == RT_G_GCRASH && go->rt.version.minor < 22) ||
		    (g == RT_G_GC_CLEANUPS && !mkgo_has(go, RT_CLEANUPS_ALL)))
			continue;
		for (size_t i = 0; i < COUNT_OF(structures); i++)
			if (structures[i].global == (enum rt_global)g)
				bytes = MAX(bytes, structure_bytes(go, structures[i].structure));
		go->rt.globals[g] = mkgo_bss(go, bytes);
	}
	for (unsigned own = 0; own <= mkgo_last_own_class(go); own++)
		mkgo_put(go, mkgo_global(go, RT_G_SIZE_CLASSES) + (va_t)2 * own,
			 mkgo_class_bytes(mkgo_class_of_own(go, own)), 2);
}

#define APP "/go/bin/app"

/* Text, of which the kernel dumps the first page, constants that it leaves out, data and bss. */
static void map_binary(struct mkgo *go)
{
	const va_t text = MKGO_BINARY, rodata = MKGO_BINARY + 0x4000, data = MKGO_DATA;
	const struct mkelf elf = {
		.go_id = "mk/go",
		.entry = text + 0x1000,
		.phdrs = {mkelf_load(text, 0, 0x4000, 0x4000, PF_R | PF_X),
			  mkelf_load(rodata, 0x4000, 0x4000, 0x4000, PF_R),
			  mkelf_load(data, 0x8000, MKGO_BSS - data,
				     MKGO_BSS + MKGO_BSS_BYTES - data, PF_R | PF_W)},
	};
	u8 header[MK_PAGE];

	mkgo_map(go, text, 0x4000, PF_R | PF_X, '#')->letters[1] = '\0';
	mkgo_map(go, rodata, 0x4000, PF_R, 0);
	mkgo_map(go, data, MKGO_BSS - data, PF_R | PF_W, '#');
	mkgo_map(go, MKGO_BSS, MKGO_BSS_BYTES, PF_R | PF_W, '.');
	mkelf_bytes(&elf, 0, header, sizeof(header));
	for (size_t i = 0; i < sizeof(header); i++)
		mkgo_put(go, text + i, header[i], 1);
	mkcore_file(go->mk, text, rodata, 0, APP);
	mkcore_file(go->mk, rodata, data, 0x4000, APP);
	mkcore_file(go->mk, data, MKGO_BSS, 0x8000, APP);
	mkcore_auxv(go->mk, AT_PAGESZ, MK_PAGE);
	mkcore_auxv(go->mk, AT_ENTRY, elf.entry);
	mkcore_auxv(go->mk, AT_RANDOM, MKGO_OS_STACK + MKGO_OS_STACK_BYTES - 0x100);
	mkgo_map(go, MKGO_OS_STACK, MKGO_OS_STACK_BYTES, PF_R | PF_W, '#');
}

static void set_masks(struct mkgo *go, va_t module, unsigned gcdata_bits, unsigned gcbss_bits)
{
	const struct {
		enum rt_field n, bytes;
		unsigned bits;
	} masks[] = {
		{RT_MODULE_GCDATA_N, RT_MODULE_GCDATA_BYTES, gcdata_bits},
		{RT_MODULE_GCBSS_N, RT_MODULE_GCBSS_BYTES, gcbss_bits},
	};

	for (size_t i = 0; i < COUNT_OF(masks); i++) {
		u64 bytes = (masks[i].bits + 7) / 8 + 1;

		mkgo_set(go, module, masks[i].n, masks[i].bits);
		mkgo_set(go, module, masks[i].bytes, mkgo_persistent(go, bytes));
		go->buckhash_bytes += bytes;
	}
}

va_t mkgo_module(struct mkgo *go, unsigned gcdata_bits, unsigned gcbss_bits)
{
	va_t first = mkgo_global(go, RT_G_FIRSTMODULEDATA);
	va_t module = mkgo_bss(go, structure_bytes(go, "runtime.moduledata"));

	mkgo_set(go, module, RT_MODULE_NEXT, mkgo_peek(go, first, RT_MODULE_NEXT));
	mkgo_set(go, first, RT_MODULE_NEXT, module);
	set_masks(go, module, gcdata_bits, gcbss_bits);
	return module;
}

static void describe_module(struct mkgo *go)
{
	const va_t rodata = MKGO_BINARY + 0x4000;
	const struct {
		enum rt_field f;
		va_t va;
	} borders[] = {
		{RT_MODULE_TEXT, MKGO_BINARY + 0x1000},
		{RT_MODULE_ETEXT, MKGO_BINARY + 0x3c00},
		{RT_MODULE_PC_HEADER, rodata + 0x1000},
		{RT_MODULE_NOPTRDATA, MKGO_DATA + 0x100},
		{RT_MODULE_ENOPTRDATA, MKGO_DATA + 0x1000},
		{RT_MODULE_DATA, MKGO_DATA + 0x1000},
		{RT_MODULE_EDATA, MKGO_DATA + 0x3000},
		{RT_MODULE_BSS, MKGO_BSS},
		{RT_MODULE_EBSS, MKGO_BSS + 0x40000},
		{RT_MODULE_NOPTRBSS, MKGO_BSS + 0x40000},
		{RT_MODULE_ENOPTRBSS, MKGO_BSS + MKGO_BSS_BYTES},
	};
	va_t module = mkgo_global(go, RT_G_FIRSTMODULEDATA);
	va_t pclntable = mkgo_addr(go, module, RT_MODULE_PCLNTABLE);

	for (size_t i = 0; i < COUNT_OF(borders); i++)
		mkgo_set(go, module, borders[i].f, borders[i].va);
	if (mkgo_has(go, RT_MODULE_PC_HEADER)) {
		mkgo_set_slice(go, pclntable, rodata + 0x1800, 0x1800, 0x1800);
	} else { /* up to 1.15 the table begins with its header, and the functions follow */
		mkgo_set_slice(go, pclntable, rodata + 0x1000, 0x2000, 0x2000);
		mkgo_set_slice(go, mkgo_addr(go, module, RT_MODULE_FTAB), rodata + 0x1010, 0x10,
			       0x10);
	}
	set_masks(go, module, 0x401, 0x8000);
}

/* An index over the address space: reserved, with a page of it in use. */
static va_t map_index(struct mkgo *go, u64 bytes)
{
	va_t lo = mkgo_window(go, bytes), used = lo + 8 * MK_PAGE;

	mkgo_map(go, lo, used - lo, 0, 0);
	mkgo_map(go, used, MK_PAGE, PF_R | PF_W, '0');
	mkgo_map(go, used + MK_PAGE, bytes - (used + MK_PAGE - lo), 0, 0);
	return lo;
}

/* runtime/mpagealloc_64bit.go: five levels of summaries, and one entry a chunk (up to 1.20 one
 * bit) for the scavenger. */
static void map_indexes(struct mkgo *go)
{
	static const unsigned level_bits[] = {14, 17, 20, 23, 26};
	va_t mheap = mkgo_global(go, RT_G_MHEAP);

	for (size_t i = 0; i < COUNT_OF(level_bits); i++) {
		u64 n = (u64)1 << level_bits[i];

		mkgo_set_slice(go, mkgo_addr(go, mheap, RT_MHEAP_SUMMARY) + 24 * i,
			       map_index(go, n * mkgo_size(go, RT_MHEAP_SUMMARY_ENTRY)), n, n);
	}
	if (mkgo_has(go, RT_MHEAP_SCAV_CHUNKS)) {
		u64 one = mkgo_size(go, RT_MHEAP_SCAV_CHUNK);
		u64 n = one == 1 ? (u64)1 << 23 : (u64)1 << 26;

		mkgo_set_slice(go, mkgo_addr(go, mheap, RT_MHEAP_SCAV_CHUNKS),
			       map_index(go, n * one), n, n);
	}
}

static va_t new_gcbits_arena(struct mkgo *go, enum rt_field list, struct mkgo_pool *pool)
{
	u64 bytes = mkgo_size(go, RT_GCBITS_ARENA);
	va_t head = mkgo_global(go, RT_G_GCBITS_ARENAS), arena = mkgo_window(go, bytes);

	mkgo_map(go, arena, bytes, PF_R | PF_W, '.');
	mkgo_set(go, arena, RT_GCBITS_ARENA_NEXT, mkgo_peek(go, head, list));
	mkgo_set(go, head, list, arena);
	if (pool)
		*pool = (struct mkgo_pool){arena + 16, arena + bytes};
	return arena;
}

static void map_tables(struct mkgo *go)
{
	va_t mheap = mkgo_global(go, RT_G_MHEAP), memstats = mkgo_global(go, RT_G_MEMSTATS);
	va_t l2 = mkgo_window(go, GO_ARENA_COUNT * 8);
	const struct {
		enum rt_field alloc, size, stat;
	} fixallocs[] = {
		{RT_MHEAP_SPANALLOC, RT_MSPAN, RT_MSTATS_MSPAN_SYS},
		{RT_MHEAP_CACHEALLOC, RT_MCACHE, RT_MSTATS_MCACHE_SYS},
	};

	for (size_t i = 0; i < COUNT_OF(fixallocs); i++) {
		va_t fixalloc = mkgo_addr(go, mheap, fixallocs[i].alloc);

		mkgo_set(go, fixalloc, RT_FIXALLOC_SIZE, mkgo_size(go, fixallocs[i].size));
		mkgo_set(go, fixalloc, RT_FIXALLOC_STAT,
			 mkgo_addr(go, memstats, fixallocs[i].stat));
	}
	mkgo_set(go, mkgo_addr(go, mheap, RT_MHEAP_SPANALLOC), RT_FIXALLOC_ARG, mheap);
	mkgo_set(go, mheap, RT_MHEAP_SWEEPGEN, MKGO_SWEEPGEN);
	mkgo_map_sparse(go, l2, GO_ARENA_COUNT * 8);
	mkgo_set(go, mheap, RT_MHEAP_ARENAS, l2);
	map_indexes(go);
	new_gcbits_arena(go, RT_GCBITS_ARENAS_FREE, NULL);
	new_gcbits_arena(go, RT_GCBITS_ARENAS_NEXT, &go->mark_bits);
	new_gcbits_arena(go, RT_GCBITS_ARENAS_PREVIOUS, NULL);
	new_gcbits_arena(go, RT_GCBITS_ARENAS_CURRENT, &go->alloc_bits);
}

/* A map of holes and zeros of which every core has some: by it the residency of the rest is
 * known to be the kernel's own. Nobody's memory. */
static void map_evidence(struct mkgo *go)
{
	struct mkgo_region *r =
		mkgo_map(go, mkgo_window(go, 5 * MK_PAGE), 5 * MK_PAGE, PF_R | PF_W, '0');

	r->letters[1] = r->letters[4] = '.';
}

struct mkgo *mkgo_new_on(const struct mkgo_release *r)
{
	struct mkgo *go = xcalloc(1, sizeof(*go));
	AUTO_FREE char *text = xasprintf("go1.%u.%u", r->minor, r->patch);
	const struct arch *arch = arch_get(r->arch);

	if (!version_parse(text, &go->rt.version) ||
	    !layout_from_table(&go->rt.version, arch, 0, go->rt.slots))
		fail_msg("%s has no built-in layout", text);
	go->rt.dialect = dialect_of(&go->rt.version, arch);
	go->mk = mkcore_new(MKCORE_KERNEL);
	go->mk->arch = arch;
	go->next_window = r->arch == ARCH_ARM64 ? MKGO_RUNTIME_HIGH : MKGO_RUNTIME;
	go->next_start = MKGO_HEAP;
	go->bss = (struct mkgo_pool){MKGO_BSS, MKGO_BSS + MKGO_BSS_BYTES};
	place_globals(go);
	map_binary(go);
	describe_module(go);
	map_tables(go);
	map_evidence(go);
	go->m0 = mkgo_m(
		go, (struct mkgo_m){.tid = 1000,
				    .g0 = {MKGO_OS_STACK, MKGO_OS_STACK + MKGO_OS_STACK_BYTES}});
	go->p0 = mkgo_p(go, true);
	return go;
}

struct mkgo *mkgo_new(unsigned minor, unsigned patch)
{
	return mkgo_new_on(&(struct mkgo_release){minor, patch, ARCH_AMD64});
}

void mkgo_free(struct mkgo *go)
{
	mkgo_mem_free(go);
	array_free(&go->spans);
	array_free(&go->chunks);
	array_free(&go->arenas);
	array_free(&go->user_arenas);
	array_free(&go->ps);
	array_free(&go->gs);
	mkcore_free(go->mk);
	free(go);
}
