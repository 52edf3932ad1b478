/* Any bytes as the notes of a small core. */
#include "fuzz/fuzz.h"

#include "base/mem.h"
#include "image/image.h"
#include "support/memfile.h"

#include <elf.h>

#define MAX_BYTES ((size_t)64 << 10)
#define LOADS 4

struct head {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[1 + LOADS];
};

static const Elf64_Phdr loads[LOADS] = {
	{.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = 0x400000, .p_memsz = 0x2000},
	{.p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_vaddr = 0x500000, .p_memsz = 0x4000},
	{.p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = 0x7f0000000000, .p_memsz = 0x4000},
	{.p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_vaddr = 0x7ffe00000000, .p_memsz = 0x21000},
};

static void fill_head(struct head *h, size_t note_bytes)
{
	*h = (struct head){
		.eh = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				   EV_CURRENT},
		       .e_type = ET_CORE,
		       .e_machine = EM_X86_64,
		       .e_version = EV_CURRENT,
		       .e_phoff = sizeof(Elf64_Ehdr),
		       .e_ehsize = sizeof(Elf64_Ehdr),
		       .e_phentsize = sizeof(Elf64_Phdr),
		       .e_phnum = 1 + LOADS},
		.ph = {{.p_type = PT_NOTE, .p_offset = sizeof(*h), .p_filesz = note_bytes}},
	};
	memcpy(h->ph + 1, loads, sizeof(loads));
}

void fuzz_one(const u8 *data, size_t n)
{
	static struct memfile file;
	static u8 bytes[sizeof(struct head) + MAX_BYTES];
	struct head head;
	struct image im = {0};
	struct diags d = {0};
	struct err *err;

	if (n > MAX_BYTES)
		return;
	fill_head(&head, n);
	memcpy(bytes, &head, sizeof(head));
	if (n)
		memcpy(bytes + sizeof(head), data, n);
	if (file.size)
		memfile_set(&file, bytes, sizeof(head) + n);
	else
		memfile_new(&file, bytes, sizeof(head) + n);
	err = image_open(&im, file.path, &d);
	assert_always(!err);
	for (size_t i = 0; i < im.vmas.n; i++) {
		assert_always(im.vmas.v[i].lo < im.vmas.v[i].hi);
		assert_always(!i || im.vmas.v[i - 1].hi <= im.vmas.v[i].lo);
		assert_always(im.vmas.v[i].file < (int)im.files.n);
	}
	image_close(&im);
	diags_fini(&d);
	assert_always(mem_used() == 0);
}
