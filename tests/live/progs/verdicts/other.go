package main

import (
	"bytes"
	"fmt"
	"io/ioutil"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"
	"unsafe"
)

const stackSize = 16 << 10

var (
	ready = make(chan struct{})
	never = make(chan struct{})
	leave = make(chan struct{})
)

// stacks: goroutines that wait deep down, in stacks of 16 KiB, or after they have come back from
// there. They start one after the other, so that each takes the smaller stacks that the one before
// has grown out of.
func stacks() int {
	before := read().StackInuse
	for i := 0; i < *size*mib/stackSize; i++ {
		go func() {
			var top byte
			descend(&top)
			if *name == "returned" && !*control {
				ready <- struct{}{}
				<-never
			}
		}()
		<-ready
		if *name == "returned" && !*control {
			<-ready
		}
	}
	after := read().StackInuse
	if *name == "leaked" {
		runtime.GC() // from here on they wait
		if !*control {
			time.Sleep(61 * time.Second)
		}
		runtime.GC()
	}
	return int(after) - int(before)
}

// shrinkStacks collects until no stack gets smaller any more.
func shrinkStacks() int {
	before := read().StackInuse
	for i := 0; i < 5; i++ {
		runtime.GC()
	}
	return int(before - read().StackInuse)
}

// descend fills the stack but for what a call needs. The address of the caller's variable follows
// the stack when it moves.
//
//go:noinline
func descend(top *byte) byte {
	var frame [256]byte
	frame[stats.NumGC%256] = *top
	if uintptr(unsafe.Pointer(top))-uintptr(unsafe.Pointer(&frame)) < stackSize-1800 {
		frame[1] += descend(top)
		return frame[1]
	}
	ready <- struct{}{}
	// else the next one may have this stack
	if *name == "leaked" || *name == "stacks" && !*control {
		<-never
	}
	return frame[1]
}

// threads: goroutines that were all in the kernel at once, 64 for each MiB, and have ended; their
// threads are counted, not their bytes. In the control there was one at a time.
func threads() int {
	var pipe [2]int
	if err := syscall.Pipe(pipe[:]); err != nil {
		panic(err)
	}
	before := threadCount()
	n := *size * 64 // some of the threads that were there before may serve, too
	for i := 0; i < n; i++ {
		go func() {
			var b [1]byte
			syscall.Read(pipe[0], b[:])
			ready <- struct{}{}
		}()
		if *control {
			syscall.Write(pipe[1], []byte{0})
			<-ready
		}
	}
	for !*control && threadCount() <= n {
		time.Sleep(time.Millisecond)
	}
	syscall.Write(pipe[1], make([]byte, n))
	for i := 0; !*control && i < n; i++ {
		<-ready
	}
	return threadCount() - before
}

func threadCount() int {
	status, err := ioutil.ReadFile("/proc/self/status")
	if err != nil {
		panic(err)
	}
	var n int
	at := bytes.Index(status, []byte("\nThreads:"))
	fmt.Sscanf(string(status[at+1:]), "Threads: %d", &n)
	return n
}

// ended: goroutines that were all there at once, and have ended. In the control there was one at a
// time.
func ended() int {
	const descriptor = 448
	before := *read()
	n := *size * mib / descriptor
	for i := 0; i < n; i++ {
		go func() {
			ready <- struct{}{}
			if !*control {
				<-leave
				ready <- struct{}{}
			}
		}()
		if *control {
			<-ready
		}
	}
	for i := 0; !*control && i < n; i++ {
		<-ready
	}
	close(leave)
	for i := 0; !*control && i < n; i++ {
		<-ready
	}
	debug.FreeOSMemory()
	debug.FreeOSMemory()
	return grown(&before, read())
}

// grown returns the bytes of the size class that grew by most objects.
func grown(before, after *runtime.MemStats) int {
	most, bytes := uint64(0), uint64(0)
	for i, class := range after.BySize {
		old := before.BySize[i]
		more := class.Mallocs - class.Frees - (old.Mallocs - old.Frees)
		if int64(more) > int64(most) {
			most, bytes = more, more*uint64(class.Size)
		}
	}
	return int(bytes)
}

// buckets: the profile of the heap has seen as many stacks.
func buckets() int {
	const bucket = 400
	runtime.MemProfileRate = 1
	for path := 0; path < *size*mib/bucket; path++ {
		if *control {
			left(0, 20)
		} else {
			left(path, 20)
		}
	}
	runtime.MemProfileRate = 0
	debug.FreeOSMemory()
	debug.FreeOSMemory()
	return int(read().BuckHashSys)
}

// Two functions call each other in an order that the bits of path say: each path is a stack of its
// own, of no more frames than the oldest release looks at.

//go:noinline
func left(path, depth int) {
	if depth == 0 {
		sink = make([]byte, 16)
	} else if path&1 == 0 {
		left(path>>1, depth-1)
	} else {
		right(path>>1, depth-1)
	}
}

//go:noinline
func right(path, depth int) {
	if depth == 0 {
		sink = make([]byte, 16)
	} else if path&1 == 0 {
		left(path>>1, depth-1)
	} else {
		right(path>>1, depth-1)
	}
}

// mapped: private memory that the program itself asked the kernel for.
func mapped() int {
	block, err := syscall.Mmap(-1, 0, *size*mib, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		os.Exit(1)
	}
	touch(block)
	if *control {
		if syscall.Munmap(block) != nil {
			os.Exit(1)
		}
	}
	return *size * mib
}
