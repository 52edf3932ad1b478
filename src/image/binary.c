#include "image/binary.h"

#include "base/cleanup.h"

#include <string.h>

#define HEADER_MAX_BYTES ((u64)64 << 10)
#define EXE_MAX_PHDRS 1024 /* linkers write a dozen; some loops here go over all for each */

const char *exe_match_name(enum exe_match match)
{
	static const char *const names[] = {
		[EXE_NONE] = "none",
		[EXE_PATH] = "path",
		[EXE_GNU_BUILD_ID] = "gnu-build-id",
		[EXE_GO_BUILD_ID] = "go-build-id",
	};

	return names[match];
}

/* The header page of an ELF file that is mapped at va, as far as it was dumped. */
static struct elf_bytes header_bytes(const struct image *im, va_t va)
{
	u64 n = va ? MIN(image_dumped_end(im, va) - va, HEADER_MAX_BYTES) : 0;
	const u8 *p = n ? image_view(im, va, n) : NULL;

	if (!p) { /* it runs into another load: the first page will do */
		n = 4096;
		p = va ? image_view(im, va, n) : NULL;
	}
	return (struct elf_bytes){p, p ? n : 0};
}

/* Distance between addresses in the process and those in the file. A PIE's first load need not
 * be at 0: the entry point tells, else the place of the ELF header. */
static va_t bias_of(const struct image *im, const struct binary *bin, struct elf_bytes e)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	struct err *err = elf_header(e, &eh);

	if (err) {
		err_free(err);
		return 0;
	}
	if (im->auxv.entry && !bin->library)
		return im->auxv.entry - eh.e_entry;
	for (u64 i = 0; i < elf_phdr_count(e, &eh) && elf_phdr(e, &eh, i, &ph); i++)
		if (ph.p_type == PT_LOAD && ph.p_offset < 4096)
			return bin->header - (ph.p_vaddr - ph.p_offset);
	return 0;
}

/* Whether the ELF header at va is that of a file which Go's linker, or a C one with Go in it, made.
 */
static bool is_go(const struct image *im, va_t va)
{
	struct elf_ids ids;

	elf_build_ids(header_bytes(im, va), &ids);
	return *ids.go;
}

/* The executable may be C, with Go in a library (-buildmode=c-shared): the first that says so. */
static void locate_library(struct binary *bin, const struct image *im)
{
	for (size_t i = 0; i < im->vmas.n; i++) {
		const struct vma *v = &im->vmas.v[i];

		if (v->kind == VMA_FILE && v->offset == 0 && v->file != bin->file &&
		    is_go(im, v->lo)) {
			bin->library = true;
			bin->file = v->file;
			bin->core_path = im->files.v[v->file].path;
			bin->header = v->lo;
			return;
		}
	}
}

size_t binary_count_go(const struct image *im)
{
	size_t n = 0;

	for (size_t i = 0; i < im->vmas.n; i++) {
		const struct vma *v = &im->vmas.v[i];

		n += v->kind == VMA_FILE && v->offset == 0 && is_go(im, v->lo);
	}
	return n;
}

static void locate_in_core(struct binary *bin, const struct image *im)
{
	const struct vma *v = im->auxv.entry ? image_vma(im, im->auxv.entry) : NULL;

	bin->file = -1;
	if (!v || v->file < 0)
		v = im->auxv.phdr ? image_vma(im, im->auxv.phdr) : NULL;
	if (v && v->file >= 0) {
		bin->file = v->file;
		bin->core_path = im->files.v[v->file].unnamed ? NULL : im->files.v[v->file].path;
		for (size_t i = 0; i < im->vmas.n && !bin->header; i++)
			if (im->vmas.v[i].file == bin->file && im->vmas.v[i].offset == 0)
				bin->header = im->vmas.v[i].lo;
	}
	/* Without NT_FILE: linkers place the program headers right behind the ELF header. */
	if (!bin->header && im->auxv.phdr > sizeof(Elf64_Ehdr))
		bin->header = im->auxv.phdr - sizeof(Elf64_Ehdr);
	if (!is_go(im, bin->header))
		locate_library(bin, im);
	bin->bias = bias_of(im, bin, header_bytes(im, bin->header));
}

void binary_ids(const struct binary *bin, const struct image *im, struct elf_ids *ret)
{
	elf_build_ids(bin->match ? (struct elf_bytes){bin->exe.data, bin->exe.size}
				 : header_bytes(im, bin->header),
		      ret);
}

static bool phdr_of(struct elf_bytes e, u64 i, Elf64_Phdr *ret)
{
	Elf64_Ehdr eh;
	struct err *err = elf_header(e, &eh);

	if (err) {
		err_free(err);
		return false;
	}
	return i < MIN(elf_phdr_count(e, &eh), EXE_MAX_PHDRS) && elf_phdr(e, &eh, i, ret);
}

