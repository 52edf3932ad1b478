/* JSON values, written and read, over jansson: the only file that knows the library.
 *
 * Ownership: a container owns what is put into it; the root is freed with json_free. What a reader
 * returns belongs to its root. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/err.h"

#include <stdio.h>

struct json;

/* New values; never NULL. Strings may hold any bytes: what is not UTF-8 becomes '?'. */
struct json *json_new_object(void);
struct json *json_new_array(void);
struct json *json_new_string(const char *s);
struct json *json_new_uint(u64 v);
struct json *json_new_int(i64 v);
struct json *json_new_number(double v);
struct json *json_new_flag(bool v);
struct json *json_new_null(void);

/* Consume the value. Keys keep the order in which they were put. */
void json_put(struct json *object, const char *key, struct json *value);
void json_append(struct json *array, struct json *value);

/* Writes the value and a line feed. */
struct err *json_write(const struct json *root, FILE *f) ERR_RESULT;
void json_free(struct json *root);

/* Reads a text, which `name` names in messages. ERR_FORMAT with the place where it is no JSON, or
 * has a key twice; ERR_LIMIT when its tree takes more memory than allowed. */
struct err *json_parse(const char *text, size_t n, const char *name, struct json **ret) ERR_RESULT;

/* The value of a key; NULL when there is none, or this is no object (NULL included). */
const struct json *json_get(const struct json *object, const char *key);

/* NULL for what is no string. */
const char *json_text(const struct json *v);

/* False, and *ret as it was, for what is no integer, or a negative one. */
bool json_uint(const struct json *v, u64 *ret);
bool json_int(const struct json *v, i64 *ret);

/* Elements of an array; 0 for anything else. */
size_t json_length(const struct json *array);
const struct json *json_item(const struct json *array, size_t i);

/* Steps through an object in the order of its text: *step begins as NULL, and false is the end. */
bool json_next(const struct json *object, void **step, const char **key, const struct json **v);

#endif
