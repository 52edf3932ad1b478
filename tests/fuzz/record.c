/* Any bytes as the notes of ours in a small core: read, compared with the core, used for its pages.
 */
#include "fuzz/fuzz.h"

#include "base/mem.h"
#include "image/note.h"

#define HEAP ((va_t)0xc000000000)
#define NOTES_MAX 16

static void fill_notes(struct image *im, const u8 *data, size_t n)
{
	for (int i = 0; i < NOTES_MAX && n; i++) {
		u32 type = NOTE_HEADER + (u32)(fuzz_take(&data, &n, 1) % 3);
		u64 said = fuzz_take(&data, &n, 2);
		size_t len = MIN(said, n);

		assert_always(
			!array_push(&im->record_notes, (struct record_note){type, data, len}));
		data += len;
		n -= len;
	}
}

void fuzz_one(const u8 *data, size_t n)
{
	struct image im = {.core = {.path = (char *)(uintptr_t) "/nowhere/core"},
			   .auxv = {.page_size = 4096, .vdso = HEAP, .random = HEAP + 16},
			   .pid = 77};
	struct sidecar sc = {0};
	struct diags d = {0};
	struct err *err;

	for (va_t va = HEAP; va < HEAP + 0x40000; va += 0x10000)
		assert_always(!array_push(&im.vmas,
					  (struct vma){.lo = va, .hi = va + 0x8000, .file = -1}));
	fill_notes(&im, data, n);
	err = sidecar_open(&sc, &im, &(struct sidecar_options){.folder = NULL}, &d);
	assert_always(!err);
	im.sidecar = &sc;
	assert_always(!sidecar_complete_vmas(&sc, &im));
	err = residency_build(&im, &d);
	assert_always(!err);
	for (size_t i = 1; i < im.vmas.n; i++)
		assert_always(im.vmas.v[i - 1].hi <= im.vmas.v[i].lo);
	for (size_t i = 1; i < im.res.runs.n; i++)
		assert_always(im.res.runs.v[i - 1].page < im.res.runs.v[i].page);
	im.core = (struct os_file){0};
	image_close(&im);
	sidecar_close(&sc);
	diags_fini(&d);
	assert_always(mem_used() == 0);
}
