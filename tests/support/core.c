#include "support/core.h"

#include "support/test.h"

struct core core_open(struct mkcore *mk)
{
	struct core c = {.mk = mk};

	assert_ok(image_open(&c.im, mkcore_write(mk), &c.d));
	return c;
}

struct core core_open_pages(struct mkcore *mk)
{
	struct core c = core_open(mk);

	assert_ok(residency_build(&c.im, &c.d));
	return c;
}

void core_close(struct core *c)
{
	image_close(&c->im);
	diags_fini(&c->d);
	mkcore_free(c->mk);
}

void core_assert_diag(const struct core *c, enum diag_code code, u64 count, const char *part)
{
	const struct diag_entry *e = &c->d.entries[code];

	if (e->count != count)
		print_error("%s: %s\n", diag_id(code), e->count ? e->examples[0] : "none");
	assert_int_equal(e->count, count);
	if (count)
		assert_contains(e->examples[0], part);
}
