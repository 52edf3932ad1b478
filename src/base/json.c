#include "base/json.h"

#include "base/mem.h"

#include <jansson.h>

/* A tree of JSON can be larger than all that it is made of: it counts for the budget too. */
__attribute__((constructor)) static void charge_library(void)
{
	json_set_alloc_funcs(mem_charged_alloc, mem_charged_free);
}

static struct json *wrap(json_t *v)
{
	if (!v)
		mem_die();
	return (struct json *)v;
}

static json_t *unwrap(const struct json *v)
{
	return (json_t *)(uintptr_t)v;
}

struct json *json_new_object(void)
{
	return wrap(json_object());
}

struct json *json_new_array(void)
{
	return wrap(json_array());
}

struct json *json_new_string(const char *s)
{
	json_t *v = json_string(s);
	char *plain;

	if (v)
		return wrap(v);
	plain = xstrdup(s);
	for (char *p = plain; *p; p++)
		if (*p & 0x80)
			*p = '?';
	v = json_string(plain);
	free(plain);
	return wrap(v);
}

struct json *json_new_uint(u64 v)
{
	/* The library's integers are signed: beyond them only a damaged core has figures. */
	return v <= INT64_MAX ? json_new_int((i64)v) : json_new_number((double)v);
}

struct json *json_new_int(i64 v)
{
	return wrap(json_integer(v));
}

struct json *json_new_number(double v)
{
	return __builtin_isfinite(v) ? wrap(json_real(v)) : json_new_null();
}

struct json *json_new_flag(bool v)
{
	return wrap(json_boolean(v));
}

struct json *json_new_null(void)
{
	return wrap(json_null());
}

void json_put(struct json *object, const char *key, struct json *value)
{
	if (json_object_set_new(unwrap(object), key, unwrap(value)) != 0)
		mem_die();
}

void json_append(struct json *array, struct json *value)
{
	if (json_array_append_new(unwrap(array), unwrap(value)) != 0)
		mem_die();
}

struct err *json_write(const struct json *root, FILE *f)
{
	if (json_dumpf(unwrap(root), f, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) != 0 ||
	    fputc('\n', f) == EOF)
		return err_os("the result cannot be written");
	return NULL;
}

void json_free(struct json *root)
{
	if (root)
		json_decref(unwrap(root));
}

struct err *json_parse(const char *text, size_t n, const char *name, struct json **ret)
{
	json_error_t e;
	json_t *v = json_loadb(text, n, JSON_REJECT_DUPLICATES, &e);

	if (v) {
		*ret = (struct json *)v;
		return NULL;
	}
	/* Not each place of the library that runs out of memory says so. */
	if (json_error_code(&e) == json_error_out_of_memory || !*e.text)
		return err_new(ERR_LIMIT, "%s: takes more memory than --max-memory allows", name);
	return err_new(ERR_FORMAT, "%s: is not JSON: line %d, column %d: %s", name, e.line,
		       e.column, e.text);
}

const struct json *json_get(const struct json *object, const char *key)
{
	return (const struct json *)json_object_get(unwrap(object), key);
}

const char *json_text(const struct json *v)
{
	return json_string_value(unwrap(v));
}

bool json_int(const struct json *v, i64 *ret)
{
	if (!json_is_integer(unwrap(v)))
		return false;
	*ret = json_integer_value(unwrap(v));
	return true;
}

bool json_uint(const struct json *v, u64 *ret)
{
	i64 n;

	if (!json_int(v, &n) || n < 0)
		return false;
	*ret = (u64)n;
	return true;
}

size_t json_length(const struct json *array)
{
	return json_array_size(unwrap(array));
}

const struct json *json_item(const struct json *array, size_t i)
{
	return (const struct json *)json_array_get(unwrap(array), i);
}

bool json_next(const struct json *object, void **step, const char **key, const struct json **v)
{
	json_t *o = unwrap(object);

	*step = *step ? json_object_iter_next(o, *step) : json_object_iter(o);
	if (!*step)
		return false;
	*key = json_object_iter_key(*step);
	*v = (const struct json *)json_object_iter_value(*step);
	return true;
}
