/* One pass over the archive, each member judged by its first bytes.
 *
 * Formats are tar and "raw", which is a compressed file alone; libarchive's other readers see
 * archives in ELF files. A tar made by `tar -S`, GNU's or pax's way, lists where a file has data:
 * that keeps the holes that the kernel left. Everything else has lost them, and its pages of zeros
 * become holes only to save disk space. */
#include "image/unpack.h"

#include "base/cleanup.h"
#include "base/flate.h"
#include "base/log.h"
#include "image/elf64.h"
#include "image/sparse.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define CHUNK_BYTES ((u64)1 << 20)
#define MAX_FILES 64 /* kept beside the core: each has a descriptor */
#define TAR_MAGIC_AT 257
#define DEFAULT_FOLDER "/var/tmp"

enum { PACKING_ZSTD, PACKING_XZ, PACKING_GZIP, PACKING_LZ4, PACKING_BZIP2 };

static const struct {
	const char *magic;
	u8 len;
} packings[] = {
	[PACKING_ZSTD] = {"\x28\xb5\x2f\xfd", 4},
	[PACKING_XZ] = {"\xfd\x37\x7a\x58\x5a", 5},
	[PACKING_GZIP] = {"\x1f\x8b", 2},
	[PACKING_LZ4] = {"\x04\x22\x4d\x18", 4},
	[PACKING_BZIP2] = {"BZh", 3},
};

/* libzstd refuses larger windows unless told otherwise, which libarchive does not. */
#define ZSTD_WINDOW_MAX ((u64)1 << 27)

static bool is_zstd(const u8 *p, u64 n)
{
	return n >= 4 && memcmp(p, packings[PACKING_ZSTD].magic, 4) == 0;
}

static bool is_compressed(const u8 *p, u64 n)
{
	for (size_t i = 0; i < COUNT_OF(packings); i++)
		if (n >= packings[i].len && memcmp(p, packings[i].magic, packings[i].len) == 0)
			return true;
	return false;
}

bool unpack_is_packed(const struct os_file *f)
{
	return is_compressed(f->data, f->size) ||
	       (f->size >= 512 && memcmp(f->data + TAR_MAGIC_AT, "ustar", 5) == 0);
}

/* One archive being read. */
struct reader {
	struct unpacked *out;
	struct os_file core; /* once one was found */
	const struct os_file *in;
	u64 pos; /* in it */
	u64 forgotten;
	struct flate_stream *gzip; /* around all of it, or NULL */
	const char *folder;
	bool inner;              /* a compressed member of a tar */
	struct archive *archive; /* libarchive's */
	struct archive_entry *entry;
	struct err *damage; /* what ended the reading too early */
	struct diags *d;
};

enum member_kind { MEMBER_OTHER, MEMBER_CORE, MEMBER_FILE, MEMBER_PACKED };

/* A file out of a folder NAME.d: copies of what /proc said. */
static bool is_sidecar(const char *name)
{
	const char *at = strstr(name, ".d/");

	return at && at != name && at[3];
}

static enum member_kind judge(const char *name, const u8 *head, u64 n)
{
	Elf64_Half type;

	if (n >= sizeof(Elf64_Ehdr) && memcmp(head, ELFMAG, SELFMAG) == 0) {
		memcpy(&type, head + offsetof(Elf64_Ehdr, e_type), sizeof(type));
		return type == ET_CORE ? MEMBER_CORE : MEMBER_FILE;
	}
	if (is_sidecar(name))
		return MEMBER_FILE;
	return is_compressed(head, n) ? MEMBER_PACKED : MEMBER_OTHER;
}

/* The file as it is. */
static size_t next_plain(struct reader *r, const void **ret)
{
	u64 n = MIN(CHUNK_BYTES, r->in->size - r->pos);

	*ret = r->in->data + r->pos;
	r->pos += n;
	return n;
}

/* gzip is unpacked here: libarchive does not look at its checksum. */
static ssize_t next_gzip(struct reader *r, struct archive *a, const void **ret)
{
	const u8 *piece = NULL;
	size_t n = 0;
	AUTO_ERR struct err *err = flate_next(r->gzip, &piece, &n);

	*ret = piece;
	r->pos = flate_read_bytes(r->gzip);
	if (!err)
		return (ssize_t)n;
	archive_set_error(a, EINVAL, "%s", err->msg);
	return -1;
}

