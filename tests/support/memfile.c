#include "support/memfile.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE ((u64)4096)

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	abort();
}

static void map(struct memfile *m)
{
	void *p = mmap(NULL, MAX(m->size, 1), PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);

	must(p != MAP_FAILED, "mmap");
	m->data = p;
}

static void create(struct memfile *m, u64 size)
{
	*m = (struct memfile){.size = size};
	m->fd = memfd_create("core", MFD_CLOEXEC);
	must(m->fd >= 0, "memfd_create");
	must(ftruncate(m->fd, (off_t)size) == 0, "ftruncate");
	snprintf(m->path, sizeof(m->path), "/proc/self/fd/%d", m->fd);
	map(m);
}

void memfile_new(struct memfile *m, const void *bytes, size_t n)
{
	create(m, n);
	if (n)
		memcpy(m->data, bytes, n);
}

void memfile_set(struct memfile *m, const void *bytes, size_t n)
{
	munmap(m->data, MAX(m->size, 1));
	m->size = n;
	must(ftruncate(m->fd, (off_t)n) == 0, "ftruncate");
	map(m);
	if (n)
		memcpy(m->data, bytes, n);
}

void memfile_copy(struct memfile *m, const char *path)
{
	int from = open(path, O_RDONLY | O_CLOEXEC);
	off_t data = 0, hole;
	struct stat st;

	must(from >= 0 && fstat(from, &st) == 0, path);
	create(m, (u64)st.st_size);
	while ((data = lseek(from, data, SEEK_DATA)) >= 0) {
		hole = lseek(from, data, SEEK_HOLE);
		while (data < hole) {
			ssize_t n = pread(from, m->data + data, (size_t)(hole - data), data);

			must(n > 0, path);
			data += n;
		}
	}
	close(from);
}

void memfile_refresh(struct memfile *m, const char *path)
{
	struct stat now, first;

	must(fstat(m->fd, &now) == 0 && stat(path, &first) == 0, path);
	if (now.st_blocks <= 2 * first.st_blocks)
		return;
	memfile_free(m);
	memfile_copy(m, path);
}

void memfile_cut(struct memfile *m, u64 size)
{
	must(size <= m->size && ftruncate(m->fd, (off_t)size) == 0, "ftruncate");
}

void memfile_free(struct memfile *m)
{
	munmap(m->data, MAX(m->size, 1));
	close(m->fd);
}

struct memfile_change memfile_poke(struct memfile *m, u64 off, u64 word)
{
	struct memfile_change c = {.off = off};

	must(off % 8 == 0 && off + sizeof(word) <= m->size, "memfile_poke");
	c.hole = lseek(m->fd, (off_t)off, SEEK_DATA) != (off_t)off;
	memcpy(&c.old, m->data + off, sizeof(c.old));
	memcpy(m->data + off, &word, sizeof(word));
	return c;
}

void memfile_undo(struct memfile *m, const struct memfile_change *change)
{
	memcpy(m->data + change->off, &change->old, sizeof(change->old));
	if (change->hole)
		must(fallocate(m->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			       (off_t)align_down(change->off, PAGE), (off_t)PAGE) == 0,
		     "fallocate");
}
