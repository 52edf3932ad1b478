// userarena has objects in arenas of the arena experiment. Each has three chunks of 8 MiB, the last
// of them not full. Two arenas are in use, one of them in chunks that had been freed; of the third,
// which is freed, the full chunks are given back and the last is kept for the next arena.
package main

import (
	"arena"
	"runtime"

	"spanscope.test/progs/truth"
)

const (
	objects     = 20000
	objectBytes = 1024
)

type object struct {
	next *object
	data [objectBytes/8 - 1]uint64
}

var (
	used, reused *arena.Arena
	heads        [2]*object
)

func main() {
	truth.Start()
	used = arena.NewArena()
	heads[0] = fill(used)
	freed := arena.NewArena()
	fill(freed)
	freed.Free()
	runtime.GC() // nothing points into it any more: it is ready to be used again
	runtime.GC()
	reused = arena.NewArena()
	heads[1] = fill(reused)
	last := arena.NewArena()
	fill(last)
	last.Free()
	truth.Note("chunk_bytes", (3+3+1)*8<<20)
	truth.Freeze()
}

func fill(a *arena.Arena) (head *object) {
	for i := 0; i < objects; i++ {
		o := arena.New[object](a)
		o.next = head
		o.data[0] = uint64(i)
		head = o
	}
	return head
}
