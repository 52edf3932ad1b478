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

/* Opens and maps a regular, non-empty file. The message says what the path is instead
 * (directory, FIFO, empty, unreadable). Close with os_file_close, which takes a zeroed struct. */
struct err *os_file_open(const char *path, struct os_file *ret) ERR_RESULT;
void os_file_close(struct os_file *f);

/* Unmaps the pages of [off, off + n) from our memory; they stay in the page cache, and come back
 * when they are read again. For scans, which would otherwise keep the whole file resident. */
void os_file_forget(const struct os_file *f, u64 off, u64 n);

/* A mapped file that shrinks raises SIGBUS: from now on that is one line and status 3. */
void os_catch_sigbus(void);

#endif
