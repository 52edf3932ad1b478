// midmark dies while the garbage collector marks a heap full of pointers.
package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"

	"spanscope.test/progs/truth"
)

const (
	chains    = 4
	length    = 150000
	newcomers = 10000
)

type node struct {
	next  *node
	other *node
	data  [6]uint64
}

var (
	heads  [chains]*node
	fresh  [newcomers]*node
	pauses = []metrics.Sample{{Name: "/gc/pauses:seconds"}}
)

func main() {
	truth.Start()
	debug.SetGCPercent(-1)
	for i := 0; i < length; i++ {
		for j := range heads {
			heads[j] = &node{next: heads[j], other: heads[(j+1)%chains]}
		}
	}
	truth.Note("chain_bytes", 64*chains*length)
	truth.Note("newcomer_bytes", 64*newcomers)
	truth.Publish()

	// With one P marking goes on only in slices of its time, when this goroutine yields.
	runtime.GOMAXPROCS(1)
	runtime.GC()
	for !allocateInMark() {
	}
	truth.Die()
}

// allocateInMark says whether the mark that it starts goes on when the newcomers are there.
func allocateInMark() bool {
	before := countPauses()
	go runtime.GC()
	for countPauses() == before {
		runtime.Gosched()
	}
	for i := range fresh { // what is allocated now is marked from the start
		fresh[i] = &node{}
	}
	if countPauses() == before+1 {
		return true
	}
	fresh = [newcomers]*node{}
	runtime.GC()
	return false
}

// countPauses counts how often the collector stopped the world: once when a mark begins, and
// once when it ends.
func countPauses() (count uint64) {
	metrics.Read(pauses)
	for _, n := range pauses[0].Value.Float64Histogram().Counts {
		count += n
	}
	return count
}
