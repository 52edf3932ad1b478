/* Damaged cores by the thousand: the parts of the torture, and what they share.
 *
 * A part is a numbered set of trials on one shipped core. A trial's damage follows from the seed
 * and its number alone, so that any of them can be repeated. Trials run in workers; one that
 * crashes, hangs or dies takes its worker with it, and the rest go on in another. */
#ifndef TORTURE_TORTURE_H
#define TORTURE_TORTURE_H

#include "support/memfile.h"

#define TRIAL_TEXT 512

struct trial {
	u64 number;
	u64 random;               /* state of the trial's own generator */
	char what[TRIAL_TEXT];    /* what was damaged, and the command that looked at it */
	char failure[TRIAL_TEXT]; /* what is wrong with what came out; "" when nothing is */
};

#define STDERR_TEXT 4096

/* One shipped core in a worker. */
struct bench {
	const char *core, *exe; /* paths of the untouched files */
	struct memfile file;    /* the copy that is damaged */
	int stderr_fd;          /* where this process's stderr goes: a file */
	char text[STDERR_TEXT]; /* what a child wrote there */
	void *own;              /* the part's */
};

struct part {
	const char *name;
	unsigned long full, sample;     /* trials on each core */
	void (*begin)(struct bench *b); /* once a worker; NULL: nothing to do */
	void (*end)(struct bench *b);   /* likewise */
	void (*run)(struct bench *b, struct trial *t);
};

extern const struct part part_flip, part_whole, part_blind, part_head, part_cut, part_shrink,
	part_limit, part_budget;

/* The next number of a trial's generator; and one below n. */
u64 trial_random(struct trial *t);
u64 trial_below(struct trial *t, u64 n);

void trial_what(struct trial *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Notes what is wrong, the first time. */
void trial_fail(struct trial *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A word to put in place of another: those that break code more often than others do. */
u64 trial_word(struct trial *t, u64 old);

/* The commands with each of their formats. */
struct variant {
	const char *words[3]; /* of the command line */
};

extern const struct variant variants[];
extern const size_t variant_count;

/* Runs the program on the damaged copy, as a shell would. `more` are further arguments, up to a
 * NULL. Returns the status. */
int call_program(struct bench *b, struct trial *t, const struct variant *v,
		 const char *const *more);

/* Same, and checks what everybody may expect: a status from 0 to 4, and on stderr one line for 2
 * and 3, warnings for 4, nothing for 0 and 1. */
int run_program(struct bench *b, struct trial *t, const struct variant *v, const char *const *more);

/* Runs the function, which exits, in a process of its own, with the same checks. The status; what
 * it wrote to stderr is in b->text. */
int run_child(struct bench *b, struct trial *t, void (*child)(struct bench *b, struct trial *t));

/* Under a budget there is either a result or status 3 and a line that names the way out. */
void check_limit(struct trial *t, int status, const char *text);

/* What a status has to come with on stderr, of which `text` is all. */
void check_stderr(struct trial *t, int status, const char *text);

/* What this process and its children have written to stderr since the last time. */
void take_stderr(const struct bench *b, char *text, size_t size);

/* main() of the program. */
int spanscope_main(int argc, char **argv);

#endif
