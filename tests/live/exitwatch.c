/* Runs a program and, when it has dumped core, writes down which of its pages were in memory:
 *
 *     exitwatch FOLDER PROGRAM [ARGUMENT...]
 *
 * A thread that is traced stops once more on its way out (PTRACE_EVENT_EXIT). For the thread that
 * dumps, that is after the core has been written and before the address space goes: nothing of
 * the program runs any more, so what /proc says then is true of the core. FOLDER gets copies of
 * smaps, smaps_rollup, maps, status, stat and auxv, of the first page of the executable as
 * exe-header, of the entries of pagemap for all mappings in a row, and the file "pages" with a line
 * for each run of pages, which begins with a line of what such lines can tell:
 *
 *     known zero guard huge lazyfree
 *     c000000000-c000002000 present
 *     55d0c8a41000-55d0c8a42000 present file
 *     7f1d5c000000-7f1d5c001000 present zero       (the shared zero page)
 *     7f1d5c001000-7f1d5c002000 swapped guard      (a guard marker, no swapped page)
 *
 * The program gets every signal that it would get without this, and those that exitwatch gets.
 * Its exit status, or the signal that it died of, becomes that of exitwatch. */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

enum {
	EXIT_TROUBLE = 125, /* ours, not the program's */
	CORE_DUMPED = 0x80, /* in a wait status */
};

/* <linux/fs.h> has these from Linux 6.7 on, and the last category from 6.15 on. */
#define SCAN_FILE ((uint64_t)1 << 2)
#define SCAN_PRESENT ((uint64_t)1 << 3)
#define SCAN_SWAPPED ((uint64_t)1 << 4)
#define SCAN_ZERO ((uint64_t)1 << 5)
#define SCAN_HUGE ((uint64_t)1 << 6)
#define SCAN_GUARD ((uint64_t)1 << 8)

/* Not the kernel's: given back by MADV_FREE. */
#define LAZYFREE ((uint64_t)1 << 32)

struct page_region {
	uint64_t start, end, categories;
};

struct scan_arg {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};

#define SCAN_IOCTL _IOWR('f', 16, struct scan_arg)

/* /proc/PID/pagemap, a word a page. */
#define PAGEMAP_EXCLUSIVE ((uint64_t)1 << 56)
#define PAGEMAP_GUARD ((uint64_t)1 << 58)
#define PAGEMAP_FILE ((uint64_t)1 << 61)
#define PAGEMAP_SWAPPED ((uint64_t)1 << 62)
#define PAGEMAP_PRESENT ((uint64_t)1 << 63)
#define PAGEMAP_FRAME (((uint64_t)1 << 55) - 1)

/* /proc/kpageflags, a word a frame: such a page is anonymous and not bound for swap. */
#define FRAME_ANON ((uint64_t)1 << 12)
#define FRAME_SWAPBACKED ((uint64_t)1 << 14)

static pid_t child;

static FILE *create(int folder, const char *name)
{
	int fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	if (!file)
		err(EXIT_TROUBLE, "%s", name);
	return file;
}

static void finish(FILE *file, const char *name)
{
	bool bad = ferror(file);

	if (fclose(file) || bad)
		err(EXIT_TROUBLE, "%s", name);
}

static int open_proc(pid_t tid, const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		err(EXIT_TROUBLE, "%s", path);
	return fd;
}

static void copy_text(pid_t tid, int folder, const char *name)
{
	FILE *out = create(folder, name);
	int fd = open_proc(tid, name);
	char buf[1 << 16];
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		fwrite(buf, 1, (size_t)n, out);
	if (n < 0)
		err(EXIT_TROUBLE, "%s", name);
	close(fd);
	finish(out, name);
}

static void print_run(FILE *out, uint64_t lo, uint64_t hi, uint64_t categories)
{
	static const struct {
		uint64_t bit;
		const char *word;
	} words[] = {
		{SCAN_PRESENT, "present"}, {SCAN_SWAPPED, "swapped"}, {SCAN_FILE, "file"},
		{SCAN_ZERO, "zero"},       {SCAN_GUARD, "guard"},     {SCAN_HUGE, "huge"},
		{LAZYFREE, "lazyfree"},
	};

	fprintf(out, "%" PRIx64 "-%" PRIx64, lo, hi);
	for (size_t i = 0; i < COUNT_OF(words); i++)
		if (categories & words[i].bit)
			fprintf(out, " %s", words[i].word);
	fputc('\n', out);
}

/* Whether a page that is there, of private memory, was given back by MADV_FREE. */
static bool is_lazyfree(int pagemap, int frames, uint64_t va)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), word, flags;

	if (pread(pagemap, &word, sizeof(word), (off_t)(va / page * sizeof(word))) <= 0)
		err(EXIT_TROUBLE, "pagemap");
	word &= PAGEMAP_FRAME;
	if (pread(frames, &flags, sizeof(flags), (off_t)(word * sizeof(flags))) <= 0)
		err(EXIT_TROUBLE, "kpageflags");
	return (flags & FRAME_ANON) && !(flags & FRAME_SWAPBACKED);
}

