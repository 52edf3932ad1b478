// goroutines has goroutines in every state that a program can bring them into, several of each, and
// writes down how the runtime itself lists them: FILE.stacks is runtime.Stack of all, FILE.profile
// what runtime/pprof makes of them.
package main

import (
	"bytes"
	"context"
	"flag"
	"io/ioutil"
	"net"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"syscall"
	"time"

	"spanscope.test/progs/truth"
)

const each = 3 // goroutines of a kind

var (
	never   = make(chan int)
	nothing chan int
	mutex   sync.Mutex
	rw      sync.RWMutex
	cond    = sync.NewCond(&sync.Mutex{})
	group   sync.WaitGroup
	ready   sync.WaitGroup
	sink    int
)

// extra are kinds that not every release or build has.
var extra []func()

// wait is inlined into whoever calls it, two calls deep.
func wait(c chan int) int { return waitTwice(c) + 1 }

func waitTwice(c chan int) int { return <-c }

type waiter interface{ Wait() }

type inner struct{ c chan int }

func (i inner) Wait() { sink += <-i.c }

// outer gets a method by embedding, and so a wrapper that the compiler makes.
type outer struct {
	inner
	name string
}

//go:noinline
func call(w waiter) { w.Wait() }

//go:noinline
func deep(n int, f func()) {
	var room [64]byte
	if n == 0 {
		f()
	} else {
		deep(n-1, f)
	}
	room[n] = 1
	sink += int(room[n/2])
}

// afterPanic waits in a function that was deferred, while a fault in its caller is being dealt with.
func afterPanic() {
	defer func() {
		recover()
	}()
	defer func() {
		<-never
	}()
	var p *outer
	sink += len(p.name)
}

func afterThrow() {
	defer func() { recover() }()
	defer waitDeferred()
	panic("on purpose")
}

func waitDeferred() { <-never }

// spin runs for ever, and may be stopped by a signal anywhere.
func spin() {
	for {
		sink++
	}
}

func kinds(fds [2]int, conn net.Conn) []func() {
	return append([]func(){
		func() { <-never },
		func() { never <- 1 },
		func() { <-nothing },
		func() { nothing <- 1 },
		func() {
			select {
			case <-never:
			case never <- 1:
			}
		},
		func() { select {} },
		func() { mutex.Lock() },
		func() { rw.RLock() },
		func() { rw.Lock() },
		func() {
			cond.L.Lock()
			cond.Wait()
		},
		func() { group.Wait() },
		func() { time.Sleep(time.Hour) },
		func() { wait(never) },
		func() { call(&outer{inner{never}, "x"}) },
		func() { deep(12, func() { <-never }) },
		func() { runtime.LockOSThread(); <-never },
		func() {
			labels := pprof.Labels("kind", "labelled", "request", strings.Repeat("r", 20))
			pprof.Do(context.Background(), labels, func(context.Context) { <-never })
		},
		func() { conn.Read(make([]byte, 1)) },
		func() { syscall.Read(fds[0], make([]byte, 1)) },
		afterPanic,
		afterThrow,
	}, extra...)
}

// start begins a goroutine in a function of its own, so that it is not main that created it.
//
//go:noinline
func start(f func()) {
	ready.Add(1)
	go func() {
		ready.Done()
		f()
	}()
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// listing is all goroutines as a crash would print them.
func listing() []byte {
	buf := make([]byte, 4<<20)
	return buf[:runtime.Stack(buf, true)]
}

// others is the listing without its first goroutine, which is main.
func others(text []byte) []byte {
	return text[bytes.Index(text, []byte("\n\n")):]
}

// settled waits until all but main and those that run are in their places, and lists them twice over,
// by a profile in between: if both listings are the same it says the same.
func settled(runners int) (stacks, profile []byte) {
	for {
		time.Sleep(200 * time.Millisecond)
		stacks = listing()
		var buf bytes.Buffer
		check(pprof.Lookup("goroutine").WriteTo(&buf, 1))
		time.Sleep(200 * time.Millisecond)
		still := !bytes.Contains(stacks, []byte("[runnable")) &&
			bytes.Equal(others(listing()), others(stacks))
		if runners > 0 || still {
			return stacks, buf.Bytes()
		}
	}
}

func main() {
	leak := flag.Int("leak", 0, "leave so many goroutines behind")
	spinners := flag.Int("spin", 0, "goroutines that run for ever")
	truth.Start()
	var fds [2]int
	check(syscall.Pipe(fds[:]))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	conn, err := net.Dial("tcp", listener.Addr().String())
	check(err)
	mutex.Lock()
	rw.Lock()
	group.Add(1)
	for _, kind := range kinds(fds, conn) {
		for i := 0; i < each; i++ {
			start(kind)
		}
	}
	for i := 0; i < *leak; i++ {
		start(func() { <-never })
	}
	ready.Wait()
	for i := 0; i < *spinners; i++ {
		start(spin)
	}
	runtime.GC()
	time.Sleep(100 * time.Millisecond)
	runtime.GC()
	name := flag.Lookup("truth").Value.String()
	stacks, profile := settled(*spinners)
	check(ioutil.WriteFile(name+".profile", profile, 0o644))
	check(ioutil.WriteFile(name+".stacks", stacks, 0o644))
	truth.Note("each", each)
	truth.Note("leak", *leak)
	truth.Stand()
}
