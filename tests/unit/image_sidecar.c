/* Sidecars: read from folders and files, refused when they are of others, and turned into states
 * of pages; the note that carries the same inside a core. */
#include "image/note.h"
#include "image/pack.h"

#include "base/cleanup.h"
#include "support/core.h"
#include "support/mkelf.h"
#include "support/test.h"
#include "support/tmp.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAP 0xc000000000
#define STACK 0x7ffc00020000
#define VDSO 0x7ffc00100000
#define PID 77

/* Names are files of the folder; all of them describe the process of open_core. */
#define SMAPS                                                                                      \
	"c000000000-c000008000 rw-p 00000000 00:00 0 \nRss: 12 kB\nAnonymous: 12 kB\nSwap: 4 kB\n" \
	"c000009000-c00000a000 ---p 00000000 00:00 0 \nRss: 0 kB\n"                                \
	"d000000000-d000002000 rw-s 00000000 00:01 5 /dev/zero (deleted)\nRss: 4 kB\n"             \
	"7ffc00020000-7ffc00021000 rw-p 00000000 00:00 0 [stack]\nRss: 4 kB\nAnonymous: 4 kB\n"    \
	"7ffc00100000-7ffc00101000 r-xp 00000000 00:00 0 [vdso]\nRss: 4 kB\n"
#define PAGES                                                                                      \
	"known zero guard huge lazyfree\n"                                                         \
	"c000000000-c000001000 present\n"                                                          \
	"c000001000-c000002000 present huge\n"                                                     \
	"c000002000-c000003000 present lazyfree\n"                                                 \
	"c000003000-c000004000 swapped\n"                                                          \
	"c000004000-c000005000 present zero\n"                                                     \
	"c000005000-c000006000 swapped guard\n"                                                    \
	"d000000000-d000001000 present file\n"                                                     \
	"7ffc00020000-7ffc00021000 present\n"                                                      \
	"7ffc00100000-7ffc00101000 present file\n"
#define STATUS "Tgid:\t77\nVmRSS:\t24 kB\n"

static struct mkcore *make_core(void)
{
	struct mkcore *mk = mkcore_new(MKCORE_GCORE);
	u8 info[136] = {[24] = PID};

	mkcore_load(mk, HEAP, PF_R | PF_W, "########");
	mkcore_load(mk, 0xd000000000, PF_R | PF_W, "##");
	mkcore_load(mk, STACK, PF_R | PF_W, "#");
	mkcore_load(mk, VDSO, PF_R | PF_X, "#");
	mkcore_file(mk, 0xd000000000, 0xd000002000, 0, "/dev/zero (deleted)");
	mkcore_note(mk, "CORE", NT_PRPSINFO, info, sizeof(info));
	mkcore_auxv(mk, AT_SYSINFO_EHDR, VDSO);
	mkcore_auxv(mk, AT_RANDOM, STACK + 16);
	return mk;
}

static void put(const char *folder, const char *name, const char *text)
{
	AUTO_FREE char *path = xasprintf("%s/%s", folder, name);

	if (text)
		tmp_write(path, text, strlen(text));
	else
		(void)unlink(path);
}

/* A folder with the three files, or what replaces one of them. */
static char *make_folder(const char *name, const char *file, const char *text)
{
	char *folder = tmp_dir(name);

	put(folder, "smaps", SMAPS);
	put(folder, "pages", PAGES);
	put(folder, "status", STATUS);
	for (const char *const *more = (const char *const[]){"stat", "auxv", "pagemap", NULL};
	     *more; more++)
		put(folder, *more, NULL);
	if (file)
		put(folder, file, text);
	return folder;
}

static const char letters[PAGE_RECORD_RESIDENT] = {[PAGE_GAP] = '-',
						   [PAGE_RECORD_UNKNOWN] = 'U',
						   [PAGE_RECORD_ABSENT] = 'A',
						   [PAGE_RECORD_SWAPPED] = 'S'};

/* R resident, H in a huge page, L lazily freed, F of a file, Z of zeros. */
static char letter(enum page_kind kind)
{
	if (kind < PAGE_RECORD_RESIDENT) {
		char c = letters[kind];

		if (!c)
			c = '!';
		return c;
	}
	assert_int_equal(residency_state(kind, false, false), STATE_RESIDENT);
	assert_int_equal(residency_kind_evidence(kind), EVIDENCE_EXACT);
	if (residency_kind_has(kind, PART_ZERO))
		return 'Z';
	if (residency_kind_has(kind, PART_HUGE))
		return 'H';
	if (residency_kind_has(kind, PART_LAZYFREE))
		return 'L';
	if (residency_kind_has(kind, PART_FILE))
		return 'F';
	return 'R';
}

