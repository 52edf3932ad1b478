// quiet holds a few MB of everything that an ordinary program has, and does nothing.
package main

import (
	"flag"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"spanscope.test/progs/truth"
)

type record struct {
	name string
	next *record
	data [5]uint64
}

var secret = flag.String("secret", "", "nothing that anyone else should know")

var (
	byNumber = map[int]*record{}
	byName   = map[string][]int{}
	texts    []string
	tiny     []*uint16
	large    [][]byte
	pointers [][]*record
	finals   []*record
	timer    *time.Timer

	never  = make(chan struct{})
	locked sync.Mutex
)

func main() {
	truth.Start()
	collections()
	smallObjects()
	largeObjects()
	deadGoroutines(300)
	parkedGoroutines()
	truth.Freeze()
}

func collections() {
	var last *record
	for i := 0; i < 20000; i++ {
		last = &record{name: fmt.Sprint("record ", i), next: last}
		byNumber[i] = last
	}
	for i := 0; i < 2000; i++ {
		byName[fmt.Sprint("name ", i)] = make([]int, i%50)
	}
	for i := 0; i < 3000; i++ {
		texts = append(texts, strings.Repeat("text", i%200))
	}
	texts = append(texts, strings.ToUpper(*secret))
	truth.Note("records", len(byNumber))
}

func smallObjects() {
	for i := 0; i < 10000; i++ {
		value := uint16(i)
		tiny = append(tiny, &value) // combined by the tiny allocator
	}
	for i := 0; i < 100; i++ {
		r := &record{}
		runtime.SetFinalizer(r, func(*record) {})
		finals = append(finals, r)
	}
	timer = time.AfterFunc(time.Hour, func() {})
	truth.Note("tiny", len(tiny))
	truth.Note("finalizers", len(finals))
}

func largeObjects() {
	bytes := 0
	for _, size := range []int{33 << 10, 100 << 10, 1 << 20, 1<<20 + 1} {
		block := make([]byte, size)
		for i := range block {
			block[i] = byte(i) | 1
		}
		large = append(large, block)
		bytes += size
	}
	large = append(large, make([]byte, 4<<20)) // never touched
	bytes += 4 << 20
	for i := 0; i < 2; i++ {
		list := make([]*record, 20000)
		for j := range list {
			list[j] = byNumber[j]
		}
		pointers = append(pointers, list)
		bytes += 8 * len(list)
	}
	truth.Note("large_bytes", bytes)
}

// deadGoroutines leaves Gs behind that have ended, some of them with a grown stack.
func deadGoroutines(n int) {
	var done sync.WaitGroup
	done.Add(n)
	for i := 0; i < n; i++ {
		go func(depth int) {
			defer done.Done()
			descend(depth, func() {})
		}(i % 60)
	}
	done.Wait()
	truth.Note("dead_goroutines", n)
}

// parkedGoroutines parks goroutines in several ways and below several depths of stack.
func parkedGoroutines() {
	locked.Lock()
	ways := []func(){
		func() { <-never },
		func() { locked.Lock() },
		func() { time.Sleep(time.Hour) },
		func() { select {} },
	}
	depths := []int{0, 10, 100, 1000}
	const each = 10
	var ready sync.WaitGroup
	for _, depth := range depths {
		for _, park := range ways {
			for i := 0; i < each; i++ {
				depth, park := depth, park
				ready.Add(1)
				go descend(depth, func() {
					ready.Done()
					park()
				})
			}
		}
	}
	ready.Wait()
	time.Sleep(20 * time.Millisecond)
	truth.Note("parked_goroutines", len(ways)*len(depths)*each)
}

//go:noinline
func descend(depth int, bottom func()) byte {
	var frame [100]byte
	frame[depth%len(frame)] = byte(depth)
	if depth == 0 {
		bottom()
	} else {
		frame[0] += descend(depth-1, bottom)
	}
	return frame[0] + frame[depth%len(frame)]
}
