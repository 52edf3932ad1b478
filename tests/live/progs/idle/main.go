// idle has had its peak: the spans of many dropped blocks are free, and the runtime has not
// given them back to the kernel. With -release it has.
package main

import (
	"flag"
	"runtime/debug"
	"sync"

	"spanscope.test/progs/truth"
)

const (
	blocks    = 300
	blockSize = 100 << 10
	pageSize  = 4 << 10
)

var release = flag.Bool("release", false, "give the free memory back")

// What is in a pool survives one collection and is dropped by the second. Only so does the
// last collection see the peak in use, which is what the scavenger lets the runtime keep:
// after one more it would give back tens of MB within a millisecond.
var pool sync.Pool

func main() {
	truth.Start()
	percent := debug.SetGCPercent(-1)
	var held [][]byte
	for i := 0; i < blocks; i++ {
		block := make([]byte, blockSize)
		for at := 0; at < len(block); at += pageSize {
			block[at] = 1
		}
		held = append(held, block)
	}
	pool.Put(&held)
	if *release {
		debug.FreeOSMemory() // after the first of two collections
		debug.FreeOSMemory()
		debug.SetGCPercent(percent) // or the scavenger would go on after the last reading
	}
	truth.Note("dropped_bytes", blocks*blockSize)
	truth.Freeze()
}
