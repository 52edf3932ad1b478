// grow changes its memory step by step, always in the same way: something leaks, or nothing does.
// After each step it says so, and goes on when it is told to by a byte, or at the end of its input.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"spanscope.test/progs/truth"
)

type node struct {
	next *node
	rest [312]byte
}

type page struct {
	next *page
	rest [2040]byte
}

var (
	leaked   *node
	base     *page
	survivor []*[1024]byte
	noise    [][]byte
	ask      []chan int
)

// leak keeps 6 MiB that nobody will look at again.
//
//go:noinline
func leak(step int) {
	for i := 0; i < 20000; i++ {
		leaked = &node{next: leaked}
		leaked.rest[0] = byte(i)
	}
}

// gaps has a peak that is larger each time, of which one object in each span is left.
//
//go:noinline
func gaps(step int) {
	survivor = nil
	runtime.GC()
	all := make([]*[1024]byte, 7000*step)
	for i := range all {
		all[i] = new([1024]byte)
		all[i][0] = 1
	}
	for i := 0; i < len(all); i += 8 {
		survivor = append(survivor, all[i])
	}
}

type request struct {
	answer chan int
	rest   [900]byte
}

//go:noinline
func (r request) await(deep int) int {
	if deep > 0 {
		r.rest[deep] = byte(r.await(deep - 1))
		return int(r.rest[deep-1])
	}
	return <-r.answer
}

// wait starts goroutines whose answer does not come.
//
//go:noinline
func wait(step int) {
	ready := make(chan int)
	for i := 0; i < 400; i++ {
		r := request{answer: make(chan int)}
		ask = append(ask, r.answer)
		go func() {
			ready <- 1
			r.await(5)
		}()
		<-ready
	}
}

// stir makes garbage, and keeps as much as before.
//
//go:noinline
func stir(step int) {
	for i := 0; i < 2000+step%3*100; i++ {
		b := make([]byte, 100+(i*step*7919)%3000)
		b[0] = 1
		noise[i%len(noise)] = b
	}
}

func main() {
	kind := flag.String("kind", "heap", "heap, gaps, c, goroutines or steady")
	steps := flag.Int("steps", 12, "how many")
	truth.Start()
	// Without a call of it the linker leaves the heap profile out.
	runtime.MemProfile(nil, false)
	noise = make([][]byte, 500)
	for i := 0; i < 8192; i++ {
		base = &page{next: base}
		base.rest[0] = 1
	}
	// The heap has its size before the first step.
	for i := 0; i < 30; i++ {
		stir(i)
		if i%3 == 0 {
			runtime.GC()
		}
	}
	grow, ok := map[string]func(int){
		"heap": leak, "gaps": gaps, "c": growC, "goroutines": wait, "steady": stir,
	}[*kind]
	if !ok {
		flag.Usage()
		os.Exit(2)
	}
	for step := 1; step <= *steps; step++ {
		grow(step)
		stir(step)
		runtime.GC()
		// What is free is given back: how much of it is kept is noise. Collects once more, which
		// publishes what the first one counted for the heap profile.
		debug.FreeOSMemory()
		fmt.Println("step", step)
		if step < *steps {
			os.Stdin.Read(make([]byte, 1))
		}
	}
	truth.Stand()
}
