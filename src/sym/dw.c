/* libdw does the decoding; what is Go's own is here:
 *
 *  - a global's location is DW_FORM_block1 with one DW_OP_addr, which dwarf_getlocation refuses
 *    ("not a location list value"), in DWARF 4 and 5 alike;
 *  - a named structure has a DW_TAG_structure_type and a DW_TAG_typedef of the same name;
 *  - members of an anonymous structure are called "runtime.free" instead of "free".
 */
#include "sym/dw.h"

#include "base/mem.h"
#include "sym/slim.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#define MAX_TYPE_CHAIN 16 /* typedefs and qualifiers around one type */

struct dw_name {
	const char *name;
	bool needed;
	bool has_type, has_variable, has_constant;
	Dwarf_Die type, variable, constant;
};

struct dw {
	int fd;
	Elf *elf;
	slim_bytes slim; /* the sections that are read */
	Elf *slim_elf;
	Dwarf *dwarf;
	u64 charged;
	struct dw_name *names; /* sorted by name */
	size_t name_count;
};

/* Where the runtime's types and variables are, except in binaries that were linked oddly. */
static bool unit_is_runtime(const char *name)
{
	static const char *const prefixes[] = {"internal/runtime/", "runtime/internal/"};

	if (!strcmp(name, "runtime") || !strcmp(name, "internal/abi"))
		return true;
	for (size_t i = 0; i < COUNT_OF(prefixes); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

static struct err *dw_begin(struct dw *dw, const char *path)
{
	struct err *err;
	u64 inflated;

	if (dw->fd < 0)
		return err_os("%s: cannot be opened", path);
	elf_version(EV_CURRENT);
	dw->elf = elf_begin(dw->fd, ELF_C_READ_MMAP, NULL);
	if (!dw->elf)
		return err_new(ERR_FORMAT, "%s: %s", path, elf_errmsg(-1));
	err = slim_elf(dw->elf, &dw->slim, &inflated);
	if (err && err->code == ERR_MISSING)
		err = err_wrap(err, "%s", path);
	TRY(err);
	TRY(mem_charge(inflated));
	dw->charged = inflated;
	dw->slim_elf = elf_memory((char *)dw->slim.v, dw->slim.n);
	if (!dw->slim_elf)
		return err_new(ERR_FORMAT, "%s: %s", path, elf_errmsg(-1));
	dw->dwarf = dwarf_begin_elf(dw->slim_elf, DWARF_C_READ, NULL);
	if (!dw->dwarf)
		return err_new(ERR_FORMAT, "%s: DWARF cannot be read: %s", path, dwarf_errmsg(-1));
	return NULL;
}

static struct err *dw_new(int fd, const char *path, struct dw **ret)
{
	struct dw *dw = xcalloc(1, sizeof(*dw));
	struct err *err;

	dw->fd = fd;
	err = dw_begin(dw, path);
	if (err) {
		dw_close(dw);
		return err;
	}
	*ret = dw;
	return NULL;
}

struct err *dw_open(const char *path, struct dw **ret)
{
	return dw_new(open(path, O_RDONLY | O_CLOEXEC), path, ret);
}

struct err *dw_open_file(const struct os_file *f, struct dw **ret)
{
	return dw_new(fcntl(f->fd, F_DUPFD_CLOEXEC, 0), f->path, ret);
}

void dw_close(struct dw *dw)
{
	if (!dw)
		return;
	if (dw->dwarf)
		dwarf_end(dw->dwarf);
	if (dw->slim_elf)
		elf_end(dw->slim_elf);
	if (dw->elf)
		elf_end(dw->elf);
	array_free(&dw->slim);
	if (dw->fd >= 0)
		close(dw->fd);
	mem_discharge(dw->charged);
	free(dw->names);
	free(dw);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct dw_name *)a)->name, ((const struct dw_name *)b)->name);
}