static void assert_pages(const struct image *im, va_t lo, const char *expected)
{
	for (size_t i = 0; expected[i]; i++) {
		u64 kinds[PAGE_KIND_COUNT] = {0};
		va_t va = lo + i * MK_PAGE;

		residency_tally(&im->res, va, va + 1, kinds);
		for (int k = 0; k < PAGE_KIND_COUNT; k++)
			if (kinds[k] && letter((enum page_kind)k) != expected[i])
				fail_msg("page %zu is %c, not %c", i, letter((enum page_kind)k),
					 expected[i]);
	}
}

static void use(struct core *c, const struct sidecar *sc)
{
	c->im.sidecar = sc;
	assert_ok(sidecar_complete_vmas(sc, &c->im));
	assert_ok(residency_build(&c->im, &c->d));
	assert_int_equal(c->im.res.evidence, EVIDENCE_EXACT);
}

static void test_pages(void **state)
{
	AUTO_FREE char *folder = make_folder("kept", NULL, NULL);
	struct core c = core_open(make_core());
	struct sidecar sc = {0};
	u64 rss = 0;

	(void)state;
	assert_ok(sidecar_open(&sc, &c.im, &(struct sidecar_options){.folder = folder}, &c.d));
	assert_false(sidecar_is_empty(&sc));
	assert_true(sidecar_rss(&sc, &rss) && rss == 24 << 10);
	use(&c, &sc);
	assert_pages(&c.im, HEAP - MK_PAGE, "-RHLSAAAA-A-");
	assert_pages(&c.im, 0xd000000000, "FA-");
	assert_pages(&c.im, STACK, "R-");
	assert_pages(&c.im, VDSO, "F-");
	assert_true(residency_knows(&c.im, PART_HUGE) && residency_knows(&c.im, PART_LAZYFREE));
	assert_false(residency_knows(&c.im, PART_ZERO));
	assert_true(residency_proves(&c.im.res, HEAP) &&
		    !residency_proves(&c.im.res, HEAP + 3 * MK_PAGE));
	core_close(&c);
	sidecar_close(&sc);
}

/* Mappings that the core leaves out come from smaps, with their permissions. */
static void test_mappings(void **state)
{
	AUTO_FREE char *folder = make_folder("kept", NULL, NULL);
	struct core c = core_open(make_core());
	struct sidecar sc = {0};
	const struct vma *v;

	(void)state;
	assert_null(image_vma(&c.im, HEAP + 9 * MK_PAGE));
	assert_ok(sidecar_open_folder(&sc, &c.im, folder));
	use(&c, &sc);
	v = image_vma(&c.im, HEAP + 9 * MK_PAGE);
	assert_non_null(v);
	assert_true(v->perm_known && v->perm == 0 && !v->in_core && v->kind == VMA_ANON);
	assert_int_equal(c.im.vmas.n, 5);
	core_assert_diag(&c, DIAG_SIDECAR_MAPPINGS, 0, NULL);
	core_close(&c);
	sidecar_close(&sc);
}

/* A mapping of the core that smaps has not was made at another time. */
static void test_other_mappings(void **state)
{
	static const char stack[] = "7ffc00020000-7ffc00021000 rw-p 0 00:00 0 [stack]\nRss: 4 kB\n"
				    "7ffc00100000-7ffc00101000 r-xp 0 00:00 0 [vdso]\nRss: 4 kB\n";
	AUTO_FREE char *folder = make_folder("kept", "smaps", stack);
	struct core c = core_open(make_core());
	struct sidecar sc = {0};

	(void)state;
	assert_ok(sidecar_open_folder(&sc, &c.im, folder));
	use(&c, &sc);
	assert_pages(&c.im, HEAP, "UUUUUUUU-");
	core_assert_diag(&c, DIAG_SIDECAR_MAPPINGS, 2, "0xc000000000-0xc000008000");
	core_close(&c);
	sidecar_close(&sc);
}

