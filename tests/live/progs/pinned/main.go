// pinned has two sites that keep as many objects of one size class: those of scatter are spread over
// spans that have nothing else left, those of pack fill theirs. Only the first keep free slots.
package main

import (
	"flag"
	"runtime"
	"runtime/debug"
	"runtime/pprof"

	"spanscope.test/progs/truth"
)

const (
	size = 64
	each = 128 // of the scattered ones one is kept
)

type node [size / 8]*node

var (
	nodes = flag.Int("nodes", 300000, "to allocate")
	rate  = flag.Int("rate", 1024, "MemProfileRate")

	scattered, packed []*node
	last              *node
)

//go:noinline
func scatter() *node { return new(node) }

//go:noinline
func pack() *node { return new(node) }

func main() {
	truth.Start()
	runtime.MemProfileRate = *rate
	debug.SetGCPercent(-1)
	scattered, packed = make([]*node, 0, *nodes/each+1), make([]*node, 0, *nodes/each+1)
	for i := 0; i < *nodes; i++ {
		last = scatter()
		if i%each == 0 {
			scattered = append(scattered, last)
		}
	}
	for len(packed) < len(scattered) {
		packed = append(packed, pack())
	}
	last = nil
	runtime.GC()
	truth.Note("pinned_bytes", size*(*nodes-len(scattered)))
	truth.Note("kept_bytes", size*len(packed))
	truth.Note("profiles", pprof.Lookup("heap").Count())
	truth.Freeze()
}
