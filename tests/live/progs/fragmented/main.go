// fragmented leaves one survivor in nearly every span of two size classes: the spans cannot
// be given back, and the free slots in them serve no other class.
package main

import (
	"flag"
	"runtime/debug"

	"spanscope.test/progs/truth"
)

// Of a hundred small nodes there is one big one.
const (
	smallKeep = 128
	bigShare  = 100
	bigKeep   = 8
)

var nodes = flag.Int("nodes", 2000000, "small nodes to allocate")

type smallNode struct {
	next *smallNode
	data [56]byte
}

type bigNode struct {
	data [1024]byte
}

var (
	small     []*smallNode
	big       []*bigNode
	lastSmall *smallNode
	lastBig   *bigNode
)

func main() {
	truth.Start()
	// A collection in between would let later nodes fill the gaps of the earlier ones.
	percent := debug.SetGCPercent(-1)
	for i := 0; i < *nodes; i++ {
		lastSmall = &smallNode{}
		lastSmall.data[0] = 1
		if i%smallKeep == 0 {
			small = append(small, lastSmall)
		}
	}
	for i := 0; i < *nodes/bigShare; i++ {
		lastBig = &bigNode{}
		lastBig.data[0] = 1
		if i%bigKeep == 0 {
			big = append(big, lastBig)
		}
	}
	lastSmall, lastBig = nil, nil
	debug.SetGCPercent(percent)
	truth.Note("kept_small", len(small))
	truth.Note("kept_big", len(big))
	truth.Note("kept_bytes", 64*len(small)+1024*len(big))
	truth.Freeze()
}
