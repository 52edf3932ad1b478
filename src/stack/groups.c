#include "stack/groups.h"

#include "stack/calls.h"

#include <string.h>

struct build {
	struct unwinder *u;
	const struct group_options *o;
	struct groups *g;
	struct map groups, creators, label_sets, label_pointers;
	struct stack stack;
};

u64 groups_waited(const struct groups *g, const struct goroutine_detail *detail)
{
	return detail->waitsince && detail->waitsince < g->clock ? g->clock - detail->waitsince : 0;
}

static bool same_labels(const struct label_set *set, const struct label *v, size_t n)
{
	if (set->n != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (strcmp(set->v[i].key, v[i].key) != 0 ||
		    strcmp(set->v[i].value, v[i].value) != 0)
			return false;
	return true;
}

static u64 hash_text(u64 hash, const char *s)
{
	for (; *s; s++)
		hash = map_mix(hash, (u8)*s);
	return map_mix(hash, 0x100);
}

static struct err *keep_labels(struct groups *g, const struct label *v, size_t n)
{
	struct label *own = arena_alloc(&g->arena, MAX(n, 1) * sizeof(*own));

	for (size_t i = 0; i < n; i++)
		own[i] = (struct label){arena_strdup(&g->arena, v[i].key),
					arena_strdup(&g->arena, v[i].value)};
	return array_push(&g->label_sets, {own, n});
}

/* Index + 1 of the set that equals these labels. */
static struct err *intern_labels(struct build *b, const struct label *v, size_t n, u32 *ret)
{
	u64 hash = n;

	for (size_t i = 0; i < n; i++)
		hash = hash_text(hash_text(hash, v[i].key), v[i].value);
	for (;; hash++) {
		bool fresh;
		u32 *index;

		TRY(map_at(&b->label_sets, hash | 1, &index, &fresh));
		if (fresh) {
			TRY(keep_labels(b->g, v, n));
			*index = (u32)b->g->label_sets.n;
		}
		*ret = *index;
		if (fresh || same_labels(&b->g->label_sets.v[*index - 1], v, n))
			return NULL;
	}
}

/* Goroutines inherit the pointer to their labels: each is read once. */
static struct err *find_labels(struct build *b, va_t labels, u32 *ret)
{
	struct label v[LABELS_MAX];
	struct arena scratch = {.head = NULL};
	bool fresh;
	u32 *index, set = 0;
	size_t n;
	struct err *err;

	*ret = 0;
	if (!b->o->labels || !labels)
		return NULL;
	TRY(map_at(&b->label_pointers, labels, &index, &fresh));
	*ret = *index;
	if (!fresh)
		return NULL;
	n = labels_read(b->u->rt, labels, &scratch, v);
	err = n ? intern_labels(b, v, n, &set) : NULL;
	arena_fini(&scratch);
	*index = *ret = set;
	return err;
}

static bool is_system(const struct unwinder *u, const struct goroutine_detail *detail)
{
	/* runtime/traceback.go isSystemGoroutine */
	static const char *const user[] = {"runtime.main", "runtime.corostart",
					   "runtime.handleAsyncEvent"};
	const char *name = symbols_name(&u->symbols, detail->startpc);

	for (size_t i = 0; i < COUNT_OF(user); i++)
		if (!strcmp(name, user[i]))
			return false;
	return call_is_runtime(name);
}

/* Whether it is a goroutine for finalizers or cleanups (renamed and added in 1.25), and its stack
 * shows one: it is listed while it runs code that is not the runtime's. */
static bool runs_user_code(const struct unwinder *u, const struct goroutine_detail *detail,
			   const struct stack *s)
{
	static const char *const callers[] = {"runtime.runfinq", "runtime.runFinalizers",
					      "runtime.runCleanups"};
	const char *start = symbols_name(&u->symbols, detail->startpc);
	bool calls = false;

	for (size_t i = 0; i < COUNT_OF(callers); i++)
		calls |= !strcmp(start, callers[i]);
	if (!calls)
		return false;
	for (size_t i = 0; i < s->n; i++) {
		const char *name = symbols_name(&u->symbols, s->pc[i]);

		if (*name && !call_is_runtime(name) &&
		    strncmp(name, "internal/", strlen("internal/")) != 0)
			return true;
	}
	return false;
}

static bool same_group(const struct groups *g, const struct group *a, const struct group *key,
		       const struct stack *s)
{
	return a->status == key->status && a->wait_reason == key->wait_reason &&
	       a->end == key->end && a->label_set == key->label_set && a->frames == s->n &&
	       (!s->n || !memcmp(g->pcs.v + a->frame, s->pc, s->n * sizeof(*s->pc)));
}

static u64 hash_group(const struct group *key, const struct stack *s)
{
	u64 hash = map_mix(key->label_set,
			   (u64)key->status << 16 | (u64)key->wait_reason << 8 | (u64)key->end);

	for (size_t i = 0; i < s->n; i++)
		hash = map_mix(hash, s->pc[i]);
	return hash;
}

static struct err *new_group(struct build *b, struct group key,
			     const struct goroutine_detail *detail)
{
	const struct stack *s = &b->stack;
	struct groups *g = b->g;

	if (s->n > UINT32_MAX - g->pcs.n)
		return err_new(ERR_LIMIT, "there are more than %u frames", UINT32_MAX);
	key.frame = (u32)g->pcs.n;
	key.frames = (u32)s->n;
	key.goid = UINT64_MAX;
	key.system = is_system(b->u, detail) && !runs_user_code(b->u, detail, s);
	key.in_c = s->n && !strcmp(symbols_name(&b->u->symbols, s->pc[0]), "runtime.cgocall");
	TRY(array_reserve(&g->pcs, s->n));
	if (s->n)
		memcpy(g->pcs.v + g->pcs.n, s->pc, s->n * sizeof(*s->pc));
	g->pcs.n += s->n;
	return array_push(&g->v, key);
}

/* The group for the stack that was just unwound. */
static struct err *find_group(struct build *b, const struct group *key,
			      const struct goroutine_detail *detail, u32 *ret)
{
	u64 hash = hash_group(key, &b->stack);

	for (;; hash++) {
		bool fresh;
		u32 *index;

		TRY(map_at(&b->groups, hash ? hash : 1, &index, &fresh));
		if (fresh) {
			TRY(new_group(b, *key, detail));
			*index = (u32)b->g->v.n;
		}
		*ret = *index - 1;
		if (fresh || same_group(b->g, &b->g->v.v[*ret], key, &b->stack))
			return NULL;
	}
}

/* The entry of one creator of a group, made when there is none yet. */
static struct err *creator_at(struct build *b, struct group *group, u64 key, va_t gopc,
			      struct creator **ret)
{
	struct groups *g = b->g;
	bool fresh;
	u32 *index;

	TRY(map_at(&b->creators, key ? key : 1, &index, &fresh));
	if (fresh) {
		TRY(array_push(&g->creators, {gopc, 0, group->creators}));
		group->creators = *index = (u32)g->creators.n;
	}
	*ret = &g->creators.v[*index - 1];
	return NULL;
}

static struct err *count_creator(struct build *b, u32 group, va_t gopc)
{
	u64 key = map_mix(gopc, group);
	struct creator *c;

	TRY(creator_at(b, &b->g->v.v[group], key, gopc, &c));
	while (c->gopc != gopc) /* another one that has the same hash */
		TRY(creator_at(b, &b->g->v.v[group], ++key, gopc, &c));
	c->count++;
	return NULL;
}

static void add_to_group(struct groups *g, u32 index, const struct goroutine *gr,
			 const struct goroutine_detail *detail)
{
	struct group *group = &g->v.v[index];
	u64 waited = groups_waited(g, detail);

	group->count++;
	group->goid = MIN(group->goid, gr->goid);
	group->locked += detail->lockedm != 0;
	group->labelled += detail->labels != 0;
	group->allocated += gr->stack.hi - gr->stack.lo;
	group->used += gr->stack.hi - gr->sp;
	if (!waited)
		return;
	if (!group->waits_known++ || waited < group->waited_least)
		group->waited_least = waited;
	group->waited_most = MAX(group->waited_most, waited);
	group->waited_long += waited >= LONG_WAIT_NS;
}

static void note_damage(struct build *b, const struct goroutine *gr)
{
	if (b->stack.end != STACK_DAMAGED)
		return;
	if (!b->g->damaged++) {
		b->g->damage = b->stack.stop;
		b->g->damaged_goid = gr->goid;
	}
}

static struct err *add_goroutine(struct build *b, const struct goroutine *gr, u32 *ret)
{
	struct goroutine_detail detail;
	struct group key = {.status = gr->status};

	if (!goroutine_detail(b->u->rt, gr, &detail)) {
		b->g->unreadable++;
		return NULL;
	}
	if (gr->status != G_WAITING)
		detail.waitsince = 0; /* left over from before */
	if (b->o->waited_least && groups_waited(b->g, &detail) < b->o->waited_least)
		return NULL;
	TRY(unwind_goroutine(b->u, gr, &detail, &b->stack));
	note_damage(b, gr);
	key.end = b->stack.end;
	if (gr->status == G_WAITING)
		key.wait_reason = detail.wait_reason;
	TRY(find_labels(b, detail.labels, &key.label_set));
	TRY(find_group(b, &key, &detail, ret));
	/* The first one is started by assembly, which nobody wrote a go statement in. */
	TRY(count_creator(b, *ret, gr->goid == 1 ? 0 : detail.gopc));
	add_to_group(b->g, *ret, gr, &detail);
	return NULL;
}

static struct err *build_all(struct build *b)
{
	const struct gort *gort = b->u->gort;
	struct groups *g = b->g;

	g->clock = goroutines_clock(&gort->rt, &gort->procs);
	TRY(array_reserve(&g->of, gort->gs.v.n));
	for (size_t i = 0; i < gort->gs.v.n; i++) {
		u32 index = NO_GROUP;

		if (!goroutine_is_dead(&gort->gs.v.v[i]))
			TRY(add_goroutine(b, &gort->gs.v.v[i], &index));
		g->of.v[g->of.n++] = index;
	}
	return NULL;
}

struct err *groups_build(struct unwinder *u, const struct group_options *o, struct groups *ret)
{
	struct build *b = xcalloc(1, sizeof(*b));
	struct err *err;

	b->u = u;
	b->o = o;
	b->g = ret;
	err = build_all(b);
	map_fini(&b->groups);
	map_fini(&b->creators);
	map_fini(&b->label_sets);
	map_fini(&b->label_pointers);
	free(b);
	return err;
}

void groups_fini(struct groups *g)
{
	array_free(&g->v);
	array_free(&g->pcs);
	array_free(&g->creators);
	array_free(&g->of);
	array_free(&g->label_sets);
	arena_fini(&g->arena);
}

const struct creator *group_creator(const struct groups *g, const struct group *group)
{
	const struct creator *most = &g->creators.v[group->creators - 1];

	for (u32 i = most->next; i; i = g->creators.v[i - 1].next)
		if (g->creators.v[i - 1].count > most->count ||
		    (g->creators.v[i - 1].count == most->count &&
		     g->creators.v[i - 1].gopc < most->gopc))
			most = &g->creators.v[i - 1];
	return most;
}

const char *group_state(const struct rt *rt, const struct group *group)
{
	enum wait_kind kind;
	const char *reason = wait_reason_name(rt, group->wait_reason, &kind);

	return reason ? reason : goroutine_status_name(group->status);
}
