// threads has two hundred OS threads that do nothing: goroutines that wait in C, or, without
// cgo, in a system call.
package main

import (
	"sync"
	"time"

	"spanscope.test/progs/truth"
)

const threads = 200

func main() {
	truth.Start()
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
