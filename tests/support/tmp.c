#include "support/tmp.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

static char *folder;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void remove_folder(void)
{
	nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(folder);
}

char *tmp_path(const char *name)
{
	const char *base = getenv("TMPDIR");

	if (!folder) {
		folder = xasprintf("%s/spanscope-unit-XXXXXX", base && *base ? base : "/tmp");
		if (!mkdtemp(folder))
			fail_msg("%s cannot be made", folder);
		atexit(remove_folder);
	}
	return xasprintf("%s/%s", folder, name);
}

char *tmp_dir(const char *name)
{
	char *path = tmp_path(name);

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		fail_msg("%s cannot be made", path);
	return path;
}

void tmp_write(const char *path, const void *bytes, size_t n)
{
	FILE *f = fopen(path, "we");

	if (!f || fwrite(bytes, 1, n, f) != n || fclose(f) != 0)
		fail_msg("%s cannot be written", path);
}

bool tmp_has_holes(void)
{
	AUTO_FREE char *path = tmp_path("holes");
	AUTO_CLOSE int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	return fd >= 0 && ftruncate(fd, 16384) == 0 && pwrite(fd, "x", 1, 4096) == 1 &&
	       lseek(fd, 0, SEEK_DATA) == 4096 && lseek(fd, 4096, SEEK_HOLE) == 8192;
}
