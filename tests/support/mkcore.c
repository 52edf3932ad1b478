#include "support/mkcore.h"

#include "base/cleanup.h"
#include "support/test.h"
#include "support/tmp.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static void must(struct err *err)
{
	if (err)
		fail_msg("%s", err->msg);
}

struct mkcore *mkcore_new(enum mkcore_layout layout)
{
	struct mkcore *mk = xcalloc(1, sizeof(*mk));

	mk->layout = layout;
	mk->arch = arch_get(ARCH_AMD64);
	mk->dense = layout != MKCORE_KERNEL;
	mk->align = mk->file_unit = MK_PAGE;
	mk->eh = (Elf64_Ehdr){
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_CORE,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
	};
	return mk;
}

void mkcore_free(struct mkcore *mk)
{
	if (mk->path)
		unlink(mk->path);
	free(mk->path);
	for (size_t i = 0; i < mk->pokes.n; i++)
		free(mk->pokes.v[i].bytes);
	array_free(&mk->loads);
	array_free(&mk->phdrs);
	array_free(&mk->pokes);
	array_free(&mk->files);
	array_free(&mk->auxv);
	array_free(&mk->notes);
	free(mk);
}

struct mkcore_load *mkcore_load(struct mkcore *mk, va_t lo, u32 flags, const char *pages)
{
	u64 bytes = strlen(pages) * MK_PAGE;
	struct mkcore_load load = {
		.ph = {.p_type = PT_LOAD,
		       .p_flags = flags,
		       .p_vaddr = lo,
		       .p_filesz = bytes,
		       .p_memsz = bytes,
		       .p_align = mk->layout == MKCORE_KERNEL ? MK_PAGE : 1},
		.pages = pages,
	};

	must(array_push(&mk->loads, load));
	return &mk->loads.v[mk->loads.n - 1];
}

void mkcore_reserve(struct mkcore *mk, va_t lo, u64 memsz, u32 flags)
{
	mkcore_load(mk, lo, flags, "")->ph.p_memsz = memsz;
}

void mkcore_phdr(struct mkcore *mk, Elf64_Phdr ph)
{
	must(array_push(&mk->phdrs, ph));
}

void mkcore_poke(struct mkcore *mk, va_t va, const void *bytes, size_t n)
{
	struct mkcore_poke poke = {va, xcalloc(n, 1), n};

	memcpy(poke.bytes, bytes, n);
	must(array_push(&mk->pokes, poke));
}

void mkcore_poke_u64(struct mkcore *mk, va_t va, u64 value)
{
	mkcore_poke(mk, va, &value, sizeof(value));
}

void mkcore_file(struct mkcore *mk, va_t lo, va_t hi, u64 offset, const char *path)
{
	must(array_push(&mk->files, {lo, hi, offset, path}));
}

void mkcore_auxv(struct mkcore *mk, u64 type, u64 value)
{
	must(array_push(&mk->auxv, {.a_type = type, .a_un = {.a_val = value}}));
}

void mkcore_raw_note(struct mkcore *mk, const void *bytes, size_t n)
{
	if (!n)
		return;
	must(array_reserve(&mk->notes, n));
	memcpy(mk->notes.v + mk->notes.n, bytes, n);
	mk->notes.n += n;
}

void mkcore_note(struct mkcore *mk, const char *owner, u32 type, const void *desc, size_t n)
{
	static const u8 zeros[4];
	size_t name_len = *owner ? strlen(owner) + 1 : 0;
	Elf64_Nhdr nh = {.n_namesz = (u32)name_len, .n_descsz = (u32)n, .n_type = type};

	mkcore_raw_note(mk, &nh, sizeof(nh));
	mkcore_raw_note(mk, owner, name_len);
	mkcore_raw_note(mk, zeros, -name_len % 4);
	mkcore_raw_note(mk, desc, n);
	mkcore_raw_note(mk, zeros, -n % 4);
}

/* Offsets as the kernel has them, not as image/arch.c does. */
void mkcore_thread(struct mkcore *mk, struct mkcore_thread t)
{
	static const struct {
		size_t bytes, pc, sp, fp, tls, lr;
	} status[ARCH_COUNT] = {{336, 240, 264, 144, 280, 0}, {392, 368, 360, 344, 0, 352}};
	const enum arch_id id = mk->arch->id;
	const char *owner = mk->layout == MKCORE_DELVE ? "" : "CORE";
	u8 desc[392] = {0};

	memcpy(desc + 32, &t.tid, sizeof(t.tid));
	if (status[id].tls)
		memcpy(desc + status[id].tls, &t.fs_base, sizeof(va_t));
	memcpy(desc + status[id].pc, &t.rip, sizeof(va_t));
	memcpy(desc + status[id].sp, &t.rsp, sizeof(va_t));
	memcpy(desc + status[id].fp, &t.rbp, sizeof(va_t));
	if (status[id].lr)
		memcpy(desc + status[id].lr, &t.lr, sizeof(va_t));
	mkcore_note(mk, owner, NT_PRSTATUS, desc, status[id].bytes);
	if (!status[id].tls)
		mkcore_note(mk, "LINUX", NT_ARM_TLS, &t.fs_base, sizeof(t.fs_base));
}

