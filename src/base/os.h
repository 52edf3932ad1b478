/* Files of this machine: opened with checks, mapped read-only, watched for shrinking. */
#ifndef BASE_OS_H
#define BASE_OS_H

#include "base/err.h"

struct os_file {
	char *path;
	int fd;
	const u8 *data; /* the whole file, mapped shared and read-only */
	u64 size;       /* at open */
	i64 mtime_ns;   /* when it was last written, Unix time */
};

/* The last component of a path. */
const char *os_base_name(const char *path);

/* Opens and maps a regular, non-empty file. The message says what the path is instead
 * (directory, FIFO, empty, unreadable). Close with os_file_close, which takes a zeroed struct. */
struct err *os_file_open(const char *path, struct os_file *ret) ERR_RESULT;

/* The same of an open file, which then belongs to *ret, or is closed on failure. The path is its
 * name in messages, and need not lead to it. */
struct err *os_file_adopt(int owned_fd, const char *path, struct os_file *ret) ERR_RESULT;

/* The same file once more, with a life of its own. */
struct err *os_file_dup(const struct os_file *f, struct os_file *ret) ERR_RESULT;
void os_file_close(struct os_file *f);

/* Next data or hole (whence: SEEK_DATA, SEEK_HOLE) at or after pos, never beyond end. A file system
 * that cannot tell says that all is data. */
u64 os_file_seek(const struct os_file *f, u64 pos, u64 end, int whence);

/* Unmaps the pages of [off, off + n) from our memory; they stay in the page cache, and come back
 * when they are read again. For scans, which would otherwise keep the whole file resident. */
void os_file_forget(const struct os_file *f, u64 off, u64 n);

/* A new file in a folder, to read and write, that has no name: it is gone as soon as nobody has it
 * open, however the program ends. */
struct err *os_temp_open(const char *folder, int *ret) ERR_RESULT;

/* What the file's file system has room for; UINT64_MAX when it does not tell. */
u64 os_free_bytes(int fd);

/* A mapped file that shrinks raises SIGBUS: from now on that is one line and status 3. */
void os_catch_sigbus(void);

#endif
