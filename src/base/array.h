/* Growable arrays of one type: ARRAY(struct span) spans; then spans.v[i], spans.n.
 *
 * The elements belong to the array. Growth goes through the memory budget and may fail. */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include "base/mem.h"

#define ARRAY(type)                                                                                \
	struct {                                                                                   \
		type *v;                                                                           \
		size_t n, cap;                                                                     \
	}

/* Room for `more` further elements; struct err *. */
#define array_reserve(a, more)                                                                     \
	mem_grow((void **)&(a)->v, &(a)->cap, sizeof(*(a)->v), (a)->n + (more))

/* Appends one element; evaluates to struct err *. */
#define array_push(a, ...)                                                                         \
	({                                                                                         \
		struct err *push_err_ = array_reserve(a, 1);                                       \
		if (!push_err_)                                                                    \
			(a)->v[(a)->n++] = (__typeof__(*(a)->v))__VA_ARGS__;                       \
		push_err_;                                                                         \
	})

/* The index of the first element for which the condition holds, which calls it e; (a)->n when it
 * holds for none. It must hold for all behind that one. */
#define array_first(a, condition)                                                                  \
	({                                                                                         \
		size_t first_lo_ = 0, first_hi_ = (a)->n;                                          \
		while (first_lo_ < first_hi_) {                                                    \
			size_t first_mid_ = first_lo_ + (first_hi_ - first_lo_) / 2;               \
			const __typeof__(*(a)->v) *e = &(a)->v[first_mid_];                        \
			if (condition)                                                             \
				first_hi_ = first_mid_;                                            \
			else                                                                       \
				first_lo_ = first_mid_ + 1;                                        \
		}                                                                                  \
		first_lo_;                                                                         \
	})

#define array_shrink(a) mem_shrink((void **)&(a)->v, &(a)->cap, sizeof(*(a)->v), (a)->n)

#define array_free(a)                                                                              \
	do {                                                                                       \
		mem_release((a)->v, (a)->cap, sizeof(*(a)->v));                                    \
		(a)->v = NULL;                                                                     \
		(a)->n = (a)->cap = 0;                                                             \
	} while (0)

#endif