/* Without anything in swap there, a page that seems to be is being moved. */
static void test_moving(void **state)
{
	static const char smaps[] =
		"c000000000-c000008000 rw-p 0 00:00 0 \nRss: 16 kB\nAnonymous: 16 kB\n"
		"d000000000-d000002000 rw-s 0 00:01 5 /dev/zero (deleted)\nRss: 4 kB\n"
		"7ffc00020000-7ffc00021000 rw-p 0 00:00 0 [stack]\nRss: 4 kB\n"
		"7ffc00100000-7ffc00101000 r-xp 0 00:00 0 [vdso]\nRss: 4 kB\n";
	AUTO_FREE char *folder = make_folder("kept", "smaps", smaps);
	struct core c = core_open(make_core());
	struct sidecar sc = {0};

	(void)state;
	assert_ok(sidecar_open_folder(&sc, &c.im, folder));
	use(&c, &sc);
	assert_pages(&c.im, HEAP, "RHLRAAAA-");
	core_close(&c);
	sidecar_close(&sc);
}

static void test_zero(void **state)
{
	AUTO_FREE char *folder = make_folder("kept", NULL, NULL);
	struct mkcore *mk = make_core();
	struct core c;
	struct sidecar sc = {0};
	u8 zeros[MK_PAGE] = {0};

	(void)state;
	mkcore_poke(mk, HEAP + MK_PAGE, zeros, sizeof(zeros));
	mkcore_poke(mk, HEAP + 3 * MK_PAGE, zeros, sizeof(zeros));
	c = core_open(mk);
	c.im.res.test_zero = true;
	assert_ok(sidecar_open_folder(&sc, &c.im, folder));
	use(&c, &sc);
	assert_pages(&c.im, HEAP, "RZLSAAAA-");
	assert_true(residency_knows(&c.im, PART_ZERO));
	core_close(&c);
	sidecar_close(&sc);
}

static void test_refused(void **state)
{
	static const char other_vdso[] =
		"7ffc00020000-7ffc00021000 rw-p 0 00:00 0 [stack]\nRss: 4 kB\n"
		"7ffc00110000-7ffc00111000 r-xp 0 00:00 0 [vdso]\nRss: 4 kB\n";
	static const struct {
		const char *file, *text, *message;
		enum err_code code;
	} cases[] = {
		{"status", "Tgid:\t78\n", "status: of another process, 78; the core is of 77",
		 ERR_USAGE},
		{"stat", "78 (x) S 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 9 \n",
		 "stat is of process 78, status of 77", ERR_USAGE},
		{"auxv", "12345678123456781234567812345678",
		 "auxv: of another process, or of another start", ERR_USAGE},
		{"smaps", other_vdso, "smaps: the mappings of another process", ERR_USAGE},
		{"smaps", "x", "smaps: line 1: cut off", ERR_FORMAT},
		{"pages", "known\nx\n", "pages: line 2: this is no run", ERR_FORMAT},
		{"status", "x\n", "status: line 1", ERR_FORMAT},
		{"stat", "x\n", "stat: not /proc/PID/stat", ERR_FORMAT},
		{"memory.current", "x\n", "memory.current: this is no number", ERR_FORMAT},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		AUTO_FREE char *folder = make_folder("kept", cases[i].file, cases[i].text);
		struct core c = core_open(make_core());
		struct sidecar sc = {0};

		assert_err(sidecar_open_folder(&sc, &c.im, folder), cases[i].code,
			   cases[i].message);
		put(folder, "memory.current", NULL);
		sidecar_close(&sc);
		core_close(&c);
	}
}

static void test_single_files(void **state)
{
	AUTO_FREE char *folder = make_folder("kept", NULL, NULL);
	AUTO_FREE char *smaps = xasprintf("%s/smaps", folder);
	AUTO_FREE char *pages = xasprintf("%s/pages", folder);
	struct core c = core_open(make_core());
	struct sidecar sc = {0};
	u64 rss = 0;

	(void)state;
	assert_ok(sidecar_open(&sc, &c.im, &(struct sidecar_options){.smaps = smaps}, &c.d));
	assert_true(!sc.has_pages && sidecar_rss(&sc, &rss) && rss == 24 << 10);
	sidecar_close(&sc);
	assert_ok(sidecar_open(&sc, &c.im,
			       &(struct sidecar_options){.smaps = smaps, .pagemap = pages}, &c.d));
	assert_true(sc.has_pages);
	sidecar_close(&sc);
	assert_err(sidecar_open(&sc, &c.im, &(struct sidecar_options){.pagemap = smaps}, &c.d),
		   ERR_USAGE, "needs the smaps of the same moment");
	sidecar_close(&sc);
	assert_err(sidecar_open(&sc, &c.im, &(struct sidecar_options){.pagemap = pages}, &c.d),
		   ERR_USAGE, "nothing tells whether it is of the core's process");
	sidecar_close(&sc);
	core_close(&c);
}

