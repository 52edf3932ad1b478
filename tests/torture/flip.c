/* Single words of the runtime's memory, changed one at a time; and budgets for what is read of it.
 */
#include "torture/torture.h"

#include "base/mem.h"
#include "support/shipped.h"

/* Nothing that is read of these cores needs more. */
#define BUDGET_BYTES ((u64)256 << 20)

static void begin_flip(struct bench *b)
{
	struct shipped *s = xcalloc(1, sizeof(*s));

	shipped_open(s, b->core, b->exe);
	/* The bench's own copy is not needed: let whole programs see the one that is changed. */
	memfile_free(&b->file);
	b->file = s->file;
	b->own = s;
}

static void end_flip(struct bench *b)
{
	shipped_close(b->own);
	free(b->own);
	memfile_copy(&b->file, b->core);
}

/* Half of the words are variables and spans: most that is read is there. */
static va_t pick_word(const struct shipped *s, struct trial *t)
{
	static const u8 pools[] = {POOL_GLOBALS, POOL_GLOBALS, POOL_SPANS, POOL_SPANS,
				   POOL_OBJECTS, POOL_TABLES,  POOL_ANY};
	enum shipped_pool pool = (enum shipped_pool)pools[trial_below(t, COUNT_OF(pools))];

	return shipped_word(s, pool, trial_random(t));
}

/* A damaged word: a number, or the content of another word, which makes lists into circles. */
static u64 new_word(const struct shipped *s, struct trial *t, u64 old)
{
	va_t other;

	if (trial_below(t, 4))
		return trial_word(t, old);
	other = pick_word(s, t);
	return trial_below(t, 3) ? shipped_read(s, other) : other;
}

/* Changes a word that the trial's numbers choose. */
static struct memfile_change change_word(struct bench *b, struct trial *t)
{
	struct shipped *s = b->own;
	va_t va = pick_word(s, t);
	u64 old = shipped_read(s, va), word = new_word(s, t, old);

	trial_what(t, "word at 0x%llx: 0x%llx -> 0x%llx", (unsigned long long)va,
		   (unsigned long long)old, (unsigned long long)word);
	return shipped_poke(s, va, word);
}

/* The options of a command line. */
static struct opts parse(struct bench *b, struct trial *t, const struct variant *v)
{
	const char *argv[8] = {"spanscope"};
	struct opts o;
	struct err *err;
	int argc = 1;

	for (size_t i = 0; i < COUNT_OF(v->words) && v->words[i]; i++) {
		trial_what(t, "%s%s", i ? " " : ", spanscope ", v->words[i]);
		argv[argc++] = v->words[i];
	}
	argv[argc++] = b->file.path;
	err = opts_parse(argc, (char **)argv, &o);
	if (err)
		abort();
	return o;
}

static void run_flip(struct bench *b, struct trial *t)
{
	struct memfile_change change = change_word(b, t);
	struct opts o = parse(b, t, &variants[t->number % variant_count]);
	struct shipped_result result;
	struct err *err = shipped_analyse(b->own, &o, BUDGET_BYTES, &result);

	if (err)
		trial_fail(t, "an error (%d) instead of a result: %s", (int)err->code, err->msg);
	else if (!result.written && (result.has_heap || o.format != FORMAT_CSV))
		trial_fail(t, "nothing was written");
	if (result.leaked)
		trial_fail(t, "%lld bytes are still charged", (long long)result.leaked);
	err_free(err);
	memfile_undo(&b->file, &change);
	take_stderr(b, b->text, sizeof(b->text));
	if (*b->text)
		trial_fail(t, "a line on stderr: %.300s", b->text);
}

const struct part part_flip = {.name = "flip",
			       .full = 50000,
			       .sample = 1000,
			       .begin = begin_flip,
			       .end = end_flip,
			       .run = run_flip};

/* The same with all that the program does, DWARF included. */
static void run_whole(struct bench *b, struct trial *t)
{
	struct memfile_change change = change_word(b, t);
	const char *more[] = {"--exe", b->exe, NULL};

	run_program(b, t, &variants[t->number % variant_count], more);
	memfile_undo(&b->file, &change);
}

const struct part part_whole = {.name = "whole",
				.full = 2000,
				.sample = 20,
				.begin = begin_flip,
				.end = end_flip,
				.run = run_whole};

/* And without an executable, where variables are found by what they look like. */
static void run_blind(struct bench *b, struct trial *t)
{
	struct memfile_change change = change_word(b, t);
	const char *more[] = {"--no-exe", NULL};

	run_program(b, t, &variants[t->number % variant_count], more);
	memfile_undo(&b->file, &change);
}

const struct part part_blind = {.name = "blind",
				.full = 20000,
				.sample = 100,
				.begin = begin_flip,
				.end = end_flip,
				.run = run_blind};

/* Budgets beyond what the open core has taken, up to what is enough for each command. */
#define LIMIT_STEP_BYTES ((u64)16 << 10)
#define LIMIT_STEPS 200

static void run_limit_child(struct bench *b, struct trial *t)
{
	u64 place = t->number * 4001 % (variant_count * LIMIT_STEPS);
	u64 budget = place / variant_count * LIMIT_STEP_BYTES + 4096;
	struct shipped_result result;
	struct opts o;
	struct err *err;
	int status = 0;

	trial_what(t, "%llu bytes more", (unsigned long long)budget);
	o = parse(b, t, &variants[place % variant_count]);
	err = shipped_analyse(b->own, &o, budget, &result);
	if (err) {
		fprintf(stderr, "spanscope: %s\n", err->msg);
		status = 3;
	}
	if (result.leaked)
		status = 96;
	err_free(err);
	shipped_close(b->own);
	free(b->own);
	exit(status);
}

static void run_limit(struct bench *b, struct trial *t)
{
	check_limit(t, run_child(b, t, run_limit_child), b->text);
}

const struct part part_limit = {.name = "limit",
				.full = 27 * LIMIT_STEPS,
				.sample = 60,
				.begin = begin_flip,
				.end = end_flip,
				.run = run_limit};
