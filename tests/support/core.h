/* A core of mkcore's, opened: what most tests of src/image and above begin with. */
#ifndef SUPPORT_CORE_H
#define SUPPORT_CORE_H

#include "image/image.h"
#include "support/mkcore.h"

struct core {
	struct mkcore *mk;
	struct image im;
	struct diags d;
};

/* Writes the core, unless it is written, and opens it; that must succeed. Takes mk over. */
struct core core_open(struct mkcore *mk);

/* Same, with the residency built. */
struct core core_open_pages(struct mkcore *mk);

void core_close(struct core *c);

/* Fails unless there are so many findings of this code, the first of which contains the text. */
void core_assert_diag(const struct core *c, enum diag_code code, u64 count, const char *part);

#endif
