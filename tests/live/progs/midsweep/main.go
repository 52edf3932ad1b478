// midsweep dies right after a mark has ended, when most of its garbage is not swept yet.
package main

import (
	"runtime"
	"runtime/debug"

	"spanscope.test/progs/truth"
)

const (
	count     = 40000
	keepEvery = 4
)

// Small objects with and without pointers, larger ones, and those with a span of their own:
// their marks are kept in different places.
type (
	small struct {
		next *small
		data [11]uint64
	}
	large struct {
		next *large
		data [127]uint64
	}
)

var (
	smalls []*small
	larges []*large
	plain  [][]byte
	huge   [][]byte
	stats  runtime.MemStats
)

func main() {
	truth.Start()
	debug.SetGCPercent(-1)
	bytes := 0
	for i := 0; i < count; i++ {
		smalls = append(smalls, &small{})
		plain = append(plain, make([]byte, 416))
		larges = append(larges, &large{})
		bytes += 96 + 416 + 1024
		if i%100 == 0 {
			huge = append(huge, make([]byte, 40<<10))
			bytes += 40 << 10
		}
	}
	runtime.GC()
	thin()
	truth.Note("kept_bytes", bytes/keepEvery)
	truth.Note("dropped_bytes", bytes-bytes/keepEvery)
	truth.Publish()

	runtime.ReadMemStats(&stats)
	before := stats.NumGC
	go runtime.GC()
	for stats.NumGC == before {
		runtime.Gosched()
		runtime.ReadMemStats(&stats)
	}
	truth.Die()
}

// thin drops three of four objects.
func thin() {
	for i := range smalls {
		if i%keepEvery != 0 {
			smalls[i], larges[i], plain[i] = nil, nil, nil
		}
	}
	for i := range huge {
		if i%keepEvery != 0 {
			huge[i] = nil
		}
	}
}
