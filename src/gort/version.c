/* The build info blob (cmd/link/internal/ld/data.go, Link.buildinfo):
 *
 *   0   "\xff Go buildinf:"  14 bytes, 16-byte aligned
 *   14  pointer size
 *   15  flags: bit 1 set from 1.18 on: the strings follow inline
 *   32  uvarint length, version; uvarint length, module info         (inline)
 *   16  pointer to the string header of runtime.buildVersion         (1.13 to 1.17)
 */
#include "gort/version.h"

#include <ctype.h>
#include <string.h>

#define BUILDINFO_ALIGN 16
#define BUILDINFO_BYTES 32
#define BUILDINFO_INLINE 2

#define SHORTEST_VERSION 6 /* "go1.15" */

static const char magic[14] = "\xff Go buildinf:";

bool version_parse(const char *text, struct go_version *ret)
{
	struct go_version v = {0};
	const char *p = text, *x;
	unsigned long minor;
	char *end;
	size_t len;

	if (!strncmp(p, "devel ", 6))
		p += 6;
	if (strncmp(p, "go1.", 4) != 0 || !isdigit((unsigned char)p[4]))
		return false;
	minor = strtoul(p + 4, &end, 10);
	if (end[0] == '.' && isdigit((unsigned char)end[1]))
		v.patch = (unsigned)strtoul(end + 1, &end, 10);
	len = strcspn(p, " ");
	x = strstr(p, "X:");
	if (x) {
		snprintf(v.experiments, sizeof(v.experiments), "%s", x + 2);
		len = MIN(len, (size_t)(x - p));
		if (len && p[len - 1] == '-')
			len--;
	}
	if (minor > 999 || len >= sizeof(v.text))
		return false;
	v.minor = (unsigned)minor;
	memcpy(v.text, p, len);
	v.text[len] = '\0';
	*ret = v;
	return true;
}

bool version_has_experiment(const struct go_version *v, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = v->experiments; len && *p; p += strcspn(p, ",")) {
		p += *p == ',';
		if (strcspn(p, ",") == len && !strncmp(p, name, len))
			return true;
	}
	return !len;
}

/* Bytes of the process, from the core or, where it was not dumped, from the executable. */
static bool read_either(const struct image *im, const struct binary *bin, va_t va, void *buf,
			size_t n)
{
	struct err *err = image_read(im, va, buf, n);
	const u8 *bytes;

	if (!err)
		return true;
	err_free(err);
	bytes = binary_view(bin, va, n);
	if (bytes)
		memcpy(buf, bytes, n);
	return bytes != NULL;
}

static bool printable(const char *s)
{
	for (; *s; s++)
		if (!isprint((unsigned char)*s))
			return false;
	return true;
}

/* Reads the version string behind a blob at va. */
static bool read_blob(const struct image *im, const struct binary *bin, va_t va,
		      struct go_version *ret)
{
	u8 head[BUILDINFO_BYTES];
	char text[GO_VERSION_MAX];
	va_t header, bytes;
	u64 len;

	if (!read_either(im, bin, va, head, sizeof(head)) || head[14] != 8)
		return false;
	if (head[15] & BUILDINFO_INLINE) {
		u8 n;

		/* Versions are far shorter than 128 bytes: one byte of uvarint. */
		if (!read_either(im, bin, va + BUILDINFO_BYTES, &n, 1))
			return false;
		len = n;
		bytes = va + BUILDINFO_BYTES + 1;
	} else {
		u64 string[2];

		memcpy(&header, head + 16, sizeof(header));
		if (!read_either(im, bin, header, string, sizeof(string)))
			return false;
		bytes = string[0];
		len = string[1];
	}
	if (len == 0 || len >= sizeof(text))
		return false;
	if (!read_either(im, bin, bytes, text, len)) {
		ret->nameless = !(head[15] & BUILDINFO_INLINE) && image_vma(im, bytes);
		return false;
	}
	text[len] = '\0';
	return printable(text) && version_parse(text, ret);
}

