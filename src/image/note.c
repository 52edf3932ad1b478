#include "image/note.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "image/elf64.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOTE_VERSION 1
#define PAGES_HEAD_BYTES (4 * sizeof(u64))

/* What a core may unpack to: a file of /proc, and the runs of 64 GiB with every other page there
 * (RESIDENCY: 3 bytes a run). */
#define MAX_FILE_BYTES ((size_t)256 << 20)
#define MAX_RUN_BYTES ((size_t)1 << 30)

/* ---- reading */

static struct err *read_pages(struct sidecar *sc, const struct record_note *note)
{
	u64 head[4];
	flate_bytes runs = {0};
	struct err *err;

	if (sc->has_pages)
		return err_new(ERR_FORMAT, "two notes of pages");
	if (note->n < PAGES_HEAD_BYTES)
		return err_new(ERR_FORMAT, "a note of pages of %llu bytes",
			       (unsigned long long)note->n);
	memcpy(head, note->desc, sizeof(head));
	if (head[0] != NOTE_VERSION)
		return err_new(ERR_UNSUPPORTED, "version %llu of the note; 1 is read",
			       (unsigned long long)head[0]);
	if (head[1] & ~(u64)PG_ALL || head[3] > MAX_RUN_BYTES)
		return err_new(ERR_FORMAT, "the note of pages makes no sense");
	err = flate_unpack(note->desc + PAGES_HEAD_BYTES, note->n - PAGES_HEAD_BYTES,
			   (size_t)head[3], &runs);
	if (!err && runs.n != head[3])
		err = err_new(ERR_FORMAT, "the note of pages is cut short");
	if (!err)
		err = pagerec_unpack(&sc->pages, runs.v, runs.n, head[2]);
	array_free(&runs);
	sc->pages.known = (u16)head[1];
	sc->has_pages = !err;
	return err;
}

static struct err *read_file(struct sidecar *sc, const struct record_note *note)
{
	size_t len = strnlen((const char *)note->desc, note->n);
	struct sidecar_file f = {.name = NULL};
	struct err *err;

	if (len == note->n || !len)
		return err_new(ERR_FORMAT, "a file without a name");
	f.name = arena_strndup(&sc->arena, (const char *)note->desc, len);
	if (sidecar_find(sc, f.name))
		return err_new(ERR_FORMAT, "two files of one name");
	err = flate_unpack(note->desc + len + 1, note->n - len - 1, MAX_FILE_BYTES, &f.unpacked);
	f.data = f.unpacked.v;
	f.n = f.unpacked.n;
	if (!err)
		err = array_push(&sc->files, f);
	if (err)
		array_free(&f.unpacked);
	return err_wrap(err, "%s", f.name);
}

struct err *note_read(struct sidecar *sc, const struct image *im)
{
	for (size_t i = 0; i < im->record_notes.n; i++) {
		const struct record_note *note = &im->record_notes.v[i];
		struct err *err = NULL;

		if (note->type == NOTE_PAGES)
			err = read_pages(sc, note);
		else if (note->type == NOTE_FILE)
			err = read_file(sc, note);
		TRY(err_wrap(err, "the core's note"));
	}
	return NULL;
}

/* ---- writing */

static struct err *put_bytes(flate_bytes *out, const void *bytes, size_t n)
{
	TRY(array_reserve(out, n));
	if (n)
		memcpy(out->v + out->n, bytes, n);
	out->n += n;
	return NULL;
}

static struct err *put_padding(flate_bytes *out, size_t unit)
{
	static const u8 zeros[8];

	return put_bytes(out, zeros, (unit - out->n % unit) % unit);
}

static struct err *put_note(flate_bytes *out, u32 type, const flate_bytes *desc)
{
	Elf64_Nhdr head = {.n_namesz = sizeof(NOTE_OWNER), .n_type = type};

	if (desc->n > UINT32_MAX)
		return err_new(ERR_LIMIT, "more than a note can have");
	head.n_descsz = (u32)desc->n;
	TRY(put_bytes(out, &head, sizeof(head)));
	TRY(put_bytes(out, NOTE_OWNER, sizeof(NOTE_OWNER)));
	TRY(put_padding(out, 4));
	TRY(put_bytes(out, desc->v, desc->n));
	return put_padding(out, 4);
}

static struct json *header_json(const struct sidecar *sc, const struct image *im)
{
	struct json *root = json_new_object(), *files = json_new_array();

	json_put(root, "version", json_new_uint(NOTE_VERSION));
	json_put(root, "pid", im->pid ? json_new_uint(im->pid) : json_new_null());
	json_put(root, "start_ticks",
		 sc->stat.pid ? json_new_uint(sc->stat.start) : json_new_null());
	json_put(root, "page_runs", json_new_uint(sc->pages.runs.n));
	for (size_t i = 0; i < sc->files.n; i++)
		json_append(files, json_new_string(sc->files.v[i].name));
	json_put(root, "files", files);
	return root;
}

static struct err *put_header(flate_bytes *out, const struct sidecar *sc, const struct image *im)
{
	AUTO_FREE char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	struct json *root = header_json(sc, im);
	struct err *err = f ? json_write(root, f) : err_os("no memory for the note");
	flate_bytes desc = {0};

	json_free(root);
	if (f && fclose(f) && !err)
		err = err_os("no memory for the note");
	if (!err)
		err = put_bytes(&desc, text, n);
	if (!err)
		err = put_note(out, NOTE_HEADER, &desc);
	array_free(&desc);
	return err;
}

static struct err *fill_pages(flate_bytes *desc, flate_bytes *runs, const struct pagerec *r)
{
	u64 head[4] = {NOTE_VERSION, r->known, r->runs.n};

