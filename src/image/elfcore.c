/* Program headers of a core.
 *
 * Writers differ in layout, and that tells them apart (measured on Linux 6.18, gdb 13.1, dlv 1.20):
 *
 *   kernel   phdr[0] is PT_NOTE, its bytes follow the headers, every p_offset is page aligned
 *   gcore    phdr[0] is PT_NOTE, its bytes stand at the end of the file, offsets unaligned
 *   delve    PT_NOTE is the last header; its owner is "Delve Header"
 *   qemu     as the kernel, but the auxiliary vector is the note behind the first thread's and the
 *            process's, where the kernel has what the signal was (qemu-user 7.2)
 */
#include "image/image_priv.h"
#include "image/truncation.h"

static struct err *check_core(struct elf_bytes e, Elf64_Ehdr *eh)
{
	TRY(elf_header(e, eh));
	if (eh->e_type == ET_EXEC || eh->e_type == ET_DYN)
		return err_new(ERR_FORMAT,
			       "an executable, not a core; the core is the first argument");
	if (eh->e_type != ET_CORE)
		return err_new(ERR_FORMAT, "an ELF file, but not a core");
	if (!arch_find(eh->e_machine))
		return err_new(ERR_UNSUPPORTED,
			       "a core of a foreign architecture (ELF machine %u); those of x86-64 "
			       "and AArch64 are read",
			       eh->e_machine);
	if (eh->e_phentsize != sizeof(Elf64_Phdr) || eh->e_phoff == 0)
		return err_new(ERR_FORMAT, "a core without program headers");
	return NULL;
}

static struct err *add_load(struct image *im, struct diags *d, const Elf64_Phdr *ph)
{
	struct segment seg = {.lo = ph->p_vaddr, .off = ph->p_offset, .flags = ph->p_flags};
	u64 filesz = ph->p_filesz, end, have;

	if (ph->p_memsz == 0)
		return NULL;
	if (__builtin_add_overflow(seg.lo, ph->p_memsz, &seg.hi) ||
	    __builtin_add_overflow(seg.off, filesz, &end)) {
		diag(d, DIAG_SEGMENT, "load at 0x%llx wraps around the address space",
		     (unsigned long long)seg.lo);
		return NULL;
	}
	if (filesz > ph->p_memsz) {
		diag(d, DIAG_SEGMENT, "load at 0x%llx has more bytes in the file than in memory",
		     (unsigned long long)seg.lo);
		filesz = ph->p_memsz;
		end = seg.off + filesz;
	}
	if (filesz && end > im->expected_bytes)
		im->expected_bytes = end;
	have = seg.off < im->core.size ? im->core.size - seg.off : 0;
	seg.file_bytes = MIN(filesz, have);
	seg.lost_bytes = filesz - seg.file_bytes;
	return array_push(&im->segs, seg);
}

