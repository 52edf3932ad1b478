package main

import (
	"sync"
	"time"
)

type guarded struct {
	sync.Mutex
	n int
}

func (g *guarded) add() {
	g.Lock()
	defer g.Unlock()
	time.Sleep(200 * time.Microsecond)
	g.n++
}

// contend has goroutines wait for mutexes, channels and each other.
func contend() {
	var (
		g     guarded
		rw    sync.RWMutex
		group sync.WaitGroup
		pipe  = make(chan int)
	)
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			for k := 0; k < 20; k++ {
				g.add()
				if i%2 == 0 {
					rw.Lock()
					time.Sleep(50 * time.Microsecond)
					rw.Unlock()
					pipe <- k
				} else {
					rw.RLock()
					rw.RUnlock()
					select {
					case <-pipe:
					case <-time.After(time.Second):
					}
				}
			}
		}(i)
	}
	group.Wait()
}
