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
			return err_new(ERR_LIMIT, "unpacks to more than %zu bytes", max);
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
