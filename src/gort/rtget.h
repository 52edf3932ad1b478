/* Access to fields of the target's structures.
 *
 * A record is the bytes of one structure; the slot says where in it a field lies and how wide it
 * is. Reading a field that the release lacks gives 0: ask rt_has first where that matters. */
#ifndef GORT_RTGET_H
#define GORT_RTGET_H

#include "gort/rt.h"

#include <string.h>

static inline bool rt_has(const struct rt *rt, enum rt_field f)
{
	return rt->slots[f].offset >= 0;
}

static inline u64 rt_size(const struct rt *rt, enum rt_field f)
{
	return rt->slots[f].size;
}

/* Address of a field of the structure at base. */
static inline va_t rt_addr(const struct rt *rt, va_t base, enum rt_field f)
{
	return base + (u64)rt->slots[f].offset;
}

/* An unsigned field of a record. Attach has checked that it lies within the structure. */
static inline u64 rec_u(const struct rt *rt, const u8 *rec, enum rt_field f)
{
	const struct slot *s = &rt->slots[f];
	u64 value = 0;

	if (s->offset < 0)
		return 0;
	rec += s->offset;
	switch (s->size) {
	case 1:
		return *rec;
	case 2: {
		u16 v;
		memcpy(&v, rec, sizeof(v));
		return v;
	}
	case 4: {
		u32 v;
		memcpy(&v, rec, sizeof(v));
		return v;
	}
	case 8:
		memcpy(&value, rec, sizeof(value));
		return value;
	}
	return 0;
}

#define RT_RECORD_MAX 512 /* bytes of the largest structure that is read as a record */

/* The bytes of the structure whose size is slot `whole`: in place, or copied to buf when they
 * cross a border of loads. NULL when they are not in the core. */
static inline const u8 *rt_record(const struct rt *rt, va_t va, enum rt_field whole,
				  u8 buf[static RT_RECORD_MAX])
{
	u64 n = rt_size(rt, whole);
	const u8 *rec = image_view(rt->im, va, n);
	struct err *err;

	if (rec || n > RT_RECORD_MAX)
		return rec;
	err = image_read(rt->im, va, buf, n);
	if (!err)
		return buf;
	err_free(err);
	return NULL;
}

/* One unsigned field of the structure at base. ERR_FAULT when it is not in the core. */
struct err *rt_u(const struct rt *rt, va_t base, enum rt_field f, u64 *ret) ERR_RESULT;

/* The pointer that a variable holds, such as the head of a list. A variable without a place is one
 * that nothing hangs off (gort/find.h): 0. */
struct err *rt_pointer(const struct rt *rt, enum rt_global g, va_t *ret) ERR_RESULT;

struct go_slice {
	va_t ptr;
	u64 len, cap;
};

/* A slice header at va; lengths above `limit` are ERR_LIMIT. */
struct err *rt_slice(const struct rt *rt, va_t va, u64 limit, struct go_slice *ret) ERR_RESULT;

#endif