/* CORE.d is found, and left when it does not serve. */
static void test_beside(void **state)
{
	struct mkcore *mk = make_core();
	AUTO_FREE char *beside = xasprintf("%s.d", mkcore_write(mk));
	const char *name = strrchr(beside, '/') + 1;
	struct core c = core_open(mk);
	struct sidecar sc = {0};
	const struct sidecar_options none = {.folder = NULL};

	(void)state;
	assert_ok(sidecar_open(&sc, &c.im, &none, &c.d));
	assert_true(sidecar_is_empty(&sc));
	sidecar_close(&sc);
	free(make_folder(name, NULL, NULL));
	assert_ok(sidecar_open(&sc, &c.im, &none, &c.d));
	assert_true(sc.has_pages);
	sidecar_close(&sc);
	free(make_folder(name, "status", "Tgid:\t1\n"));
	assert_ok(sidecar_open(&sc, &c.im, &none, &c.d));
	assert_true(sidecar_is_empty(&sc));
	core_assert_diag(&c, DIAG_SIDECAR_IGNORED, 1, "of another process, 1");
	sidecar_close(&sc);
	core_close(&c);
}

/* Whether the process ran on between the copies and the core, by the CPU time of both. */
static void test_moment(void **state)
{
	static const struct {
		u64 core_us[4]; /* in the program, and in the kernel: seconds, microseconds */
		const char *ticks;
		const char *said;
	} cases[] = {
		{{8, 0, 1, 999999}, "800 200", NULL},
		{{12, 0, 0, 0}, "800 200", NULL}, /* within a second and an eighth */
		{{7, 0, 5, 400000}, "800 200", "stat: 10.0 s of CPU time, the core 12.4 s"},
		{{0, 0, 0, 0}, "800 200", NULL}, /* as debuggers leave it */
		{{3, 0, 0, 0}, "0 0", "stat: 0.0 s of CPU time, the core 3.0 s"},
		{{UINT64_MAX / 2, 0, UINT64_MAX, 9}, "0 0", NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		AUTO_FREE char *stat = xasprintf("77 (x) S 1 1 1 1 1 1 1 1 1 1 %s 1 1 1 1 1 1 9\n",
						 cases[i].ticks);
		AUTO_FREE char *folder = make_folder("moment", "stat", stat);
		struct mkcore *mk = make_core();
		u8 status[336] = {[32] = PID};
		struct core c = {.mk = mk};
		struct sidecar sc = {0};

		memcpy(status + 48, cases[i].core_us, sizeof(cases[i].core_us));
		mkcore_note(mk, "CORE", NT_PRSTATUS, status, sizeof(status));
		c = core_open(mk);
		assert_ok(sidecar_open(&sc, &c.im, &(struct sidecar_options){.folder = folder},
				       &c.d));
		core_assert_diag(&c, DIAG_SIDECAR_TIME, cases[i].said ? 1 : 0, cases[i].said);
		sidecar_close(&sc);
		core_close(&c);
	}
}

/* ---- in an archive */

/* Packs the core, and after it the three files of two folders. */
static void pack_with(const char *path, const char *core, const char *const folders[2],
		      const char *const names[2])
{
	static const char *const kept[] = {"smaps", "pages", "status"};
	struct os_file opened[1 + 2 * COUNT_OF(kept)] = {0};
	struct pack_file files[COUNT_OF(opened)] = {{&opened[0], "dir/core", 0}};
	size_t n = 1;
	u64 bytes;

	assert_ok(os_file_open(core, &opened[0]));
	for (int i = 0; i < 2 && folders[i]; i++)
		for (size_t k = 0; k < COUNT_OF(kept); k++, n++) {
			AUTO_FREE char *from = xasprintf("%s/%s", folders[i], kept[k]);

			assert_ok(os_file_open(from, &opened[n]));
			files[n].file = &opened[n];
			files[n].name = xasprintf("%s/%s", names[i], kept[k]);
		}
	assert_ok(pack_write(path, true, files, n, &bytes));
	for (size_t i = 0; i < n; i++)
		os_file_close(&opened[i]);
	for (size_t i = 1; i < n; i++)
		free((char *)files[i].name);
}

/* The folder of the core's name counts, else the only one; one that does not serve is left. */
static void test_archived(void **state)
{
	AUTO_FREE char *good = make_folder("good", NULL, NULL);
	AUTO_FREE char *other = make_folder("other", "status", "Tgid:\t1\n");
	AUTO_FREE char *path = tmp_path("both.tar.zst");
	const struct {
		const char *folders[2], *names[2];
		bool read;
		u64 ignored;
	} cases[] = {
		{{good, NULL}, {"dir/core.d", NULL}, true, 0},
		{{good, NULL}, {"./of/a/server.d", NULL}, true, 0},
		{{other, good}, {"other.d", "./dir/core.d"}, true, 0},
		{{good, other}, {"one.d", "two.d"}, false, 0},
		{{other, NULL}, {"dir/core.d", NULL}, false, 1},
	};
	struct mkcore *mk = make_core();
	const char *core = mkcore_write(mk);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct core c = {.mk = NULL};
		struct sidecar sc = {0};

		pack_with(path, core, cases[i].folders, cases[i].names);
		assert_ok(image_open(&c.im, path, &c.d));
		assert_ok(sidecar_open(&sc, &c.im, &(struct sidecar_options){0}, &c.d));
		assert_int_equal(sc.has_pages, cases[i].read);
		if (sc.has_pages) {
			use(&c, &sc);
			assert_pages(&c.im, HEAP, "RHLSAAAA-A-");
			assert_contains(sidecar_find(&sc, "pages")->path, "both.tar.zst: ");
		}
		core_assert_diag(&c, DIAG_SIDECAR_IGNORED, cases[i].ignored,
				 cases[i].ignored ? "of another process, 1" : NULL);
		sidecar_close(&sc);
		image_close(&c.im);
		diags_fini(&c.d);
	}
	mkcore_free(mk);
}

