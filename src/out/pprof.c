#include "out/pprof.h"

#include "base/bits.h"
#include "base/flate.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/os.h"
#include <profile.pb-c.h>

#include <string.h>

#define MAX_PROFILE_BYTES ((size_t)1 << 30)
#define MAX_LOCATIONS ((size_t)4096)

/* A name of the profile's string table; NULL for an index out of it. */
static const ProtobufCBinaryData *name_at(const Pprof__Profile *p, i64 index)
{
	if (index < 0 || (u64)index >= p->n_string_table)
		return NULL;
	return &p->string_table[index];
}

static bool name_is(const Pprof__Profile *p, i64 index, const char *text)
{
	const ProtobufCBinaryData *name = name_at(p, index);

	return name && name->len == strlen(text) && memcmp(name->data, text, name->len) == 0;
}

static struct err *sum_inuse(const Pprof__Profile *p, u64 *ret)
{
	size_t column = 0;

	while (column < p->n_sample_type &&
	       !name_is(p, p->sample_type[column]->type, "inuse_space"))
		column++;
	if (column == p->n_sample_type)
		return err_new(ERR_FORMAT, "no heap profile: it has no inuse_space");
	*ret = 0;
	for (size_t i = 0; i < p->n_sample; i++)
		if (column < p->sample[i]->n_value && p->sample[i]->value[column] > 0)
			*ret += (u64)p->sample[i]->value[column];
	return NULL;
}

static void copy_name(const ProtobufCBinaryData *name, char *out, size_t room)
{
	size_t n = name ? MIN(name->len, room - 1) : 0;

	if (n) /* an empty one has no bytes */
		memcpy(out, name->data, n);
	out[n] = '\0';
}

static const Pprof__Function *function_of(const Pprof__Profile *p, u64 id)
{
	for (size_t i = 0; i < p->n_function; i++)
		if (p->function[i]->id == id)
			return p->function[i];
	return NULL;
}

/* Of functions that were inlined at a place, the last is the one whose code it is. */
static void add_call(const Pprof__Profile *p, const Pprof__Location *l, u64 start,
		     struct pprof_heap *ret)
{
	struct pprof_call *call = &ret->calls[ret->call_count];
	const Pprof__Function *f =
		l->n_line ? function_of(p, l->line[l->n_line - 1]->function_id) : NULL;

	if (!f || l->address < start)
		return;
	call->at = l->address - start;
	copy_name(name_at(p, f->name), call->function, sizeof(call->function));
	ret->call_count += *call->function != '\0';
}

static void read_mapping(const Pprof__Profile *p, struct pprof_heap *ret)
{
	const Pprof__Mapping *m = p->n_mapping ? p->mapping[0] : NULL;
	const ProtobufCBinaryData *id;

	if (!m)
		return;
	id = name_at(p, m->build_id);
	if (id && id->len < sizeof(ret->build_id))
		copy_name(id, ret->build_id, sizeof(ret->build_id));
	ret->code_offset = m->file_offset;
	/* Each is looked up among all functions: where many have no name there is an end, too. */
	for (size_t i = 0; i < MIN(p->n_location, MAX_LOCATIONS) && ret->call_count < PPROF_CALLS;
	     i++)
		if (p->location[i]->mapping_id == m->id)
			add_call(p, p->location[i], m->memory_start, ret);
}

static void *allocate(void *refused, size_t n)
{
	void *p = mem_charged_alloc(n);

	*(bool *)refused |= !p;
	return p;
}

static void release(void *refused, void *p)
{
	(void)refused;
	mem_charged_free(p);
}

static struct err *decode(const u8 *data, size_t n, struct pprof_heap *ret)
{
	bool refused = false;
	ProtobufCAllocator allocator = {allocate, release, &refused};
	Pprof__Profile *p = pprof__profile__unpack(&allocator, n, data);
	struct err *err;

	if (refused && p)
		pprof__profile__free_unpacked(p, &allocator);
	if (refused)
		return err_new(ERR_LIMIT, "more memory is needed; raise --max-memory");
	if (!p)
		return err_new(ERR_FORMAT, "not a pprof profile");
	*ret = (struct pprof_heap){.time_ns = p->time_nanos};
	read_mapping(p, ret);
	err = sum_inuse(p, &ret->inuse_bytes);
	pprof__profile__free_unpacked(p, &allocator);
	return err;
}

struct err *pprof_read_heap(const char *path, struct pprof_heap *ret)
{
	struct os_file f = {0};
	flate_bytes unpacked = {0};
	struct err *err;

	TRY(os_file_open(path, &f));
	if (flate_is_gzip(f.data, f.size)) {
		err = flate_unpack(f.data, f.size, MAX_PROFILE_BYTES, &unpacked);
		if (!err)
			err = decode(unpacked.v, unpacked.n, ret);
	} else {
		err = decode(f.data, f.size, ret);
	}
	array_free(&unpacked);
	os_file_close(&f);
	return err_wrap(err, "%s", path);
}

