/* The finders of the runtime's structures, shared by their files. */
#ifndef GORT_META_PRIV_H
#define GORT_META_PRIV_H

#include "gort/meta.h"

/* Adds a structure; nothing for a NULL address or no bytes. meta_add_mapped is for one that the
 * runtime mapped on its own. */
struct err *meta_add(struct meta *meta, va_t lo, u64 bytes, enum meta_kind kind) ERR_RESULT;
struct err *meta_add_mapped(struct meta *meta, va_t lo, u64 bytes, enum meta_kind kind) ERR_RESULT;

/* What a fixalloc has not handed out: the end of its chunk, and its list of freed elements. */
struct err *meta_add_fixalloc_rest(const struct rt *rt, struct meta *meta, va_t fixalloc,
				   enum meta_kind kind) ERR_RESULT;
struct err *meta_add_fixalloc_free(const struct rt *rt, struct meta *meta, va_t fixalloc,
				   enum meta_kind kind) ERR_RESULT;

struct err *meta_find_specials(const struct gort *gort, struct meta *meta) ERR_RESULT;
struct err *meta_find_queues(const struct rt *rt, struct meta *meta) ERR_RESULT;
struct err *meta_find_trace(const struct gort *gort, struct meta *meta) ERR_RESULT;

#endif
