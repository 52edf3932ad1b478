/* The executable is C; Go is in the library beside it. */
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

static void *handle; /* the library stays */

int main(void)
{
	char exe[PATH_MAX] = "", library[PATH_MAX + 16];
	void (*stay)(void);

	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		return 1;
	snprintf(library, sizeof(library), "%s/library.so", dirname(exe));
	handle = dlopen(library, RTLD_NOW);
	*(void **)&stay = handle ? dlsym(handle, "stay") : NULL;
	if (!stay) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	stay();
	return 0;
}
