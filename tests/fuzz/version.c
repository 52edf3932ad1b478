/* Any bytes as a version string; as the data of a process; and as its executable. */
#include "fuzz/fuzz.h"

#include "base/mem.h"
#include "gort/version.h"

#define DATA_VA ((va_t)0x500000)

static void parse(const u8 *data, size_t n)
{
	char *text = xstrndup((const char *)data, n);
	struct go_version v;

	if (version_parse(text, &v)) {
		assert_always(strlen(v.text) < sizeof(v.text) && v.minor <= 999);
		assert_always(strlen(v.experiments) < sizeof(v.experiments));
	}
	free(text);
}

static void find(const u8 *data, size_t n, size_t in_core)
{
	struct segment seg = {.lo = DATA_VA, .hi = DATA_VA + 0x10000, .file_bytes = in_core};
	struct vma vma = {.lo = seg.lo, .hi = seg.hi, .kind = VMA_FILE, .in_core = true};
	struct image im = {.core = {.data = data, .size = in_core},
			   .segs = {&seg, 1, 0},
			   .vmas = {&vma, 1, 0}};
	struct binary bin = {
		.file = 0,
		.match = in_core < n ? EXE_PATH : EXE_NONE,
		.exe = {.data = data + in_core, .size = n - in_core},
	};
	struct go_version v;
	struct err *err = version_find(&im, &bin, &v);

	assert_always(!err || err->code == ERR_MISSING);
	err_free(err);
}

void fuzz_one(const u8 *data, size_t n)
{
	size_t left = n;
	u64 how = fuzz_take(&data, &left, 2);

	if (how % 4 == 0)
		parse(data, left);
	else
		find(data, left, MIN(left, how / 4));
}
