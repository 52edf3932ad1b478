/* tar with pax headers, "GNU.sparse" 1.0: a hole costs a line in a list, and stays a hole. */
#include "image/pack.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define CHUNK_BYTES ((u64)1 << 20)

/* What libarchive keeps of a run of data: in the entry, in the writer, and as text. */
#define RUN_BYTES ((u64)160)

static const struct {
	const char *suffix;
	int (*add_filter)(struct archive *);
} kinds[] = {
	{".tar", archive_write_add_filter_none},      {".tar.zst", archive_write_add_filter_zstd},
	{".tar.gz", archive_write_add_filter_gzip},   {".tgz", archive_write_add_filter_gzip},
	{".tar.xz", archive_write_add_filter_xz},     {".tar.lz4", archive_write_add_filter_lz4},
	{".tar.bz2", archive_write_add_filter_bzip2},
};

static int kind_of(const char *path)
{
	size_t n = strlen(path);

	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		size_t len = strlen(kinds[i].suffix);

		if (n > len && !strcmp(path + n - len, kinds[i].suffix))
			return (int)i;
	}
	return -1;
}

struct err *pack_check_name(const char *path)
{
	if (kind_of(path) < 0)
		return err_new(ERR_USAGE,
			       "%s: the name tells what to make: .tar, .tar.zst, .tar.gz, .tar.xz, "
			       ".tar.lz4 or .tar.bz2",
			       path);
	return NULL;
}

/* One archive being written. */
struct writer {
	struct archive *archive;
	u64 charged;
	u64 done, total; /* bytes of data */
};

static struct err *writer_error(const struct writer *w)
{
	const char *text = archive_error_string(w->archive);

	return err_new(ERR_OS, "%s", text ? text : "it cannot be written");
}

/* Tells the entry where the file has data. */
static struct err *list_data(struct writer *w, struct archive_entry *entry, struct pack_file *f)
{
	u64 size = f->file->size;

	f->data_bytes = 0;
	for (u64 pos = 0, hole; pos < size; pos = hole) {
		u64 data = os_file_seek(f->file, pos, size, SEEK_DATA);

		hole = os_file_seek(f->file, data, size, SEEK_HOLE);
		if (hole > data) {
			TRY(mem_charge(RUN_BYTES));
			w->charged += RUN_BYTES;
			archive_entry_sparse_add_entry(entry, (la_int64_t)data,
						       (la_int64_t)(hole - data));
		}
		f->data_bytes += hole - data;
	}
	/* A file that is all data is an ordinary one. */
	if (f->data_bytes == size)
		archive_entry_sparse_clear(entry);
	return NULL;
}

/* The writer steps over holes without reading them. */
static struct err *write_data(struct writer *w, const struct pack_file *f)
{
	u64 size = f->file->size;

	for (u64 pos = 0, n; pos < size; pos += n) {
		u64 data = os_file_seek(f->file, pos, size, SEEK_DATA);
		la_ssize_t done;

		n = data > pos
			    ? data - pos
			    : MIN(CHUNK_BYTES, os_file_seek(f->file, pos, size, SEEK_HOLE) - pos);
		done = archive_write_data(w->archive, f->file->data + pos, n);
		if (done < 0 || (u64)done != n)
			return writer_error(w);
		if (data > pos)
			continue;
		os_file_forget(f->file, pos, n);
		w->done += n;
		log_progress(w->done, w->total);
	}
	return NULL;
}

static struct err *write_file(struct writer *w, struct pack_file *f)
{
	struct archive_entry *entry = archive_entry_new();
	struct stat st;
	struct err *err = NULL;

