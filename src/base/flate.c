#include "base/flate.h"

#include <zlib.h>

#define GZIP_WINDOW (MAX_WBITS + 16) /* gzip headers, no raw deflate */
#define STEP_BYTES ((size_t)256 << 10)

bool flate_is_gzip(const u8 *data, size_t n)
{
	return n >= 2 && data[0] == 0x1f && data[1] == 0x8b;
}

static struct err *inflate_all(z_stream *z, size_t max, flate_bytes *ret)
{
	int status = Z_OK;

	while (status != Z_STREAM_END) {
		TRY(array_reserve(ret, STEP_BYTES));
		z->next_out = ret->v + ret->n;
		z->avail_out = STEP_BYTES;
		status = inflate(z, Z_NO_FLUSH);
		ret->n += STEP_BYTES - z->avail_out;
		if (status != Z_OK && status != Z_STREAM_END)
			return err_new(ERR_FORMAT, "damaged gzip data");
		if (ret->n > max)
			return err_new(ERR_FORMAT, "unpacks to more than %zu bytes", max);
		if (status == Z_OK && z->avail_in == 0 && z->avail_out != 0)
			return err_new(ERR_FORMAT, "gzip data is cut short");
	}
	return NULL;
}

struct err *flate_unpack(const u8 *data, size_t n, size_t max, flate_bytes *ret)
{
	z_stream z = {.next_in = (u8 *)(uintptr_t)data, .avail_in = (uInt)n};
	struct err *err;

	if (n > UINT32_MAX)
		return err_new(ERR_LIMIT, "too large a gzip file");
	if (inflateInit2(&z, GZIP_WINDOW) != Z_OK)
		return err_new(ERR_LIMIT, "no memory to unpack");
	err = inflate_all(&z, max, ret);
	inflateEnd(&z);
	return err;
}

struct flate_stream {
	z_stream z;
	const u8 *data;
	u64 size, pos; /* of what zlib has been given */
	bool done;
	u8 out[STEP_BYTES];
};

struct err *flate_begin(const u8 *data, u64 n, struct flate_stream **ret)
{
	struct flate_stream *s = xcalloc(1, sizeof(*s));

	s->data = data;
	s->size = n;
	if (inflateInit2(&s->z, GZIP_WINDOW) != Z_OK) {
		free(s);
		return err_new(ERR_LIMIT, "no memory to unpack");
	}
	*ret = s;
	return NULL;
}

void flate_end(struct flate_stream *s)
{
	if (!s)
		return;
	inflateEnd(&s->z);
	free(s);
}

u64 flate_read_bytes(const struct flate_stream *s)
{
	return s->pos - s->z.avail_in;
}

static void feed(struct flate_stream *s)
{
	u64 more = MIN(s->size - s->pos, STEP_BYTES);

	if (s->z.avail_in)
		return;
	s->z.next_in = (u8 *)(uintptr_t)(s->data + s->pos);
	s->z.avail_in = (uInt)more;
	s->pos += more;
}

/* Behind a member there may be another; anything else there is none of ours. */
static void end_member(struct flate_stream *s)
{
	u64 pos = flate_read_bytes(s);

	s->done = !flate_is_gzip(s->data + pos, s->size - pos) || inflateReset(&s->z) != Z_OK;
}

struct err *flate_next(struct flate_stream *s, const u8 **ret, size_t *n)
{
	s->z.next_out = s->out;
	s->z.avail_out = STEP_BYTES;
	while (!s->done && s->z.avail_out) {
		int status;

		feed(s);
		if (!s->z.avail_in)
			return err_new(ERR_FORMAT, "gzip data is cut short");
		status = inflate(&s->z, Z_NO_FLUSH);
		if (status == Z_STREAM_END)
			end_member(s);
		else if (status != Z_OK)
			return err_new(ERR_FORMAT, "damaged gzip data");
	}
	*ret = s->out;
	*n = STEP_BYTES - s->z.avail_out;
	return NULL;
}

struct flate_packer {
	z_stream z;
};

struct err *flate_pack_begin(struct flate_packer **ret)
{
	const int memory_level = 8; /* zlib's own default */
	struct flate_packer *p = xcalloc(1, sizeof(*p));

	if (deflateInit2(&p->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, memory_level,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		free(p);
		return err_new(ERR_LIMIT, "no memory to pack");
	}
	*ret = p;
	return NULL;
}

struct err *flate_pack_more(struct flate_packer *p, const u8 *data, size_t n, bool last,
			    flate_bytes *ret)
{
	if (n > UINT32_MAX)
		return err_new(ERR_LIMIT, "too much to pack");
	p->z.next_in = (u8 *)(uintptr_t)data;
	p->z.avail_in = (uInt)n;
	do { /* while there is more than there was room for */
		int status;

		TRY(array_reserve(ret, STEP_BYTES));
		p->z.next_out = ret->v + ret->n;
		p->z.avail_out = STEP_BYTES;
		status = deflate(&p->z, last ? Z_FINISH : Z_NO_FLUSH);
		ret->n += STEP_BYTES - p->z.avail_out;
		if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
			return err_new(ERR_BUG, "zlib cannot pack: %d", status);
	} while (!p->z.avail_out);
	return NULL;
}

void flate_pack_end(struct flate_packer *p)
{
	if (!p)
		return;
	deflateEnd(&p->z);
	free(p);
}

struct err *flate_pack(const u8 *data, size_t n, flate_bytes *ret)
{
	struct flate_packer *p;
	struct err *err;

	TRY(flate_pack_begin(&p));
	err = flate_pack_more(p, data, n, true, ret);
	flate_pack_end(p);
	return err;
}
