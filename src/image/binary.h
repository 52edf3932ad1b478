/* The executable of a core: found through NT_FILE or given, and matched by build id. When that is
 * not Go's and a shared library is, the library takes its place. */
#ifndef IMAGE_BINARY_H
#define IMAGE_BINARY_H

#include "image/elf64.h"
#include "image/image.h"

enum exe_match { EXE_NONE, EXE_PATH, EXE_GNU_BUILD_ID, EXE_GO_BUILD_ID };

struct binary {
	const char *core_path; /* of the executable as the core names it, or NULL */
	int file;              /* its index among the image's mapped files, or -1 */
	va_t header;           /* address of its ELF header in the core, or 0 */
	bool library;          /* a shared library with Go in it */

	enum exe_match match;
	struct os_file exe; /* valid unless match is EXE_NONE */
	va_t bias;          /* target address minus p_vaddr, as far as it can be told */
};

struct binary_options {
	const char *given; /* a path that the user named, or NULL */
	bool none;         /* analyse without an executable */
};

/* Looks for the executable. A given one that is another build is ERR_USAGE with both ids; a
 * found one, or one given for a core too short to show an id, is named in a diagnostic and left.
 * No executable is no error. */
struct err *binary_find(struct binary *bin, const struct image *im,
			const struct binary_options *opt, struct diags *d) ERR_RESULT;
void binary_close(struct binary *bin);

const char *exe_match_name(enum exe_match match);

/* Build ids of the executable, from its file or from the core's header page. */
void binary_ids(const struct binary *bin, const struct image *im, struct elf_ids *ret);

/* Program header i of the executable, from the file or from the core's header page. */
bool binary_phdr(const struct binary *bin, const struct image *im, u64 i, Elf64_Phdr *ret);

/* What the executable's file has for n bytes of the process at va, in place; NULL when it does not
 * have them all. */
const u8 *binary_view(const struct binary *bin, const struct image *im, va_t va, u64 n);

#endif
