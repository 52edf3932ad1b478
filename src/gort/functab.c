#include "gort/functab.h"

#include "gort/rtget.h"

#include <string.h>

#define MAX_TABLE_BYTES ((u64)1 << 32)
#define MAX_NAME_BYTES ((u64)16 << 10) /* the runtime's are short; each frame is looked up */
#define ENTRY_BYTES 8                  /* two 32-bit offsets, since 1.18 */

/* The bytes of one of the module's tables, in place; the linker put it into read-only data. */
static const u8 *table(const struct rt *rt, va_t module, enum rt_field f, u64 elem, u64 *n)
{
	struct go_slice s;
	struct err *err = rt_slice(rt, rt_addr(rt, module, f), MAX_TABLE_BYTES / elem, &s);
	const u8 *bytes;

	if (err) {
		err_free(err);
		return NULL;
	}
	*n = s.len;
	bytes = image_view(rt->im, s.ptr, s.len * elem);
	if (!bytes && rt->bin)
		bytes = binary_view(rt->bin, s.ptr, s.len * elem);
	return bytes;
}

static u32 get_u32(const u8 *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

bool functab_open(const struct rt *rt, const struct module *m, struct functab *ret)
{
	*ret = (struct functab){.rt = rt, .text = m->text};
	if (!rt_has(rt, RT_MODULE_FTAB) || !rt_has(rt, RT_MODULE_FUNCNAMETAB) ||
	    !rt_has(rt, RT_FUNC_NAME) || rt_size(rt, RT_FUNCTAB) != ENTRY_BYTES)
		return false;
	ret->entries = table(rt, m->addr, RT_MODULE_FTAB, ENTRY_BYTES, &ret->count);
	ret->funcs = table(rt, m->addr, RT_MODULE_PCLNTABLE, 1, &ret->func_bytes);
	ret->names = table(rt, m->addr, RT_MODULE_FUNCNAMETAB, 1, &ret->name_bytes);
	if (!ret->entries || !ret->funcs || !ret->names || ret->count < 2)
		return false;
	ret->count--;
	return true;
}

/* The last entry that begins at or before the offset; there is one. */
static u64 find_entry(const struct functab *t, u64 offset)
{
	u64 lo = 0, hi = t->count;

	while (hi - lo > 1) {
		u64 mid = lo + (hi - lo) / 2;

		if (get_u32(t->entries + mid * ENTRY_BYTES) <= offset)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

const char *functab_name(const struct functab *t, va_t pc)
{
	u64 func, name;

	if (pc < t->text.lo || pc >= t->text.hi)
		return NULL;
	func = get_u32(t->entries + find_entry(t, pc - t->text.lo) * ENTRY_BYTES + 4) +
	       (u64)t->rt->slots[RT_FUNC_NAME].offset;
	if (func + 4 > t->func_bytes)
		return NULL;
	name = get_u32(t->funcs + func);
	if (name >= t->name_bytes ||
	    !memchr(t->names + name, '\0', MIN(t->name_bytes - name, MAX_NAME_BYTES)))
		return NULL;
	return (const char *)t->names + name;
}
