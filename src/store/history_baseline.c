/* What check compares with: one snapshot a program, kept as a document, so that it outlives the
 * snapshot that it was made of. */
#include "store/history_priv.h"

#include <stdlib.h>
#include <string.h>

struct err *history_set_baseline(struct history *h, const char *program, const struct facts *f)
{
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	struct query q = {.h = NULL};
	struct err *err;

	if (!out)
		return err_os("the baseline cannot be written");
	err = facts_write(f, out);
	if (fclose(out) != 0 && !err)
		err = err_os("the baseline cannot be written");
	if (!err)
		err = query_begin(&q, h, "INSERT OR REPLACE INTO baseline VALUES(?,?)");
	if (!err) {
		query_bind_text(&q, program);
		query_bind_text(&q, text);
		err = query_run(&q);
	}
	query_end(&q);
	free(text);
	return err;
}

struct err *history_baseline(struct history *h, const char *program, struct facts *ret, bool *found)
{
	struct query q;
	struct err *err = query_begin(&q, h, "SELECT document FROM baseline WHERE program = ?");

	*found = false;
	if (!err) {
		query_bind_text(&q, program);
		err = query_step(&q, found);
	}
	if (!err && *found) {
		const char *text = query_name(&q);

		err = facts_read(text, strlen(text), h->path, ret);
	}
	query_end(&q);
	return err;
}
