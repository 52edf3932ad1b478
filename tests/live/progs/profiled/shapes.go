package main

import (
	"fmt"
	"strings"
	"sync"
)

// shaper has methods that are called through an interface and through wrappers.
type shaper interface{ shape(n int) }

type byValue struct{ bytes int }

type embedding struct{ *byValue }

func (v byValue) shape(n int) { kept = append(kept, make([]byte, v.bytes+n)) }

// inner, middle and outer are inlined into each other.
func inner(n int) []byte  { return make([]byte, n) }
func middle(n int) []byte { return inner(n + 1) }
func outer(n int) []byte  { return middle(n + 1) }

//go:noinline
func deep(depth, n int) {
	if depth == 0 {
		keep(n)
		return
	}
	deep(depth-1, n)
}

var (
	table   = map[string][]int{}
	channel = make(chan []byte, 4096)
	extra   []func()
)

// shapes allocates from stacks of all kinds: inlined and deep ones, wrappers, closures, deferred
// calls, other goroutines, and what the runtime allocates by itself.
func shapes() {
	for i := 0; i < 2000; i++ {
		kept = append(kept, outer(i%500))
		shaper(byValue{100}).shape(i % 300)
		shaper(&byValue{200}).shape(i % 300)
		shaper(embedding{&byValue{300}}).shape(i % 300)
		func() {
			defer keep(i % 700)
			kept = append(kept, []byte(strings.Repeat("ab", i%900)))
		}()
		table[fmt.Sprint("key", i%400)] = make([]int, i%50)
	}
	for i := 0; i < 300; i++ {
		deep(i, 4000)
	}
	var group sync.WaitGroup
	for i := 0; i < 50; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for k := 0; k < 20; k++ {
				channel <- make([]byte, 3000)
			}
		}()
	}
	group.Wait()
	for _, more := range extra {
		more()
	}
}
