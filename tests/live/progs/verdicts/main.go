// verdicts plants one fault of known size, or with -control the same work without the fault. What
// it planted it measures by itself, and says so in planted_bytes; with -mend also what the advice
// on it gives back.
//
// Nothing here races: there is one P, the collector runs only when it is called, and the last
// reading is the last thing that happens.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"unsafe"

	"spanscope.test/progs/truth"
)

const (
	mib      = 1 << 20
	pageSize = 4 << 10

	setNoHugePages = 41 // PR_SET_THP_DISABLE: or one byte would touch 2 MB
)

var (
	name    = flag.String("case", "", "what to plant")
	size    = flag.Int("size", 16, "how much of it, in MiB")
	control = flag.Bool("control", false, "do the same without the fault")
	mend    = flag.Bool("mend", false, "follow the advice, and say in freed_bytes what it gave back")

	// Each plants its fault and returns the bytes that it measured.
	cases = map[string]func() int{
		"idle":      idle,
		"released":  released,
		"refilled":  refilled,
		"collapsed": collapsed,
		"unwritten": unwritten,
		"zeros":     zeros,
		"swapped":   swapped,
		"sparse":    sparse,
		"garbage":   garbage,
		"limit":     limit,
		"stacks":    stacks,
		"leaked":    stacks,
		"returned":  stacks,
		"ended":     ended,
		"threads":   threads,
		"buckets":   buckets,
		"spans":     spans,
		"ballast":   ballast,
		"cleared":   cleared,
		"mapped":    mapped,
	}

	// The advice on some of them.
	remedies = map[string]func() int{
		"idle":     freeMemory,
		"sparse":   copyNodes,
		"garbage":  collect,
		"returned": shrinkStacks,
	}

	stats runtime.MemStats
)

func main() {
	truth.Start()
	plant := cases[*name]
	if plant == nil {
		fmt.Fprintln(os.Stderr, "verdicts: no such case:", *name)
		os.Exit(2)
	}
	if *name != "collapsed" {
		syscall.RawSyscall6(syscall.SYS_PRCTL, setNoHugePages, 1, 0, 0, 0, 0)
	}
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(-1)
	truth.Note("planted_bytes", plant())
	if *mend {
		truth.Note("freed_bytes", remedies[*name]())
	}
	truth.Stand()
}

// touch writes to each page.
func touch(block []byte) {
	for at := 0; at < len(block); at += pageSize {
		block[at] = 1
	}
}

// held keeps what is to stay alive.
var held [][]byte

// places has the addresses of blocks that may be dropped.
var places []uintptr

// hold allocates blocks of 1 MiB that are written to.
func hold(n int) {
	for i := 0; i < n; i++ {
		block := make([]byte, mib)
		touch(block)
		held = append(held, block)
		places = append(places, uintptr(unsafe.Pointer(&block[0])))
	}
}

var vector [mib / pageSize]byte

// inMemory counts, by mincore(2), the bytes of the blocks' places that are in memory.
func inMemory() int {
	pages := 0
	for _, place := range places {
		syscall.RawSyscall(syscall.SYS_MINCORE, place, mib, uintptr(unsafe.Pointer(&vector)))
		for _, page := range vector {
			pages += int(page & 1)
		}
	}
	return pages * pageSize
}

func read() *runtime.MemStats {
	runtime.ReadMemStats(&stats)
	return &stats
}