static struct dw_name *find_name(const struct dw *dw, const char *name)
{
	struct dw_name key = {.name = name};

	if (!dw->name_count)
		return NULL;
	return bsearch(&key, dw->names, dw->name_count, sizeof(key), by_name);
}

/* A declaration or an inlined copy has no place of its own. */
static bool has_location(Dwarf_Die *die)
{
	return dwarf_hasattr(die, DW_AT_location);
}

static void scan_unit(struct dw *dw, Dwarf_Die *unit)
{
	Dwarf_Die die;

	if (dwarf_child(unit, &die) != 0)
		return;
	do {
		int tag = dwarf_tag(&die);
		const char *name;
		struct dw_name *want;

		if (tag != DW_TAG_structure_type && tag != DW_TAG_variable &&
		    tag != DW_TAG_constant)
			continue;
		name = dwarf_diename(&die);
		want = name ? find_name(dw, name) : NULL;
		if (!want)
			continue;
		if (tag == DW_TAG_structure_type && !want->has_type) {
			want->type = die;
			want->has_type = true;
		} else if (tag == DW_TAG_variable && !want->has_variable && has_location(&die)) {
			want->variable = die;
			want->has_variable = true;
		} else if (tag == DW_TAG_constant && !want->has_constant) {
			want->constant = die;
			want->has_constant = true;
		}
	} while (dwarf_siblingof(&die, &die) == 0);
}

static bool needed_missing(const struct dw *dw)
{
	for (size_t i = 0; i < dw->name_count; i++)
		if (dw->names[i].needed && !dw->names[i].has_type && !dw->names[i].has_variable)
			return true;
	return false;
}

/* Scans the units of one kind: the runtime's, or all the others. */
static void scan_units(struct dw *dw, bool runtime)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die unit;

	while (dwarf_get_units(dw->dwarf, cu, &cu, NULL, NULL, &unit, NULL) == 0) {
		const char *name = dwarf_diename(&unit);

		if ((name && unit_is_runtime(name)) == runtime)
			scan_unit(dw, &unit);
		if (!runtime && !needed_missing(dw))
			break;
	}
}

struct err *dw_find(struct dw *dw, const char *const *names, const bool *needed, size_t n)
{
	size_t kept = 0;

	dw->names = xcalloc(n, sizeof(*dw->names));
	for (size_t i = 0; i < n; i++)
		dw->names[i] = (struct dw_name){.name = names[i], .needed = needed[i]};
	qsort(dw->names, n, sizeof(*dw->names), by_name);
	for (size_t i = 0; i < n; i++) {
		if (kept && !strcmp(dw->names[kept - 1].name, dw->names[i].name))
			dw->names[kept - 1].needed |= dw->names[i].needed;
		else
			dw->names[kept++] = dw->names[i];
	}
	dw->name_count = kept;
	scan_units(dw, true);
	if (needed_missing(dw))
		scan_units(dw, false);
	return NULL;
}

bool dw_variable(const struct dw *dw, const char *name, u64 *ret)
{
	struct dw_name *found = find_name(dw, name);
	Dwarf_Attribute attr;
	Dwarf_Block block;

	if (!found || !found->has_variable ||
	    !dwarf_attr(&found->variable, DW_AT_location, &attr) ||
	    dwarf_formblock(&attr, &block) != 0)
		return false;
	if (block.length != 1 + sizeof(*ret) || block.data[0] != DW_OP_addr)
		return false;
	memcpy(ret, block.data + 1, sizeof(*ret));
	return true;
}

/* The type of a DIE without typedefs and qualifiers. */
static bool type_of(Dwarf_Die *die, Dwarf_Die *ret)
{
	Dwarf_Attribute attr;
	Dwarf_Die type = *die;

	for (int i = 0; i < MAX_TYPE_CHAIN; i++) {
		if (!dwarf_attr(&type, DW_AT_type, &attr) || !dwarf_formref_die(&attr, &type))
			return false;
		switch (dwarf_tag(&type)) {
		case DW_TAG_typedef:
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
			continue;
		default:
			*ret = type;
			return true;
		}
	}
	return false;
}

