#include "support/mkelf.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "support/mkcore.h"
#include "support/test.h"
#include "support/tmp.h"

#include <string.h>

#define NT_GO_BUILD_ID 4

u8 mkelf_byte(u64 off)
{
	return (u8)(1 + (off * 13 + (off >> 8)) % 255);
}

static size_t put_note(u8 *out, const char *owner, u32 type, const void *desc, size_t n)
{
	size_t name_len = strlen(owner) + 1, desc_off = sizeof(Elf64_Nhdr) + align_up(name_len, 4);
	Elf64_Nhdr nh = {.n_namesz = (u32)name_len, .n_descsz = (u32)n, .n_type = type};

	memcpy(out, &nh, sizeof(nh));
	memcpy(out + sizeof(nh), owner, name_len);
	memcpy(out + desc_off, desc, n);
	return desc_off + align_up(n, 4);
}

static void fill_header(const struct mkelf *e, u8 page[static MK_PAGE])
{
	Elf64_Ehdr eh = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = e->type ? e->type : ET_EXEC,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_entry = e->entry,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
	};
	const u64 note_off = 2048;
	u64 note_end = note_off;

	if (e->go_id)
		note_end +=
			put_note(page + note_end, "Go", NT_GO_BUILD_ID, e->go_id, strlen(e->go_id));
	if (e->gnu_id)
		note_end += put_note(page + note_end, "GNU", NT_GNU_BUILD_ID, e->gnu_id,
				     e->gnu_id_bytes);
	for (size_t i = 0; i < MKELF_MAX_PHDRS && e->phdrs[i].p_type; i++)
		memcpy(page + eh.e_phoff + eh.e_phnum++ * sizeof(Elf64_Phdr), &e->phdrs[i],
		       sizeof(Elf64_Phdr));
	if (note_end > note_off) {
		Elf64_Phdr note = {
			.p_type = PT_NOTE, .p_offset = note_off, .p_filesz = note_end - note_off};

		memcpy(page + eh.e_phoff + eh.e_phnum++ * sizeof(note), &note, sizeof(note));
	}
	memcpy(page, &eh, sizeof(eh));
}

void mkelf_bytes(const struct mkelf *e, u64 off, void *buf, size_t n)
{
	u8 page[MK_PAGE] = {0};
	u8 *out = buf;

	fill_header(e, page);
	for (size_t i = 0; i < n; i++)
		out[i] = off + i < sizeof(page) ? page[off + i] : mkelf_byte(off + i);
}

void mkelf_write(const struct mkelf *e, const char *path)
{
	size_t n = MAX(e->bytes, MK_PAGE);
	AUTO_FREE u8 *bytes = xcalloc(n, 1);

	mkelf_bytes(e, 0, bytes, n);
	tmp_write(path, bytes, n);
}
