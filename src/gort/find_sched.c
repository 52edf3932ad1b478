/* Ps, Ms, goroutines and the scheduler: allp, allm, allgs, sched, gcrash (runtime/proc.go). */
#include "gort/find_priv.h"

#include "gort/list.h"

#include <stdlib.h>

#define DEFAULT_MAX_MS 10000 /* schedinit */
#define MAX_PS 65536
#define MAX_MS 1000000
#define MAX_GS ((u64)1 << 28)
#define MAX_GS_TESTED 4096
#define MAX_GOID ((u64)1 << 48)
#define MAX_STATUS 11 /* runtime/runtime2.go _Gdeadextra (1.26) */
#define STATUS_SCAN_BIT 0x1000
#define MAX_P_STATUS 4 /* _Pdead */
/* An M is numbered before it is on the list, and off the list before it is counted as gone; so
 * many threads may do that at the same time. */
#define MS_UNDER_WAY 64

static bool read_slice(const struct finder *f, va_t at, u64 limit, struct go_slice *ret)
{
	struct err *err = rt_slice(f->rt, at, limit, ret);

	err_free(err);
	return !err && ret->len && find_dumped(f, ret->ptr, ret->len * sizeof(va_t));
}

static bool is_p(const struct finder *f, va_t p, u64 index)
{
	u64 id, status, mcache, span;

	/* A P on the list has a cache of spans, empty ones included. */
	return find_field(f, p, RT_P_ID, &id) && id == index &&
	       find_field(f, p, RT_P_STATUS, &status) && status <= MAX_P_STATUS &&
	       find_field(f, p, RT_P_MCACHE, &mcache) &&
	       find_dumped(f, mcache, rt_size(f->rt, RT_MCACHE)) &&
	       image_u64(f->rt->im, rt_addr(f->rt, mcache, RT_MCACHE_ALLOC), &span) &&
	       find_dumped(f, span, rt_size(f->rt, RT_MSPAN));
}

/* The size class of an object, which from 1.22 on may have a header of a word. */
static u64 class_of(const struct finder *f, u64 bytes)
{
	va_t table = f->rt->globals[RT_G_SIZE_CLASSES];
	u16 class = 0;

	for (u64 i = 1; i < GO_MAX_SIZE_CLASSES && class < bytes; i++) {
		struct err *err =
			image_read(f->rt->im, table + i * sizeof(class), &class, sizeof(class));

		err_free(err);
		if (err)
			return 0;
	}
	return class;
}

/* Whether an object of the heap has the size of this structure, in slots. */
static bool has_size(const struct finder *f, va_t object, enum rt_field whole)
{
	u64 size = rt_size(f->rt, whole), slot;

	return find_field(f, find_span_of(f, object), RT_MSPAN_ELEMSIZE, &slot) &&
	       (slot == class_of(f, size) || slot == class_of(f, size + sizeof(va_t)));
}

static bool is_allp(const struct finder *f, const struct go_slice *s)
{
	for (u64 i = 0; i < s->len; i++) {
		va_t p;

		if (!image_u64(f->rt->im, s->ptr + i * sizeof(p), &p) || p % 8 != 0 ||
		    !is_p(f, p, i))
			return false;
	}
	return true;
}

static bool is_m(const struct finder *f, va_t m)
{
	va_t g0, owner;

	return find_field(f, m, RT_M_G0, &g0) && g0 && g0 % 8 == 0 &&
	       find_field(f, g0, RT_G_M, &owner) && owner == m;
}

/* The number of Ms on the list that begins with m; 0 when it is none, or damaged. */
static u64 count_ms(const struct finder *f, va_t m, va_t *last)
{
	struct list_guard guard = {0};
	u64 n = 0;

	for (; m; n++) {
		*last = m;
		if (n >= MAX_MS || !is_m(f, m) || !list_guard_step(&guard, m) ||
		    !find_field(f, m, RT_M_ALLLINK, &m))
			return 0;
	}
	return n;
}

static int by_value(const void *a, const void *b)
{
	va_t x = *(const va_t *)a, y = *(const va_t *)b;

	return x < y ? -1 : x > y;
}

static struct err *keep_ms(struct finder *f, va_t m)
{
	while (m) {
		u64 id;

		if (find_field(f, m, RT_M_ID, &id))
			f->max_mid = MAX(f->max_mid, id);
		TRY(array_push(&f->ms, m));
		if (!find_field(f, m, RT_M_ALLLINK, &m))
			break;
	}
	qsort(f->ms.v, f->ms.n, sizeof(*f->ms.v), by_value);
	return NULL;
}

