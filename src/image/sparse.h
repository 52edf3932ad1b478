/* A file that is being unpacked: written front to back, with holes. */
#ifndef IMAGE_SPARSE_H
#define IMAGE_SPARSE_H

#include "base/os.h"

struct sparse {
	int fd;
	const char *folder; /* for messages */
	bool keep_zeros;    /* what comes is data, zeros too; else pages of zeros become holes */
	u64 size;           /* the end of what came */
	u64 written;        /* bytes of data */
	u64 checked;        /* of these when the free space was last looked at */
};

/* Makes a file without a name in the folder. need: bytes of data that are known to come. ERR_OS
 * when the disk has no room for them. sparse_take or sparse_drop is due after success. */
struct err *sparse_begin(struct sparse *s, const char *folder, u64 need) ERR_RESULT;

/* Puts n bytes at an offset of the file. ERR_OS when the disk is, or is about to be, full. */
struct err *sparse_write(struct sparse *s, u64 off, const void *bytes, u64 n) ERR_RESULT;

/* The first n bytes of what came, or fewer; how many. */
u64 sparse_head(const struct sparse *s, void *buf, u64 n);

/* Ends the file at `size` bytes, and opens it for reading under a name for messages. */
struct err *sparse_take(struct sparse *s, u64 size, const char *name,
			struct os_file *ret) ERR_RESULT;
void sparse_drop(struct sparse *s);

#endif