static int by_address(const void *a, const void *b)
{
	const struct segment *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* Takes `bytes` away from the front of a segment. */
static void segment_trim(struct segment *seg, u64 bytes)
{
	u64 from_file = MIN(bytes, seg->file_bytes);

	seg->lo += bytes;
	seg->off += from_file;
	seg->file_bytes -= from_file;
	seg->lost_bytes -= MIN(bytes - from_file, seg->lost_bytes);
}

static void remove_overlaps(struct image *im, struct diags *d)
{
	size_t kept = 0;
	va_t end = 0;

	if (im->segs.n)
		qsort(im->segs.v, im->segs.n, sizeof(*im->segs.v), by_address);
	for (size_t i = 0; i < im->segs.n; i++) {
		struct segment seg = im->segs.v[i];

		if (seg.lo < end) {
			diag(d, DIAG_SEGMENT, "loads overlap at 0x%llx",
			     (unsigned long long)seg.lo);
			if (seg.hi <= end)
				continue;
			segment_trim(&seg, end - seg.lo);
		}
		end = seg.hi;
		im->segs.v[kept++] = seg;
	}
	im->segs.n = kept;
}

/* Damaged headers may promise the same bytes of the file for thousands of loads, which nobody could
 * read to the end: all together get a few times what there is. */
static void limit_sharing(struct image *im, struct diags *d)
{
	const u64 most = 8;
	u64 left;

	if (__builtin_mul_overflow(im->core.size, most, &left))
		left = UINT64_MAX;
	for (size_t i = 0; i < im->segs.n; i++) {
		struct segment *seg = &im->segs.v[i];
		u64 cut = seg->file_bytes - MIN(seg->file_bytes, left);

		if (cut)
			diag(d, DIAG_SEGMENT,
			     "load at 0x%llx has bytes of the file that others have",
			     (unsigned long long)seg->lo);
		seg->file_bytes -= cut;
		seg->lost_bytes += cut;
		left -= seg->file_bytes;
	}
}

/* The number of program headers. Beyond 65534 it stands in a section header, which the kernel
 * writes to the very end (fs/binfmt_elf.c, fill_extnum_info). Where that is cut off, the first note
 * tells it: the kernel puts it right behind the headers and before every load. */
static u64 count_phdrs(struct elf_bytes e, const Elf64_Ehdr *eh)
{
	u64 count = elf_phdr_count(e, eh), bytes;
	Elf64_Phdr note, load;

	if (eh->e_phnum != PN_XNUM || count != PN_XNUM)
		return count;
	if (!elf_phdr(e, eh, 0, &note) || !elf_phdr(e, eh, 1, &load))
		return count;
	if (note.p_type != PT_NOTE || note.p_offset > load.p_offset ||
	    __builtin_sub_overflow(note.p_offset, eh->e_phoff, &bytes) || bytes % sizeof(note) != 0)
		return count;
	return MAX(count, bytes / sizeof(note));
}

/* Whether a table of one header less once stood where the kernel puts it: a note was added, and the
 * longer table is elsewhere (note.h). */
static bool is_moved_table(const Elf64_Ehdr *eh, u64 first_note, u64 phdr_count)
{
	return eh->e_phoff != sizeof(*eh) && phdr_count > 1 &&
	       first_note == sizeof(*eh) + (phdr_count - 1) * sizeof(Elf64_Phdr);
}

static enum core_kind kind_by_layout(const Elf64_Ehdr *eh, const Elf64_Phdr *first, u64 phdr_count,
				     u64 last_load, bool aligned)
{
	if (first->p_type != PT_NOTE)
		return CORE_OTHER;
	if (aligned && (first->p_offset == eh->e_phoff + phdr_count * sizeof(Elf64_Phdr) ||
			is_moved_table(eh, first->p_offset, phdr_count)))
		return CORE_KERNEL;
	if (first->p_offset >= last_load)
		return CORE_GCORE;
	return CORE_OTHER;
}

/* The headers that are there and those that the file is too short for. */
struct phdr_scan {
	Elf64_Phdr first;
	u64 last_load; /* highest file offset of a load with bytes */
	bool aligned;
};

static struct err *scan_phdrs(struct image *im, struct diags *d, const Elf64_Ehdr *eh, u64 count,
			      struct note_range *notes, size_t *note_count, struct phdr_scan *scan)
{
	struct elf_bytes e = {im->core.data, im->core.size};
	Elf64_Phdr ph;

	for (u64 i = 0; i < count; i++) {
		if (!elf_phdr(e, eh, i, &ph)) {
			im->truncated = true;
			diag(d, DIAG_TRUNCATED, "%llu of %llu program headers are missing",
			     (unsigned long long)(count - i), (unsigned long long)count);
			break;
		}
		if (i == 0)
			scan->first = ph;
		if (ph.p_type == PT_LOAD) {
			TRY(add_load(im, d, &ph));
			if (ph.p_offset % 4096 != 0)
				scan->aligned = false;
			if (ph.p_filesz)
				scan->last_load = MAX(scan->last_load, ph.p_offset);
		} else if (ph.p_type == PT_NOTE && *note_count < ELFCORE_MAX_NOTES) {
			notes[(*note_count)++] =
				(struct note_range){ph.p_offset, va_plus(ph.p_offset, ph.p_filesz)};
			im->expected_bytes =
				MAX(im->expected_bytes, va_plus(ph.p_offset, ph.p_filesz));
		}
	}
	return NULL;
}

struct err *elfcore_read(struct image *im, struct diags *d, struct note_range *notes,
			 size_t *note_count)
{
	struct elf_bytes e = {im->core.data, im->core.size};
	struct phdr_scan scan = {.aligned = true};
	Elf64_Ehdr eh;
	u64 count;

	TRY(check_core(e, &eh));
	im->arch = arch_find(eh.e_machine);
	count = count_phdrs(e, &eh);
	*note_count = 0;
	if (eh.e_phnum == PN_XNUM) /* the number stands at the end of the file */
		im->expected_bytes = va_plus(eh.e_shoff, sizeof(Elf64_Shdr));
	TRY(scan_phdrs(im, d, &eh, count, notes, note_count, &scan));
	im->kind = kind_by_layout(&eh, &scan.first, count, scan.last_load, scan.aligned);
	if (im->truncated || im->expected_bytes > im->core.size) {
		im->truncated = true;
		im->cut_cause = truncation_cause(im);
		diag(d, DIAG_TRUNCATED, "%llu bytes of %llu are there, %s",
		     (unsigned long long)im->core.size, (unsigned long long)im->expected_bytes,
		     im->cut_cause);
	}
	remove_overlaps(im, d);
	limit_sharing(im, d);
	if (im->segs.n == 0)
		return err_new(ERR_FORMAT, "a core without memory");
	return NULL;
}
