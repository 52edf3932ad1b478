/* Files that people write, in YAML (of which JSON is a part), read over libyaml: the only file that
 * knows the library. Only what a tree can hold is taken: no references, no second document.
 *
 * Each node knows its line, so that whoever finds it wrong can say where. */
#ifndef BASE_YAML_H
#define BASE_YAML_H

#include "base/arena.h"
#include "base/err.h"

#define YAML_BYTES_MAX ((size_t)1 << 20)

enum yaml_kind { YAML_TEXT, YAML_LIST, YAML_MAP };

struct yaml {
	enum yaml_kind kind;
	unsigned line;      /* from 1; of a map's member that of its key */
	const char *key;    /* of a map's member; else NULL */
	const char *text;   /* YAML_TEXT: as it stands there, without quotes */
	struct yaml *first; /* member or element; NULL when it is empty */
	struct yaml *next;  /* of its own list or map */
};

/* Reads a text, which `name` names in messages. The nodes belong to the arena. ERR_FORMAT with the
 * line where it is no YAML, has a key twice, or more than such a tree can hold. *ret is NULL for an
 * empty text. */
struct err *yaml_parse(const char *text, size_t n, const char *name, struct arena *a,
		       const struct yaml **ret) ERR_RESULT;

/* The member of a map; NULL when there is none, or this is no map (NULL included). */
const struct yaml *yaml_get(const struct yaml *map, const char *key);

#endif