bool binary_file_phdr(const struct binary *bin, u64 i, Elf64_Phdr *ret)
{
	return bin->match && phdr_of((struct elf_bytes){bin->exe.data, bin->exe.size}, i, ret);
}

/* Whether the header page in the core has all program headers. */
static bool core_has_phdrs(struct elf_bytes e)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	struct err *err = elf_header(e, &eh);
	u64 n = err ? 0 : elf_phdr_count(e, &eh);

	err_free(err);
	return n && elf_phdr(e, &eh, n - 1, &ph);
}

bool binary_phdr(const struct binary *bin, const struct image *im, u64 i, Elf64_Phdr *ret)
{
	struct elf_bytes e = header_bytes(im, bin->header);

	return core_has_phdrs(e) ? phdr_of(e, i, ret) : binary_file_phdr(bin, i, ret);
}

/* Whether every file-backed segment of the executable is mapped where it should be. */
static bool segments_fit(const struct image *im, struct elf_bytes e, const Elf64_Ehdr *eh,
			 va_t bias)
{
	Elf64_Phdr ph;
	bool any = false;

	for (u64 i = 0; i < elf_phdr_count(e, eh) && elf_phdr(e, eh, i, &ph); i++) {
		const struct vma *v;

		if (ph.p_type != PT_LOAD || !ph.p_filesz)
			continue;
		v = image_vma(im, bias + ph.p_vaddr);
		if (!v || v->file < 0 || v->offset + (bias + ph.p_vaddr - v->lo) != ph.p_offset)
			return false;
		any = true;
	}
	return any;
}

/* Whether all that the core has of the file's constants is what the file has, and is not little.
 * An emulator's core, and one by an unusual coredump_filter, names no files and lacks the header.
 */
static bool constants_equal(const struct image *im, struct elf_bytes e, const Elf64_Ehdr *eh,
			    va_t bias)
{
	const u64 page = 4096, least = 4;
	u64 equal = 0;
	Elf64_Phdr ph;

	for (u64 i = 0; i < elf_phdr_count(e, eh) && elf_phdr(e, eh, i, &ph); i++) {
		if (ph.p_type != PT_LOAD || (ph.p_flags & (PF_W | PF_X)) || ph.p_offset > e.size)
			continue;
		for (u64 at = 0; at + page <= MIN(ph.p_filesz, e.size - ph.p_offset); at += page) {
			const u8 *p = image_view(im, bias + ph.p_vaddr + at, page);

			if (p && memcmp(p, e.data + ph.p_offset + at, page) != 0)
				return false;
			equal += p != NULL;
		}
	}
	return equal >= least;
}

/* Decides whether the file is the executable of the core; *why is set when it is not. */
static enum exe_match match_file(const struct image *im, const struct binary *bin,
				 const struct os_file *f, va_t bias, char **why)
{
	struct elf_bytes e = {f->data, f->size};
	struct elf_ids core_ids, file_ids;
	Elf64_Ehdr eh;
	struct err *err = elf_header(e, &eh);

	if (err) {
		*why = xasprintf("%s: %s", f->path, err->msg);
		err_free(err);
		return EXE_NONE;
	}
	elf_build_ids(header_bytes(im, bin->header), &core_ids);
	elf_build_ids(e, &file_ids);
	if (elf_ids_match(&core_ids, &file_ids))
		return *core_ids.go && *file_ids.go ? EXE_GO_BUILD_ID : EXE_GNU_BUILD_ID;
	if (!*core_ids.go && !*core_ids.gnu &&
	    (im->files.n ? segments_fit(im, e, &eh, bias) : constants_equal(im, e, &eh, bias)))
		return EXE_PATH;
	*why = xasprintf("%s has %s%s, the core's executable has %s", f->path,
			 *file_ids.go || *file_ids.gnu ? "build id " : "", elf_ids_text(&file_ids),
			 elf_ids_text(&core_ids));
	return EXE_NONE;
}

/* Where a file's header is in a process, if that does not depend on the process. */
static va_t fixed_header(struct elf_bytes e)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	struct err *err = elf_header(e, &eh);

	if (err) {
		err_free(err);
		return 0;
	}
	for (u64 i = 0; eh.e_type == ET_EXEC && elf_phdr(e, &eh, i, &ph); i++)
		if (ph.p_type == PT_LOAD && ph.p_offset == 0)
			return ph.p_vaddr;
	return 0;
}

/* Whether the executable's header in the core says which build it is. */
static bool core_shows_id(const struct image *im, va_t header)
{
	struct elf_ids ids;

	elf_build_ids(header_bytes(im, header), &ids);
	return *ids.go || *ids.gnu;
}

/* A core without its notes does not say where the executable was: look where this one has to be. */
static void guess_header(struct binary *bin, const struct image *im, struct elf_bytes e)
{
	va_t header = fixed_header(e);

	if (!bin->header && core_shows_id(im, header))
		bin->header = header;
}

