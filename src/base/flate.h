/* gzip, over zlib: the only file that knows the library. */
#ifndef BASE_FLATE_H
#define BASE_FLATE_H

#include "base/array.h"

typedef ARRAY(u8) flate_bytes;

/* Whether the bytes begin like a gzip file. */
bool flate_is_gzip(const u8 *data, size_t n);

/* Unpacks a gzip file, at most max bytes of it; ERR_FORMAT when it is damaged or cut short. */
struct err *flate_unpack(const u8 *data, size_t n, size_t max, flate_bytes *ret) ERR_RESULT;

#endif
