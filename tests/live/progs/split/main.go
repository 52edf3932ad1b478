// split keeps some of many objects, drops the others, and stops at one moment of a collection:
//
//	marked    the mark has just ended, nothing is swept
//	swept     all is swept, and more objects have been allocated
//	marking   the roots are marked, the rest is under way, and more objects have been allocated
//	sweeping  some is swept, and more objects have been allocated
//
// Objects have three sizes, each with and without pointers: the runtime keeps the marks of each
// in its own way.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"syscall"
	"time"

	"spanscope.test/progs/truth"
)

const (
	objects   = 4000
	keepEvery = 4
	newcomers = 100
	shields   = 200
	share     = 20 // of the objects, this part is of those with a span of their own

	smallSize, mediumSize, largeSize = 288, 1152, 40 << 10 // size classes, and five pages

	chains    = 4
	length    = 400000
	rootsTime = 20 * time.Millisecond // of this process, until all roots are marked for sure
)

// Sizes are a little below those of the classes, for the header that some objects have.
type (
	small       [smallSize/8 - 1]uint64
	medium      [mediumSize/8 - 7]uint64
	large       [largeSize / 8]uint64
	smallLinks  linked[[smallSize/8 - 2]uint64]
	mediumLinks linked[[mediumSize/8 - 8]uint64]
	largeLinks  linked[[largeSize/8 - 1]uint64]

	linked[T any] struct {
		next *linked[T]
		rest T
	}
)

// population has objects of one kind, all of them reached right from a root.
type population[T any] struct {
	old   [objects]*T
	fresh [newcomers]*T
}

func (p *population[T]) settle(n int) {
	for i := 0; i < n; i++ {
		p.old[i] = new(T)
	}
}

func (p *population[T]) thin() {
	for i := range p.old {
		if i%keepEvery != 0 {
			p.old[i] = nil
		}
	}
}

func (p *population[T]) grow(n int) {
	for i := 0; i < n; i++ {
		p.fresh[i] = new(T)
	}
}

type node struct {
	next, other *node
	data        [6]uint64
}

var (
	smalls       population[small]
	mediums      population[medium]
	larges       population[large]
	linkedSmall  population[smallLinks]
	linkedMedium population[mediumLinks]
	linkedLarge  population[largeLinks]

	// Spans of their own come first in the sweep. These are swept while this goroutine waits for
	// its turn after the mark, and there is nothing in them to free.
	shieldBelow, shieldAbove [shields]*large

	heads [chains]*node

	pauses       = []metrics.Sample{{Name: "/gc/pauses:seconds"}}
	pausesBefore uint64
	stats        runtime.MemStats
	freesBefore  uint64 // of medium objects
)

var moment = flag.String("moment", "swept", "marked, swept, marking or sweeping")

func main() {
	truth.Start()
	debug.SetGCPercent(-1)
	runtime.GOMAXPROCS(1) // while this goroutine runs nobody marks or sweeps
	settle()
	note()
	truth.Prepare()
	countPauses() // allocates once
	runtime.GC()
	thin()

	switch *moment {
	case "marked":
		collectUntil(func() bool { return pausesSince() == 2 })
	case "swept":
		runtime.GC()
		grow()
	case "marking":
		link()
		for !growInMark() {
		}
	case "sweeping":
		collectUntil(func() bool { return isBetween(frees(mediumSize) - freesBefore) })
		grow()
	default:
		fmt.Fprintf(os.Stderr, "split: no moment %q\n", *moment)
		os.Exit(2)
	}
	truth.Stop()
}

func settle() {
	for i := range shieldBelow {
		shieldBelow[i] = new(large)
	}
	smalls.settle(objects)
	mediums.settle(objects)
	larges.settle(objects / share)
	linkedSmall.settle(objects)
	linkedMedium.settle(objects)
	linkedLarge.settle(objects / share)
	for i := range shieldAbove {
		shieldAbove[i] = new(large)
	}
}

// thin comes right after a collection: no span with dropped objects is in the cache of the P, which
// is swept when a mark ends.
func thin() {
	smalls.thin()
	mediums.thin()
	larges.thin()
	linkedSmall.thin()
	linkedMedium.thin()
	linkedLarge.thin()
}

func grow() {
	smalls.grow(newcomers)
	mediums.grow(newcomers)
	larges.grow(newcomers / share)
	linkedSmall.grow(newcomers)
	linkedMedium.grow(newcomers)
	linkedLarge.grow(newcomers / share)
}

// note writes down how many objects of a size there are, and what the counter of those that were
// freed says before the collection.
func note() {
	fresh := newcomers
	if *moment == "marked" {
		fresh = 0
	}
	for _, size := range []int{smallSize, mediumSize, largeSize} {
		part, shield := 1, 0
		if size == largeSize {
			part, shield = share, 2*shields
		}
		truth.Note(fmt.Sprint("kept ", size), objects/part/keepEvery)
		truth.Note(fmt.Sprint("dropped ", size), objects/part-objects/part/keepEvery)
		truth.Note(fmt.Sprint("fresh ", size), fresh/part)
		truth.Note(fmt.Sprint("shields ", size), shield)
		truth.Note(fmt.Sprint("frees ", size), int(frees(size)))
	}
	freesBefore = frees(mediumSize)
}

// isBetween says whether some of the medium objects that were dropped are freed, and some not.
func isBetween(freed uint64) bool {
	const dropped = 2 * (objects - objects/keepEvery)
	return dropped/4 < freed && freed < dropped*3/4
}

// frees returns how many objects of a size class were freed so far.
func frees(size int) uint64 {
	runtime.ReadMemStats(&stats)
	for i := range stats.BySize {
		if stats.BySize[i].Size == uint32(size) {
			return stats.BySize[i].Frees
		}
	}
	return 0
}

// collectUntil starts a collection and lets the others go on, a slice at a time, until the time
// has come.
func collectUntil(done func() bool) {
	pausesBefore = countPauses()
	go runtime.GC()
	for !done() {
		runtime.Gosched()
	}
}

// link gives the collector enough to mark.
func link() {
	for i := 0; i < length; i++ {
		for j := range heads {
			heads[j] = &node{next: heads[j], other: heads[(j+1)%chains]}
		}
	}
}

// growInMark says whether the mark that it starts goes on when the newcomers are there.
func growInMark() bool {
	collectUntil(func() bool { return pausesSince() > 0 })
	for end := processTime() + rootsTime; processTime() < end; {
		runtime.Gosched()
	}
	grow()
	if pausesSince() == 1 {
		return true
	}
	runtime.GC()
	link()
	return false
}

// pausesSince returns how often the collector has stopped the world for this collection: once
// when the mark begins, and once when it ends.
func pausesSince() uint64 {
	return countPauses() - pausesBefore
}

func countPauses() (count uint64) {
	metrics.Read(pauses)
	for _, n := range pauses[0].Value.Float64Histogram().Counts {
		count += n
	}
	return count
}

func processTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