/* A run of the scan, cut where lazy pages begin or end. */
static void print_region(FILE *out, int pagemap, int frames, const struct page_region *r)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), lo = r->start, at;
	bool lazy = false;

	if (frames < 0 ||
	    (r->categories & (SCAN_PRESENT | SCAN_FILE | SCAN_ZERO)) != SCAN_PRESENT) {
		print_run(out, r->start, r->end, r->categories);
		return;
	}
	for (at = lo; at < r->end; at += page) {
		bool now = is_lazyfree(pagemap, frames, at);

		if (now != lazy && at > lo) {
			print_run(out, lo, at, r->categories | (lazy ? LAZYFREE : 0));
			lo = at;
		}
		lazy = now;
	}
	print_run(out, lo, at, r->categories | (lazy ? LAZYFREE : 0));
}

/* By PAGEMAP_SCAN; false when the kernel does not know it, or not all categories. */
static bool scan_pages(int pagemap, int frames, uint64_t categories, FILE *out)
{
	struct page_region regions[512];
	struct scan_arg arg = {
		.size = sizeof(arg),
		.end = ((uint64_t)1 << 47) - (uint64_t)sysconf(_SC_PAGESIZE), /* all user pages */
		.vec = (uintptr_t)regions,
		.vec_len = COUNT_OF(regions),
		.category_anyof_mask = categories,
		.return_mask = categories | SCAN_FILE | SCAN_HUGE,
	};
	bool begun = false;

	while (arg.start < arg.end) {
		int n = ioctl(pagemap, SCAN_IOCTL, &arg);

		if (n < 0 && (errno == ENOTTY || errno == EINVAL) && arg.start == 0)
			return false;
		if (n < 0)
			err(EXIT_TROUBLE, "PAGEMAP_SCAN");
		if (!begun)
			fprintf(out, "known zero%s huge%s\n",
				categories & SCAN_GUARD ? " guard" : "",
				frames < 0 ? "" : " lazyfree");
		begun = true;
		for (int i = 0; i < n; i++)
			print_region(out, pagemap, frames, &regions[i]);
		arg.start = arg.walk_end;
	}
	return true;
}

static uint64_t categories_of(uint64_t word)
{
	/* Or a page that a fork has left in common. */
	bool zero = (word & PAGEMAP_PRESENT) && !(word & (PAGEMAP_FILE | PAGEMAP_EXCLUSIVE));

	return (word & PAGEMAP_PRESENT ? SCAN_PRESENT : 0) |
	       (word & PAGEMAP_SWAPPED ? SCAN_SWAPPED : 0) | (word & PAGEMAP_FILE ? SCAN_FILE : 0) |
	       (word & PAGEMAP_GUARD ? SCAN_GUARD : 0) | (zero ? SCAN_ZERO : 0);
}

/* The same by reading: for kernels before 6.7. */
static void read_pages(pid_t tid, int pagemap, FILE *out)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	FILE *maps = fdopen(open_proc(tid, "maps"), "r");
	char line[PATH_MAX + 128], *rest;

	fputs("known zero guard\n", out);
	while (maps && fgets(line, sizeof(line), maps)) {
		uint64_t lo = strtoull(line, &rest, 16), hi = strtoull(rest + 1, NULL, 16), word;

		for (; lo < hi; lo += page) {
			/* The vsyscall page has no word. */
			if (pread(pagemap, &word, sizeof(word),
				  (off_t)(lo / page * sizeof(word))) <= 0)
				break;
			if (categories_of(word))
				print_run(out, lo, lo + page, categories_of(word));
		}
	}
	if (!maps || fclose(maps))
		err(EXIT_TROUBLE, "maps");
}

static void copy_pages(pid_t tid, int folder)
{
	const uint64_t known = SCAN_PRESENT | SCAN_SWAPPED | SCAN_ZERO;
	FILE *out = create(folder, "pages");
	int pagemap = open_proc(tid, "pagemap");
	int frames = open("/proc/kpageflags", O_RDONLY | O_CLOEXEC); /* root's alone */

	if (!scan_pages(pagemap, frames, known | SCAN_GUARD, out) &&
	    !scan_pages(pagemap, frames, known, out))
		read_pages(tid, pagemap, out);
	if (frames >= 0)
		close(frames);
	close(pagemap);
	finish(out, "pages");
}

