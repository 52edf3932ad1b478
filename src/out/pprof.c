#include "out/pprof.h"

#include "base/bits.h"
#include "base/flate.h"
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
