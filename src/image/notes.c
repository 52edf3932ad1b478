/* Notes of a core: threads (NT_PRSTATUS), NT_AUXV, NT_FILE.
 *
 * NT_PRSTATUS differs by architecture (image/arch.c). NT_FILE is drawn in Linux fs/binfmt_elf.c:
 * count, page size, (start, end, offset in pages)*, names.
 * Delve writes the same notes with an empty owner name. */
#include "image/image_priv.h"

#include <string.h>

/* struct elf_prstatus on 64-bit machines: pr_pid, and pr_utime and pr_stime, two words each. The
 * leader of the process has all threads' time there (Linux 6.18, fs/binfmt_elf.c, fill_prstatus);
 * gdb and delve leave it out. */
enum { PRSTATUS_PID = 32, PRSTATUS_UTIME = 48, PRSTATUS_STIME = 64 };

/* struct elf_prpsinfo on 64-bit machines: pr_pid. */
enum { PRPSINFO_PID = 24, PRPSINFO_BYTES = 136 };

#define MAX_PAGE_SIZE ((u64)1 << 16)

static u64 get_u64(const u8 *p)
{
	u64 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Microseconds of a time in seconds and microseconds; 0 for one that makes no sense. */
static u64 get_time_us(const u8 *p)
{
	u64 us;

	if (__builtin_mul_overflow(get_u64(p), (u64)1000000, &us) ||
	    __builtin_add_overflow(us, get_u64(p + 8), &us) || us > INT64_MAX)
		return 0;
	return us;
}

static struct err *read_prstatus(struct image *im, struct diags *d, const struct elf_note *note)
{
	const struct arch *arch = im->arch;
	struct thread t;

	if (note->desc_len < arch->prstatus_bytes) {
		diag(d, DIAG_NOTE, "a thread's status note has only %llu bytes",
		     (unsigned long long)note->desc_len);
		return NULL;
	}
	memcpy(&t.tid, note->desc + PRSTATUS_PID, sizeof(t.tid));
	t.pc = get_u64(note->desc + arch->prstatus.pc);
	t.sp = get_u64(note->desc + arch->prstatus.sp);
	t.fp = get_u64(note->desc + arch->prstatus.fp);
	t.lr = arch->prstatus.lr ? get_u64(note->desc + arch->prstatus.lr) : 0;
	t.tls = arch->prstatus_tls ? get_u64(note->desc + arch->prstatus_tls) : 0;
	t.cpu_us =
		get_time_us(note->desc + PRSTATUS_UTIME) + get_time_us(note->desc + PRSTATUS_STIME);
	return array_push(&im->threads, t);
}

/* What the kernel adds to an arm64 thread: it follows the thread's status. */
static void read_arm_tls(struct image *im, const struct elf_note *note)
{
	if (im->threads.n && note->desc_len >= 8)
		im->threads.v[im->threads.n - 1].tls = get_u64(note->desc);
}

static void read_prpsinfo(struct image *im, const struct elf_note *note)
{
	if (note->desc_len >= PRPSINFO_BYTES)
		memcpy(&im->pid, note->desc + PRPSINFO_PID, sizeof(im->pid));
}

static void read_auxv(struct image *im, const struct elf_note *note)
{
	im->auxv_note = note->desc;
	im->auxv_bytes = note->desc_len;
	for (u64 i = 0; i + 16 <= note->desc_len; i += 16) {
		u64 value = get_u64(note->desc + i + 8);

		switch (get_u64(note->desc + i)) {
		case AT_ENTRY:
			im->auxv.entry = value;
			break;
		case AT_PHDR:
			im->auxv.phdr = value;
			break;
		case AT_SYSINFO_EHDR:
			im->auxv.vdso = value;
			break;
		case AT_RANDOM:
			im->auxv.random = value;
			break;
		case AT_EXECFN:
			im->auxv.execfn = value;
			break;
		case AT_PAGESZ:
			if (value >= 4096 && value <= MAX_PAGE_SIZE && (value & (value - 1)) == 0)
				im->auxv.page_size = value;
			break;
		}
	}
}

static bool starts_with(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* Memory that only looks like a file. */
static bool path_is_shm(const char *path)
{
	return starts_with(path, "/dev/zero") || starts_with(path, "/memfd:") ||
	       starts_with(path, "/dev/shm/") || starts_with(path, "/SYSV");
}

/* The kernel writes all mappings of a file in a row (they are neighbours), so the newest entries
 * are looked at first and few. */
struct err *notes_intern_file(struct image *im, const char *name, size_t len, int *ret)
{
	static const char gone[] = " (deleted)";
	struct mapped_file f = {0};

	if (len > sizeof(gone) - 1 &&
	    memcmp(name + len - (sizeof(gone) - 1), gone, sizeof(gone) - 1) == 0) {
		f.deleted = true;
		len -= sizeof(gone) - 1;
	}
	for (size_t i = im->files.n; i-- > 0 && im->files.n - i <= 64;) {
		const struct mapped_file *old = &im->files.v[i];

		if (strlen(old->path) == len && memcmp(old->path, name, len) == 0 &&
		    old->deleted == f.deleted) {
			*ret = (int)i;
			return NULL;
		}
	}
	f.path = arena_strndup(&im->arena, name, len);
	f.shm = path_is_shm(f.path);
	TRY(array_push(&im->files, f));
	*ret = (int)im->files.n - 1;
	return NULL;
}

static struct err *read_files(struct image *im, struct diags *d, const struct elf_note *note,
			      file_entries *entries)
{
	u64 count, unit, names_off;
	const char *name, *end = (const char *)note->desc + note->desc_len;

	if (note->desc_len < 16)
		return NULL;
	count = get_u64(note->desc);
	unit = get_u64(note->desc + 8);
	if (count > (note->desc_len - 16) / 24 || unit == 0 || unit > MAX_PAGE_SIZE) {
		diag(d, DIAG_NOTE, "the note of mapped files is damaged");
		return NULL;
	}
	names_off = 16 + count * 24;
	name = (const char *)note->desc + names_off;
	for (u64 i = 0; i < count; i++) {
		const u8 *p = note->desc + 16 + i * 24;
		struct file_entry e = {.lo = get_u64(p), .hi = get_u64(p + 8)};
		size_t len = strnlen(name, (size_t)(end - name));

		if (name >= end || e.lo >= e.hi ||
		    __builtin_mul_overflow(get_u64(p + 16), unit, &e.offset)) {
			diag(d, DIAG_NOTE, "the note of mapped files is damaged at entry %llu",
			     (unsigned long long)i);
			return NULL;
		}
		TRY(notes_intern_file(im, name, len, &e.file));
		TRY(array_push(entries, e));
		name += len < (size_t)(end - name) ? len + 1 : len;
	}
	return NULL;
}

static bool is_owner(const struct elf_note *note, const char *owner)
{
	return note->name_len == strlen(owner) && memcmp(note->name, owner, note->name_len) == 0;
}

static struct err *read_note(struct image *im, struct diags *d, const struct elf_note *note,
			     file_entries *entries)
{
	/* Types mean what they mean only under these owners. */
	if (is_owner(note, "SPANSCOPE"))
		return array_push(&im->record_notes,
				  (struct record_note){note->type, note->desc, note->desc_len});
	if (is_owner(note, "Delve Header"))
		im->kind = CORE_DELVE;
	if (is_owner(note, "LINUX") && note->type == NT_ARM_TLS)
		read_arm_tls(im, note);
	if (!is_owner(note, "") && !is_owner(note, "CORE"))
		return NULL;
	switch (note->type) {
	case NT_PRSTATUS:
		return read_prstatus(im, d, note);
	case NT_PRPSINFO:
		read_prpsinfo(im, note);
		return NULL;
	case NT_AUXV:
		read_auxv(im, note);
		return NULL;
	case NT_FILE:
		return read_files(im, d, note, entries);
	default:
		return NULL;
	}
}

struct err *notes_read(struct image *im, struct diags *d, const struct note_range *notes,
		       size_t note_count, file_entries *entries)
{
	struct elf_bytes e = {im->core.data, im->core.size};
	struct elf_note note;
	u32 previous = 0;

	im->auxv.page_size = 4096;
	for (size_t i = 0; i < note_count; i++) {
		u64 pos = notes[i].lo;

		while (pos < notes[i].hi && elf_note_next(e, &pos, notes[i].hi, &note)) {
			im->has_notes = true;
			TRY(read_note(im, d, &note, entries));
			if (im->kind == CORE_KERNEL && previous == NT_PRPSINFO &&
			    note.type == NT_AUXV)
				im->kind = CORE_OTHER; /* an emulator's, see elfcore.c */
			previous = note.type;
		}
		if (pos < notes[i].hi && pos < e.size && !im->truncated)
			diag(d, DIAG_NOTE, "a note at file offset %llu is damaged",
			     (unsigned long long)pos);
	}
	if (!im->has_notes)
		diag(d, DIAG_NO_NOTES, "no readable note");
	return NULL;
}
