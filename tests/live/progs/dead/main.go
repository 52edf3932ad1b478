// dead had two hundred thousand goroutines at once, of which five hundred are left: the descriptors
// of the others stay, their stacks are given back.
package main

import (
	"runtime/debug"
	"sync"

	"spanscope.test/progs/truth"
)

const (
	peak  = 200000
	alive = 500
)

func main() {
	truth.Start()
	var started, ended sync.WaitGroup
	leave := make(chan struct{})
	started.Add(peak)
	ended.Add(peak - alive)
	for i := 0; i < peak; i++ {
		go func(stays bool) {
			started.Done()
			if stays {
				select {}
			}
			<-leave
			ended.Done()
		}(i%(peak/alive) == 0)
	}
	started.Wait()
	close(leave)
	ended.Wait()
	debug.FreeOSMemory()
	truth.Note("peak", peak)
	truth.Note("alive", alive)
	truth.Freeze()
}
