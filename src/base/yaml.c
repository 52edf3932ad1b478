#include "base/yaml.h"

#include <string.h>
#include <yaml.h>

#define DEPTH_MAX 16

struct reader {
	yaml_parser_t parser;
	yaml_event_t event; /* the one under work, while `have` */
	bool have;
	const char *name;
	struct arena *arena;
};

static void drop_event(struct reader *r)
{
	if (r->have)
		yaml_event_delete(&r->event);
	r->have = false;
}

static unsigned line_of(const struct reader *r)
{
	return (unsigned)r->event.start_mark.line + 1;
}

static struct err *refuse(const struct reader *r, const char *why)
{
	return err_new(ERR_FORMAT, "%s:%u: %s", r->name, line_of(r), why);
}

static struct err *next_event(struct reader *r)
{
	drop_event(r);
	if (!yaml_parser_parse(&r->parser, &r->event))
		return err_new(
			ERR_FORMAT, "%s:%zu: %s", r->name,
			(r->parser.context ? r->parser.problem_mark.line : r->parser.mark.line) + 1,
			r->parser.problem ? r->parser.problem : "is no YAML");
	r->have = true;
	return NULL;
}

/* The text of a scalar, which must not end early by a NUL. */
static struct err *scalar_text(struct reader *r, const char **ret)
{
	const char *text = (const char *)r->event.data.scalar.value;
	size_t n = r->event.data.scalar.length;

	if (memchr(text, 0, n))
		return refuse(r, "there is a zero byte in a text");
	*ret = arena_strndup(r->arena, text, n);
	return NULL;
}

static struct err *read_node(struct reader *r, unsigned depth, struct yaml **ret);

/* Elements up to the end of the list, or members up to that of the map. */
static struct err *read_children(struct reader *r, unsigned depth, struct yaml *parent)
{
	bool map = parent->kind == YAML_MAP;
	struct yaml **tail = &parent->first;

	for (;;) {
		const char *key = NULL;
		unsigned line = 0;

		TRY(next_event(r));
		if (r->event.type == (map ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT))
			return NULL;
		if (map) {
			if (r->event.type != YAML_SCALAR_EVENT)
				return refuse(r, "a key must be a word");
			line = line_of(r);
			TRY(scalar_text(r, &key));
			if (yaml_get(parent, key))
				return err_new(ERR_FORMAT, "%s:%u: '%s' is here a second time",
					       r->name, line_of(r), key);
			TRY(next_event(r));
		}
		TRY(read_node(r, depth + 1, tail));
		(*tail)->key = key;
		if (map)
			(*tail)->line = line;
		tail = &(*tail)->next;
	}
}

/* The node that the current event begins. */
static struct err *read_node(struct reader *r, unsigned depth, struct yaml **ret)
{
	struct yaml *node = arena_alloc(r->arena, sizeof(*node));

	node->line = line_of(r);
	switch (r->event.type) {
	case YAML_SCALAR_EVENT:
		node->kind = YAML_TEXT;
		TRY(scalar_text(r, &node->text));
		break;
	case YAML_SEQUENCE_START_EVENT:
	case YAML_MAPPING_START_EVENT:
		node->kind = r->event.type == YAML_MAPPING_START_EVENT ? YAML_MAP : YAML_LIST;
		if (depth == DEPTH_MAX)
			return refuse(r, "this is too deep");
		TRY(read_children(r, depth, node));
		break;
	default:
		return refuse(r, "references (* and &) are not supported");
	}
	*ret = node;
	return NULL;
}

static struct err *read_document(struct reader *r, const struct yaml **ret)
{
	struct yaml *root = NULL;

	TRY(next_event(r)); /* the stream begins */
	TRY(next_event(r));
	if (r->event.type == YAML_STREAM_END_EVENT)
		return NULL;
	TRY(next_event(r)); /* behind the document's beginning */
	TRY(read_node(r, 0, &root));
	TRY(next_event(r)); /* its end */
	TRY(next_event(r));
	if (r->event.type != YAML_STREAM_END_EVENT)
		return refuse(r, "there is a second document");
	*ret = root;
	return NULL;
}

struct err *yaml_parse(const char *text, size_t n, const char *name, struct arena *a,
		       const struct yaml **ret)
{
	struct reader r = {.name = name, .arena = a};
	struct err *err;

	*ret = NULL;
	if (n > YAML_BYTES_MAX)
		return err_new(ERR_FORMAT, "%s: has more than 1 MiB", name);
	if (!yaml_parser_initialize(&r.parser))
		return err_new(ERR_LIMIT, "%s: there is no memory to read it", name);
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, n);
	err = read_document(&r, ret);
	drop_event(&r);
	yaml_parser_delete(&r.parser);
	return err;
}

const struct yaml *yaml_get(const struct yaml *map, const char *key)
{
	if (!map || map->kind != YAML_MAP)
		return NULL;
	for (const struct yaml *m = map->first; m; m = m->next)
		if (m->key && !strcmp(m->key, key))
			return m;
	return NULL;
}
