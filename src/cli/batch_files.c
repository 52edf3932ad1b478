#include "cli/batch_files.h"

#include "base/os.h"
#include "image/unpack.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_DEPTH 32 /* of folders in folders */

/* "./a//b/" as "a/b": one file has one name. */
static const char *plain_path(struct arena *a, const char *path)
{
	char *copy, *to;

	while (path[0] == '.' && path[1] == '/' && path[2])
		path += 2;
	copy = arena_strdup(a, path);
	to = copy;
	for (const char *p = path; *p; p++)
		if (*p != '/' || to == copy || to[-1] != '/')
			*to++ = *p;
	while (to > copy + 1 && to[-1] == '/')
		to--;
	*to = '\0';
	return copy;
}

static struct err *add_file(struct batch_files *f, const char *path, const struct stat *st,
			    const char *trouble)
{
	struct facts_head head = {.path = path, .time_from = "file"};

	if (st) {
		head.file_bytes = (u64)st->st_size;
		head.inode = st->st_ino;
		head.mtime_ns = (i64)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
	}
	return array_push(&f->v, {head, trouble});
}

/* Whether a file begins as a snapshot may. */
static bool looks_like_snapshot(const struct os_file *f)
{
	Elf64_Ehdr eh;

	if (f->size >= sizeof(eh) && !memcmp(f->data, ELFMAG, SELFMAG)) {
		memcpy(&eh, f->data, sizeof(eh));
		return eh.e_type == ET_CORE;
	}
	return unpack_is_packed(f);
}

/* A regular file of a folder. */
static struct err *add_found(struct batch_files *f, const char *path, const struct stat *st)
{
	struct os_file file = {.path = NULL};
	struct err *err = st->st_size ? os_file_open(path, &file) : NULL;
	bool wanted = file.path && looks_like_snapshot(&file);
	const char *trouble = NULL;

	if (err)
		trouble = arena_strdup(&f->arena, err->msg);
	err_free(err);
	os_file_close(&file);
	if (wanted || trouble)
		return add_file(f, path, st, trouble);
	f->foreign++;
	return NULL;
}

static struct err *add_folder(struct batch_files *f, const char *path, int depth);

/* Whether a folder "core.d" lies beside a file "core". */
static bool is_sidecar(const char *path)
{
	size_t n = strlen(path);
	char *core;
	struct stat st;
	bool is;

	if (n < 3 || strcmp(path + n - 2, ".d") != 0)
		return false;
	core = xstrndup(path, n - 2);
	is = stat(core, &st) == 0 && S_ISREG(st.st_mode);
	free(core);
	return is;
}

static struct err *add_entry(struct batch_files *f, const char *path, int depth)
{
	struct stat st, own;

	if (lstat(path, &own) < 0 || stat(path, &st) < 0)
		return NULL; /* gone meanwhile, or a link to nothing */
	if (S_ISREG(st.st_mode))
		return add_found(f, path, &st);
	return S_ISDIR(own.st_mode) && !is_sidecar(path) ? add_folder(f, path, depth + 1) : NULL;
}

static const char *path_in(struct arena *a, const char *folder, const char *name)
{
	if (!strcmp(folder, "."))
		return arena_strdup(a, name);
	return arena_printf(a, "%s%s%s", folder, strcmp(folder, "/") != 0 ? "/" : "", name);
}

static struct err *add_folder(struct batch_files *f, const char *path, int depth)
{
	DIR *dir = depth < MAX_DEPTH ? opendir(path) : NULL;
	struct err *err = NULL;

	if (depth >= MAX_DEPTH)
		return add_file(f, path, NULL, "folders lie too deep in one another");
	if (!dir)
		return add_file(
			f, path, NULL,
			arena_printf(&f->arena, "%s: cannot be opened: %s", path, strerror(errno)));
	/* cppcheck-suppress readdirCalled ; there is one thread, and a DIR of its own */
	for (struct dirent *e; !err && (e = readdir(dir));)
		if (*e->d_name != '.')
			err = add_entry(f, path_in(&f->arena, path, e->d_name), depth);
	closedir(dir);
	return err;
}

static struct err *add_path(struct batch_files *f, const char *path)
{
	struct stat st;

	path = plain_path(&f->arena, path);
	if (stat(path, &st) < 0)
		return err_os("%s: cannot be opened", path);
	return S_ISDIR(st.st_mode) ? add_folder(f, path, 0) : add_file(f, path, &st, NULL);
}

static struct err *add_pattern(struct batch_files *f, const char *pattern)
{
	glob_t found = {.gl_pathc = 0};
	struct err *err = NULL;

	if (glob(pattern, 0, NULL, &found) != 0 || !found.gl_pathc) {
		errno = ENOENT;
		err = err_os("%s: cannot be opened", pattern);
	}
	for (size_t i = 0; !err && i < found.gl_pathc; i++)
		err = add_path(f, found.gl_pathv[i]);
	globfree(&found);
	return err;
}

static int by_name(const void *a, const void *b)
{
	const struct batch_file *x = a, *y = b;
	int order = strverscmp(x->head.path, y->head.path);

	return order ? order : strcmp(x->head.path, y->head.path);
}

static int by_time(const void *a, const void *b)
{
	const struct batch_file *x = a, *y = b;

	if (x->head.mtime_ns != y->head.mtime_ns)
		return x->head.mtime_ns > y->head.mtime_ns ? 1 : -1;
	return by_name(a, b);
}

static void sort_once(struct batch_files *f, enum history_order order)
{
	size_t n = 0;

	if (!f->v.n)
		return;
	qsort(f->v.v, f->v.n, sizeof(*f->v.v), order == HISTORY_BY_NAME ? by_name : by_time);
	for (size_t i = 0; i < f->v.n; i++)
		if (!n || strcmp(f->v.v[n - 1].head.path, f->v.v[i].head.path) != 0)
			f->v.v[n++] = f->v.v[i];
	f->v.n = n;
}

struct err *batch_files_find(char *const *paths, size_t n, enum history_order order,
			     struct batch_files *ret)
{
	struct stat st;

	for (size_t i = 0; i < n; i++)
		if (stat(paths[i], &st) < 0 && strpbrk(paths[i], "*?["))
			TRY(add_pattern(ret, paths[i]));
		else
			TRY(add_path(ret, paths[i]));
	sort_once(ret, order);
	return NULL;
}

void batch_files_fini(struct batch_files *f)
{
	array_free(&f->v);
	arena_fini(&f->arena);
}
