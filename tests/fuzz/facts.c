/* Any bytes as a document of a snapshot; what is read of it is written and read once more. */
#include "fuzz/fuzz.h"

#include "base/mem.h"
#include "report/diff.h"
#include "store/facts.h"

#define BUDGET_BYTES ((u64)32 << 20)

static bool is_refusal(const struct err *err)
{
	return err->code == ERR_FORMAT || err->code == ERR_LIMIT;
}

/* Whoever compares it with itself finds no change. */
static void compare(const struct facts *f)
{
	struct doc d = {.arena = {NULL, 0}};
	struct err *err = diff_report(&d, f, f);

	assert_always(!err || err->code == ERR_LIMIT);
	err_free(err);
	doc_fini(&d);
}

static void write_and_read(const struct facts *f)
{
	struct facts again = {.level_count = 0};
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	struct err *err;

	assert_always(out != NULL);
	err = facts_write(f, out);
	assert_always(!err && fclose(out) == 0);
	err = facts_read(text, n, "written", &again);
	assert_always(!err || err->code == ERR_LIMIT);
	assert_always(err || again.level_count == f->level_count);
	for (size_t i = 0; !err && i < f->level_count; i++) {
		assert_always(again.levels[i].rows.n == f->levels[i].rows.n);
		assert_always(f->levels[i].rows.n <= FACTS_ROWS_MAX);
	}
	err_free(err);
	facts_fini(&again);
	free(text);
}

void fuzz_one(const u8 *data, size_t n)
{
	struct facts f = {.level_count = 0};
	struct err *err;

	mem_set_limit(BUDGET_BYTES);
	err = facts_read((const char *)data, n, "input", &f);
	assert_always(!err || is_refusal(err));
	mem_set_limit(0);
	if (!err) {
		compare(&f);
		write_and_read(&f);
	}
	err_free(err);
	facts_fini(&f);
	assert_always(mem_used() == 0);
}