	if (fstat(f->file->fd, &st) < 0)
		err = err_os("%s: cannot be examined", f->file->path);
	archive_entry_set_pathname(entry, f->name);
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_entry_set_perm(entry, err ? 0600 : st.st_mode & 0777);
	archive_entry_set_size(entry, (la_int64_t)f->file->size);
	archive_entry_set_mtime(entry, f->file->mtime_ns / 1000000000,
				(long)(f->file->mtime_ns % 1000000000));
	if (!err)
		err = list_data(w, entry, f);
	if (!err && archive_write_header(w->archive, entry) != ARCHIVE_OK)
		err = writer_error(w);
	if (!err)
		err = write_data(w, f);
	archive_entry_free(entry);
	return err_wrap(err, "%s", f->name);
}

static struct err *write_archive(struct writer *w, int kind, int fd, struct pack_file *files,
				 size_t n)
{
	if (archive_write_set_format_pax_restricted(w->archive) != ARCHIVE_OK ||
	    kinds[kind].add_filter(w->archive) != ARCHIVE_OK ||
	    archive_write_open_fd(w->archive, fd) != ARCHIVE_OK)
		return writer_error(w);
	for (size_t i = 0; i < n; i++)
		w->total += files[i].file->size;
	for (size_t i = 0; i < n; i++)
		TRY(write_file(w, &files[i]));
	return archive_write_close(w->archive) == ARCHIVE_OK ? NULL : writer_error(w);
}

/* The file on its way: without a name where the file system can do that, so that nothing stays
 * behind whatever ends the program. */
struct output {
	int fd;
	char *temp; /* its name until it is complete; NULL: none */
};

static struct err *output_open(struct output *out, const char *path)
{
	const char *slash = strrchr(path, '/');
	AUTO_FREE char *folder = slash ? xstrndup(path, (size_t)(slash - path) + 1) : xstrdup(".");

	out->fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (out->fd < 0) {
		out->temp = xasprintf("%s.XXXXXX", path);
		out->fd = mkostemp(out->temp, O_CLOEXEC);
	}
	return out->fd < 0 ? err_os("%s cannot be made", path) : NULL;
}

static void output_close(struct output *out)
{
	if (out->fd >= 0)
		close(out->fd);
	if (out->temp)
		(void)unlink(out->temp);
	free(out->temp);
}

/* The complete file gets a name, if nothing has it. */
static bool give_name(const struct output *out, const char *path)
{
	AUTO_FREE char *self = xasprintf("/proc/self/fd/%d", out->fd);

	if (out->temp)
		return link(out->temp, path) == 0;
	return linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
}

/* A name beside it takes the place of an old file at once: there is no moment without either. */
static struct err *publish(const struct output *out, const char *path, bool replace)
{
	AUTO_FREE char *beside = xasprintf("%s.%d.new", path, (int)getpid());

	if (give_name(out, path))
		return NULL;
	if (errno == EEXIST && replace && give_name(out, beside)) {
		if (rename(beside, path) == 0)
			return NULL;
		(void)unlink(beside);
	}
	return err_os("%s cannot be made", path);
}

static struct err *write_output(const struct output *out, const char *path, struct pack_file *files,
				size_t n, u64 *ret_bytes)
{
	struct writer w = {.archive = archive_write_new()};
	struct stat st;
	struct err *err;

	if (!w.archive)
		mem_die();
	err = write_archive(&w, kind_of(path), out->fd, files, n);
	archive_write_free(w.archive);
	mem_discharge(w.charged);
	if (!err && (fsync(out->fd) < 0 || fstat(out->fd, &st) < 0))
		err = err_os("it cannot be finished");
	if (!err)
		*ret_bytes = (u64)st.st_size;
	return err_wrap(err, "%s", path);
}

struct err *pack_write(const char *path, bool replace, struct pack_file *files, size_t n,
		       u64 *ret_bytes)
{
	struct output out = {.fd = -1};
	struct stat st;
	struct err *err;

	TRY(pack_check_name(path));
	if (!replace && lstat(path, &st) == 0)
		return err_new(ERR_OS, "%s is there already; --force replaces it", path);
	err = output_open(&out, path);
	if (!err)
		err = write_output(&out, path, files, n, ret_bytes);
	if (!err)
		err = publish(&out, path, replace);
	output_close(&out);
	return err;
}
