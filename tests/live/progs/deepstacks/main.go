// deepstacks has many goroutines whose stacks have grown. They wait deep down (-park) or after
// they have come back, when most of their stacks is unused and each collection halves it.
package main

import (
	"flag"
	"sync"
	"time"

	"spanscope.test/progs/truth"
)

const (
	goroutines = 2000
	depth      = 30
	frameSize  = 256
)

var (
	park = flag.Bool("park", false, "wait deep down")

	never = make(chan struct{})
)

func main() {
	truth.Start()
	var ready sync.WaitGroup
	ready.Add(goroutines)
	wait := func() {
		ready.Done()
		<-never
	}
	for i := 0; i < goroutines; i++ {
		if *park {
			go descend(depth, wait)
		} else {
			go func() {
				descend(depth, func() {})
				wait()
			}()
		}
	}
	ready.Wait()
	time.Sleep(20 * time.Millisecond)
	truth.Note("deep_goroutines", goroutines)
	truth.Note("deep_bytes", goroutines*depth*frameSize)
	truth.Freeze()
}

//go:noinline
func descend(depth int, bottom func()) byte {
	var frame [frameSize]byte
	frame[depth%len(frame)] = byte(depth)
	if depth == 0 {
		bottom()
	} else {
		frame[0] += descend(depth-1, bottom)
	}
	return frame[0] + frame[depth%len(frame)]
}
