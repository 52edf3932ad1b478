/* gzip, over zlib: the only file that knows the library. */
#ifndef BASE_FLATE_H
#define BASE_FLATE_H

#include "base/array.h"

typedef ARRAY(u8) flate_bytes;

/* Whether the bytes begin like a gzip file. */
bool flate_is_gzip(const u8 *data, size_t n);

/* Unpacks a gzip file, at most max bytes of it; ERR_FORMAT when it is damaged or cut short. */
struct err *flate_unpack(const u8 *data, size_t n, size_t max, flate_bytes *ret) ERR_RESULT;

/* A gzip file that is unpacked piece by piece; the bytes must stay until flate_end. */
struct flate_stream;
struct err *flate_begin(const u8 *data, u64 n, struct flate_stream **ret) ERR_RESULT;
void flate_end(struct flate_stream *s);

/* The next piece, valid until the call after; *n is 0 at the end. ERR_FORMAT when the file is cut
 * short, damaged, or its checksum does not fit. */
struct err *flate_next(struct flate_stream *s, const u8 **ret, size_t *n) ERR_RESULT;

/* Bytes of the file that have been read. */
u64 flate_read_bytes(const struct flate_stream *s);

/* A gzip file that is made piece by piece: what is ready of it is appended. After the last piece it
 * is whole. The same bytes each time: it has no name and no time. */
struct flate_packer;
struct err *flate_pack_begin(struct flate_packer **ret) ERR_RESULT;
struct err *flate_pack_more(struct flate_packer *p, const u8 *data, size_t n, bool last,
			    flate_bytes *ret) ERR_RESULT;
void flate_pack_end(struct flate_packer *p); /* NULL ok */

/* Appends the bytes as a gzip file. */
struct err *flate_pack(const u8 *data, size_t n, flate_bytes *ret) ERR_RESULT;

#endif
