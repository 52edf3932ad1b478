/* Goroutines grouped by stack and state, with labels, waits and creators. */
#include "gort/rtget.h"
#include "stack/groups.h"
#include "support/mkgo.h"
#include "support/test.h"

#include <string.h>

#define STACK ((u64)4096)
#define NOW ((u64)5000000000)

enum { GOEXIT, START, WORK, GCWORKER, GOPARK, FUNCTIONS };

static const struct mkpcln_func functions[FUNCTIONS] = {
	[GOEXIT] = {.name = "runtime.goexit", .file = "/a.s", .bytes = 16, .flag = 1, .line = 1},
	[START] = {.name = "main.start", .file = "/m.go", .bytes = 64, .frame = 24, .line = 2},
	[WORK] = {.name = "main.work", .file = "/m.go", .bytes = 64, .frame = 40, .line = 3},
	[GCWORKER] =
		{.name = "runtime.bgsweep", .file = "/g.go", .bytes = 64, .frame = 8, .line = 4},
	[GOPARK] = {.name = "runtime.gopark", .file = "/p.go", .bytes = 64, .frame = 32, .line = 5},
};

static va_t pc_in(int function)
{
	va_t at = MKGO_TEXT + (function == GOEXIT ? 1 : 16);

	for (int i = 0; i < function; i++)
		at += functions[i].bytes;
	return at;
}

struct process {
	struct mkgo *go;
	struct mkgo_core c;
	struct unwinder u;
	struct groups g;
	va_t gs[16];
	size_t n;
};

/* A goroutine that waits with these calls on its stack, the innermost first. */
struct plan {
	int chain[4]; /* ended by -1 */
	unsigned status;
	u8 reason;
	u64 since;
	va_t gopc;
};

static void plant(struct process *p, const struct mkgo_release *r, const struct plan *plans,
		  size_t n)
{
	struct range stacks[16];

	memset(p, 0, sizeof(*p));
	p->go = mkgo_new(r->minor, r->patch);
	mkgo_span(p->go, (struct mkgo_span){.npages = 3, .freeindex = 1});
	for (size_t i = 0; i < n; i++) {
		stacks[i] = mkgo_stack(p->go, STACK);
		p->gs[i] = mkgo_goroutine(p->go, (struct mkgo_g){.status = plans[i].status,
								 .stack = stacks[i],
								 .sched_sp = stacks[i].hi - 512});
	}
	p->n = n;
	mkgo_finish(p->go);
	mkgo_functions(p->go, functions, FUNCTIONS);
	mkgo_poke(p->go, p->go->rt.globals[RT_G_SCHED], RT_SCHED_LASTPOLL, NOW);
	for (size_t i = 0; i < n; i++) {
		va_t sp = stacks[i].hi - 512;
		const int *chain = plans[i].chain;

		mkgo_poke(p->go, p->gs[i], RT_G_SCHED_PC, pc_in(chain[0]));
		mkgo_poke(p->go, p->gs[i], RT_G_WAITREASON, plans[i].reason);
		mkgo_poke(p->go, p->gs[i], RT_G_WAITSINCE, plans[i].since);
		mkgo_poke(p->go, p->gs[i], RT_G_GOPC, plans[i].gopc);
		mkgo_poke(p->go, p->gs[i], RT_G_GOID, 10 + i);
		for (int k = 0; chain[k] >= 0; k++) {
			int next = chain[k + 1] < 0 ? GOEXIT : chain[k + 1];

			sp += functions[chain[k]].frame;
			mkgo_poke_u64(p->go, sp, pc_in(next));
			sp += 8;
			mkgo_poke(p->go, p->gs[i], RT_G_STARTPC, pc_in(chain[k]));
		}
	}
}

static void build(struct process *p, const struct group_options *o)
{
	mkgo_open(&p->c, p->go);
	assert_ok(unwinder_open(&p->u, &p->c.gort, NULL));
	assert_ok(groups_build(&p->u, o, &p->g));
}

static void end(struct process *p)
{
	groups_fini(&p->g);
	unwinder_close(&p->u);
	mkgo_close(&p->c);
}

