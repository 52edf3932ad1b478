/* JSON values, over jansson: the only file that knows the library.
 *
 * Ownership: a container owns what is put into it; the root is freed with json_free. */
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

#endif