/* Of a compressed core the folder may have either name. */
static void test_beside_packed(void **state)
{
	AUTO_FREE char *path = tmp_path("packed.tar");
	struct mkcore *mk = make_core();
	const char *const nothing[2] = {NULL}, *const names[] = {"packed.d", "packed.tar.d"};

	(void)state;
	pack_with(path, mkcore_write(mk), nothing, nothing);
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		AUTO_FREE char *folder = make_folder(names[i], NULL, NULL);
		struct core c = {.mk = NULL};
		struct sidecar sc = {0};

		assert_ok(image_open(&c.im, path, &c.d));
		assert_ok(sidecar_open(&sc, &c.im, &(struct sidecar_options){0}, &c.d));
		assert_true(sc.has_pages);
		assert_string_equal(sc.origin, folder);
		sidecar_close(&sc);
		image_close(&c.im);
	}
	mkcore_free(mk);
}

/* ---- the note */

static void write_note(const struct core *c, const char *folder)
{
	struct sidecar sc = {0};
	u64 added = 0;

	assert_ok(sidecar_open_folder(&sc, &c->im, folder));
	assert_ok(note_write(&sc, &c->im, &added));
	assert_true(added > 0);
	sidecar_close(&sc);
}

static void check_noted(const char *path)
{
	struct core c = {.mk = NULL};
	struct sidecar sc = {0};
	u64 added = 0;

	assert_ok(image_open(&c.im, path, &c.d));
	assert_int_equal(image_kind(&c.im), CORE_SPANSCOPE);
	assert_int_equal(c.im.kind, CORE_GCORE);
	assert_false(c.im.truncated);
	assert_ok(sidecar_open(&sc, &c.im, &(struct sidecar_options){.folder = NULL}, &c.d));
	assert_true(sc.has_pages && sidecar_find(&sc, "smaps") && sidecar_find(&sc, "status"));
	assert_null(sidecar_find(&sc, "pages"));
	use(&c, &sc);
	assert_pages(&c.im, HEAP, "RHLSAAAA-A-");
	assert_err(note_write(&sc, &c.im, &added), ERR_USAGE, "has such a note already");
	for (int code = 0; code < DIAG_COUNT; code++)
		core_assert_diag(&c, (enum diag_code)code, 0, NULL);
	image_close(&c.im);
	diags_fini(&c.d);
	sidecar_close(&sc);
}