/* The group of the i-th planted goroutine. */
static const struct group *group_of(const struct process *p, size_t i)
{
	for (size_t k = 0; k < p->g.of.n; k++)
		if (p->c.gort.gs.v.v[k].g == p->gs[i])
			return p->g.of.v[k] == NO_GROUP ? NULL : &p->g.v.v[p->g.of.v[k]];
	return NULL;
}

/* A number that is IO wait in all releases. */
#define IO_WAIT 2

static void test_groups(void **state)
{
	static const struct plan plans[] = {
		{{GOPARK, WORK, START, -1}, G_WAITING, IO_WAIT, NOW - 100, 0x401010},
		{{GOPARK, WORK, START, -1}, G_WAITING, IO_WAIT, 0, 0x401020},
		{{GOPARK, WORK, START, -1}, G_WAITING, IO_WAIT, NOW - 300, 0x401020},
		{{GOPARK, WORK, START, -1}, G_WAITING, 1, NOW + 5, 0x401020},
		{{GOPARK, START, -1}, G_WAITING, IO_WAIT, 0, 0x401010},
		{{GOPARK, WORK, START, -1}, G_RUNNABLE, IO_WAIT, NOW - 300, 0x401010},
		{{GOPARK, GCWORKER, -1}, G_WAITING, 1, 0, 0x401010},
		{{GOPARK, WORK, START, -1}, G_DEAD, IO_WAIT, 0, 0},
	};

	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++) {
		const struct group_options none = {.labels = false};
		const struct group *first;
		struct process p;

		plant(&p, r, plans, COUNT_OF(plans));
		build(&p, &none);
		first = group_of(&p, 0);
		assert_int_equal(p.g.v.n, 5);
		assert_ptr_equal(group_of(&p, 1), first);
		assert_ptr_equal(group_of(&p, 2), first);
		assert_int_equal(first->count, 3);
		assert_int_equal(first->frames, 4);
		assert_int_equal(first->goid, 10);
		assert_int_equal(first->allocated, 3 * STACK);
		assert_int_equal(first->used, 3 * 512);
		assert_int_equal(first->waits_known, 2);
		assert_int_equal(first->waited_least, 100);
		assert_int_equal(first->waited_most, 300);
		assert_false(first->system);
		assert_int_equal(group_creator(&p.g, first)->gopc, 0x401020);
		assert_int_equal(group_creator(&p.g, first)->count, 2);
		assert_string_equal(group_state(&p.c.gort.rt, first), "IO wait");
		assert_string_equal(group_state(&p.c.gort.rt, group_of(&p, 3)),
				    "GC assist marking");
		assert_int_equal(group_of(&p, 3)->waits_known, 0);
		assert_int_equal(group_of(&p, 4)->frames, 3);
		assert_string_equal(group_state(&p.c.gort.rt, group_of(&p, 5)), "runnable");
		assert_int_equal(group_of(&p, 5)->waits_known, 0);
		assert_true(group_of(&p, 6)->system);
		assert_null(group_of(&p, 7));
		assert_int_equal(p.g.damaged, 0);
		end(&p);
	}
}

static void test_waited(void **state)
{
	static const struct plan plans[] = {
		{{GOPARK, START, -1}, G_WAITING, IO_WAIT, NOW - 100, 0},
		{{GOPARK, START, -1}, G_WAITING, IO_WAIT, NOW - 300, 0},
		{{GOPARK, START, -1}, G_WAITING, IO_WAIT, 0, 0},
	};
	const struct group_options long_ones = {.waited_least = 200};
	struct process p;

	(void)state;
	plant(&p, &mkgo_releases[0], plans, COUNT_OF(plans));
	build(&p, &long_ones);
	assert_int_equal(p.g.v.n, 1);
	assert_int_equal(p.g.v.v[0].count, 1);
	assert_null(group_of(&p, 0));
	assert_non_null(group_of(&p, 1));
	end(&p);
}

/* What stands in memory of a string, of a pair of them, and of the bytes. */
#define TEXTS (MKGO_DATA + 0x1000)