/* Whether a member is called `name`, its package prefix aside. */
static bool member_is(const char *member, const char *name, size_t len)
{
	size_t n;

	if (!member)
		return false;
	n = strlen(member);
	if (n < len || memcmp(member + n - len, name, len) != 0)
		return false;
	return n == len || member[n - len - 1] == '.';
}

static bool step_member(Dwarf_Die *type, const char *name, size_t len, u64 *offset)
{
	Dwarf_Die member;

	if (dwarf_tag(type) != DW_TAG_structure_type || dwarf_child(type, &member) != 0)
		return false;
	do {
		Dwarf_Attribute attr;
		Dwarf_Word at = 0;

		if (dwarf_tag(&member) != DW_TAG_member ||
		    !member_is(dwarf_diename(&member), name, len))
			continue;
		if (dwarf_attr(&member, DW_AT_data_member_location, &attr) &&
		    dwarf_formudata(&attr, &at) != 0)
			return false;
		*offset += at;
		return type_of(&member, type);
	} while (dwarf_siblingof(&member, &member) == 0);
	return false;
}

static u64 array_count(Dwarf_Die *type)
{
	Dwarf_Die range;
	Dwarf_Attribute attr;
	Dwarf_Word n;

	if (dwarf_tag(type) != DW_TAG_array_type || dwarf_child(type, &range) != 0)
		return 1;
	if (dwarf_attr(&range, DW_AT_count, &attr) && dwarf_formudata(&attr, &n) == 0)
		return n;
	if (dwarf_attr(&range, DW_AT_upper_bound, &attr) && dwarf_formudata(&attr, &n) == 0)
		return n + 1;
	return 1;
}

/* Walks one alternative, path[0..len). */
static bool walk_path(Dwarf_Die type, const char *path, size_t len, struct dw_field *ret)
{
	struct dw_field field = {0};
	Dwarf_Word size;

	while (len) {
		size_t n = 0;

		if (len >= 2 && path[0] == '[' && path[1] == ']') {
			if (dwarf_tag(&type) != DW_TAG_array_type || !type_of(&type, &type))
				return false;
			n = 2;
		} else if (path[0] == '*') {
			if (dwarf_tag(&type) != DW_TAG_pointer_type || !type_of(&type, &type))
				return false;
			field.offset = 0;
			n = 1;
		} else {
			while (n < len && path[n] != '.' && path[n] != '[')
				n++;
			if (!step_member(&type, path, n, &field.offset))
				return false;
		}
		if (n < len && path[n] == '.')
			n++;
		path += n;
		len -= n;
	}
	if (dwarf_aggregate_size(&type, &size) != 0)
		return false;
	field.size = size;
	field.count = array_count(&type);
	*ret = field;
	return true;
}

static bool constant_value(struct dw_name *name, struct dw_field *ret)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	if (!name->has_constant || !dwarf_attr(&name->constant, DW_AT_const_value, &attr) ||
	    dwarf_formudata(&attr, &value) != 0)
		return false;
	*ret = (struct dw_field){.offset = value, .count = 1};
	return true;
}

bool dw_field(const struct dw *dw, const char *name, const char *path, struct dw_field *ret)
{
	struct dw_name *found = find_name(dw, name);
	Dwarf_Die type;

	if (found && !strcmp(path, "="))
		return constant_value(found, ret);
	if (!found || !(found->has_type || found->has_variable))
		return false;
	if (found->has_type)
		type = found->type;
	else if (!type_of(&found->variable, &type))
		return false;
	for (;;) {
		size_t len = strcspn(path, "|");

		if (walk_path(type, path, len, ret))
			return true;
		if (!path[len])
			return false;
		path += len + 1;
	}
}
