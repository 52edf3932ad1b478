#include "gort/pclntab.h"

#include "gort/rtget.h"

#include <string.h>

#define MAX_FUNCTIONS ((u64)1 << 24)
#define MAX_NAME_BYTES ((u64)64 << 10) /* names of generic functions spell out their types */
#define MAX_TREE_BYTES ((u64)1 << 24)  /* of one function's inlined calls */
#define NO_FUNCDATA UINT32_MAX

enum { PCDATA_INLINE_INDEX = 2 }; /* internal/abi/symtab.go, funcdata.h: the same in all */

/* runtime/symtab.go funcFlag, internal/abi FuncFlag (1.17) */
enum { FLAG_TOP_FRAME = 1, FLAG_SP_WRITE = 2 };

/* One form of the table: offsets in a function's record and in that of an inlined call
 * (runtime/runtime2.go _func, symtab.go and symtabinl.go inlinedCall). */
struct pcln_form {
	u32 magic;
	bool split;           /* the header has the offsets of the parts (1.16) */
	bool offsets;         /* addresses count from the text (1.18) */
	u8 entry_bytes;       /* of an entry of the table of functions */
	u8 parts;             /* where the header has the first part's offset */
	u8 name, pcsp;        /* of the record: name; then pcsp, pcfile, pcln, npcdata */
	u8 cu, func_id, flag; /* 0: it has none */
	u8 nfuncdata, record_bytes;
	u8 tree; /* which funcdata is the tree of inlined calls */
	u8 inline_bytes, inline_id, inline_name, inline_pc;
	u8 start_line, inline_start_line; /* 0: it has none */
};

static const struct pcln_form forms[] = {
	{0xfffffffb, false, false, 16, 0, 8, 20, 0, 36, 0, 39, 40, 4, 20, 2, 12, 16, 0, 0},
	{0xfffffffa, true, false, 16, 24, 8, 20, 36, 40, 41, 43, 44, 3, 20, 2, 12, 16, 0, 0},
	{0xfffffff0, true, true, 8, 32, 4, 16, 32, 36, 37, 39, 40, 3, 20, 2, 12, 16, 0, 0},
	{0xfffffff1, true, true, 8, 32, 4, 16, 32, 40, 41, 43, 44, 3, 16, 0, 4, 8, 36, 12},
};

