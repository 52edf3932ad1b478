// midmark dies while the garbage collector marks a heap full of pointers.
package main

import (
	"runtime"
	"runtime/debug"
	"time"

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
	heads [chains]*node
	fresh [newcomers]*node
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

	runtime.GC()
	begin := time.Now()
	runtime.GC()
	took := time.Since(begin)
	go runtime.GC()
	time.Sleep(took / 4)
	for i := range fresh { // what is allocated now is marked from the start
		fresh[i] = &node{}
	}
	truth.Die()
}