u64 mkcore_offset(const struct mkcore *mk, size_t i)
{
	return mk->loads.v[i].ph.p_offset;
}

u8 mkcore_byte(va_t va)
{
	return (u8)(1 + (va * 31 + (va >> 8) * 7 + (va >> 16)) % 255);
}

/* fs/binfmt_elf.c fill_files_note: count, unit, (lo, hi, offset in units)*, paths. */
static void add_file_note(struct mkcore *mk)
{
	u64 head[2] = {mk->files.n, mk->file_unit};
	ARRAY(u8) desc = {0};
	size_t n = sizeof(head) + mk->files.n * 24;

	if (!mk->files.n)
		return;
	for (size_t i = 0; i < mk->files.n; i++)
		n += strlen(mk->files.v[i].path) + 1;
	must(array_reserve(&desc, n));
	memcpy(desc.v, head, sizeof(head));
	desc.n = sizeof(head);
	for (size_t i = 0; i < mk->files.n; i++) {
		const struct mkcore_file *f = &mk->files.v[i];
		u64 entry[3] = {f->lo, f->hi, f->offset / mk->file_unit};

		memcpy(desc.v + desc.n, entry, sizeof(entry));
		desc.n += sizeof(entry);
	}
	for (size_t i = 0; i < mk->files.n; i++) {
		size_t len = strlen(mk->files.v[i].path) + 1;

		memcpy(desc.v + desc.n, mk->files.v[i].path, len);
		desc.n += len;
	}
	mkcore_note(mk, mk->layout == MKCORE_DELVE ? "" : "CORE", NT_FILE, desc.v, n);
	array_free(&desc);
}

static void add_auxv_note(struct mkcore *mk)
{
	if (!mk->auxv.n)
		return;
	mkcore_auxv(mk, AT_NULL, 0);
	mkcore_note(mk, mk->layout == MKCORE_DELVE ? "" : "CORE", NT_AUXV, mk->auxv.v,
		    mk->auxv.n * sizeof(*mk->auxv.v));
}

static u64 file_bytes(const struct mkcore_load *load)
{
	return strlen(load->pages) * MK_PAGE;
}

/* Gives the loads their offsets from pos on; the end of the last. */
static u64 place_loads(struct mkcore *mk, u64 pos)
{
	for (size_t i = 0; i < mk->loads.n; i++) {
		struct mkcore_load *load = &mk->loads.v[i];

		if (mk->layout == MKCORE_KERNEL)
			pos = align_up(pos, mk->align);
		load->ph.p_offset = pos;
		pos += file_bytes(load);
	}
	return pos;
}

/* Where everything goes; the headers are complete afterwards. */
static void place_all(struct mkcore *mk)
{
	u64 phdr_bytes, end;
	bool xnum;

	mk->phdr_count = mk->loads.n + mk->phdrs.n + !mk->no_note;
	phdr_bytes = mk->phdr_count * sizeof(Elf64_Phdr);
	mk->note_bytes = mk->notes.n;
	mk->eh.e_machine = mk->arch->elf_machine;
	mk->eh.e_phoff = sizeof(Elf64_Ehdr);
	switch (mk->layout) {
	case MKCORE_KERNEL:
		mk->note_off = mk->eh.e_phoff + phdr_bytes;
		end = place_loads(mk, mk->note_off + mk->note_bytes);
		break;
	case MKCORE_GCORE:
		/* gdb's offsets have one remainder, never 0: the headers end odd. */
		mk->note_off = place_loads(mk, (mk->eh.e_phoff + phdr_bytes) | 8);
		end = mk->note_off + mk->note_bytes;
		break;
	case MKCORE_DELVE:
	default:
		mk->note_off = place_loads(mk, sizeof(Elf64_Ehdr));
		mk->eh.e_phoff = mk->note_off + align_up(mk->note_bytes, 8);
		end = mk->eh.e_phoff + phdr_bytes;
		break;
	}
	xnum = mk->xnum || mk->phdr_count >= PN_XNUM;
	mk->eh.e_phnum = xnum ? PN_XNUM : (u16)mk->phdr_count;
	if (xnum) { /* the kernel puts the section header at the end */
		mk->eh.e_shoff = align_up(end, 8);
		mk->eh.e_shnum = 1;
		mk->eh.e_shentsize = sizeof(Elf64_Shdr);
		end = mk->eh.e_shoff + sizeof(Elf64_Shdr);
	}
	mk->size = end;
}

