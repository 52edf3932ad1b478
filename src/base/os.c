#include "base/os.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE_UNIT ((u64)65536) /* a multiple of every page size */

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
	void *data;

	/* Paths may come out of a core: a FIFO or a device is not even opened. */
	if (stat(path, &st) < 0)
		return err_os("%s: cannot be opened", path);
	TRY(check_kind(path, &st));
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return err_os("%s: cannot be opened", path);
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

void os_file_close(struct os_file *f)
{
	if (!f->path)
		return;
	munmap((void *)(uintptr_t)f->data, f->size);
	close(f->fd);
	free(f->path);
	*f = (struct os_file){0};
}

void os_file_forget(const struct os_file *f, u64 off, u64 n)
{
	u64 lo = align_up(off, PAGE_UNIT),
	    hi = align_down(MIN(va_plus(off, n), f->size), PAGE_UNIT);

	/* A hint: what cannot be dropped stays. */
	if (lo < hi)
		(void)madvise((void *)(uintptr_t)(f->data + lo), hi - lo, MADV_DONTNEED);
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
