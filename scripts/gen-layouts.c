/* Prints the layout of a runtime as a table of src/gort/layouts: one row a field, from the DWARF of
 * an executable for amd64 and of one for arm64. Used by scripts/gen-layouts. */
#include "base/err.h"
#include "gort/layout.h"
#include "sym/dw.h"

static struct err *read_fields(struct dw *dw, struct slot slots[static RT_FIELD_COUNT])
{
	const char *roots[RT_FIELD_COUNT];
	bool needed[RT_FIELD_COUNT];

	for (int f = 0; f < RT_FIELD_COUNT; f++) {
		roots[f] = layout_field_root((enum rt_field)f);
		needed[f] = true;
	}
	TRY(dw_find(dw, roots, needed, RT_FIELD_COUNT));
	return layout_from_dwarf(dw, slots);
}

static struct err *read_executable(const char *path, struct slot slots[static RT_FIELD_COUNT])
{
	struct dw *dw = NULL;
	struct err *err = dw_open(path, &dw);

	if (!err)
		err = read_fields(dw, slots);
	dw_close(dw);
	for (int f = 0; f < RT_FIELD_COUNT && !err; f++)
		if (slots[f].offset < 0 && layout_field_required((enum rt_field)f))
			err = err_new(ERR_MISSING, "%s has no %s of %s", path,
				      layout_field_path((enum rt_field)f),
				      layout_field_root((enum rt_field)f));
	return err;
}

static void print_place(const struct slot *s)
{
	printf("%lld, %llu, %llu", (long long)s->offset, (unsigned long long)s->size,
	       (unsigned long long)s->count);
}

/* One row; a table has no way to say that only amd64 has a field. */
static struct err *print_row(enum rt_field f, const struct slot *amd64, const struct slot *arm64)
{
	if (amd64->offset < 0 && arm64->offset < 0)
		return NULL;
	if (amd64->offset < 0 || arm64->offset < 0)
		return err_new(ERR_MISSING, "only %s has %s of %s",
			       amd64->offset < 0 ? "arm64" : "amd64", layout_field_path(f),
			       layout_field_root(f));
	printf("[RT_%s] = {", layout_field_id(f));
	print_place(amd64);
	if (amd64->offset != arm64->offset || amd64->size != arm64->size ||
	    amd64->count != arm64->count) {
		printf(", {");
		print_place(arm64);
		putchar('}');
	}
	printf("},\n");
	return NULL;
}

int main(int argc, char **argv)
{
	struct slot amd64[RT_FIELD_COUNT], arm64[RT_FIELD_COUNT];
	struct err *err;

	if (argc != 3) {
		fprintf(stderr, "usage: gen-layouts AMD64_EXECUTABLE ARM64_EXECUTABLE\n");
		return 2;
	}
	err = read_executable(argv[1], amd64);
	if (!err)
		err = read_executable(argv[2], arm64);
	for (int f = 0; f < RT_FIELD_COUNT && !err; f++)
		err = print_row((enum rt_field)f, &amd64[f], &arm64[f]);
	if (!err)
		return 0;
	fprintf(stderr, "gen-layouts: %s\n", err->msg);
	err_free(err);
	return 1;
}