static ssize_t read_chunk(struct archive *a, void *data, const void **ret)
{
	struct reader *r = data;
	ssize_t n = r->gzip ? next_gzip(r, a, ret) : (ssize_t)next_plain(r, ret);

	if (r->pos - r->forgotten >= 2 * CHUNK_BYTES) {
		os_file_forget(r->in, r->forgotten, CHUNK_BYTES);
		r->forgotten += CHUNK_BYTES;
	}
	log_progress(r->pos, r->in->size);
	return n;
}

static bool is_tar(const struct reader *r)
{
	return (archive_format(r->archive) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_TAR;
}

/* libarchive's words for what is wrong, after which it reads no further. */
static struct err *reader_error(const struct reader *r)
{
	const char *text = archive_error_string(r->archive);

	return err_new(ERR_FORMAT, "%s", text ? text : "it cannot be read");
}

/* Bytes that the entry has for certain: of a tar that lists them. Others may be zeros. */
static u64 known_bytes(struct archive_entry *entry)
{
	la_int64_t off, len;
	u64 sum = 0;

	if (archive_entry_sparse_reset(entry) == 0)
		return 0;
	while (archive_entry_sparse_next(entry, &off, &len) == ARCHIVE_OK)
		sum = va_plus(sum, len > 0 ? (u64)len : 0);
	return sum;
}

/* Unpacks the entry's data until `enough` bytes are there. *more: it has not ended yet. The end of
 * the data that can be read, be it for damage, is no error here. */
static struct err *copy_data(struct reader *r, struct sparse *s, u64 enough, bool *more)
{
	const void *block;
	size_t n;
	la_int64_t off;

	*more = true;
	while (s->size < enough) {
		int status = archive_read_data_block(r->archive, &block, &n, &off);

		if (status == ARCHIVE_RETRY)
			continue;
		if (status != ARCHIVE_OK && status != ARCHIVE_WARN) {
			*more = false;
			if (status != ARCHIVE_EOF)
				r->damage = reader_error(r);
			return NULL;
		}
		if (off < 0)
			return err_new(ERR_FORMAT, "a member has data at a negative offset");
		TRY(sparse_write(s, (u64)off, block, n));
	}
	return NULL;
}

/* The file's size: the tar says it, a compressed file alone does not. */
static u64 whole_size(const struct reader *r, const struct sparse *s)
{
	la_int64_t size = archive_entry_size(r->entry);

	if (r->damage || !archive_entry_size_is_set(r->entry) || size < 0)
		return s->size;
	return MAX((u64)size, s->size);
}

static struct err *finish(const struct reader *r, struct sparse *s, const char *name,
			  struct os_file *ret)
{
	TRY(sparse_take(s, whole_size(r, s), name, ret));
	ret->mtime_ns = r->in->mtime_ns;
	if (archive_entry_mtime_is_set(r->entry) && is_tar(r))
		ret->mtime_ns = (i64)archive_entry_mtime(r->entry) * 1000000000 +
				archive_entry_mtime_nsec(r->entry);
	return NULL;
}

static char *name_of(struct archive_entry *entry)
{
	const char *name = archive_entry_pathname(entry);

	return xstrdup(name ? name : "a member without a readable name");
}

/* Takes the entry's file for the core. */
static struct err *take_core(struct reader *r, struct os_file *f, const char *name)
{
	if (r->core.path) {
		struct err *err =
			err_new(ERR_FORMAT, "holds two cores, %s and %s: unpack it and name one",
				r->out->member, name);

		os_file_close(f);
		return err;
	}
	r->core = *f;
	*f = (struct os_file){0};
	if (is_tar(r) && !r->inner)
		r->out->member = xstrdup(name);
	return NULL;
}

static struct err *read_archive(struct reader *r);

/* A compressed member of a tar, which may be the core. */
static struct err *take_packed(struct reader *r, const struct os_file *f, const char *name)
{
	struct reader inner = {
		.out = r->out, .in = f, .folder = r->folder, .inner = true, .d = r->d};
	struct err *err = read_archive(&inner);

	if (!err && inner.core.path) {
		free(inner.core.path);
		inner.core.path = xstrdup(r->in->path);
		if (inner.damage)
			diag(r->d, DIAG_ARCHIVE, "%s: %s", name, inner.damage->msg);
		err = take_core(r, &inner.core, name);
	}
	os_file_close(&inner.core);
	err_free(inner.damage);
	return err;
}

static struct err *keep_file(struct reader *r, struct os_file f, const char *name)
{
	size_t n = strlen(name), suffix = strlen(".debug");

	return array_push(&r->out->files,
			  {.name = xstrdup(name),
			   .elf = memcmp(f.data, ELFMAG, MIN(f.size, SELFMAG)) == 0,
			   .debug = n > suffix && !strcmp(name + n - suffix, ".debug"),
			   .file = f});
}

/* One file of the archive, whose first bytes are there. Takes s over. */
static struct err *take_member(struct reader *r, struct sparse *s, bool more, enum member_kind kind,
			       const char *name)
{
	AUTO_FREE char *label =
		kind == MEMBER_CORE ? xstrdup(r->in->path) : xasprintf("%s: %s", r->in->path, name);
	struct os_file f = {0};
	struct err *err = more ? copy_data(r, s, UINT64_MAX, &more) : NULL;
	bool sparse = s->keep_zeros;

	if (err || s->size == 0) {
		sparse_drop(s);
		return err;
	}
	TRY(finish(r, s, label, &f));
	if (kind == MEMBER_CORE) {
		r->out->keeps_holes = sparse;
		return take_core(r, &f, name);
	}
	if (kind == MEMBER_FILE && !r->damage && r->out->files.n < MAX_FILES && !r->inner)
		return keep_file(r, f, name);
	if (kind == MEMBER_PACKED)
		err = take_packed(r, &f, name);
	os_file_close(&f);
	return err;
}

static struct err *read_entry(struct reader *r)
{
	AUTO_FREE char *name = name_of(r->entry);
	u64 known = known_bytes(r->entry), n;
	enum member_kind kind;
	struct sparse s;
	u8 head[512];
	struct err *err;
	bool more;

	if (is_tar(r) &&
	    (archive_entry_filetype(r->entry) != AE_IFREG || archive_entry_hardlink(r->entry)))
		return NULL;
	TRY(sparse_begin(&s, r->folder, known));
	s.keep_zeros = known != 0;
	err = copy_data(r, &s, sizeof(head), &more);
	n = err ? 0 : sparse_head(&s, head, sizeof(head));
	kind = judge(name, head, n);
	if (!is_tar(r) && !r->inner)
		kind = MEMBER_CORE; /* what else it may be is said by who reads cores */
	if (kind == MEMBER_PACKED && r->inner)
		kind = MEMBER_OTHER;
	if (!err && kind != MEMBER_OTHER)
		return take_member(r, &s, more, kind, name);
	sparse_drop(&s);
	return err;
}

static struct err *read_entries(struct reader *r)
{
	while (!r->damage) {
		int status = archive_read_next_header(r->archive, &r->entry);

		if (status == ARCHIVE_EOF)
			break;
		if (status == ARCHIVE_RETRY)
			continue;
		if (status != ARCHIVE_OK && status != ARCHIVE_WARN) {
			r->damage = reader_error(r);
			break;
		}
		if (!is_tar(r) && !r->gzip && archive_filter_count(r->archive) < 2)
			return err_new(ERR_FORMAT,
				       "begins like a compressed file, but is none, or damaged");
		TRY(read_entry(r));
	}
	return NULL;
}

static struct err *start(struct reader *r)
{
	archive_read_support_format_tar(r->archive);
	archive_read_support_format_raw(r->archive);
	archive_read_support_filter_gzip(r->archive);
	archive_read_support_filter_bzip2(r->archive);
	archive_read_support_filter_xz(r->archive);
	archive_read_support_filter_zstd(r->archive);
	archive_read_support_filter_lz4(r->archive);
	if (flate_is_gzip(r->in->data, r->in->size))
		TRY(flate_begin(r->in->data, r->in->size, &r->gzip));
	if (archive_read_open(r->archive, r, NULL, read_chunk, NULL) != ARCHIVE_OK)
		r->damage = reader_error(r);
	return NULL;
}

/* Adds to a list with commas; consumes it. */
static char *and_also(char *list, const char *name)
{
	char *longer = *list ? xasprintf("%s, %s", list, name) : xstrdup(name);

	free(list);
	return longer;
}

/* "tar, zstd" */
static char *packing_name(const struct reader *r)
{
	char *list = xstrdup(is_tar(r) ? "tar" : "");

	for (int i = 0; i < archive_filter_count(r->archive); i++) {
		const char *name = archive_filter_name(r->archive, i);

		if (name && strcmp(name, "none") != 0)
			list = and_also(list, name);
	}
	return r->gzip ? and_also(list, "gzip") : list;
}

static struct err *read_archive(struct reader *r)
{
	u64 window = unpack_window(r->in->data, r->in->size);
	struct err *err;

	if (is_zstd(r->in->data, r->in->size) && window > ZSTD_WINDOW_MAX)
		return err_new(ERR_UNSUPPORTED, "compressed with a window beyond 128 MiB (zstd "
						"--long=28 and up); unpack it first");
	TRY(mem_charge(window + CHUNK_BYTES));
	r->archive = archive_read_new();
	if (!r->archive)
		mem_die();
	err = start(r);
	if (!err)
		err = read_entries(r);
	if (!err && !r->inner)
		r->out->packing = packing_name(r);
	archive_read_free(r->archive);
	flate_end(r->gzip);
	mem_discharge(window + CHUNK_BYTES);
	return err;
}

static struct err *check_found(struct reader *r)
{
	AUTO_ERR struct err *damage = r->damage;

	r->damage = NULL;
	if (damage &&
	    (!r->core.path || memcmp(r->core.data, ELFMAG, MIN(r->core.size, SELFMAG)) != 0))
		return err_new(ERR_FORMAT, "damaged or cut short: %s", damage->msg);
	if (!r->core.path)
		return err_new(ERR_FORMAT, "an archive without a core in it");
	if (damage)
		diag(r->d, DIAG_ARCHIVE, "%s", damage->msg);
	return NULL;
}

struct err *unpack_core(struct unpacked *ret, const struct os_file *packed, const char *folder,
			struct os_file *core, struct diags *d)
{
	struct log_stage stage = log_stage_begin("unpack");
	struct reader r = {
		.out = ret, .in = packed, .folder = folder ? folder : DEFAULT_FOLDER, .d = d};
	struct err *err = read_archive(&r);

	if (!err)
		err = check_found(&r);
	err_free(r.damage);
	if (err) {
		os_file_close(&r.core);
		return err;
	}
	log_stage_end(&stage, r.core.size, "bytes");
	*core = r.core;
	return NULL;
}

void unpack_close(struct unpacked *u)
{
	for (size_t i = 0; i < u->files.n; i++) {
		free(u->files.v[i].name);
		os_file_close(&u->files.v[i].file);
	}
	array_free(&u->files);
	free(u->packing);
	free(u->member);
}

/* Zstandard, RFC 8878 section 3.1.1.1: magic, descriptor, window, dictionary, content's size; a
 * frame of a single segment has no window but the content itself. */
static u64 zstd_window(const u8 *p, u64 n)
{
	static const u8 dictionary_bytes[] = {0, 1, 2, 4}, size_bytes[] = {1, 2, 4, 8};
	u8 head[18] = {0};
	u64 base, size = 0;

	memcpy(head, p, MIN(n, sizeof(head)));
	if (head[4] & 0x20) {
		memcpy(&size, head + 5 + dictionary_bytes[head[4] & 3], size_bytes[head[4] >> 6]);
		return size;
	}
	base = (u64)1 << (10 + (head[5] >> 3));
	return base + base / 8 * (head[5] & 7);
}

/* The .xz format, 3.1: size and flags of the block's header, maybe two numbers, then its filters;
 * 5.3.1: LZMA2 is filter 0x21 with one byte. */
static u64 xz_window(const u8 *p, u64 n)
{
	u64 at = 14; /* behind the stream's header and the block's first two bytes */
	u8 bits;

	for (int skip = n > 13 ? (p[13] >> 6 & 1) + (p[13] >> 7) : 0; skip > 0 && at < n; at++)
		skip -= !(p[at] & 0x80);
	if (at + 3 > n || p[at] != 0x21 || p[at + 2] > 40)
		return (u64)8 << 20;
	bits = p[at + 2];
	return bits == 40 ? UINT32_MAX : (u64)(2 | (bits & 1)) << (bits / 2 + 11);
}

u64 unpack_window(const u8 *p, u64 n)
{
	const u64 others = (u64)10 << 20; /* bzip2 and lz4 take less than this */

	if (is_zstd(p, n))
		return zstd_window(p, n);
	if (n >= 5 && memcmp(p, packings[PACKING_XZ].magic, 5) == 0)
		return xz_window(p, n);
	return is_compressed(p, n) ? others : 0;
}
