// probe keeps alive every runtime type that spanscope reads, so that the linker leaves its
// DWARF in: scripts/gen-layouts reads the built-in layouts from it.
package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"runtime/trace"
)

func main() {
	runtime.SetBlockProfileRate(1)
	runtime.SetMutexProfileFraction(1)
	object := new([1024]byte)
	runtime.SetFinalizer(object, func(*[1024]byte) {})
	if trace.Start(os.Stderr) == nil {
		trace.Stop()
	}
	for _, p := range pprof.Profiles() {
		p.WriteTo(os.Stderr, 0)
	}
	limitMemory()
	debug.FreeOSMemory()
	runtime.KeepAlive(object)
}