	TRY(pagerec_pack(r, runs));
	head[3] = runs->n;
	TRY(put_bytes(desc, head, sizeof(head)));
	return flate_pack(runs->v, runs->n, desc);
}

static struct err *put_pages(flate_bytes *out, const struct pagerec *r)
{
	flate_bytes desc = {0}, runs = {0};
	struct err *err = fill_pages(&desc, &runs, r);

	if (!err)
		err = put_note(out, NOTE_PAGES, &desc);
	array_free(&runs);
	array_free(&desc);
	return err;
}

static struct err *put_file(flate_bytes *out, const struct sidecar_file *f)
{
	flate_bytes desc = {0};
	struct err *err = put_bytes(&desc, f->name, strlen(f->name) + 1);

	if (!err)
		err = flate_pack(f->data, f->n, &desc);
	if (!err)
		err = put_note(out, NOTE_FILE, &desc);
	array_free(&desc);
	return err;
}

static struct err *put_notes(flate_bytes *out, const struct sidecar *sc, const struct image *im)
{
	TRY(put_header(out, sc, im));
	if (sc->has_pages)
		TRY(put_pages(out, &sc->pages));
	for (size_t i = 0; i < sc->files.n; i++) {
		const struct sidecar_file *f = &sc->files.v[i];

		/* They are in the runs. */
		if (strcmp(f->name, "pages") != 0 && strcmp(f->name, "pagemap") != 0)
			TRY(put_file(out, f));
	}
	return NULL;
}

/* The program headers, one more of them, behind the note; and where the number of headers needs
 * it, a section header that has it. Sets what the ELF header has to say then. */
static struct err *put_headers(flate_bytes *out, const struct image *im, u64 base, u64 note_bytes,
			       Elf64_Ehdr *eh)
{
	struct elf_bytes e = {im->core.data, im->core.size};
	const Elf64_Ehdr old = *eh;
	u64 count = elf_phdr_count(e, eh);
	Elf64_Phdr note = {.p_type = PT_NOTE,
			   .p_offset = base,
			   .p_filesz = note_bytes,
			   .p_align = 4},
		   ph;
	Elf64_Shdr sh = {.sh_size = 1, .sh_info = (u32)(count + 1)};

	if (count >= UINT32_MAX)
		return err_new(ERR_LIMIT, "the core has too many program headers");
	TRY(put_padding(out, sizeof(u64)));
	eh->e_phoff = base + out->n;
	for (u64 i = 0; i < count; i++) {
		if (!elf_phdr(e, &old, i, &ph))
			return err_new(ERR_FORMAT, "its program headers cannot be read");
		TRY(put_bytes(out, &ph, sizeof(ph)));
	}
	TRY(put_bytes(out, &note, sizeof(note)));
	eh->e_phnum = count + 1 < PN_XNUM ? (u16)(count + 1) : PN_XNUM;
	if (eh->e_phnum != PN_XNUM)
		return NULL;
	eh->e_shoff = base + out->n;
	eh->e_shnum = 1;
	eh->e_shentsize = sizeof(sh);
	return put_bytes(out, &sh, sizeof(sh));
}

static struct err *write_all(int fd, const void *bytes, u64 n, u64 off)
{
	const u8 *p = bytes;

	while (n) {
		ssize_t done = pwrite(fd, p, n, (off_t)off);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return err_os("cannot be written");
		p += done;
		n -= (u64)done;
		off += (u64)done;
	}
	return fdatasync(fd) ? err_os("cannot be written") : NULL;
}

/* Appends, then makes the header point there. What was appended goes again when that fails. */
static struct err *write_file(int fd, const flate_bytes *out, u64 base, const Elf64_Ehdr *eh)
{
	struct stat st;
	struct timespec times[2];
	struct err *err;

	if (fstat(fd, &st))
		return err_os("cannot be examined");
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	err = write_all(fd, out->v, out->n, base);
	if (err) {
		if (ftruncate(fd, st.st_size))
			return err_wrap(err, "what was appended could not be taken away again");
		(void)futimens(fd, times);
		return err;
	}
	TRY(write_all(fd, eh, sizeof(*eh), 0));
	/* It tells when the process was dumped. */
	return futimens(fd, times) ? err_os("its time cannot be set") : NULL;
}

static struct err *check_writable(const struct image *im)
{
	if (im->record_notes.n)
		return err_new(ERR_USAGE, "has such a note already");
	if (im->unpacked.packing)
		return err_new(ERR_USAGE, "is packed: unpack it, and pack it again afterwards");
	if (im->truncated)
		return err_new(ERR_USAGE, "is cut short: with more behind its end the bytes that "
					  "are missing would seem to be there");
	return NULL;
}

struct err *note_write(const struct sidecar *sc, const struct image *im, u64 *added)
{
	u64 base = align_up(im->core.size, 8), note_bytes;
	AUTO_CLOSE int fd = -1;
	flate_bytes out = {0};
	Elf64_Ehdr eh;
	struct err *err = check_writable(im);

	if (!err)
		err = elf_header((struct elf_bytes){im->core.data, im->core.size}, &eh);
	if (!err)
		err = put_notes(&out, sc, im);
	note_bytes = out.n;
	if (!err)
		err = put_headers(&out, im, base, note_bytes, &eh);
	if (!err) {
		fd = open(im->core.path, O_WRONLY | O_CLOEXEC);
		err = fd < 0 ? err_os("cannot be opened for writing")
			     : write_file(fd, &out, base, &eh);
	}
	*added = base + out.n - im->core.size;
	array_free(&out);
	return err_wrap(err, "%s", im->core.path);
}
