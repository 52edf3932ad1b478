// threads has two hundred OS threads, or as many as it is told, that do nothing: goroutines that wait in C, or, without
// cgo, in a system call.
package main

import (
	"flag"
	"sync"
	"time"

	"spanscope.test/progs/truth"
)

var count = flag.Int("threads", 200, "how many")

func main() {
	truth.Start()
	threads := *count
	var ready sync.WaitGroup
	ready.Add(threads)
	for i := 0; i < threads; i++ {
		go func() {
			ready.Done()
			stay()
		}()
	}
	ready.Wait()
	time.Sleep(200 * time.Millisecond) // all are where they stay now
	truth.Note("threads", threads)
	truth.Note("thread_stack_bytes", threads*stackBytes)
	truth.Freeze()
}