/* The entries of all mappings in a row. The vsyscall page has none. */
static void copy_entries(pid_t tid, int folder)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), entries[8192];
	FILE *maps = fdopen(open_proc(tid, "maps"), "r"), *out = create(folder, "pagemap");
	int pagemap = open_proc(tid, "pagemap");
	char line[PATH_MAX + 128], *rest;

	while (maps && fgets(line, sizeof(line), maps)) {
		uint64_t lo = strtoull(line, &rest, 16), hi = strtoull(rest + 1, NULL, 16);
		ssize_t n = 1;

		for (lo = lo / page * 8, hi = hi / page * 8; lo < hi && n > 0; lo += (uint64_t)n) {
			size_t want = hi - lo < sizeof(entries) ? hi - lo : sizeof(entries);

			n = pread(pagemap, entries, want, (off_t)lo);
			if (n > 0)
				fwrite(entries, 1, (size_t)n, out);
		}
	}
	if (!maps || fclose(maps))
		err(EXIT_TROUBLE, "maps");
	close(pagemap);
	finish(out, "pagemap");
}

static void copy_header(pid_t tid, int folder)
{
	char page[4096];
	int fd = open_proc(tid, "exe");
	ssize_t n = read(fd, page, sizeof(page));
	FILE *out = create(folder, "exe-header");

	if (n > 0)
		fwrite(page, 1, (size_t)n, out);
	close(fd);
	finish(out, "exe-header");
}

static void copy_all(pid_t tid, const char *path)
{
	static const char *const texts[] = {"smaps", "smaps_rollup", "maps", "status", "auxv"};
	int folder;

	if (mkdir(path, 0777) && errno != EEXIST)
		err(EXIT_TROUBLE, "%s", path);
	folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		err(EXIT_TROUBLE, "%s", path);
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		copy_text(tid, folder, texts[i]);
	copy_text(child, folder, "stat"); /* a thread has one of its own */
	copy_pages(tid, folder);
	copy_entries(tid, folder);
	copy_header(tid, folder);
	close(folder);
}

/* Lets a thread that has stopped go on. It may have been killed meanwhile. */
static void go_on(pid_t tid, int status, const char *folder)
{
	static bool copied;
	int event = status >> 16;
	long sig = WSTOPSIG(status);
	unsigned long message;
	enum __ptrace_request request = PTRACE_CONT;

	if (event == PTRACE_EVENT_EXIT && !copied &&
	    ptrace(PTRACE_GETEVENTMSG, tid, 0L, &message) == 0 && (message & CORE_DUMPED)) {
		copy_all(tid, folder);
		copied = true;
	}
	if (event == PTRACE_EVENT_STOP && sig != SIGTRAP)
		request = PTRACE_LISTEN; /* a group stop; SIGTRAP is a new thread */
	if (ptrace(request, tid, 0L, event ? 0L : sig) && errno != ESRCH)
		err(EXIT_TROUBLE, "ptrace");
}

static void forward(int sig)
{
	kill(child, sig);
}

/* The child waits in read until it is traced. */
static void start(char **argv)
{
	const int forwarded[] = {SIGHUP, SIGINT, SIGQUIT, SIGABRT, SIGTERM, SIGUSR1, SIGUSR2};
	const long options = PTRACE_O_TRACEEXIT | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
	int gate[2];

	if (pipe2(gate, O_CLOEXEC))
		err(EXIT_TROUBLE, "pipe");
	child = fork();
	if (child == 0) {
		close(gate[1]);
		if (read(gate[0], &(char){0}, 1) == 1)
			execvp(argv[0], argv);
		err(EXIT_TROUBLE, "%s", argv[0]);
	}
	if (child < 0 || ptrace(PTRACE_SEIZE, child, 0L, options))
		err(EXIT_TROUBLE, "%s", argv[0]);
	for (size_t i = 0; i < COUNT_OF(forwarded); i++)
		signal(forwarded[i], forward);
	if (write(gate[1], "g", 1) != 1)
		err(EXIT_TROUBLE, "pipe");
	close(gate[0]);
	close(gate[1]);
}

/* Ends as the program did, without a core of our own. */
static int end_as(int status)
{
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	setrlimit(RLIMIT_CORE, &(struct rlimit){0});
	signal(WTERMSIG(status), SIG_DFL);
	raise(WTERMSIG(status));
	return EXIT_TROUBLE;
}

int main(int argc, char **argv)
{
	int status;

	if (argc < 3)
		errx(EXIT_TROUBLE, "usage: exitwatch FOLDER PROGRAM [ARGUMENT...]");
	start(argv + 2);
	for (;;) {
		pid_t tid = waitpid(-1, &status, __WALL);

		if (tid < 0 && errno != EINTR)
			err(EXIT_TROUBLE, "wait");
		if (tid > 0 && WIFSTOPPED(status))
			go_on(tid, status, argv[1]);
		else if (tid == child)
			return end_as(status);
	}
}
