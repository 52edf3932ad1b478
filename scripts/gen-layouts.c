/* Prints the layout of one executable's runtime as a table of src/gort/layouts: one row a field.
 * Used by scripts/gen-layouts. */
#include "base/err.h"
#include "gort/layout.h"
#include "sym/dw.h"

int main(int argc, char **argv)
{
	struct slot slots[RT_FIELD_COUNT];
	const char *roots[RT_FIELD_COUNT];
	bool needed[RT_FIELD_COUNT];
	struct dw *dw = NULL;
	struct err *err;

	if (argc != 2) {
		fprintf(stderr, "usage: gen-layouts EXECUTABLE\n");
		return 2;
	}
	for (int f = 0; f < RT_FIELD_COUNT; f++) {
		roots[f] = layout_field_root((enum rt_field)f);
		needed[f] = true;
	}
	err = dw_open(argv[1], &dw);
	if (!err)
		err = dw_find(dw, roots, needed, RT_FIELD_COUNT);
	if (!err)
		err = layout_from_dwarf(dw, slots);
	for (int f = 0; f < RT_FIELD_COUNT && !err; f++) {
		if (slots[f].offset >= 0)
			printf("[RT_%s] = {%lld, %llu, %llu},\n", layout_field_id((enum rt_field)f),
			       (long long)slots[f].offset, (unsigned long long)slots[f].size,
			       (unsigned long long)slots[f].count);
		else if (layout_field_required((enum rt_field)f))
			err = err_new(ERR_MISSING, "%s has no %s of %s", argv[1],
				      layout_field_path((enum rt_field)f),
				      layout_field_root((enum rt_field)f));
	}
	dw_close(dw);
	if (!err)
		return 0;
	fprintf(stderr, "gen-layouts: %s\n", err->msg);
	err_free(err);
	return 1;
}