/* allm begins with the newest M and ends with m0, which is a variable. Other variables point to
 * Ms too, idle ones or the one that is made: what hangs off them is a part of the list. Several
 * variables with the same pointer are the same answer. */
static struct err *find_allm(struct finder *f)
{
	struct find_answer a = {.name = "allm"};
	va_t head = 0, last = 0;
	u64 tested = 0;

	for (size_t i = 0; i < f->machines.n; i++) {
		struct find_pointer p = f->machines.v[i];
		u64 n;

		if (p.to == head || p.to == tested)
			continue;
		tested = p.to;
		n = count_ms(f, p.to, &last);
		if (!n || !find_in_variables(f, last))
			continue;
		if (n > a.rank) {
			head = p.to;
			f->m0 = last;
		}
		find_take(&a, p.at, n);
	}
	TRY(find_settle(f, RT_G_ALLM, &a, true));
	return keep_ms(f, head);
}

/* m0.allpSnapshot is a copy of allp that may be old. */
static struct err *find_allp(struct finder *f)
{
	struct find_answer a = {.name = "allp"};
	struct go_slice s, best = {0};
	va_t first;

	for (size_t i = 0; i < f->slices.n; i++) {
		struct find_pointer p = f->slices.v[i];

		if (find_is_part(f, p.at) || !read_slice(f, p.at, MAX_PS, &s) || !is_allp(f, &s) ||
		    (s.ptr == best.ptr && s.len == best.len))
			continue;
		find_take(&a, p.at, s.len);
		if (a.va == p.at)
			best = s;
	}
	TRY(find_settle(f, RT_G_ALLP, &a, true));
	/* Experiments change what is behind the fields of a P that are read. */
	if (!image_u64(f->rt->im, best.ptr, &first) || !has_size(f, first, RT_P))
		return err_new(ERR_FORMAT, "a P has another size than in the layout of %s",
			       f->rt->version.text);
	for (u64 i = 0; i < best.len; i++) {
		va_t p;

		if (image_u64(f->rt->im, best.ptr + i * sizeof(p), &p))
			TRY(array_push(&f->ps, p));
	}
	return NULL;
}

static bool is_g(const struct finder *f, va_t g)
{
	u64 lo, hi, status, goid;

	return find_field(f, g, RT_G_STACK_LO, &lo) && find_field(f, g, RT_G_STACK_HI, &hi) &&
	       lo <= hi && !lo == !hi && hi < GO_MAX_ADDR &&
	       find_field(f, g, RT_G_STATUS, &status) && status &&
	       (status & ~(u64)STATUS_SCAN_BIT) <= MAX_STATUS &&
	       find_field(f, g, RT_G_GOID, &goid) && goid < MAX_GOID;
}

/* A goroutine's descriptor has a number of its own, and is an object of the heap. */
static bool is_allgs(const struct finder *f, const struct go_slice *s, u64 *max_goid)
{
	u64 step = s->len / MAX_GS_TESTED + 1, before = 0;

	*max_goid = 0;
	for (u64 i = 0; i < s->len; i += step) {
		va_t g;
		u64 goid;

		if (!image_u64(f->rt->im, s->ptr + i * sizeof(g), &g) || g % 8 != 0 ||
		    !is_g(f, g) || !has_size(f, g, RT_G) || !find_field(f, g, RT_G_GOID, &goid))
			return false;
		if (i && goid == before)
			return false;
		before = goid;
		*max_goid = MAX(*max_goid, goid);
	}
	return true;
}

/* A GC keeps a part of it, without room to grow (allGsSnapshot): the longest is the whole. */
static struct err *find_allgs(struct finder *f)
{
	struct find_answer a = {.name = "allgs"};
	struct go_slice s, best = {0};
	u64 max_goid;

	for (size_t i = 0; i < f->slices.n; i++) {
		struct find_pointer p = f->slices.v[i];

		if (!read_slice(f, p.at, MAX_GS, &s) || s.len < best.len ||
		    (s.ptr == best.ptr && s.len == best.len) || !is_allgs(f, &s, &max_goid))
			continue;
		find_take(&a, p.at, s.len);
		if (a.va != p.at)
			continue;
		best = s;
		f->max_goid = max_goid;
	}
	return find_settle(f, RT_G_ALLGS, &a, true);
}

