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
	struct os_file exe;   /* valid unless match is EXE_NONE */
	va_t bias;            /* target address minus p_vaddr, as far as it can be told */
	struct os_file debug; /* a separate file with its DWARF; without a path there is none */
};

struct binary_options {
	const char *given; /* a path that the user named, or NULL */
	const char *debug; /* the path of a file with its DWARF, or NULL */
	bool none;         /* analyse without an executable */
};

/* Looks for the executable. A given one that is another build is ERR_USAGE with both ids; a
 * found one, or one given for a core too short to show an id, is named in a diagnostic and left.
 * No executable is no error. */
struct err *binary_find(struct binary *bin, const struct image *im,
			const struct binary_options *opt, struct diags *d) ERR_RESULT;
void binary_close(struct binary *bin);

/* Looks for a file that has what strip took from the executable (objcopy --only-keep-debug): the
 * given one, else NAME.debug beside the executable, .debug/NAME.debug, or by its GNU build id
 * below /usr/lib/debug. A given one of another build is ERR_USAGE; others are left. Only for an
 * executable whose build id is known. */
struct err *binary_find_debug(struct binary *bin, const struct image *im,
			      const struct binary_options *opt) ERR_RESULT;

const char *exe_match_name(enum exe_match match);

/* Build ids of the executable, from its file or from the core's header page. */
void binary_ids(const struct binary *bin, const struct image *im, struct elf_ids *ret);

/* How many mapped files say in their headers that Go's linker made them, or had a part in it. */
size_t binary_count_go(const struct image *im);

/* Program header i of the executable: as it was mapped, by the header page in the core, or else as
 * its file has it. strip changes their sizes a little, in the file alone. */
bool binary_phdr(const struct binary *bin, const struct image *im, u64 i, Elf64_Phdr *ret);

/* Program header i of the executable's file; false without one. */
bool binary_file_phdr(const struct binary *bin, u64 i, Elf64_Phdr *ret);

/* What the executable's file has for n bytes of the process at va, in place; NULL when it does not
 * have them all. */
const u8 *binary_view(const struct binary *bin, va_t va, u64 n);

#endif
