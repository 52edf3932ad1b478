/* Files for one run of a test program: a folder of its own, removed at exit. */
#ifndef SUPPORT_TMP_H
#define SUPPORT_TMP_H

#include "base/types.h"

/* "FOLDER/name"; the caller frees it. The folder lies in TMPDIR. */
char *tmp_path(const char *name);

/* A folder in it, made when it is not there; the caller frees the path. */
char *tmp_dir(const char *name);

/* Writes a file of n bytes. */
void tmp_write(const char *path, const void *bytes, size_t n);

/* Whether the folder's file system keeps holes of 4 KiB and tells where they are. */
bool tmp_has_holes(void);

#endif
