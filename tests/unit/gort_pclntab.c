/* The linker's table of functions, in all its forms: what it says, and what damage does to it. */
#include "gort/pclntab.h"
#include "support/mkpcln.h"
#include "support/test.h"

#include <string.h>

#define BASE ((va_t)0x500000)
#define TEXT ((va_t)0x401000)

#define WRAPPER_ID 22

enum { MAIN, WORK, WRAPPER, GOEXIT, SWITCH, FUNCTIONS };

static const struct mkpcln_func functions[FUNCTIONS] = {
	[MAIN] = {"main.main", "/src/main.go", 64, 24, 10},
	[WORK] = {"main.work", "/src/work.go", 100, 56, 20,
		  .inlined = {{20, 60, "main.outer", "/src/outer.go", 31, 70, 0},
			      {30, 50, "main.(*T).inner", "/src/inner.go", 41, 25, 0}}},
	[WRAPPER] = {"main.(*T).Do", "/src/t.go", 40, 16, 1, WRAPPER_ID,
		     .inlined = {{10, 20, "main.T.Do", "/src/t.go", 7, 30, 0}}},
	[GOEXIT] = {"runtime.goexit", "/go/asm.s", 8, 0, 5, 2, 1},
	[SWITCH] = {"runtime.gogo", "/go/asm.s", 16, 0, 6, 0, 2},
};

struct memory {
	struct mkpcln pcln;
	va_t gofunc; /* the module, as far as it is read */
	struct segment seg;
	struct image im;
	struct rt rt;
	struct module module;
};

static void lay(struct memory *m, enum mkpcln_form form)
{
	memset(m, 0, sizeof(*m));
	mkpcln(&m->pcln, form, BASE, TEXT, functions, FUNCTIONS);
	m->gofunc = BASE + m->pcln.gofunc;
	m->seg = (struct segment){.lo = BASE, .hi = BASE + offsetof(struct memory, seg)};
	m->seg.file_bytes = m->seg.hi - m->seg.lo;
	m->im.core.data = m->pcln.bytes;
	m->im.core.size = m->seg.file_bytes;
	m->im.segs.v = &m->seg;
	m->im.segs.n = 1;
	m->rt.im = &m->im;
	m->rt.dialect.wrapper_id = WRAPPER_ID;
	for (int f = 0; f < RT_FIELD_COUNT; f++)
		m->rt.slots[f].offset = -1;
	m->rt.slots[RT_MODULE_GOFUNC] = (struct slot){0, 8, 1};
	m->module.addr = BASE + offsetof(struct memory, gofunc);
	m->module.pclntab = (struct range){BASE, BASE + m->pcln.table_bytes};
	m->module.text = (struct range){TEXT, TEXT + 228};
}

static va_t entry_of(int function)
{
	va_t at = TEXT;

	for (int i = 0; i < function; i++)
		at += functions[i].bytes;
	return at;
}

static void check_call(const struct call *c, const char *func, const char *file, u32 line,
		       bool inlined, bool wrapper)
{
	assert_string_equal(c->func, func);
	assert_string_equal(c->file, file);
	assert_int_equal(c->line, line);
	assert_int_equal(c->inlined, inlined);
	assert_int_equal(c->wrapper, wrapper);
}

static void check_plain(const struct pclntab *t, int i)
{
	va_t entry = entry_of(i);
	struct call calls[CALLS_MAX];
	struct func f;
	u64 bytes;

	assert_true(pclntab_find(t, entry, &f));
	assert_true(pclntab_find(t, entry + functions[i].bytes - 1, &f));
	assert_int_equal(f.entry, entry);
	assert_int_equal(f.end, entry + functions[i].bytes);
	assert_string_equal(func_name(&f), functions[i].name);
	assert_true(func_frame_bytes(&f, entry, &bytes));
	assert_int_equal(bytes, 0);
	assert_true(func_frame_bytes(&f, entry + 4, &bytes));
	assert_int_equal(bytes, functions[i].frame);
	assert_int_equal(func_calls(&f, entry, calls), 1);
	check_call(&calls[0], functions[i].name, functions[i].file, functions[i].line, false,
		   i == WRAPPER);
}