static void poke_string(struct process *p, va_t at, const char *s, va_t bytes)
{
	u64 word = 0;

	assert_true(strlen(s) <= sizeof(word));
	memcpy(&word, s, strlen(s));
	mkgo_poke_u64(p->go, bytes, word);
	mkgo_poke_u64(p->go, at, bytes);
	mkgo_poke_u64(p->go, at + 8, strlen(s));
}

/* Labels as the release keeps them, at a place of their own; returns what g.labels points to. */
static va_t poke_labels(struct process *p, size_t place, const char *key, const char *value)
{
	va_t base = TEXTS + 0x400 * place;

	if (p->go->rt.dialect.labels_are_list) {
		mkgo_poke_u64(p->go, base, base + 0x40);
		mkgo_poke_u64(p->go, base + 8, 1);
		mkgo_poke_u64(p->go, base + 16, 1);
		poke_string(p, base + 0x40, key, base + 0x80);
		poke_string(p, base + 0x50, value, base + 0x88);
		return base;
	}
	mkgo_poke_u64(p->go, base, base + 0x10); /* the map's header */
	mkgo_poke_u64(p->go, base + 0x10, 1);
	mkgo_poke_u64(p->go, base + 0x18, 0);
	mkgo_poke_u64(p->go, base + 0x20, base + 0x100);
	mkgo_poke_u64(p->go, base + 0x28, 0);
	mkgo_poke_u64(p->go, base + 0x100, 0x0000c10000000100); /* slot 5; slot 1 is empty */
	poke_string(p, base + 0x100 + 8 + 16 * 5, key, base + 0x80);
	poke_string(p, base + 0x100 + 8 + 128 + 16 * 5, value, base + 0x88);
	mkgo_poke_u64(p->go, base + 0x100 + 264, 0);
	return base;
}

static void test_labels(void **state)
{
	static const struct plan plans[] = {
		{{GOPARK, START, -1}, G_WAITING, IO_WAIT, 0, 0},
		{{GOPARK, START, -1}, G_WAITING, IO_WAIT, 0, 0},
		{{GOPARK, START, -1}, G_WAITING, IO_WAIT, 0, 0},
		{{GOPARK, START, -1}, G_WAITING, IO_WAIT, 0, 0},
		{{GOPARK, START, -1}, G_WAITING, IO_WAIT, 0, 0},
	};

	(void)state;
	for (const struct mkgo_release *r = mkgo_releases; r->minor; r++)
		for (int asked = 0; asked < 2; asked++) {
			const struct group_options o = {.labels = asked};
			const struct label_set *set;
			struct process p;

			plant(&p, r, plans, COUNT_OF(plans));
			p.go->rt.dialect = dialect_of(&p.go->rt.version, arch_get(ARCH_AMD64));
			mkgo_poke(p.go, p.gs[0], RT_G_LABELS, poke_labels(&p, 0, "user", "ann"));
			mkgo_poke(p.go, p.gs[1], RT_G_LABELS, poke_labels(&p, 1, "user", "ann"));
			mkgo_poke(p.go, p.gs[2], RT_G_LABELS, poke_labels(&p, 2, "user", "bob"));
			mkgo_poke(p.go, p.gs[3], RT_G_LABELS, 0xdead0000);
			build(&p, &o);
			assert_int_equal(p.g.v.n, asked ? 3 : 1);
			assert_int_equal(group_of(&p, 0)->count, asked ? 2 : 5);
			assert_int_equal(group_of(&p, 0)->labelled, asked ? 2 : 4);
			assert_int_equal(p.g.label_sets.n, asked ? 2 : 0);
			if (asked) {
				set = &p.g.label_sets.v[group_of(&p, 2)->label_set - 1];
				assert_int_equal(set->n, 1);
				assert_string_equal(set->v[0].key, "user");
				assert_string_equal(set->v[0].value, "bob");
				assert_int_equal(group_of(&p, 3)->label_set, 0);
				assert_ptr_equal(group_of(&p, 3), group_of(&p, 4));
			}
			end(&p);
		}
}

TEST_MAIN(TEST(test_groups), TEST(test_waited), TEST(test_labels))
