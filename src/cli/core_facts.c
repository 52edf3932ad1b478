#include "cli/core_facts.h"

#include "base/os.h"
#include "cli/session.h"
#include "report/facts_fill.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DOCUMENT_MAX ((u64)64 << 20)

static const struct command all_levels = {
	.name = "facts",
	.needs = NEED_LEDGER,
};

bool file_is_document(const struct os_file *f)
{
	u64 i = 0;

	while (i < f->size && strchr(" \t\r\n", f->data[i]) && f->data[i])
		i++;
	return i < f->size && f->data[i] == '{';
}

/* Which file it is, for the next run to know it again. */
static void set_identity(struct facts_head *h, const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return; /* it is gone since it was opened */
	h->file_bytes = (u64)st.st_size;
	h->inode = st.st_ino;
	h->mtime_ns = (i64)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

static struct err *analyse(const struct opts *o, const char *path, core_visitor *visit, void *arg,
			   struct facts *ret)
{
	struct opts own = *o;
	struct session *s = xcalloc(1, sizeof(*s));
	struct snapshot snapshot;
	struct err *err;

	own.core = path;
	own.command = &all_levels;
	err = session_open(s, &own);
	if (!err) {
		snapshot = session_snapshot(s);
		err = facts_fill(&snapshot, path, ret);
		set_identity(&ret->head, path);
		if (!err && visit)
			err = visit(arg, &snapshot);
	}
	session_close(s);
	free(s);
	return err;
}

struct err *core_facts(const struct opts *o, const char *path, core_visitor *visit, void *arg,
		       struct facts *ret)
{
	struct os_file f = {.path = NULL};
	struct err *err = os_file_open(path, &f);
	bool document;

	if (err)
		return err;
	document = file_is_document(&f);
	if (document && f.size > DOCUMENT_MAX)
		err = err_new(ERR_LIMIT, "%s: is larger than a document can be", path);
	else if (document)
		err = facts_read((const char *)f.data, f.size, path, ret);
	os_file_close(&f);
	return err || document ? err : analyse(o, path, visit, arg, ret);
}
