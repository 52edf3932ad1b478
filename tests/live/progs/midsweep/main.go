// midsweep dies right after a mark has ended, when most of its garbage is not swept yet.
package main

import (
	"runtime"
	"runtime/debug"

	"spanscope.test/progs/truth"
)

const (
	count     = 40000
	hugeCount = count / 100
	hugeSize  = 40 << 10
	keepEvery = 4
)

// Small objects with and without pointers, larger ones, and those with a span of their own:
// their marks are kept in different places. Large ones fill their slot with a header.
type (
	small struct {
		next *small
		data [11]uint64
	}
	plain [52]uint64
	large struct {
		next *large
		data [126]uint64
	}
	huge [hugeSize]byte
)

var (
	smalls [count]*small
	plains [count]*plain
	larges [count]*large
	huges  [hugeCount]*huge
	stats  runtime.MemStats
)

func main() {
	truth.Start()
	debug.SetGCPercent(-1)
	for i := range smalls {
		smalls[i], plains[i], larges[i] = &small{}, &plain{}, &large{}
	}
	for i := range huges {
		huges[i] = &huge{}
	}
	runtime.GC()
	thin()
	const bytes = count*(96+416+1024) + hugeCount*hugeSize
	truth.Note("kept_bytes", bytes/keepEvery)
	truth.Note("dropped_bytes", bytes-bytes/keepEvery)
	truth.Publish()

	// With one P nobody sweeps while this goroutine runs.
	runtime.GOMAXPROCS(1)
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
			smalls[i], plains[i], larges[i] = nil, nil, nil
		}
	}
	for i := range huges {
		if i%keepEvery != 0 {
			huges[i] = nil
		}
	}
}
