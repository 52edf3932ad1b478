// leak has goroutines that wait for what never comes: requests that lost their answer, say. With
// -serve they get their work in turns, so that none of them waits for long.
package main

import (
	"flag"
	"runtime"
	"sync"
	"time"

	"spanscope.test/progs/truth"
)

type request struct {
	answer chan int
	next   [100]byte
}

var sum int

//go:noinline
func (r *request) await(deep int) {
	if deep > 0 {
		r.await(deep - 1)
	} else {
		sum += <-r.answer
	}
	r.next[deep]++
}

// work answers to whoever asks, again and again.
func work(ask chan *request) {
	for r := range ask {
		r.next[0]++
	}
}

func main() {
	count := flag.Int("count", 100000, "goroutines")
	kinds := flag.Int("kinds", 1, "of so many different stacks, in turn")
	wait := flag.Duration("wait", 0, "between the first collection and the dump")
	serve := flag.Bool("serve", false, "nobody waits for long")
	truth.Start()
	var started sync.WaitGroup
	ask := make([]chan *request, *count)
	for i := range ask {
		started.Add(1)
		deep := i % *kinds
		if ask[i] = make(chan *request); *serve {
			go func(c chan *request) {
				started.Done()
				work(c)
			}(ask[i])
			continue
		}
		go func() {
			started.Done()
			(&request{answer: make(chan int)}).await(deep)
		}()
	}
	started.Wait()
	runtime.GC()
	time.Sleep(*wait)
	if *serve {
		var r request
		for _, c := range ask {
			c <- &r
		}
	}
	runtime.GC()
	runtime.KeepAlive(ask)
	truth.Note("count", *count)
	truth.Stand()
}