static void check_inlined(const struct pclntab *t)
{
	struct call calls[CALLS_MAX];
	struct func f;

	assert_true(pclntab_find(t, entry_of(WORK), &f));
	assert_int_equal(func_calls(&f, f.entry + 40, calls), 3);
	check_call(&calls[0], "main.(*T).inner", "/src/inner.go", 41, true, false);
	check_call(&calls[1], "main.outer", "/src/outer.go", 31, true, false);
	check_call(&calls[2], "main.work", "/src/work.go", 20, false, false);
	/* Each where the next one was inlined; the first is where we asked. */
	assert_int_equal(calls[0].pc, f.entry + 40);
	for (int i = 1; i < 3; i++) {
		struct call alone[CALLS_MAX];

		assert_int_equal(func_calls(&f, calls[i].pc, alone), 3 - i);
		assert_string_equal(alone[0].func, calls[i].func);
		assert_int_equal(alone[0].line, calls[i].line);
	}
	assert_int_equal(func_calls(&f, f.entry + 20, calls), 2);
	assert_int_equal(func_calls(&f, f.entry + 60, calls), 1);
	assert_true(pclntab_find(t, entry_of(WRAPPER), &f));
	assert_int_equal(func_calls(&f, f.entry + 10, calls), 2);
	check_call(&calls[0], "main.T.Do", "/src/t.go", 7, true, false);
	check_call(&calls[1], "main.(*T).Do", "/src/t.go", 1, false, true);
}

static void test_forms(void **state)
{
	struct memory m;
	struct pclntab t;
	struct func f;

	(void)state;
	for (int form = 0; form < MKPCLN_FORMS; form++) {
		lay(&m, (enum mkpcln_form)form);
		assert_ok(pclntab_open(&m.rt, &m.module, &t));
		for (int i = 0; i < FUNCTIONS; i++)
			check_plain(&t, i);
		check_inlined(&t);
		assert_false(pclntab_find(&t, TEXT - 1, &f));
		assert_false(pclntab_find(&t, m.module.text.hi, &f));
		assert_true(pclntab_find(&t, entry_of(GOEXIT), &f));
		assert_true(func_is_top(&f));
		assert_false(func_writes_sp(&f));
		assert_true(pclntab_find(&t, entry_of(SWITCH), &f));
		assert_false(func_is_top(&f));
		assert_int_equal(func_writes_sp(&f), form > MKPCLN_1_15); /* flags came later */
	}
}

static void test_headers(void **state)
{
	struct memory m;
	struct pclntab t;

	(void)state;
	for (int form = 0; form < MKPCLN_FORMS; form++) {
		lay(&m, (enum mkpcln_form)form);
		m.pcln.bytes[0] = 0x12;
		assert_err(pclntab_open(&m.rt, &m.module, &t), ERR_FORMAT,
			   "begins with 0xffffff12");
		lay(&m, (enum mkpcln_form)form);
		m.pcln.bytes[7] = 4;
		assert_err(pclntab_open(&m.rt, &m.module, &t), ERR_FORMAT, "makes no sense");
		lay(&m, (enum mkpcln_form)form);
		m.pcln.bytes[10] = 1;
		assert_err(pclntab_open(&m.rt, &m.module, &t), ERR_FORMAT, "cut short");
		lay(&m, (enum mkpcln_form)form);
		m.module.pclntab.hi = m.module.pclntab.lo + 8;
		assert_err(pclntab_open(&m.rt, &m.module, &t), ERR_FORMAT, "is empty");
		lay(&m, (enum mkpcln_form)form);
		m.seg.file_bytes = 100;
		assert_err(pclntab_open(&m.rt, &m.module, &t), ERR_MISSING, "is not in the core");
	}
	lay(&m, MKPCLN_1_20);
	m.pcln.bytes[32 + 3] = 1;
	assert_err(pclntab_open(&m.rt, &m.module, &t), ERR_FORMAT, "outside it");
}

