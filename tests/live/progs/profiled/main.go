// profiled keeps objects of many sizes, drops others, writes its own heap profile to the file
// "profile" (and others), and stops. -rate is its MemProfileRate, -collections how often it collects garbage:
// what the profile shows depends on whether that was ever.
package main

import (
	"flag"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"

	"spanscope.test/progs/truth"
)

var (
	rate        = flag.Int("rate", 512<<10, "MemProfileRate")
	collections = flag.Int("collections", 1, "of garbage")
	shaped      = flag.Bool("shapes", false, "allocate from stacks of all kinds too")
	contended   = flag.Bool("contention", false, "profile what goroutines wait for too")

	kept [][]byte
	sink []byte
)

//go:noinline
func keep(n int) { kept = append(kept, make([]byte, n)) }

//go:noinline
func drop(n int) { sink = make([]byte, n) }

// work allocates some 20 MB, half of which it drops.
func work() {
	for i := 0; i < 3000; i++ {
		keep(8 << (i % 11))
		drop(24 << (i % 11))
		if i%100 == 0 {
			keep(100 << 10)
		}
	}
}

// write writes the profile of this name to a file.
func write(name, path string) {
	file, err := os.Create(path)
	if err == nil {
		err = pprof.Lookup(name).WriteTo(file, 0)
	}
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		panic(err)
	}
}

func main() {
	truth.Start()
	runtime.MemProfileRate = *rate
	if *contended {
		runtime.SetBlockProfileRate(1)
		runtime.SetMutexProfileFraction(2)
	}
	debug.SetGCPercent(-1)
	for i := 0; i <= *collections; i++ {
		if i > 0 {
			runtime.GC()
		}
		work()
		if *shaped {
			shapes()
		}
		if *contended {
			contend()
		}
	}
	if *contended {
		write("block", "block")
		write("mutex", "mutex")
	}
	write("heap", "profile")
	truth.Stand()
}
