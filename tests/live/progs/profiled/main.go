// profiled keeps objects of many sizes, drops others, writes its own heap profile to the file
// "profile", and stops. -rate is its MemProfileRate, -collections how often it collects garbage:
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

func main() {
	truth.Start()
	runtime.MemProfileRate = *rate
	debug.SetGCPercent(-1)
	work()
	for i := 0; i < *collections; i++ {
		runtime.GC()
		work()
	}
	file, err := os.Create("profile")
	if err == nil {
		err = pprof.WriteHeapProfile(file)
	}
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		panic(err)
	}
	truth.Stand()
}