/* Everything that can be asked of an address, of many. */
static void ask_all(const struct memory *m)
{
	struct pclntab t;
	struct err *err = pclntab_open(&m->rt, &m->module, &t);

	for (va_t pc = TEXT; pc < m->module.text.hi && !err; pc += 5) {
		struct call calls[CALLS_MAX];
		struct func f;
		u64 bytes;

		if (!pclntab_find(&t, pc, &f))
			continue;
		assert_true(f.entry <= pc && pc < f.end);
		assert_non_null(func_name(&f));
		(void)func_frame_bytes(&f, pc, &bytes);
		(void)func_is_top(&f);
		assert_in_range(func_calls(&f, pc, calls), 1, CALLS_MAX);
		assert_non_null(calls[0].func);
		assert_non_null(calls[0].file);
	}
	err_free(err);
}

static void test_damage(void **state)
{
	static struct memory m;

	(void)state;
	for (int form = 0; form < MKPCLN_FORMS; form++) {
		lay(&m, (enum mkpcln_form)form);
		for (u64 i = 0; i < m.pcln.size; i++) {
			u8 before = m.pcln.bytes[i];

			m.pcln.bytes[i] = i % 3 ? before ^ (u8)(1u << i % 8) : 0xff;
			ask_all(&m);
			m.pcln.bytes[i] = before;
		}
		for (u64 n = m.pcln.table_bytes; n > 8; n -= 7) {
			m.module.pclntab.hi = BASE + n;
			ask_all(&m);
		}
	}
}

/* Inlined calls that name each other: the walk ends. */
static void test_endless_tree(void **state)
{
	struct call calls[CALLS_MAX];
	struct memory m;
	struct pclntab t;
	struct func f;
	u32 own = 40;

	(void)state;
	lay(&m, MKPCLN_1_20);
	memcpy(m.pcln.bytes + m.pcln.gofunc + 16 + 8, &own, sizeof(own));
	assert_ok(pclntab_open(&m.rt, &m.module, &t));
	assert_true(pclntab_find(&t, entry_of(WORK), &f));
	assert_int_equal(func_calls(&f, f.entry + 40, calls), CALLS_MAX);
	assert_string_equal(calls[CALLS_MAX - 1].func, "main.work");
}

static void test_symbols(void **state)
{
	struct memory m;
	struct symbols s = {.rt = NULL};
	struct modules modules = {.v = {NULL, 0, 0}};
	struct diags d = {.arena = {0}};
	struct binary exe = {.match = EXE_GO_BUILD_ID};

	(void)state;
	lay(&m, MKPCLN_1_20);
	assert_ok(array_push(&modules.v, m.module));
	m.module.text = (struct range){TEXT + 0x1000, TEXT + 0x2000};
	m.module.pclntab.lo -= 0x1000; /* a plugin whose table is not there */
	assert_ok(array_push(&modules.v, m.module));
	assert_ok(symbols_open(&m.rt, &modules, &d, &s));
	assert_int_equal(s.v.n, 1);
	assert_int_equal(d.entries[DIAG_SYMBOLS].count, 0);
	assert_string_equal(symbols_name(&s, entry_of(WORK) + 3), "main.work");
	assert_string_equal(symbols_name(&s, TEXT + 0x1000), "");
	symbols_fini(&s);
	m.rt.bin = &exe;
	assert_ok(symbols_open(&m.rt, &modules, &d, &s));
	assert_int_equal(d.entries[DIAG_SYMBOLS].count, 1);
	symbols_fini(&s);
	array_free(&modules.v);
	diags_fini(&d);
}

TEST_MAIN(TEST(test_forms), TEST(test_headers), TEST(test_damage), TEST(test_endless_tree),
	  TEST(test_symbols))