/* Searches the dumped part of a mapping of a file. */
static bool search_vma(const struct image *im, const struct binary *bin, const struct vma *v,
		       struct go_version *ret)
{
	va_t end = MIN(image_dumped_end(im, v->lo), v->hi);
	const u8 *p = end > v->lo ? image_view(im, v->lo, end - v->lo) : NULL;

	for (u64 i = 0; p && i + BUILDINFO_BYTES <= end - v->lo; i += BUILDINFO_ALIGN)
		if (p[i] == 0xff && !memcmp(p + i, magic, sizeof(magic)) &&
		    read_blob(im, bin, v->lo + i, ret))
			return true;
	return false;
}

/* Searches the executable's own file, for a core that is cut before its data. */
static bool search_exe(const struct image *im, const struct binary *bin, struct go_version *ret)
{
	Elf64_Phdr ph;

	for (u64 i = 0; binary_file_phdr(bin, i, &ph); i++) {
		const u8 *p;
		u64 n;

		if (ph.p_type != PT_LOAD || ph.p_offset >= bin->exe.size)
			continue;
		p = bin->exe.data + ph.p_offset;
		n = MIN(ph.p_filesz, bin->exe.size - ph.p_offset);
		for (u64 at = 0; at + BUILDINFO_BYTES <= n; at += BUILDINFO_ALIGN)
			if (p[at] == 0xff && !memcmp(p + at, magic, sizeof(magic)) &&
			    read_blob(im, bin, bin->bias + ph.p_vaddr + at, ret))
				return true;
	}
	return false;
}

/* Whether a string header at p has the name of a release. */
static bool read_variable(const struct image *im, const struct binary *bin, const u8 *p,
			  struct go_version *ret)
{
	char text[GO_VERSION_MAX];
	u64 string[2];

	memcpy(string, p, sizeof(string));
	if (string[1] < SHORTEST_VERSION || string[1] >= sizeof(text) || !string[0] ||
	    !image_vma(im, string[0]) || !read_either(im, bin, string[0], text, string[1]))
		return false;
	text[string[1]] = '\0';
	return printable(text) && version_parse(text, ret);
}

/* Looks for runtime.buildVersion in the variables that a mapping has: a string with the name of a
 * release, up to its patch level. Two of different names are two too many. */
static void search_variables(const struct image *im, const struct binary *bin, const struct vma *v,
			     struct go_version *ret, bool *several)
{
	va_t end = MIN(image_dumped_end(im, v->lo), v->hi);
	const u8 *p = end > v->lo ? image_view(im, v->lo, end - v->lo) : NULL;
	struct go_version found;

	for (u64 i = 0; p && i + 16 <= end - v->lo; i += 8) {
		if (!read_variable(im, bin, p + i, &found))
			continue;
		*several |= *ret->text && strcmp(ret->text, found.text) != 0;
		*ret = found;
	}
}

/* For an executable whose build info was taken out. */
static bool search_build_version(const struct image *im, const struct binary *bin,
				 struct go_version *ret)
{
	struct go_version found = {.nameless = false};
	bool several = false;

	for (size_t i = 0; i < im->vmas.n; i++) {
		const struct vma *v = &im->vmas.v[i];

		if (v->in_core && v->kind == VMA_FILE && v->file == bin->file &&
		    (!v->perm_known || v->perm & PERM_W))
			search_variables(im, bin, v, &found, &several);
	}
	if (several || !*found.text)
		return false;
	*ret = found;
	return true;
}

struct err *version_find(const struct image *im, const struct binary *bin, struct go_version *ret)
{
	*ret = (struct go_version){0};
	/* The executable first; then libraries, for a Go runtime in a C process. */
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < im->vmas.n; i++) {
			const struct vma *v = &im->vmas.v[i];
			bool own = bin->file < 0 || v->file == bin->file;

			if (v->in_core && (v->kind == VMA_FILE || bin->file < 0) &&
			    own == (pass == 0) && search_vma(im, bin, v, ret))
				return NULL;
		}
	if (search_exe(im, bin, ret) || ret->nameless || search_build_version(im, bin, ret))
		return NULL;
	return err_new(ERR_MISSING, "no Go build information in %s",
		       im->truncated ? "what is left of its data" : "its data");
}
