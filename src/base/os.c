#include "base/os.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define PAGE_UNIT ((u64)65536) /* a multiple of every page size */

const char *os_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static struct err *check_kind(const char *path, const struct stat *st)
{
	if (S_ISDIR(st->st_mode))
		return err_new(ERR_FORMAT, "%s: is a directory, not a file", path);
	if (!S_ISREG(st->st_mode))
		return err_new(ERR_FORMAT, "%s: is not a regular file", path);
	if (st->st_size == 0)
		return err_new(ERR_FORMAT, "%s: is empty", path);
	return NULL;
}

struct err *os_file_open(const char *path, struct os_file *ret)
{
	AUTO_CLOSE int fd = -1;
	struct stat st;

	/* Paths may come out of a core: a FIFO or a device is not even opened. */
	if (stat(path, &st) < 0)
		return err_os("%s: cannot be opened", path);
	TRY(check_kind(path, &st));
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return err_os("%s: cannot be opened", path);
	return os_file_adopt(take_fd(&fd), path, ret);
}

struct err *os_file_adopt(int owned_fd, const char *path, struct os_file *ret)
{
	AUTO_CLOSE int fd = owned_fd;
	struct stat st;
	void *data;

	if (fstat(fd, &st) < 0)
		return err_os("%s: cannot be examined", path);
	TRY(check_kind(path, &st));
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (data == MAP_FAILED)
		return err_os("%s: cannot be mapped", path);
	*ret = (struct os_file){xstrdup(path), take_fd(&fd), data, (u64)st.st_size,
				(i64)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec};
	return NULL;
}

struct err *os_file_dup(const struct os_file *f, struct os_file *ret)
{
	int fd = fcntl(f->fd, F_DUPFD_CLOEXEC, 0);

	return fd < 0 ? err_os("%s: cannot be opened again", f->path)
		      : os_file_adopt(fd, f->path, ret);
}

void os_file_close(struct os_file *f)
{
	if (!f->path)
		return;
	munmap((void *)(uintptr_t)f->data, f->size);
	close(f->fd);
	free(f->path);
	*f = (struct os_file){0};
}

u64 os_file_seek(const struct os_file *f, u64 pos, u64 end, int whence)
{
	off_t at = lseek(f->fd, (off_t)pos, whence);

	if (at < 0)
		return errno == ENXIO || whence == SEEK_HOLE ? end : pos;
	return MIN((u64)at, end);
}

void os_file_forget(const struct os_file *f, u64 off, u64 n)
{
	u64 lo = align_up(off, PAGE_UNIT),
	    hi = align_down(MIN(va_plus(off, n), f->size), PAGE_UNIT);

	/* A hint: what cannot be dropped stays. */
	if (lo < hi)
		(void)madvise((void *)(uintptr_t)(f->data + lo), hi - lo, MADV_DONTNEED);
}

/* Without a name the file goes with its last descriptor, whatever ends the program. Some file
 * systems lack O_TMPFILE: there it has a name for a moment. */
struct err *os_temp_open(const char *folder, int *ret)
{
	AUTO_FREE char *name = NULL;
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
		name = xasprintf("%s/spanscope.XXXXXX", folder);
		fd = mkostemp(name, O_CLOEXEC);
		if (fd >= 0)
			(void)unlink(name);
	}
	if (fd < 0)
		return err_os("%s: no file can be made in it", folder);
	*ret = fd;
	return NULL;
}

u64 os_free_bytes(int fd)
{
	struct statvfs st;
	u64 bytes;

	if (fstatvfs(fd, &st) < 0 || __builtin_mul_overflow(st.f_bavail, st.f_frsize, &bytes))
		return UINT64_MAX;
	return bytes;
}

static void on_sigbus(int sig)
{
	static const char line[] =
		"spanscope: a file that was being read became shorter, or its disk failed\n";

	(void)sig;
	if (write(STDERR_FILENO, line, sizeof(line) - 1) < 0)
		_exit(3);
	_exit(3);
}

void os_catch_sigbus(void)
{
	struct sigaction sa = {.sa_handler = on_sigbus};

	sigemptyset(&sa.sa_mask);
	sigaction(SIGBUS, &sa, NULL);
}
