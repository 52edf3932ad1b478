/* Which Go release built the process: the build info blob that the linker leaves in its data. */
#ifndef GORT_VERSION_H
#define GORT_VERSION_H

#include "image/binary.h"
#include "image/image.h"

#define GO_VERSION_MAX 96

struct go_version {
	unsigned minor, patch;            /* of go1.MINOR.PATCH */
	char text[GO_VERSION_MAX];        /* "go1.26.11" */
	char experiments[GO_VERSION_MAX]; /* "nogreenteagc", or "" */
	/* It is Go, but nothing of the above is known: up to 1.17 the name itself is in the
	 * executable alone, and build info may have been taken out. */
	bool nameless;
};

/* Whether it is Go at all. */
static inline bool version_is_go(const struct go_version *v)
{
	return *v->text || v->nameless;
}

/* Finds and parses the version, or finds that it is nameless. ERR_MISSING when there is no Go build
 * info, nor the variable with the release's name in a file that is here: no Go process, or one
 * whose build info was taken out. */
struct err *version_find(const struct image *im, const struct binary *bin,
			 struct go_version *ret) ERR_RESULT;

/* Parses "go1.MINOR[.PATCH][ X:EXPERIMENTS|-X:EXPERIMENTS]" (the separator changed at 1.26).
 * False for anything else. */
bool version_parse(const char *text, struct go_version *ret);

/* Whether the version names this experiment; all are without the experiment "". */
bool version_has_experiment(const struct go_version *v, const char *name);

#endif
