/* Facts as a JSON document, and back (schema/snapshot.json). */
#include "store/facts.h"

#include <string.h>

#define SCHEMA "spanscope/snapshot/1"

static const char *const column_keys[] = {"virtual", "resident", "count"};

_Static_assert(COUNT_OF(column_keys) == FACT_COLUMNS, "each has a key");

/* The strings of the head that may be missing. */
static const struct {
	const char *key;
	size_t offset;
} strings[] = {
#define STRING(name)                                                                               \
	{                                                                                          \
#name, offsetof(struct facts_head, name)                                           \
	}
	STRING(go),      STRING(arch),     STRING(build),   STRING(exe),
	STRING(process), STRING(evidence), STRING(partial),
#undef STRING
};

static const char **string_at(struct facts_head *h, size_t i)
{
	return (const char **)((char *)h + strings[i].offset);
}

static void put_columns(struct json *o, const u64 v[static FACT_COLUMNS])
{
	for (int c = 0; c < FACT_COLUMNS; c++)
		json_put(o, column_keys[c],
			 v[c] == FACT_UNKNOWN ? json_new_null() : json_new_uint(v[c]));
}

static struct json *head_json(const struct facts_head *h)
{
	struct json *o = json_new_object();
	struct facts_head copy = *h;

	json_put(o, "path", json_new_string(h->path));
	json_put(o, "file_bytes", json_new_uint(h->file_bytes));
	json_put(o, "inode", json_new_uint(h->inode));
	json_put(o, "mtime_ns", json_new_int(h->mtime_ns));
	json_put(o, "time_ns", json_new_int(h->time_ns));
	json_put(o, "time_from", json_new_string(h->time_from));
	for (size_t i = 0; i < COUNT_OF(strings); i++) {
		const char *s = *string_at(&copy, i);

		json_put(o, strings[i].key, s ? json_new_string(s) : json_new_null());
	}
	return o;
}

static struct json *level_json(const struct facts_level *l)
{
	struct json *o = json_new_object(), *rows = json_new_array();

	json_put(o, "cut", json_new_uint(l->cut));
	for (size_t i = 0; i < l->rows.n; i++) {
		struct json *row = json_new_object();

		json_put(row, "key", json_new_string(l->rows.v[i].key));
		put_columns(row, l->rows.v[i].v);
		json_append(rows, row);
	}
	json_put(o, "rows", rows);
	return o;
}

struct err *facts_write(const struct facts *f, FILE *out)
{
	struct json *root = json_new_object(), *levels = json_new_object(),
		    *total = json_new_object();
	struct err *err;

	json_put(root, "schema", json_new_string(SCHEMA));
	json_put(root, "snapshot", head_json(&f->head));
	put_columns(total, f->head.total);
	json_put(root, "total", total);
	for (size_t i = 0; i < f->level_count; i++)
		json_put(levels, f->levels[i].id, level_json(&f->levels[i]));
	json_put(root, "levels", levels);
	err = json_write(root, out);
	json_free(root);
	return err;
}

static void get_columns(const struct json *o, u64 v[static FACT_COLUMNS])
{
	for (int c = 0; c < FACT_COLUMNS; c++) {
		v[c] = FACT_UNKNOWN;
		(void)json_uint(json_get(o, column_keys[c]), &v[c]);
	}
}

static struct err *read_head(const struct json *o, const char *name, struct facts *f)
{
	struct facts_head *h = &f->head;
	const char *path = json_text(json_get(o, "path"));
	const char *from = json_text(json_get(o, "time_from"));

	if (!path || !from || !json_int(json_get(o, "time_ns"), &h->time_ns))
		return err_new(ERR_FORMAT, "%s: does not say which snapshot it is of", name);
	h->path = facts_string(f, path);
	h->time_from = facts_string(f, from);
	(void)json_uint(json_get(o, "file_bytes"), &h->file_bytes);
	(void)json_uint(json_get(o, "inode"), &h->inode);
	(void)json_int(json_get(o, "mtime_ns"), &h->mtime_ns);
	for (size_t i = 0; i < COUNT_OF(strings); i++)
		*string_at(h, i) = facts_string(f, json_text(json_get(o, strings[i].key)));
	return NULL;
}

static struct err *read_level(const char *id, const struct json *o, const char *name,
			      struct facts *f)
{
	const struct json *rows = json_get(o, "rows");
	struct facts_level *level;

	TRY(err_wrap(facts_add_level(f, id, &level), "%s", name));
	(void)json_uint(json_get(o, "cut"), &level->cut);
	for (size_t i = 0; i < json_length(rows); i++) {
		const struct json *row = json_item(rows, i);
		const char *key = json_text(json_get(row, "key"));
		u64 v[FACT_COLUMNS];

		if (!key)
			return err_new(ERR_FORMAT, "%s: row %zu of level %s has no key", name,
				       i + 1, id);
		get_columns(row, v);
		TRY(facts_add(f, level, key, v[0], v[1], v[2]));
	}
	return NULL;
}

static struct err *read_root(const struct json *root, const char *name, struct facts *f)
{
	const char *schema = json_text(json_get(root, "schema"));
	const struct json *level;
	const char *id;
	void *step = NULL;

	if (!schema || strcmp(schema, SCHEMA) != 0)
		return err_new(ERR_FORMAT, "%s: is no document of the form %s%s%s", name, SCHEMA,
			       schema ? ", but " : "", schema ? schema : "");
	TRY(read_head(json_get(root, "snapshot"), name, f));
	get_columns(json_get(root, "total"), f->head.total);
	while (json_next(json_get(root, "levels"), &step, &id, &level))
		TRY(read_level(id, level, name, f));
	facts_seal(f);
	return NULL;
}

struct err *facts_read(const char *text, size_t n, const char *name, struct facts *ret)
{
	struct json *root = NULL;
	struct err *err;

	TRY(json_parse(text, n, name, &root));
	err = read_root(root, name, ret);
	json_free(root);
	return err;
}