static u32 get_u32(const u8 *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static u64 get_u64(const u8 *p)
{
	u64 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Whether the table has n bytes at the offset. */
static bool has(const struct pclntab *t, u64 at, u64 n)
{
	return at <= t->size && n <= t->size - at;
}

/* A 32-bit number of the table; `otherwise` behind its end. */
static u32 number(const struct pclntab *t, u64 at, u32 otherwise)
{
	return has(t, at, 4) ? get_u32(t->bytes + at) : otherwise;
}

/* A string of the table; "" when it does not end. */
static const char *text_at(const struct pclntab *t, u64 at)
{
	if (at >= t->size || !memchr(t->bytes + at, '\0', MIN(t->size - at, MAX_NAME_BYTES)))
		return "";
	return (const char *)t->bytes + at;
}

/* Bytes of the module's constants: of the core where it has them, since there they are relocated,
 * of the executable, or of a plugin's file. NULL when none has all. */
static const u8 *constants(const struct rt *rt, va_t va, u64 n)
{
	const u8 *bytes = image_view(rt->im, va, n);

	if (!bytes && rt->bin)
		bytes = binary_view(rt->bin, va, n);
	return bytes ? bytes : image_file_view(rt->im, va, n);
}

/* Since 1.16 the header ends in the offsets of the names, the files of compilation units, the
 * files' names, the values by address, and the functions. */
static struct err *read_parts(struct pclntab *t)
{
	u64 parts[5], at = t->form->parts;

	if (!has(t, at, sizeof(parts)))
		return err_new(ERR_FORMAT, "the function table ends in its header");
	memcpy(parts, t->bytes + at, sizeof(parts));
	for (size_t i = 0; i < COUNT_OF(parts); i++)
		if (parts[i] > t->size)
			return err_new(ERR_FORMAT, "a part of the function table is outside it");
	t->names = parts[0];
	t->cutab = parts[1];
	t->files = parts[2];
	t->pctab = parts[3];
	t->funcs = t->functab = parts[4];
	return NULL;
}

/* Up to 1.15 the functions' entries follow the header, and behind them is the offset of the files:
 * their number, then the offset of each one's name. */
static void read_single(struct pclntab *t)
{
	u64 behind = 16 + t->count * t->form->entry_bytes + 8;

	t->functab = 16;
	t->files = number(t, behind, UINT32_MAX);
	t->file_count = number(t, t->files, 0);
}

static struct err *read_header(struct pclntab *t)
{
	u32 magic = get_u32(t->bytes);

	for (size_t i = 0; i < COUNT_OF(forms) && !t->form; i++)
		if (forms[i].magic == magic)
			t->form = &forms[i];
	if (!t->form)
		return err_new(ERR_FORMAT,
			       "the function table begins with 0x%08x, not with a form "
			       "of Go 1.2 to 1.27",
			       magic);
	t->quantum = t->bytes[6];
	t->count = get_u64(t->bytes + 8);
	if (t->bytes[7] != 8 || !t->quantum || t->quantum > 8 || t->count > MAX_FUNCTIONS)
		return err_new(ERR_FORMAT, "the header of the function table makes no sense");
	if (t->form->split)
		TRY(read_parts(t));
	else
		read_single(t);
	if (!t->count || !has(t, t->functab, (t->count + 1) * t->form->entry_bytes))
		return err_new(ERR_FORMAT, "the table of %llu functions is cut short",
			       (unsigned long long)t->count);
	return NULL;
}

/* Where function number i begins; the one behind the last ends the text. */
static va_t entry_address(const struct pclntab *t, u64 i)
{
	const u8 *entry = t->bytes + t->functab + i * t->form->entry_bytes;

	return t->form->offsets ? t->text.lo + get_u32(entry) : get_u64(entry) + t->bias;
}

/* Addresses of a position-independent file's own bytes are those that it was linked at: the first
 * function does not lie in the text then. */
static va_t find_bias(const struct pclntab *t)
{
	va_t first = entry_address(t, 0);

	if (t->form->offsets || (first >= t->text.lo && first < t->text.hi))
		return 0;
	return t->rt->bin && first + t->rt->bin->bias >= t->text.lo &&
			       first + t->rt->bin->bias < t->text.hi
		       ? t->rt->bin->bias
		       : t->text.lo - first;
}

struct err *pclntab_open(const struct rt *rt, const struct module *m, struct pclntab *ret)
{
	struct pclntab t = {.rt = rt, .text = m->text, .size = m->pclntab.hi - m->pclntab.lo};

	if (t.size < 16)
		return err_new(ERR_FORMAT, "the function table is empty");
	t.bytes = constants(rt, m->pclntab.lo, t.size);
	if (!t.bytes)
		return err_new(ERR_MISSING, "the function table at 0x%llx is not in the core",
			       (unsigned long long)m->pclntab.lo);
	if (rt_has(rt, RT_MODULE_GOFUNC))
		TRY(rt_u(rt, m->addr, RT_MODULE_GOFUNC, &t.gofunc));
	TRY(read_header(&t));
	t.bias = find_bias(&t);
	*ret = t;
	return NULL;
}

struct err *symbols_open(const struct rt *rt, const struct modules *modules, struct diags *d,
			 struct symbols *ret)
{
	ret->rt = rt;
	for (size_t i = 0; i < modules->v.n; i++) {
		struct pclntab t;
		struct err *err = pclntab_open(rt, &modules->v.v[i], &t);

		if (!err)
			TRY(array_push(&ret->v, t));
		else if (err->code == ERR_MISSING && !(rt->bin && rt->bin->match))
			err_free(err); /* DIAG_NO_EXE has said so */
		else
			diag_err(d, DIAG_SYMBOLS,
				 err_wrap(err, "module at 0x%llx",
					  (unsigned long long)modules->v.v[i].addr));
	}
	return NULL;
}

void symbols_fini(struct symbols *s)
{
	array_free(&s->v);
}

bool pclntab_find(const struct pclntab *t, va_t pc, struct func *ret)
{
	u64 lo = 0, hi = t->count, record;
	const u8 *entry;

	if (pc < t->text.lo || pc >= t->text.hi)
		return false;
	while (hi - lo > 1) {
		u64 mid = lo + (hi - lo) / 2;

		if (entry_address(t, mid) <= pc)
			lo = mid;
		else
			hi = mid;
	}
	entry = t->bytes + t->functab + lo * t->form->entry_bytes;
	record = t->form->offsets ? get_u32(entry + 4) : get_u64(entry + 8);
	*ret = (struct func){t, entry_address(t, lo), entry_address(t, lo + 1), t->funcs + record};
	return ret->entry <= pc && pc < ret->end && record <= t->size &&
	       has(t, ret->rec, t->form->record_bytes);
}

bool symbols_find(const struct symbols *s, va_t pc, struct func *ret)
{
	for (size_t i = 0; i < s->v.n; i++)
		if (pclntab_find(&s->v.v[i], pc, ret))
			return true;
	return false;
}

static const char *name_at(const struct pclntab *t, u32 offset)
{
	return offset ? text_at(t, t->names + offset) : "";
}

const char *func_name(const struct func *f)
{
	return name_at(f->t, number(f->t, f->rec + f->t->form->name, 0));
}

const char *symbols_name(const struct symbols *s, va_t pc)
{
	struct func f;

	return symbols_find(s, pc, &f) ? func_name(&f) : "";
}

/* A number of up to 32 bits, seven of them a byte (encoding/binary Uvarint). */
static bool get_varint(const struct pclntab *t, u64 *at, u32 *ret)
{
	u32 value = 0;

	for (unsigned shift = 0; shift < 32 && *at < t->size; shift += 7) {
		u8 byte = t->bytes[(*at)++];

		value |= (u32)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret = value;
			return true;
		}
	}
	return false;
}

/* The value at pc of the table at an offset of pctab: pairs of a difference of the value, with its
 * sign in the lowest bit, and one of the address from which on the next value holds. The first
 * begins at -1 and at the function's entry. Each step advances, so that the table's end bounds it.
 */
static bool value_at(const struct func *f, u32 table, va_t pc, int32_t *ret)
{
	u64 at = f->t->pctab + table;
	va_t until = f->entry;
	u32 value = UINT32_MAX, delta, bytes;

	if (!table)
		return false;
	for (bool first = true; until < f->end; first = false) {
		if (!get_varint(f->t, &at, &delta) || (!delta && !first) ||
		    !get_varint(f->t, &at, &bytes))
			return false;
		value += delta & 1 ? ~(delta >> 1) : delta >> 1;
		until += (u64)bytes * f->t->quantum;
		if (pc < until) {
			*ret = (int32_t)value;
			return true;
		}
	}
	return false;
}

/* One of the offsets that stand in the record one behind the other. */
static u32 record_table(const struct func *f, unsigned index)
{
	return number(f->t, f->rec + f->t->form->pcsp + 4 * (u64)index, 0);
}

enum { TABLE_SP, TABLE_FILE, TABLE_LINE, COUNT_PCDATA };

bool func_frame_bytes(const struct func *f, va_t pc, u64 *ret)
{
	int32_t bytes;

	if (!value_at(f, record_table(f, TABLE_SP), pc, &bytes) || bytes < 0 || bytes % 8 != 0)
		return false;
	*ret = (u64)bytes;
	return true;
}

static bool has_flag(const struct func *f, u8 flag)
{
	return f->t->form->flag && f->t->bytes[f->rec + f->t->form->flag] & flag;
}

bool func_is_top(const struct func *f)
{
	/* runtime/traceback.go topofstack, before there were flags (1.17) */
	static const char *const tops[] = {
		"runtime.goexit",    "runtime.mstart", "runtime.mcall",
		"runtime.morestack", "runtime.rt0_go",
	};

	if (has_flag(f, FLAG_TOP_FRAME))
		return true;
	for (size_t i = 0; i < COUNT_OF(tops); i++)
		if (!strcmp(func_name(f), tops[i]))
			return true;
	return false;
}

bool func_writes_sp(const struct func *f)
{
	/* cgocallback does, and keeps both stacks so that they can be followed. */
	return has_flag(f, FLAG_SP_WRITE) && strcmp(func_name(f), "runtime.cgocallback") != 0;
}

/* Name of file number `file` of the function's compilation unit. */
static const char *file_name(const struct func *f, int32_t file)
{
	const struct pclntab *t = f->t;
	u32 offset;

	if (file < 0)
		return "";
	if (!t->form->split)
		return (u64)file < t->file_count
			       ? text_at(t, number(t, t->files + 4 * (u64)file, UINT32_MAX))
			       : "";
	offset = number(t, t->cutab + 4 * ((u64)number(t, f->rec + t->form->cu, 0) + (u64)file),
			UINT32_MAX);
	return offset == UINT32_MAX ? "" : text_at(t, t->files + offset);
}

/* File and line at pc: of the innermost inlined call there. */
static void place(const struct func *f, va_t pc, struct call *ret)
{
	int32_t file, line;

	ret->file = "";
	if (!value_at(f, record_table(f, TABLE_FILE), pc, &file) ||
	    !value_at(f, record_table(f, TABLE_LINE), pc, &line))
		return;
	ret->file = file_name(f, file);
	ret->line = line > 0 ? (u32)line : 0;
}

/* Where the function's tree of inlined calls is; 0 when nothing was inlined. */
static va_t inline_tree(const struct func *f)
{
	const struct pclntab *t = f->t;
	u64 at = f->rec + t->form->record_bytes + 4 * (u64)record_table(f, COUNT_PCDATA);
	u32 offset;

	if (t->bytes[f->rec + t->form->nfuncdata] <= t->form->tree)
		return 0;
	if (!t->form->offsets) {
		at = align_up(at, 8) + 8 * (u64)t->form->tree;
		return has(t, at, 8) && get_u64(t->bytes + at) ? get_u64(t->bytes + at) + t->bias
							       : 0;
	}
	offset = number(t, at + 4 * (u64)t->form->tree, NO_FUNCDATA);
	return offset == NO_FUNCDATA || !t->gofunc ? 0 : t->gofunc + offset;
}

/* The record of the call that is inlined at pc; NULL when pc is the function's own code. */
static const u8 *inlined_at(const struct func *f, va_t tree, va_t pc)
{
	const struct pclntab *t = f->t;
	int32_t index;

	if (record_table(f, COUNT_PCDATA) <= PCDATA_INLINE_INDEX ||
	    !value_at(f,
		      number(t, f->rec + t->form->record_bytes + 4 * (u64)PCDATA_INLINE_INDEX, 0),
		      pc, &index) ||
	    index < 0 || (u64)index > MAX_TREE_BYTES / t->form->inline_bytes)
		return NULL;
	return constants(t->rt, va_plus(tree, (u64)index * t->form->inline_bytes),
			 t->form->inline_bytes);
}

size_t func_calls(const struct func *f, va_t pc, struct call ret[static CALLS_MAX])
{
	const struct pclntab *t = f->t;
	va_t tree = inline_tree(f);
	size_t n = 0;
	const u8 *rec;

	/* Each call names an address in the code that it was inlined into. */
	while (tree && n < CALLS_MAX - 1 && (rec = inlined_at(f, tree, pc))) {
		struct call c = {.func = name_at(t, get_u32(rec + t->form->inline_name)),
				 .inlined = true,
				 .pc = pc};

		if (t->form->inline_start_line)
			c.start_line = get_u32(rec + t->form->inline_start_line);
		place(f, pc, &c);
		c.wrapper = rec[t->form->inline_id] == t->rt->dialect.wrapper_id;
		ret[n++] = c;
		pc = f->entry + get_u32(rec + t->form->inline_pc);
		if (pc >= f->end) /* a damaged tree: the function itself is all that is left */
			break;
	}
	ret[n] = (struct call){.func = func_name(f), .pc = pc};
	if (t->form->start_line)
		ret[n].start_line = number(t, f->rec + t->form->start_line, 0);
	place(f, pc, &ret[n]);
	ret[n].wrapper = t->bytes[f->rec + t->form->func_id] == t->rt->dialect.wrapper_id;
	return n + 1;
}
