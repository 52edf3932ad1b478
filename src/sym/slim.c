#include "sym/slim.h"

#include <gelf.h>
#include <string.h>

/* DWARF 4 and 5; Go writes no strings of their own, C compilers do. */
static const char *const wanted[] = {
	".debug_info", ".debug_abbrev", ".debug_str",     ".debug_line_str", ".debug_str_offsets",
	".debug_addr", ".zdebug_info",  ".zdebug_abbrev", ".zdebug_str",
};

#define MAX_SECTIONS (COUNT_OF(wanted) + 2) /* the null section, the wanted ones, the names */
#define NAMES_BYTES 256
#define MAX_INFLATED ((u64)1 << 40)

struct slim {
	slim_bytes *out;
	Elf64_Shdr sections[MAX_SECTIONS];
	size_t count;
	char names[NAMES_BYTES];
	size_t names_bytes;
	u64 inflated;
	bool has_info;
};

static bool is_wanted(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(wanted); i++)
		if (!strcmp(name, wanted[i]))
			return true;
	return false;
}

static struct err *append(slim_bytes *out, const void *bytes, size_t n)
{
	TRY(array_reserve(out, n));
	memcpy(out->v + out->n, bytes, n);
	out->n += n;
	return NULL;
}

static u32 add_name(struct slim *s, const char *name)
{
	size_t at = s->names_bytes, n = strlen(name) + 1;

	if (n > NAMES_BYTES - at)
		return 0;
	memcpy(s->names + at, name, n);
	s->names_bytes += n;
	return (u32)at;
}

/* Copies one section as it is, compressed or not. */
static struct err *add_section(struct slim *s, Elf_Scn *scn, const GElf_Shdr *sh, const char *name)
{
	Elf_Data *data = elf_rawdata(scn, NULL);
	GElf_Chdr ch;

	if (!data || !data->d_buf || s->count >= MAX_SECTIONS - 1)
		return NULL;
	if ((sh->sh_flags & SHF_COMPRESSED) && gelf_getchdr(scn, &ch) && ch.ch_size < MAX_INFLATED)
		s->inflated += ch.ch_size;
	if (strstr(name, "debug_info"))
		s->has_info = true;
	/* Sections are aligned so that the library can read their headers in place. */
	while (s->out->n % 16)
		TRY(array_push(s->out, 0));
	s->sections[s->count++] = (Elf64_Shdr){
		.sh_name = add_name(s, name),
		.sh_type = SHT_PROGBITS,
		.sh_flags = sh->sh_flags & SHF_COMPRESSED,
		.sh_offset = s->out->n,
		.sh_size = data->d_size,
		.sh_addralign = 1,
	};
	return append(s->out, data->d_buf, data->d_size);
}

static struct err *add_sections(struct slim *s, Elf *elf)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;
		const char *name;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, sh.sh_name);
		if (name && is_wanted(name))
			TRY(add_section(s, scn, &sh, name));
	}
	return NULL;
}

/* The names, the section headers, and at last the header in front. */
static struct err *finish(struct slim *s, Elf *elf)
{
	GElf_Ehdr from;
	Elf64_Ehdr eh = {.e_type = ET_EXEC, .e_version = EV_CURRENT};

	if (!gelf_getehdr(elf, &from))
		return err_new(ERR_FORMAT, "%s", elf_errmsg(-1));
	s->sections[s->count] = (Elf64_Shdr){
		.sh_name = add_name(s, ".shstrtab"),
		.sh_type = SHT_STRTAB,
		.sh_offset = s->out->n,
		.sh_addralign = 1,
	};
	s->sections[s->count++].sh_size = s->names_bytes;
	TRY(append(s->out, s->names, s->names_bytes));
	while (s->out->n % 16)
		TRY(array_push(s->out, 0));
	memcpy(eh.e_ident, from.e_ident, EI_NIDENT);
	eh.e_machine = from.e_machine;
	eh.e_ehsize = sizeof(eh);
	eh.e_shentsize = sizeof(Elf64_Shdr);
	eh.e_shoff = s->out->n;
	eh.e_shnum = (u16)s->count;
	eh.e_shstrndx = (u16)(s->count - 1);
	TRY(append(s->out, s->sections, s->count * sizeof(*s->sections)));
	memcpy(s->out->v, &eh, sizeof(eh));
	return NULL;
}

struct err *slim_elf(Elf *elf, slim_bytes *ret, u64 *inflated)
{
	struct slim s = {.out = ret, .count = 1, .names_bytes = 1};
	static const u8 room[sizeof(Elf64_Ehdr)];

	TRY(append(ret, room, sizeof(room)));
	TRY(add_sections(&s, elf));
	if (!s.has_info)
		return err_new(ERR_MISSING, "no DWARF (stripped)");
	*inflated = s.inflated;
	return finish(&s, elf);
}
