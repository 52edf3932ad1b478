/* Damage to whole files: headers and notes, cuts, shrinking; and too little memory. */
#include "torture/torture.h"

#include "base/mem.h"
#include "cli/session.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

u64 trial_word(struct trial *t, u64 old)
{
	static const u64 steps[] = {1, 8, 4096, 8192, 4 << 20, 64 << 20};
	u64 bit = (u64)1 << trial_below(t, 64), step = steps[trial_below(t, COUNT_OF(steps))];

	switch (trial_below(t, 9)) {
	case 0:
	case 1:
	case 2:
		return old ^ bit;
	case 3:
		return trial_below(t, 2) ? old + step : old - step;
	case 4:
		return 0;
	case 5:
		return trial_below(t, 2) ? UINT64_MAX - trial_below(t, 64) : trial_below(t, 64);
	case 6:
		return bit - trial_below(t, 2);
	case 7:
		return old ^ (bit | (u64)1 << trial_below(t, 64));
	default:
		return trial_random(t);
	}
}

/* The bytes of a file that are ELF and program headers, or a note. */
struct head {
	u64 lo, hi;
};

static struct head find_head(const struct bench *b, bool note)
{
	struct elf_bytes e = {b->file.data, b->file.size};
	Elf64_Ehdr eh;
	Elf64_Phdr ph;

	err_free(elf_header(e, &eh));
	for (u64 i = 0; note && elf_phdr(e, &eh, i, &ph); i++)
		if (ph.p_type == PT_NOTE)
			return (struct head){ph.p_offset, ph.p_offset + ph.p_filesz};
	return (struct head){0, eh.e_phoff + eh.e_phnum * sizeof(ph)};
}

static void run_head(struct bench *b, struct trial *t)
{
	struct head head = find_head(b, trial_below(t, 2));
	u64 off = align_down(head.lo + trial_below(t, head.hi - head.lo), 8), old, word;
	const char *no_exe[] = {"--no-exe", NULL}, *exe[] = {"--exe", b->exe, NULL};
	struct memfile_change change;

	memcpy(&old, b->file.data + off, sizeof(old));
	word = trial_word(t, old);
	trial_what(t, "word at offset 0x%llx: 0x%llx -> 0x%llx", (unsigned long long)off,
		   (unsigned long long)old, (unsigned long long)word);
	change = memfile_poke(&b->file, off, word);
	run_program(b, t, &variants[t->number % variant_count], trial_below(t, 8) ? no_exe : exe);
	memfile_undo(&b->file, &change);
	memfile_refresh(&b->file, b->core);
}

const struct part part_head = {.name = "head", .full = 4000, .sample = 100, .run = run_head};

/* Half of the cuts are where headers, notes and the executable's data are. */
static u64 cut_place(struct trial *t, const struct bench *b)
{
	u64 size = trial_below(t, 2) ? b->file.size : MIN(b->file.size, 1 << 20);

	switch (trial_below(t, 4)) {
	case 0:
		return 1 + trial_below(t, 4096);
	case 1:
		return MAX(align_down(trial_below(t, size), 4096), 1);
	default:
		return 1 + trial_below(t, size - 1);
	}
}

static void run_cut(struct bench *b, struct trial *t)
{
	const char *none[] = {NULL}, *exe[] = {"--exe", b->exe, NULL};
	const struct variant *v = &variants[t->number % variant_count];
	u64 size = cut_place(t, b);
	int status;

	trial_what(t, "cut to %llu bytes", (unsigned long long)size);
	memfile_cut(&b->file, size);
	status = run_program(b, t, v, trial_below(t, 4) ? exe : none);
	/* Without the note nobody can tell whether the executable is the right one. */
	if (status != 3 && status != 4 && !(status == 1 && !strcmp(v->words[0], "verify")))
		trial_fail(t, "status %d for a core that is cut", status);
	memfile_free(&b->file);
	memfile_copy(&b->file, b->core);
}

const struct part part_cut = {.name = "cut", .full = 1000, .sample = 16, .run = run_cut};

/* The core ends while it is read: a line and status 3, or a result if it came too late. */
struct shortener {
	struct memfile *file;
	struct timespec delay;
	u64 size;
};

static void *shorten(void *arg)
{
	struct shortener *s = arg;

	nanosleep(&s->delay, NULL);
	memfile_cut(s->file, s->size);
	return NULL;
}

static void shrink_some_time(struct bench *b, struct trial *t)
{
	const char *argv[] = {"spanscope",          "--exe",      b->exe,
			      "--output=/dev/null", b->file.path, NULL};
	struct shortener s = {.file = &b->file,
			      .delay.tv_nsec = (long)trial_below(t, 40000000),
			      .size = trial_below(t, 4) * 4096};
	pthread_t thread;

	if (pthread_create(&thread, NULL, shorten, &s) != 0)
		abort();
	_exit(spanscope_main(COUNT_OF(argv) - 1, (char **)argv));
}

/* Just behind the opening, so that what comes then has to fall into the hole. */
static void shrink_when_open(struct bench *b, struct trial *t)
{
	struct session *s = xcalloc(1, sizeof(*s));
	const struct binary_options o = {.given = b->exe};

	(void)t;
	os_catch_sigbus();
	err_free(image_open(&s->image, b->file.path, &s->diags));
	err_free(binary_find(&s->binary, &s->image, &o, &s->diags));
	memfile_cut(&b->file, 4096);
	err_free(gort_open(&s->gort, &s->image, &s->binary, &s->diags));
	err_free(residency_build(&s->image, &s->diags));
	_exit(98);
}

static void run_shrink(struct bench *b, struct trial *t)
{
	bool open = t->number % 2;
	int status;

	trial_what(t, "shrinks %s", open ? "when it is open" : "after a while");
	status = run_child(b, t, open ? shrink_when_open : shrink_some_time);
	if (open && (status != 3 || !strstr(b->text, "became shorter")))
		trial_fail(t, "status %d: %s", status, b->text);
	memfile_free(&b->file);
	memfile_copy(&b->file, b->core);
}

const struct part part_shrink = {.name = "shrink", .full = 200, .sample = 6, .run = run_shrink};

/* Budgets from 64 KiB up to what is always enough, for each command. */
#define BUDGET_STEP_KIB 96
#define BUDGET_STEPS 80

static void run_budget_child(struct bench *b, struct trial *t)
{
	char limit[40];
	const char *more[] = {"--exe", b->exe, limit, NULL};
	u64 place = t->number * 4001 % (variant_count * BUDGET_STEPS);
	u64 kib = 64 + place / variant_count * BUDGET_STEP_KIB;

	snprintf(limit, sizeof(limit), "--max-memory=%lluK", (unsigned long long)kib);
	exit(call_program(b, t, &variants[place % variant_count], more));
}

void check_limit(struct trial *t, int status, const char *text)
{
	if (status == 3 && !strstr(text, "raise --max-memory"))
		trial_fail(t, "status 3, but: %s", text);
	else if (status != 0 && status != 3)
		trial_fail(t, "status %d", status);
}

static void run_budget(struct bench *b, struct trial *t)
{
	check_limit(t, run_child(b, t, run_budget_child), b->text);
}

const struct part part_budget = {
	.name = "budget", .full = 27 * BUDGET_STEPS, .sample = 24, .run = run_budget};