/* A profile is written in pieces: messages that follow each other are one, whose lists are those of
 * all pieces. So only one sample is ever built as a message. */
#define PIECE_BYTES ((size_t)256 << 10)

enum { HAS_NAMED = 1, HAS_UNNAMED = 2 }; /* locations of a mapping */

struct writer {
	const struct samples *s;
	FILE *f;
	struct flate_packer *packer;
	flate_bytes raw, packed;
	ARRAY(const char *) names; /* the string table */
	struct map index;          /* hash of a name -> its index + 1 */
	ARRAY(u64) ids;            /* of one sample's locations */
	ARRAY(u8) mapped;          /* by mapping: what locations it has */
};

static struct err *drain(struct writer *w, bool last)
{
	TRY(flate_pack_more(w->packer, w->raw.v, w->raw.n, last, &w->packed));
	w->raw.n = 0;
	if (w->packed.n && fwrite(w->packed.v, 1, w->packed.n, w->f) != w->packed.n)
		return err_os("the result cannot be written");
	w->packed.n = 0;
	return NULL;
}

static struct err *put(struct writer *w, const Pprof__Profile *p)
{
	size_t n = pprof__profile__get_packed_size(p);

	TRY(array_reserve(&w->raw, n));
	w->raw.n += pprof__profile__pack(p, w->raw.v + w->raw.n);
	return w->raw.n >= PIECE_BYTES ? drain(w, false) : NULL;
}

static struct err *add_name(struct writer *w, const char *name)
{
	return array_push(&w->names, name);
}

/* Index of a name in the string table. */
static struct err *intern(struct writer *w, const char *name, i64 *ret)
{
	u64 hash = 1;

	for (const char *p = name; *p; p++)
		hash = map_mix(hash, (u8)*p);
	for (;; hash = map_mix(hash, 1)) {
		bool fresh;
		u32 *index;

		TRY(map_at(&w->index, hash | 1, &index, &fresh));
		if (fresh) {
			TRY(add_name(w, name));
			*index = (u32)w->names.n;
		}
		*ret = (i64)*index - 1;
		if (fresh || !strcmp(w->names.v[*index - 1], name))
			return NULL;
	}
}

static struct err *value_type(struct writer *w, const struct sample_type *t, Pprof__ValueType *ret)
{
	pprof__value_type__init(ret);
	TRY(intern(w, t->type, &ret->type));
	return intern(w, t->unit, &ret->unit);
}

static struct err *put_head(struct writer *w)
{
	Pprof__Profile p = PPROF__PROFILE__INIT;
	Pprof__ValueType types[SAMPLE_TYPES_MAX], period, *list[SAMPLE_TYPES_MAX];

	for (size_t i = 0; i < w->s->type_count; i++) {
		TRY(value_type(w, &w->s->types[i], &types[i]));
		list[i] = &types[i];
	}
	p.n_sample_type = w->s->type_count;
	p.sample_type = list;
	if (w->s->period_type.type) {
		TRY(value_type(w, &w->s->period_type, &period));
		p.period_type = &period;
	}
	p.period = (i64)w->s->period;
	p.time_nanos = w->s->time_ns;
	if (w->s->says_default)
		p.default_sample_type = types[w->s->default_type].type;
	return put(w, &p);
}

static struct err *put_comments(struct writer *w)
{
	for (size_t i = 0; i < w->s->comments.n; i++) {
		Pprof__Profile p = PPROF__PROFILE__INIT;
		i64 name;

		TRY(intern(w, w->s->comments.v[i], &name));
		p.n_comment = 1;
		p.comment = &name;
		TRY(put(w, &p));
	}
	return NULL;
}

/* The mapping that has the code at an address, as its id; 0: none. */
static u64 mapping_of(const struct samples *s, va_t address)
{
	for (size_t i = 0; i < s->mappings.n && address; i++)
		if (s->mappings.v[i].lo <= address && address < s->mappings.v[i].hi)
			return i + 1;
	return 0;
}

static bool is_named(const struct samples *s, const struct sample_location *l)
{
	bool named = l->count > 0;

	for (u32 i = 0; i < l->count; i++) {
		const struct sample_line *line = &s->lines.v[l->first + i];
		const struct sample_function *f = samples_line_function(s, line);

		named = named && *f->name && *f->file && line->line;
	}
	return named;
}

static struct err *put_location(struct writer *w, u64 id, const struct sample_location *l)
{
	Pprof__Profile p = PPROF__PROFILE__INIT;
	Pprof__Location location = PPROF__LOCATION__INIT, *list = &location;
	Pprof__Line lines[SAMPLE_LINES_MAX], *line_list[SAMPLE_LINES_MAX];

