#include "report/verdicts_priv.h"

#include "base/bits.h"
#include "base/units.h"

#include <stdlib.h>

#define LEAST_BYTES ((u64)1 << 20) /* less is no answer to anything, whatever its share */

u64 judged_resident(const struct judged *f, enum category c)
{
	return ledger_columns(f->s->ledger, c).state[STATE_RESIDENT];
}

const char *judged_size(const struct judged *f, u64 bytes)
{
	char buf[UNITS_BUF];

	return SAY(f, "%s", units_bytes((i64)MIN(bytes, INT64_MAX), buf));
}

void verdict_evidence(struct verdict *v, const char *key, u64 value)
{
	if (v->evidence_count < VERDICT_EVIDENCE) {
		v->evidence[v->evidence_count].key = key;
		v->evidence[v->evidence_count++].value = value;
	}
}

static const struct rule {
	const char *id, *brief;
	unsigned least; /* permille of the resident total */
	const char *part;
	u64 classes;
	judge_fn *judge;
} rules[] = {
#define IN(class) ((u64)1 << CAT_##class)
#define V(id, brief, least, part, classes, judge) {id, brief, least, part, classes, judge},
#include "report/verdicts.def"
#undef V
};

_Static_assert(CAT_COUNT <= 64, "a set of classes is a word");
_Static_assert(COUNT_OF(rules) <= VERDICT_MAX, "one of each");

const char *verdict_name(size_t i)
{
	return i < COUNT_OF(rules) ? rules[i].id : NULL;
}

/* Disjoint ones first, then by size; equal ones keep the order of the table. */
static int by_weight(const void *a, const void *b)
{
	const struct verdict *x = a, *y = b;

	if (!x->part != !y->part)
		return x->part ? 1 : -1;
	return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

/* Unwinding a million goroutines takes seconds: only where their stacks matter. */
static struct err *find_groups(struct judged *f, struct goroutine_groups *gg)
{
	const struct group_options none = {.labels = false};
	u64 bytes = judged_resident(f, CAT_STACK_USED) + judged_resident(f, CAT_STACK_UNUSED);

	if (bytes < MAX(f->total / 1000 * STACKS_LEAST_PERMILLE, LEAST_BYTES))
		return NULL;
	f->groups = gg;
	TRY(goroutine_groups_open(f->s, &none, NULL, gg));
	return judged_find_leak(f);
}

static void judge_all(struct judged *f, struct verdict ret[static VERDICT_MAX], size_t *n)
{
	for (size_t i = 0; i < COUNT_OF(rules); i++) {
		struct verdict v = {.id = rules[i].id,
				    .brief = rules[i].brief,
				    .part = rules[i].part,
				    .classes = rules[i].classes};

		rules[i].judge(f, &v);
		if (v.bytes >= MAX(f->total / 1000 * rules[i].least, LEAST_BYTES))
			ret[(*n)++] = v;
	}
	qsort(ret, *n, sizeof(*ret), by_weight);
}

struct err *verdicts_find(const struct snapshot *s, struct doc *d,
			  struct verdict ret[static VERDICT_MAX], size_t *n)
{
	struct judged f = {.s = s, .d = d};
	struct goroutine_groups gg = {.resident = {NULL, 0, 0}};
	struct err *err;

	*n = 0;
	f.total = ledger_total(s->ledger).state[STATE_RESIDENT];
	TRY(mstats_read(s->gort, &f.m));
	judged_find_cleared(&f);
	err = find_groups(&f, &gg);
	if (!err)
		judge_all(&f, ret, n);
	goroutine_groups_close(&gg);
	return err;
}
