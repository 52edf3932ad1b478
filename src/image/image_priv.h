/* The steps of image_open, one file each. */
#ifndef IMAGE_IMAGE_PRIV_H
#define IMAGE_IMAGE_PRIV_H

#include "image/elf64.h"
#include "image/image.h"

/* One PT_NOTE as the program header has it. */
struct note_range {
	u64 lo, hi;
};

/* Program headers: fills segs, truncation and the kind as far as the layout tells it. */
struct err *elfcore_read(struct image *im, struct diags *d, struct note_range *notes,
			 size_t *note_count) ERR_RESULT;

#define ELFCORE_MAX_NOTES 8

/* Appends a change of kind at va to the runs. */
struct err *residency_add_run(struct residency *res, va_t va, enum page_kind kind) ERR_RESULT;

/* residency_build by the sidecar's record of pages. */
struct err *exact_build(struct image *im, struct diags *d) ERR_RESULT;

/* One NT_FILE entry. */
struct file_entry {
	va_t lo, hi;
	u64 offset;
	int file;
};

typedef ARRAY(struct file_entry) file_entries;

/* Notes: threads, auxv, files. Entries come out in note order. */
struct err *notes_read(struct image *im, struct diags *d, const struct note_range *notes,
		       size_t note_count, file_entries *entries) ERR_RESULT;

/* Index of the entry of a path, which is not terminated; made when new. */
struct err *notes_intern_file(struct image *im, const char *name, size_t len, int *ret) ERR_RESULT;

/* The mapping table from segs and entries. Sorts entries. */
struct err *vma_build(struct image *im, file_entries *entries) ERR_RESULT;

#endif