	for (u32 i = 0; i < l->count; i++) {
		const struct sample_line *line = &w->s->lines.v[l->first + i];

		pprof__line__init(&lines[i]);
		lines[i].function_id = (u64)line->function + 1;
		lines[i].line = line->line;
		line_list[i] = &lines[i];
	}
	location.id = id;
	location.address = l->address;
	location.mapping_id = mapping_of(w->s, l->address);
	location.n_line = l->count;
	location.line = line_list;
	if (location.mapping_id)
		w->mapped.v[location.mapping_id - 1] |= is_named(w->s, l) ? HAS_NAMED : HAS_UNNAMED;
	p.n_location = 1;
	p.location = &list;
	return put(w, &p);
}

static struct err *put_locations(struct writer *w)
{
	TRY(array_reserve(&w->mapped, w->s->mappings.n));
	for (; w->mapped.n < w->s->mappings.n; w->mapped.n++)
		w->mapped.v[w->mapped.n] = 0;
	for (size_t i = 0; i < w->s->locations.n; i++)
		TRY(put_location(w, i + 1, &w->s->locations.v[i]));
	return NULL;
}

/* After the locations, which tell whether a mapping still lacks names. */
static struct err *put_mappings(struct writer *w)
{
	for (size_t i = 0; i < w->s->mappings.n; i++) {
		const struct sample_mapping *m = &w->s->mappings.v[i];
		Pprof__Profile p = PPROF__PROFILE__INIT;
		Pprof__Mapping mapping = PPROF__MAPPING__INIT, *list = &mapping;

		mapping.id = i + 1;
		mapping.memory_start = m->lo;
		mapping.memory_limit = m->hi;
		mapping.file_offset = m->offset;
		mapping.has_functions = w->mapped.v[i] == HAS_NAMED;
		TRY(intern(w, m->file, &mapping.filename));
		TRY(intern(w, m->build_id, &mapping.build_id));
		p.n_mapping = 1;
		p.mapping = &list;
		TRY(put(w, &p));
	}
	return NULL;
}

static struct err *put_functions(struct writer *w)
{
	for (size_t i = 0; i < w->s->functions.n; i++) {
		const struct sample_function *f = &w->s->functions.v[i];
		Pprof__Profile p = PPROF__PROFILE__INIT;
		Pprof__Function function = PPROF__FUNCTION__INIT, *list = &function;

		function.id = i + 1;
		TRY(intern(w, f->name, &function.name));
		TRY(intern(w, f->file, &function.filename));
		function.system_name = function.name;
		function.start_line = f->start_line;
		p.n_function = 1;
		p.function = &list;
		TRY(put(w, &p));
	}
	return NULL;
}

static struct err *put_sample(struct writer *w, size_t i)
{
	const struct sample *s = &w->s->v.v[i];
	Pprof__Profile p = PPROF__PROFILE__INIT;
	Pprof__Sample sample = PPROF__SAMPLE__INIT, *list = &sample;
	Pprof__Label label = PPROF__LABEL__INIT, *labels = &label;

	w->ids.n = 0;
	TRY(array_reserve(&w->ids, s->depth));
	while (w->ids.n < s->depth) {
		w->ids.v[w->ids.n] = (u64)w->s->stacks.v[s->first + w->ids.n] + 1;
		w->ids.n++;
	}
	sample.n_location_id = w->ids.n;
	sample.location_id = w->ids.v;
	sample.n_value = w->s->type_count;
	sample.value = &w->s->values.v[i * w->s->type_count];
	if (s->bytes) {
		TRY(intern(w, "bytes", &label.key));
		label.num = s->bytes;
		sample.n_label = 1;
		sample.label = &labels;
	}
	p.n_sample = 1;
	p.sample = &list;
	return put(w, &p);
}

static struct err *put_names(struct writer *w)
{
	for (size_t i = 0; i < w->names.n; i++) {
		Pprof__Profile p = PPROF__PROFILE__INIT;
		ProtobufCBinaryData name = {strlen(w->names.v[i]), (u8 *)(uintptr_t)w->names.v[i]};

		p.n_string_table = 1;
		p.string_table = &name;
		TRY(put(w, &p));
	}
	return NULL;
}

static struct err *put_all(struct writer *w)
{
	i64 first;

	TRY(flate_pack_begin(&w->packer));
	TRY(intern(w, "", &first)); /* the format wants it so */
	TRY(put_head(w));
	TRY(put_comments(w));
	TRY(put_locations(w));
	TRY(put_mappings(w));
	TRY(put_functions(w));
	for (size_t i = 0; i < w->s->v.n; i++)
		TRY(put_sample(w, i));
	TRY(put_names(w));
	return drain(w, true);
}

struct err *pprof_write(const struct samples *s, FILE *f)
{
	struct writer w = {.s = s, .f = f};
	struct err *err = put_all(&w);

	flate_pack_end(w.packer);
	array_free(&w.raw);
	array_free(&w.packed);
	array_free(&w.names);
	array_free(&w.ids);
	array_free(&w.mapped);
	map_fini(&w.index);
	return err;
}
