/* Runs files through a fuzz target, and says which one it is at. */
#include "fuzz/fuzz.h"

#include <errno.h>

static u8 *read_all(const char *path, size_t *n)
{
	FILE *f = fopen(path, "re");
	u8 *bytes = NULL;

	*n = 0;
	if (!f) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		exit(1);
	}
	for (size_t got = 1; got; *n += got) {
		u8 *more = realloc(bytes, *n + 65536);

		if (!more)
			abort();
		bytes = more;
		got = fread(bytes + *n, 1, 65536, f);
	}
	(void)fclose(f);
	return bytes;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		size_t n;
		u8 *bytes = read_all(argv[i], &n), *exact;

		/* A block of just that size: what reads behind it is caught. */
		exact = realloc(bytes, n ? n : 1);
		printf("begin %s\n", argv[i]);
		fflush(stdout);
		fuzz_one(exact, n);
		free(exact);
		printf("end %s\n", argv[i]);
	}
	return 0;
}