/* With the number of headers in its usual place, and in a section header. */
static void test_note(void **state)
{
	AUTO_FREE char *folder = make_folder("kept", NULL, NULL);

	(void)state;
	for (int xnum = 0; xnum < 2; xnum++) {
		struct mkcore *mk = make_core();
		struct core c;
		struct stat before, after;

		mk->xnum = xnum;
		c = core_open(mk);
		assert_int_equal(stat(mk->path, &before), 0);
		write_note(&c, folder);
		assert_int_equal(stat(mk->path, &after), 0);
		assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
		assert_true(after.st_size > before.st_size);
		check_noted(mk->path);
		core_close(&c);
	}
}

/* What is left when the writing is interrupted: bytes behind the end, which nothing points to. */
static void test_note_interrupted(void **state)
{
	struct mkcore *mk = make_core();
	struct core c;
	const size_t n = 5000;
	AUTO_FREE char *rubbish = xcalloc(n, 1);
	FILE *f = fopen(mkcore_write(mk), "a");

	(void)state;
	memset(rubbish, 0x53, n);
	assert_non_null(f);
	assert_int_equal(fwrite(rubbish, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
	c = core_open_pages(mk);
	assert_int_equal(image_kind(&c.im), CORE_GCORE);
	assert_false(c.im.truncated);
	for (int code = 0; code < DIAG_COUNT; code++)
		core_assert_diag(&c, (enum diag_code)code, 0, NULL);
	core_close(&c);
}

static void test_note_refused(void **state)
{
	AUTO_FREE char *folder = make_folder("kept", NULL, NULL);
	struct mkcore *mk = mkcore_new(MKCORE_KERNEL);
	struct core c;
	struct sidecar sc = {0};
	u64 added = 0;

	(void)state;
	mkcore_load(mk, STACK, PF_R | PF_W, "#");
	mkcore_load(mk, VDSO, PF_R | PF_X, "#");
	mkcore_auxv(mk, AT_SYSINFO_EHDR, VDSO);
	mkcore_auxv(mk, AT_RANDOM, STACK + 16);
	mkcore_write(mk);
	mkcore_truncate(mk, mk->size - 1);
	c = core_open(mk);
	assert_ok(sidecar_open_folder(&sc, &c.im, folder));
	assert_err(note_write(&sc, &c.im, &added), ERR_USAGE, "is cut short");
	sidecar_close(&sc);
	core_close(&c);
}

/* Any byte of the note may be another: it is read, or left with a diagnostic. */
static void test_note_damaged(void **state)
{
	AUTO_FREE char *folder = make_folder("kept", NULL, NULL);
	struct mkcore *mk = make_core();
	struct core c = core_open(mk);
	struct stat st;
	u64 old = mk->size;

	(void)state;
	write_note(&c, folder);
	assert_int_equal(stat(mk->path, &st), 0);
	mk->size = (u64)st.st_size;
	for (u64 off = old; off < (u64)st.st_size - 64; off += 3) {
		struct image im = {0};
		struct sidecar sc = {0};
		struct diags d = {0};
		struct err *err;
		u8 byte = 0;

		assert_int_equal(pread(c.im.core.fd, &byte, 1, (off_t)off), 1);
		mkcore_patch(mk, off, byte ^ 0x41u, 1);
		err = image_open(&im, mk->path, &d);
		if (!err)
			assert_ok(sidecar_open(&sc, &im, &(struct sidecar_options){.folder = NULL},
					       &d));
		err_free(err);
		sidecar_close(&sc);
		image_close(&im);
		diags_fini(&d);
		mkcore_patch(mk, off, byte, 1);
	}
	check_noted(mk->path);
	core_close(&c);
}

TEST_MAIN(TEST(test_pages), TEST(test_mappings), TEST(test_other_mappings), TEST(test_moving),
	  TEST(test_zero), TEST(test_refused), TEST(test_single_files), TEST(test_beside),
	  TEST(test_archived), TEST(test_moment), TEST(test_beside_packed), TEST(test_note),
	  TEST(test_note_interrupted), TEST(test_note_refused), TEST(test_note_damaged))
