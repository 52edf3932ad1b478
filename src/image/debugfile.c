/* Debug information in a file of its own: what distributions install, and what objcopy
 * --only-keep-debug leaves of an executable before it is stripped. Such a file has the executable's
 * notes, and so its build id; that is how the two are matched. */
#include "base/cleanup.h"
#include "image/binary.h"

#include <string.h>

#define BUILD_ID_FOLDER "/usr/lib/debug/.build-id"

/* Keeps the open file when it is of this build; else closes it, and *why says what it is. */
static struct err *keep_debug(const struct elf_ids *wanted, struct os_file *ret, char **why)
{
	struct elf_ids ids;

	elf_build_ids((struct elf_bytes){ret->data, ret->size}, &ids);
	if (elf_ids_match(wanted, &ids))
		return NULL;
	*why = xasprintf("%s has %s%s, the core's executable has %s", ret->path,
			 *ids.go || *ids.gnu ? "build id " : "", elf_ids_text(&ids),
			 elf_ids_text(wanted));
	os_file_close(ret);
	*ret = (struct os_file){.path = NULL};
	return NULL;
}

static struct err *open_debug(const char *path, const struct elf_ids *wanted, struct os_file *ret,
			      char **why)
{
	TRY(os_file_open(path, ret));
	return keep_debug(wanted, ret, why);
}

/* One that came in the core's archive. */
static struct err *search_archive(struct binary *bin, const struct image *im,
				  const struct elf_ids *wanted)
{
	for (size_t i = 0; i < im->unpacked.files.n && !bin->debug.path; i++) {
		const struct unpacked_file *u = &im->unpacked.files.v[i];
		AUTO_FREE char *why = NULL;

		if (!u->debug)
			continue;
		TRY(os_file_dup(&u->file, &bin->debug));
		TRY(keep_debug(wanted, &bin->debug, &why));
	}
	return NULL;
}

static struct err *open_given(struct binary *bin, const struct elf_ids *wanted, const char *path)
{
	AUTO_FREE char *why = NULL;
	struct err *err = open_debug(path, wanted, &bin->debug, &why);

	if (err)
		err->code = ERR_USAGE;
	else if (why)
		err = err_new(ERR_USAGE, "%s", why);
	return err;
}

/* Takes the file at a path, which is freed, if it is there and fits. */
static void try_path(struct binary *bin, const struct elf_ids *wanted, char *path)
{
	AUTO_FREE char *own = path;
	AUTO_FREE char *why = NULL;

	if (!bin->debug.path)
		err_free(open_debug(own, wanted, &bin->debug, &why));
}

struct err *binary_find_debug(struct binary *bin, const struct image *im,
			      const struct binary_options *opt)
{
	struct elf_ids wanted;
	const char *exe = bin->exe.path, *name;

	binary_ids(bin, im, &wanted);
	if (opt->debug)
		return open_given(bin, &wanted, opt->debug);
	if (opt->none || !(*wanted.go || *wanted.gnu))
		return NULL;
	TRY(search_archive(bin, im, &wanted));
	if (bin->match) {
		name = os_base_name(exe);
		try_path(bin, &wanted, xasprintf("%s.debug", exe));
		try_path(bin, &wanted,
			 xasprintf("%.*s.debug/%s.debug", (int)(name - exe), exe, name));
	}
	if (strlen(wanted.gnu) > 2)
		try_path(bin, &wanted,
			 xasprintf(BUILD_ID_FOLDER "/%.2s/%s.debug", wanted.gnu, wanted.gnu + 2));
	return NULL;
}