static void put(int fd, const void *bytes, size_t n, u64 off)
{
	if (pwrite(fd, bytes, n, (off_t)off) != (ssize_t)n)
		fail_msg("a core of %zu bytes more cannot be written", n);
}

static void put_headers(const struct mkcore *mk, int fd)
{
	Elf64_Phdr note = {.p_type = PT_NOTE, .p_offset = mk->note_off, .p_filesz = mk->note_bytes};
	AUTO_FREE Elf64_Phdr *all = xcalloc(mk->phdr_count, sizeof(*all));
	size_t n = 0;

	if (!mk->no_note && mk->layout != MKCORE_DELVE)
		all[n++] = note;
	for (size_t i = 0; i < mk->loads.n; i++)
		all[n++] = mk->loads.v[i].ph;
	for (size_t i = 0; i < mk->phdrs.n; i++)
		all[n++] = mk->phdrs.v[i];
	if (!mk->no_note && mk->layout == MKCORE_DELVE)
		all[n++] = note;
	put(fd, &mk->eh, sizeof(mk->eh), 0);
	put(fd, all, n * sizeof(*all), mk->eh.e_phoff);
	put(fd, mk->notes.v, mk->note_bytes, mk->note_off);
	if (mk->eh.e_phnum == PN_XNUM) {
		Elf64_Shdr sh = {.sh_size = 1, .sh_info = (u32)mk->phdr_count};

		put(fd, &sh, sizeof(sh), mk->eh.e_shoff);
	}
}

static void put_pages(const struct mkcore *mk, int fd, const struct mkcore_load *load)
{
	u8 page[MK_PAGE];

	for (u64 i = 0; load->pages[i]; i++) {
		char letter = load->pages[i];

		if (!strchr("#0.", letter))
			fail_msg("'%c' is no page", letter);
		if (letter == '.' && !mk->dense)
			continue;
		for (u64 b = 0; b < MK_PAGE; b++)
			page[b] =
				letter == '#' ? mkcore_byte(load->ph.p_vaddr + i * MK_PAGE + b) : 0;
		put(fd, page, sizeof(page), load->ph.p_offset + i * MK_PAGE);
	}
}

static void put_poke(const struct mkcore *mk, int fd, const struct mkcore_poke *poke)
{
	for (size_t i = 0; i < mk->loads.n; i++) {
		const struct mkcore_load *load = &mk->loads.v[i];
		u64 skip = poke->va - load->ph.p_vaddr;

		if (poke->va >= load->ph.p_vaddr && skip + poke->n <= file_bytes(load)) {
			put(fd, poke->bytes, poke->n, load->ph.p_offset + skip);
			return;
		}
	}
	fail_msg("0x%llx is in no load", (unsigned long long)poke->va);
}

const char *mkcore_write(struct mkcore *mk)
{
	static unsigned serial;
	AUTO_FREE char *name = xasprintf("core.%u", ++serial);
	AUTO_CLOSE int fd = -1;

	if (mk->path)
		return mk->path;
	mk->path = tmp_path(name);
	add_auxv_note(mk);
	add_file_note(mk);
	place_all(mk);
	fd = open(mk->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		fail_msg("%s cannot be made", mk->path);
	put_headers(mk, fd);
	for (size_t i = 0; i < mk->loads.n; i++)
		put_pages(mk, fd, &mk->loads.v[i]);
	for (size_t i = 0; i < mk->pokes.n; i++)
		put_poke(mk, fd, &mk->pokes.v[i]);
	if (ftruncate(fd, (off_t)mk->size) < 0)
		fail_msg("%s cannot be given its size", mk->path);
	return mk->path;
}

void mkcore_patch(const struct mkcore *mk, u64 off, u64 value, size_t width)
{
	AUTO_CLOSE int fd = open(mk->path, O_WRONLY | O_CLOEXEC);

	assert_true(off + width <= mk->size && width <= sizeof(value));
	put(fd, &value, width, off);
}

void mkcore_truncate(const struct mkcore *mk, u64 bytes)
{
	assert_true(bytes <= mk->size);
	if (truncate(mk->path, (off_t)bytes) < 0)
		fail_msg("%s cannot be cut", mk->path);
}