/* Takes the open file when it matches, else closes it; *why is set when it is another build. */
static void try_open_file(struct binary *bin, const struct image *im, struct os_file f,
			  struct diags *d, char **why)
{
	va_t bias;

	guess_header(bin, im, (struct elf_bytes){f.data, f.size});
	bias = bias_of(im, bin, (struct elf_bytes){f.data, f.size});
	bin->match = match_file(im, bin, &f, bias, why);
	if (bin->match == EXE_NONE) {
		os_file_close(&f);
		return;
	}
	bin->exe = f;
	bin->bias = bias;
	if (bin->match == EXE_PATH && im->files.n) /* else its constants prove it */
		diag(d, DIAG_EXE_UNPROVED, "%s: the core shows no build id; its segments fit",
		     f.path);
}

/* The same of the file at a path. */
static struct err *try_file(struct binary *bin, const struct image *im, const char *path,
			    struct diags *d, char **why)
{
	struct os_file f = {0};

	TRY(os_file_open(path, &f));
	try_open_file(bin, im, f, d, why);
	return NULL;
}

/* Looks through what came in the core's archive. Libraries are there too: only a file that has the
 * executable's name is worth a word when it is another build. */
static struct err *search_archive(struct binary *bin, const struct image *im, struct diags *d)
{
	const char *name = bin->core_path ? os_base_name(bin->core_path) : "";

	for (size_t i = 0; i < im->unpacked.files.n && bin->match == EXE_NONE; i++) {
		const struct unpacked_file *u = &im->unpacked.files.v[i];
		AUTO_FREE char *why = NULL;
		struct os_file f = {0};

		if (u->debug || !u->elf)
			continue;
		TRY(os_file_dup(&u->file, &f));
		try_open_file(bin, im, f, d, &why);
		if (why && !strcmp(os_base_name(u->name), name))
			diag(d, DIAG_EXE_IGNORED, "%s", why);
	}
	return NULL;
}

/* "DIR/of/core" + "/" + "name of the executable". */
static char *beside_core(const struct image *im, const char *exe_path)
{
	const char *slash = strrchr(im->core.path, '/'), *name = os_base_name(exe_path);

	if (!slash)
		return xstrdup(name);
	return xasprintf("%.*s/%s", (int)(slash - im->core.path), im->core.path, name);
}

/* Looks at the path that the core names, then beside the core: both may be another machine's. */
static void search(struct binary *bin, const struct image *im, struct diags *d)
{
	AUTO_FREE char *beside = beside_core(im, bin->core_path);
	const char *const paths[] = {bin->core_path, beside};
	bool found = false;

	for (size_t i = 0; i < COUNT_OF(paths) && bin->match == EXE_NONE; i++) {
		AUTO_FREE char *why = NULL;
		struct err *err = try_file(bin, im, paths[i], d, &why);

		if (why) {
			diag(d, DIAG_EXE_IGNORED, "%s", why);
			found = true;
		}
		err_free(err);
	}
	if (bin->match == EXE_NONE)
		diag(d, DIAG_NO_EXE, "%s is %s; name the executable after the core", bin->core_path,
		     found ? "another build" : "not here");
}

struct err *binary_find(struct binary *bin, const struct image *im,
			const struct binary_options *opt, struct diags *d)
{
	AUTO_FREE char *why = NULL;
	struct err *err;

	*bin = (struct binary){.file = -1};
	locate_in_core(bin, im);
	if (opt->none) {
		diag(d, DIAG_NO_EXE, "none was wanted (--no-exe)");
		return NULL;
	}
	if (!opt->given) {
		TRY(search_archive(bin, im, d));
		if (bin->match)
			return NULL;
		if (bin->core_path)
			search(bin, im, d);
		else
			diag(d, DIAG_NO_EXE, "the core does not name it; name it after the core");
		return NULL;
	}
	err = try_file(bin, im, opt->given, d, &why);
	/* Nobody can tell whether it is the right one for a core that has lost its beginning or
	 * end. */
	if (!err && why && im->truncated && !core_shows_id(im, bin->header))
		diag(d, DIAG_NO_EXE, "%s", why);
	else if (!err && why)
		err = err_new(ERR_USAGE, "%s", why);
	else if (err)
		err->code = ERR_USAGE;
	return err;
}

const u8 *binary_view(const struct binary *bin, va_t va, u64 n)
{
	Elf64_Phdr ph;

	for (u64 i = 0; binary_file_phdr(bin, i, &ph); i++) {
		u64 skip = va - bin->bias - ph.p_vaddr;

		if (ph.p_type == PT_LOAD && va - bin->bias >= ph.p_vaddr && skip < ph.p_filesz &&
		    n <= ph.p_filesz - skip && ph.p_offset < bin->exe.size &&
		    skip + n <= bin->exe.size - ph.p_offset)
			return bin->exe.data + ph.p_offset + skip;
	}
	return NULL;
}

void binary_close(struct binary *bin)
{
	os_file_close(&bin->exe);
	os_file_close(&bin->debug);
}
