/* One report's result, before anybody decides whether it becomes text, JSON or CSV.
 *
 * A doc is a list of items in reading order: values and objects (JSON keys), tables, and text
 * that only people read. Reports say everything once; renderers choose. Strings that are not
 * constants are copied into the doc's arena. */
#ifndef OUT_DOC_H
#define OUT_DOC_H

#include "base/arena.h"
#include "base/array.h"

#include <stdio.h>

enum doc_type {
	DOC_NULL,
	DOC_STRING,
	DOC_BYTES,  /* a size: units in text, an integer elsewhere */
	DOC_DELTA,  /* a signed size */
	DOC_GROWTH, /* the same; text has its sign in any case */
	DOC_NUMBER, /* a signed number; text has its sign in any case */
	DOC_COUNT,
	DOC_ADDRESS, /* "0x..." everywhere */
	DOC_FLAG,
	DOC_REAL,
	DOC_LIST,    /* of counts */
	DOC_STRINGS, /* a list of strings */
	DOC_TABLE,
	DOC_OBJECT,
};

struct doc_table;
struct doc_object;

struct doc_value {
	enum doc_type type;
	union {
		const char *string;
		u64 u;
		i64 i;
		double real;
		bool flag;
		struct {
			const u64 *v;
			size_t n;
		} list;
		struct {
			const char *const *v;
			size_t n;
		} strings;
		const struct doc_table *table;
		const struct doc_object *object;
	};
};

static inline struct doc_value doc_null(void)
{
	return (struct doc_value){.type = DOC_NULL};
}

static inline struct doc_value doc_bytes(u64 n)
{
	return (struct doc_value){.type = DOC_BYTES, .u = n};
}

static inline struct doc_value doc_delta(i64 n)
{
	return (struct doc_value){.type = DOC_DELTA, .i = n};
}

static inline struct doc_value doc_growth(i64 n)
{
	return (struct doc_value){.type = DOC_GROWTH, .i = n};
}

static inline struct doc_value doc_number(i64 n)
{
	return (struct doc_value){.type = DOC_NUMBER, .i = n};
}

static inline struct doc_value doc_count(u64 n)
{
	return (struct doc_value){.type = DOC_COUNT, .u = n};
}

static inline struct doc_value doc_address(va_t va)
{
	return (struct doc_value){.type = DOC_ADDRESS, .u = va};
}

static inline struct doc_value doc_flag(bool b)
{
	return (struct doc_value){.type = DOC_FLAG, .flag = b};
}

static inline struct doc_value doc_real(double v)
{
	return (struct doc_value){.type = DOC_REAL, .real = v};
}

/* The string must outlive the doc; NULL is null. Use doc_printf for others. */
static inline struct doc_value doc_string(const char *s)
{
	return (struct doc_value){.type = s ? DOC_STRING : DOC_NULL, .string = s};
}

static inline struct doc_value doc_list(const u64 *v, size_t n)
{
	return (struct doc_value){.type = DOC_LIST, .list = {v, n}};
}

static inline struct doc_value doc_strings(const char *const *v, size_t n)
{
	return (struct doc_value){.type = DOC_STRINGS, .strings = {v, n}};
}

static inline struct doc_value doc_subtable(const struct doc_table *t)
{
	return (struct doc_value){.type = DOC_TABLE, .table = t};
}

static inline struct doc_value doc_subobject(const struct doc_object *o)
{
	return (struct doc_value){.type = DOC_OBJECT, .object = o};
}

/* A column without a key is for people only; one without a title is for programs only. When all
 * titles are "" the table has no line of them. */
struct doc_column {
	const char *key, *title;
};

struct doc_table {
	const char *key, *title; /* as for columns */
	const struct doc_column *columns;
	size_t column_count;
	ARRAY(struct doc_value) cells; /* row by row */
	ARRAY(u8) hidden;              /* by row: not shown in text */
	u64 hidden_columns;            /* bit i: neither is this column */
	struct doc *doc;
	struct doc_table *next;
};

struct doc_field {
	const char *key, *title;
	struct doc_value value;
};

struct doc_object {
	const char *key, *title;
	ARRAY(struct doc_field) fields;
	struct doc *doc;
	struct doc_object *next;
};

enum doc_item_type { ITEM_TEXT, ITEM_VALUE, ITEM_OBJECT, ITEM_TABLE };

struct doc_item {
	enum doc_item_type type;
	const char *text;       /* ITEM_TEXT: a line */
	struct doc_field value; /* ITEM_VALUE */
	struct doc_object *object;
	struct doc_table *table;
};

struct doc {
	struct arena arena;
	ARRAY(struct doc_item) items;
	struct doc_table *tables;   /* all, nested ones too */
	struct doc_object *objects; /* all */
	struct doc_table *csv_table;
	const struct doc_object *csv_object;
	struct err *err; /* the first thing for which there was no memory */
};

void doc_fini(struct doc *d);

/* Whether all of it is there: ERR_LIMIT when anything did not fit into the budget. To be asked
 * once, before the doc is rendered. */
struct err *doc_take_error(struct doc *d) ERR_RESULT;

/* A line for people. */
void doc_text(struct doc *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A string of the doc's own. */
struct doc_value doc_printf(struct doc *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* A single value under a key, for programs only. */
void doc_value(struct doc *d, const char *key, struct doc_value v);

/* An object; with a title it is a list of "name value" lines in text. */
struct doc_object *doc_object(struct doc *d, const char *key, const char *title);
/* An object that is the value of a cell. */
struct doc_object *doc_new_subobject(struct doc *d);
void doc_set(struct doc_object *o, const char *key, struct doc_value v);

/* A table. The columns must outlive the doc. */
struct doc_table *doc_table(struct doc *d, const char *key, const char *title,
			    const struct doc_column *columns, size_t column_count);

/* A table that is the value of a cell or field. */
struct doc_table *doc_new_subtable(struct doc *d, const struct doc_column *columns,
				   size_t column_count);

/* Makes a table that was filled before an item of the doc. */
void doc_add_table(struct doc *d, const char *key, const char *title, struct doc_table *t);

/* Appends a row: one value a column, in order. Returns the row's index, for doc_hide. */
size_t doc_add_row(struct doc_table *t, const struct doc_value *values, size_t n);
#define doc_row(t, ...)                                                                            \
	doc_add_row((t), (const struct doc_value[]){__VA_ARGS__},                                  \
		    COUNT_OF(((const struct doc_value[]){__VA_ARGS__})))

/* Keeps a row, or one of the first 64 columns, out of the text. */
void doc_hide(struct doc_table *t, size_t row);
void doc_hide_column(struct doc_table *t, size_t column);

#endif
