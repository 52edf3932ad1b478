#include "image/sparse.h"

#include "base/bits.h"
#include "base/cleanup.h"
#include "base/units.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define PAGE_BYTES ((u64)4096)
#define CHECK_BYTES ((u64)16 << 20)

/* Left free on the disk: a full one hurts all that runs on this machine. */
#define SPARE_BYTES ((u64)64 << 20)

static struct err *no_room(const struct sparse *s, u64 need, u64 room)
{
	char need_text[UNITS_BUF], room_text[UNITS_BUF];

	return err_new(ERR_OS,
		       "unpacking needs at least %s in %s, where %s are free; set TMPDIR to a "
		       "folder with room",
		       units_bytes((i64)need, need_text), s->folder,
		       units_bytes((i64)room, room_text));
}

static struct err *check_room(struct sparse *s, u64 need)
{
	u64 room = os_free_bytes(s->fd);

	s->checked = s->written;
	if (room != UINT64_MAX && (need > room || room - need < SPARE_BYTES))
		return no_room(s, va_plus(va_plus(s->written, need), SPARE_BYTES),
			       va_plus(room, s->written));
	return NULL;
}

struct err *sparse_begin(struct sparse *s, const char *folder, u64 need)
{
	struct err *err;

	*s = (struct sparse){.folder = folder};
	TRY(os_temp_open(folder, &s->fd));
	err = check_room(s, need);
	if (err)
		sparse_drop(s);
	return err;
}

static struct err *write_all(struct sparse *s, u64 off, const u8 *p, u64 n)
{
	while (n) {
		ssize_t done = pwrite(s->fd, p, n, (off_t)off);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return err_os("unpacking into %s failed after %llu bytes; set TMPDIR to a "
				      "folder with room",
				      s->folder, (unsigned long long)s->written);
		p += done;
		off += (u64)done;
		n -= (u64)done;
		s->written += (u64)done;
	}
	return s->written - s->checked >= CHECK_BYTES ? check_room(s, 0) : NULL;
}

struct err *sparse_write(struct sparse *s, u64 off, const void *bytes, u64 n)
{
	const u8 *p = bytes;
	u64 end, from = off; /* of a run to be written */

	if (__builtin_add_overflow(off, n, &end) || end > INT64_MAX)
		return err_new(ERR_FORMAT, "the archive has a file that is too large");
	s->size = MAX(s->size, end);
	if (s->keep_zeros)
		return write_all(s, off, p, n);
	while (off < end) {
		u64 part = MIN(PAGE_BYTES - off % PAGE_BYTES, end - off);

		if (bits_all_zero(p, part)) {
			TRY(write_all(s, from, p - (off - from), off - from));
			from = off + part;
		}
		p += part;
		off += part;
	}
	return write_all(s, from, p - (off - from), off - from);
}

u64 sparse_head(const struct sparse *s, void *buf, u64 n)
{
	ssize_t got = pread(s->fd, buf, MIN(n, s->size), 0);
	u64 have = got > 0 ? (u64)got : 0;

	/* Behind the last data the file has not got its size yet. */
	memset((u8 *)buf + have, 0, n - have);
	return MIN(n, s->size);
}

struct err *sparse_take(struct sparse *s, u64 size, const char *name, struct os_file *ret)
{
	AUTO_CLOSE int fd = s->fd;

	s->fd = -1;
	if (size == 0)
		return err_new(ERR_FORMAT, "%s: is empty", name);
	if (size > INT64_MAX || ftruncate(fd, (off_t)size) < 0)
		return err_os("%s: a file of %llu bytes cannot be made in %s", name,
			      (unsigned long long)size, s->folder);
	return os_file_adopt(take_fd(&fd), name, ret);
}

void sparse_drop(struct sparse *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}
