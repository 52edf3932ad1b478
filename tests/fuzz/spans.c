/* A shipped core with words of the runtime's memory changed, through gort, ledger and reports.
 *
 * The data is a byte for the core and command, then 16 bytes a change, place and content. Both may
 * be addresses, which stay right when fields are added; a place that is none is a pool of words,
 * how the content is meant, and an index. */
#include "fuzz/fuzz.h"

#include "base/mem.h"
#include "support/shipped.h"

#define MAX_CHANGES 16
#define CHANGE_BYTES 16
#define BUDGET_BYTES ((u64)128 << 20)

static const char *const commands[][3] = {
	{"verify", "--json"},
	{"overview", "--json"},
	{"ledger", "--by=vma", "--csv"},
	{"spans", "--map"},
	{"memstats", "--json"},
	{"sizeclasses", "--csv"},
	{"spans", "--csv"},
	{"gc"},
	{"overview"},
};

static struct shipped *cores(void)
{
	static const char *const paths[][2] = {
		{"fragmented-go1.26/core", "fragmented-go1.26/fragmented"},
		{"quiet-go1.19/core", "quiet-go1.19/quiet"},
	};
	static struct shipped all[COUNT_OF(paths)];
	const char *folder = getenv("SPANSCOPE_TESTDATA");

	for (size_t i = 0; i < COUNT_OF(paths) && !all[i].out; i++) {
		char *core = xasprintf("%s/%s", folder ? folder : "build/testdata", paths[i][0]);
		char *exe = xasprintf("%s/%s", folder ? folder : "build/testdata", paths[i][1]);

		shipped_open(&all[i], core, exe);
		free(core);
		free(exe);
	}
	/* What the other core has taken is charged as well. */
	for (size_t i = 0; i < COUNT_OF(paths); i++)
		all[i].charged = mem_used();
	return all;
}

static bool is_address(const struct shipped *s, u64 n)
{
	return n % 8 == 0 && image_view(&s->base.image, n, 8);
}

/* A word of a pool by a number of any size. */
static va_t pool_word(const struct shipped *s, u64 n)
{
	return shipped_word(s, (enum shipped_pool)(n % POOL_COUNT), n >> 8);
}

/* Applies one change. */
static struct memfile_change change(struct shipped *s, const u8 *data)
{
	u64 where, what;
	va_t va;

	memcpy(&where, data, sizeof(where));
	memcpy(&what, data + sizeof(where), sizeof(what));
	if (is_address(s, where))
		return shipped_poke(s, where, what);
	va = pool_word(s, where);
	switch ((where & 0xff) / POOL_COUNT % 4) {
	case 0:
		break;
	case 1:
		what ^= shipped_read(s, va);
		break;
	case 2:
		what = shipped_read(s, pool_word(s, what));
		break;
	default:
		what = pool_word(s, what);
		break;
	}
	return shipped_poke(s, va, what);
}

static struct opts parse(unsigned command, const char *path)
{
	const char *argv[6] = {"spanscope"};
	struct opts o;
	struct err *err;
	int argc = 1;

	for (size_t i = 0; i < COUNT_OF(commands[0]) && commands[command][i]; i++)
		argv[argc++] = commands[command][i];
	argv[argc++] = path;
	err = opts_parse(argc, (char **)argv, &o);
	assert_always(!err);
	return o;
}

void fuzz_one(const u8 *data, size_t n)
{
	struct memfile_change changes[MAX_CHANGES];
	struct shipped_result result;
	struct shipped *s;
	struct opts o;
	struct err *err;
	size_t count = 0;

	if (n < 1)
		return;
	s = &cores()[data[0] & 1];
	o = parse((data[0] >> 1) % COUNT_OF(commands), s->file.path);
	for (size_t at = 1; at + CHANGE_BYTES <= n && count < MAX_CHANGES; at += CHANGE_BYTES)
		changes[count++] = change(s, data + at);
	err = shipped_analyse(s, &o, BUDGET_BYTES, &result);
	assert_always(!err || err->code != ERR_BUG);
	assert_always(result.leaked == 0);
	err_free(err);
	while (count)
		memfile_undo(&s->file, &changes[--count]);
}