static bool is_own_m(const struct finder *f, va_t m)
{
	return bsearch(&m, f->ms.v, f->ms.n, sizeof(m), by_value) != NULL;
}

static bool is_own_p(const struct finder *f, va_t p)
{
	for (size_t i = 0; i < f->ps.n; i++)
		if (f->ps.v[i] == p)
			return true;
	return false;
}

/* schedt counts the Ms that were made and that are gone, and has lists of idle ones. */
static bool is_sched(const struct finder *f, va_t sched)
{
	u64 made, gone, limit, goid, pidle, npidle, midle, freem;
	u64 n = f->ms.n;

	return find_field(f, sched, RT_SCHED_MNEXT, &made) &&
	       find_field(f, sched, RT_SCHED_NMFREED, &gone) && made > f->max_mid && gone <= made &&
	       made - gone + MS_UNDER_WAY >= n && made - gone <= n + MS_UNDER_WAY &&
	       find_field(f, sched, RT_SCHED_MAXMCOUNT, &limit) && limit && limit <= INT32_MAX &&
	       limit >= n && find_field(f, sched, RT_SCHED_GOIDGEN, &goid) && goid >= f->max_goid &&
	       goid < MAX_GOID && find_field(f, sched, RT_SCHED_NPIDLE, &npidle) &&
	       npidle <= f->ps.n && find_field(f, sched, RT_SCHED_PIDLE, &pidle) &&
	       !pidle == !npidle && (!pidle || is_own_p(f, pidle)) &&
	       image_u64(f->rt->im, rt_addr(f->rt, sched, RT_SCHED_MIDLE), &midle) &&
	       (!midle || is_own_m(f, midle)) && find_field(f, sched, RT_SCHED_FREEM, &freem) &&
	       (!freem || is_m(f, freem));
}

/* What is proof where it is there: lists that begin with an M or a P; the limit of threads, which a
 * program seldom changes (dockerd does). */
static u64 rank_sched(const struct finder *f, va_t sched)
{
	u64 limit, pidle, midle, rank = 0;

	if (find_field(f, sched, RT_SCHED_PIDLE, &pidle) && pidle)
		rank += 2;
	if (image_u64(f->rt->im, rt_addr(f->rt, sched, RT_SCHED_MIDLE), &midle) && midle)
		rank += 2;
	if (find_field(f, sched, RT_SCHED_MAXMCOUNT, &limit) && limit == DEFAULT_MAX_MS)
		rank++;
	return rank;
}

static struct err *find_sched(struct finder *f)
{
	struct find_answer a = {.name = "sched"};
	struct find_words it = {.f = f, .range = f->first_bss};
	u64 distance = (u64)f->rt->slots[RT_SCHED_MNEXT].offset;

	while (find_next_words(&it))
		for (size_t i = 0; i < it.n; i++) {
			u64 made = find_word(&it, i);

			/* Ms that are gone keep the difference small, not the number. */
			if (made > f->max_mid && made < f->max_mid + 1 + MS_UNDER_WAY &&
			    is_sched(f, it.va + 8 * i - distance))
				find_take(&a, it.va + 8 * i - distance,
					  rank_sched(f, it.va + 8 * i - distance));
		}
	return find_settle(f, RT_G_SCHED, &a, true);
}

/* The goroutine that a crash of the runtime runs on has a stack, but is on no list (1.22). */
static struct err *find_gcrash(struct finder *f)
{
	struct find_answer a = {.name = "gcrash"};

	for (size_t i = 0; i < f->crash_stacks.n; i++) {
		struct find_pointer p = f->crash_stacks.v[i];
		va_t g = p.at - (u64)f->rt->slots[RT_G_STACK_LO].offset;
		u64 hi, guard;

		if (find_field(f, g, RT_G_STACK_HI, &hi) && hi - p.to == FIND_GCRASH_STACK_BYTES &&
		    find_field(f, g, RT_G_STACKGUARD, &guard) &&
		    guard - p.to == FIND_GCRASH_GUARD_BYTES && find_span_of(f, p.to))
			find_take(&a, g, 0);
	}
	return find_settle(f, RT_G_GCRASH, &a, false);
}

struct err *find_scheduler(struct finder *f)
{
	TRY(find_allm(f));
	TRY(find_allp(f));
	TRY(find_allgs(f));
	TRY(find_sched(f));
	return find_gcrash(f);
}
