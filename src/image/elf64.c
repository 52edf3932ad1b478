#include "image/elf64.h"

#include <string.h>

#define MAX_NOTE_HEADERS 64 /* of an executable; linkers write three at most */

/* Owner "Go", type 4: the linker's build id (cmd/link/internal/ld/elf.go, all releases). */
#define NT_GO_BUILD_ID 4

struct err *elf_header(struct elf_bytes e, Elf64_Ehdr *ret)
{
	Elf64_Ehdr eh;

	if (e.size < EI_NIDENT || memcmp(e.data, ELFMAG, SELFMAG) != 0)
		return err_new(ERR_FORMAT, "not an ELF file");
	if (e.data[EI_CLASS] != ELFCLASS64)
		return err_new(ERR_UNSUPPORTED, "a 32-bit ELF file; only 64-bit cores are read");
	if (e.data[EI_DATA] != ELFDATA2LSB)
		return err_new(ERR_UNSUPPORTED,
			       "a big-endian ELF file; only little-endian cores are read");
	if (e.size < sizeof(eh))
		return err_new(ERR_FORMAT, "cut inside its ELF header");
	memcpy(&eh, e.data, sizeof(eh));
	*ret = eh;
	return NULL;
}

u64 elf_phdr_count(struct elf_bytes e, const Elf64_Ehdr *eh)
{
	Elf64_Shdr sh;

	if (eh->e_phnum != PN_XNUM)
		return eh->e_phnum;
	/* The real number stands in sh_info of section header 0. */
	if (eh->e_shoff > e.size || e.size - eh->e_shoff < sizeof(sh))
		return PN_XNUM;
	memcpy(&sh, e.data + eh->e_shoff, sizeof(sh));
	return sh.sh_info;
}

bool elf_phdr(struct elf_bytes e, const Elf64_Ehdr *eh, u64 i, Elf64_Phdr *ret)
{
	u64 off;

	if (eh->e_phentsize != sizeof(*ret) || __builtin_mul_overflow(i, sizeof(*ret), &off) ||
	    __builtin_add_overflow(off, eh->e_phoff, &off) || off > e.size ||
	    e.size - off < sizeof(*ret))
		return false;
	memcpy(ret, e.data + off, sizeof(*ret));
	return true;
}

bool elf_note_next(struct elf_bytes e, u64 *pos, u64 end, struct elf_note *ret)
{
	Elf64_Nhdr nh;
	u64 name_off, desc_off, next;

	end = MIN(end, e.size);
	if (*pos > end || end - *pos < sizeof(nh))
		return false;
	memcpy(&nh, e.data + *pos, sizeof(nh));
	/* 32-bit lengths: these sums cannot wrap. */
	name_off = *pos + sizeof(nh);
	desc_off = name_off + align_up(nh.n_namesz, 4);
	next = desc_off + align_up(nh.n_descsz, 4);
	if (desc_off > end || nh.n_descsz > end - desc_off)
		return false;
	ret->type = nh.n_type;
	ret->name = (const char *)e.data + name_off;
	ret->name_len = nh.n_namesz ? strnlen(ret->name, nh.n_namesz) : 0;
	ret->desc = e.data + desc_off;
	ret->desc_len = nh.n_descsz;
	*pos = next;
	return true;
}

bool elf_note_is(const struct elf_note *note, const char *owner, u32 type)
{
	return note->type == type && note->name_len == strlen(owner) &&
	       memcmp(note->name, owner, note->name_len) == 0;
}

static void keep_gnu_id(const struct elf_note *note, struct elf_ids *ids)
{
	if (!elf_note_is(note, "GNU", NT_GNU_BUILD_ID) || note->desc_len * 2 >= ELF_ID_MAX)
		return;
	for (u64 i = 0; i < note->desc_len; i++)
		snprintf(ids->gnu + 2 * i, 3, "%02x", note->desc[i]);
}

static void read_ids(struct elf_bytes e, u64 pos, u64 end, struct elf_ids *ids)
{
	struct elf_note note;

	while (elf_note_next(e, &pos, end, &note)) {
		if (elf_note_is(&note, "Go", NT_GO_BUILD_ID) && note.desc_len < ELF_ID_MAX) {
			memcpy(ids->go, note.desc, note.desc_len);
			ids->go[note.desc_len] = '\0';
		} else {
			keep_gnu_id(&note, ids);
		}
	}
	/* Go's own linker gives its note a program header, but not GNU's, which it puts right
	 * behind that (cmd/link/internal/ld/elf.go, 1.24). */
	if (*ids->go && !*ids->gnu && pos == end && elf_note_next(e, &pos, e.size, &note))
		keep_gnu_id(&note, ids);
}

void elf_build_ids(struct elf_bytes e, struct elf_ids *ret)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	struct err *err = elf_header(e, &eh);
	unsigned notes = 0;

	*ret = (struct elf_ids){{0}, {0}};
	if (err) {
		err_free(err);
		return;
	}
	for (u64 i = 0; i < elf_phdr_count(e, &eh) && elf_phdr(e, &eh, i, &ph); i++)
		if (ph.p_type == PT_NOTE && ph.p_offset <= e.size && notes++ < MAX_NOTE_HEADERS)
			read_ids(e, ph.p_offset, va_plus(ph.p_offset, ph.p_filesz), ret);
}

bool elf_ids_match(const struct elf_ids *a, const struct elf_ids *b)
{
	if (*a->go && *b->go)
		return !strcmp(a->go, b->go);
	return *a->gnu && *b->gnu && !strcmp(a->gnu, b->gnu);
}

const char *elf_ids_text(const struct elf_ids *ids)
{
	return *ids->go ? ids->go : *ids->gnu ? ids->gnu : "no build id";
}
