// tworuntimes loads a library that is written in Go: it brings a runtime of its own, with a heap
// that the program's knows nothing of.
package main

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>

static int stay(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	void (*f)(void) = NULL;

	if (library)
		*(void **)&f = dlsym(library, "stay");
	if (f)
		f();
	return f != NULL;
}
*/
import "C"

import (
	"os"
	"path/filepath"
	"unsafe"
)

func main() {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	library := C.CString(filepath.Join(filepath.Dir(exe), "library.so"))
	defer C.free(unsafe.Pointer(library))
	if C.stay(library) == 0 {
		panic("the library cannot be loaded")
	}
}
