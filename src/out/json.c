#include "base/json.h"
#include "out/render.h"

static struct json *table_json(const struct doc_table *t);
static struct json *object_json(const struct doc_object *o);

static struct json *strings_json(const struct doc_value *v)
{
	struct json *list = json_new_array();

	for (size_t i = 0; i < v->strings.n; i++)
		json_append(list, json_new_string(v->strings.v[i]));
	return list;
}

static struct json *value_json(const struct doc_value *v)
{
	char address[24];
	struct json *list;

	switch (v->type) {
	case DOC_NULL:
		return json_new_null();
	case DOC_STRING:
		return json_new_string(v->string);
	case DOC_BYTES:
	case DOC_COUNT:
		return json_new_uint(v->u);
	case DOC_DELTA:
	case DOC_GROWTH:
	case DOC_NUMBER:
		return json_new_int(v->i);
	case DOC_ADDRESS:
		snprintf(address, sizeof(address), "0x%llx", (unsigned long long)v->u);
		return json_new_string(address);
	case DOC_FLAG:
		return json_new_flag(v->flag);
	case DOC_REAL:
		return json_new_number(v->real);
	case DOC_TABLE:
		return table_json(v->table);
	case DOC_OBJECT:
		return object_json(v->object);
	case DOC_STRINGS:
		return strings_json(v);
	case DOC_LIST:
		break;
	}
	list = json_new_array();
	for (size_t i = 0; i < v->list.n; i++)
		json_append(list, json_new_uint(v->list.v[i]));
	return list;
}

static struct json *table_json(const struct doc_table *t)
{
	struct json *rows = json_new_array();

	for (size_t r = 0; r < t->hidden.n; r++) {
		struct json *row = json_new_object();

		for (size_t c = 0; c < t->column_count; c++)
			if (t->columns[c].key)
				json_put(row, t->columns[c].key,
					 value_json(&t->cells.v[r * t->column_count + c]));
		json_append(rows, row);
	}
	return rows;
}

static struct json *object_json(const struct doc_object *o)
{
	struct json *object = json_new_object();

	for (size_t i = 0; i < o->fields.n; i++)
		json_put(object, o->fields.v[i].key, value_json(&o->fields.v[i].value));
	return object;
}

struct err *render_json(const struct doc *d, FILE *f)
{
	struct json *root = json_new_object();
	struct err *err;

	for (size_t i = 0; i < d->items.n; i++) {
		const struct doc_item *item = &d->items.v[i];

		if (item->type == ITEM_VALUE)
			json_put(root, item->value.key, value_json(&item->value.value));
		else if (item->type == ITEM_OBJECT && item->object->key)
			json_put(root, item->object->key, object_json(item->object));
		else if (item->type == ITEM_TABLE && item->table->key)
			json_put(root, item->table->key, table_json(item->table));
	}
	err = json_write(root, f);
	json_free(root);
	return err;
}
