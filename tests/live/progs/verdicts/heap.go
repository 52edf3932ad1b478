package main

import (
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"unsafe"

	"spanscope.test/progs/truth"
)

// What is in a pool survives one collection and is dropped by the second. Only so does the last
// collection see the peak in use, which is what the scavenger lets the runtime keep.
var pool sync.Pool

// idle: free pages that were not given back.
func idle() int {
	hold(*size)
	if !*control {
		peak := held
		pool.Put(&peak)
		held = nil
	}
	runtime.GC()
	runtime.GC()
	return inMemory()
}

func freeMemory() int {
	before := read().HeapReleased
	debug.FreeOSMemory()
	return int(read().HeapReleased - before)
}

// released: pages given back, which with GODEBUG=madvdontneed=0 stay in memory.
func released() int {
	hold(*size)
	held = nil
	debug.FreeOSMemory()
	debug.FreeOSMemory()
	return inMemory()
}

// refilled: pages given back that are there again, full of zeros, as after the kernel has made huge
// pages of them and their neighbours.
func refilled() int {
	released()
	for _, place := range places {
		for at := uintptr(0); !*control && at < mib; at += pageSize {
			address := place + at // of no object: vet would not have it converted
			*(*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&address))) = 0
		}
	}
	return inMemory()
}

const (
	hugePage     = 2 << 20
	madvHuge     = 14
	madvPageOut  = 21
	madvCollapse = 25
)

// collapsed: pages given back that have become huge pages, as khugepaged makes them of a range in
// which a single page was written to.
func collapsed() int {
	block := make([]byte, *size*mib)
	touch(block)
	base := (uintptr(unsafe.Pointer(&block[0])) + hugePage - 1) / hugePage * hugePage
	end := uintptr(unsafe.Pointer(&block[0])) + uintptr(len(block))
	block = nil
	debug.FreeOSMemory()
	debug.FreeOSMemory()
	for ; !*control && base+hugePage <= end; base += hugePage {
		address := base // of no object: vet would not have it converted
		*(*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&address))) = 0
		for _, advice := range []uintptr{madvHuge, madvCollapse} {
			syscall.RawSyscall(syscall.SYS_MADVISE, base, hugePage, advice)
		}
		places = append(places, base, base+mib)
	}
	return inMemory()
}

// unwritten: free pages that were not given back, but had never been written either.
func unwritten() int {
	for i := 0; i < *size; i++ {
		block := make([]byte, mib)
		if *control {
			touch(block)
		}
		held = append(held, block)
		places = append(places, uintptr(unsafe.Pointer(&block[0])))
	}
	peak := held
	pool.Put(&peak)
	held = nil
	runtime.GC()
	runtime.GC()
	return *size*mib - inMemory()
}

// zeros: blocks in use that have nothing but zeros written to them.
func zeros() int {
	hold(*size)
	for _, block := range held {
		for at := 0; !*control && at < len(block); at += pageSize {
			block[at] = 0
		}
	}
	return inMemory()
}

// swapped: blocks in use that the kernel has swapped out.
func swapped() int {
	hold(*size)
	for _, place := range places {
		if !*control {
			syscall.RawSyscall(syscall.SYS_MADVISE, place, mib, madvPageOut)
		}
	}
	return *size*mib - inMemory()
}

type node struct {
	next *node
	data [56]byte
}

const share = 64 // fewer than the slots of a span, so that each span keeps one

var (
	nodes []*node
	last  *node
)

// sparse: one of 64 small objects survives, in the control the first 64th of all.
func sparse() int {
	n := *size * mib / int(unsafe.Sizeof(node{}))
	nodes = make([]*node, 0, n/share+1)
	inuse := read().HeapInuse
	for i := 0; i < n; i++ {
		last = &node{}
		last.data[0] = 1
		if *control && i < n/share || !*control && i%share == 0 {
			nodes = append(nodes, last)
		}
	}
	last = nil
	before := read().HeapAlloc
	debug.FreeOSMemory()
	debug.FreeOSMemory()
	truth.Note("gap_bytes", int(read().HeapInuse-inuse)/share*(share-1))
	return int(before - stats.HeapAlloc)
}

// copyNodes moves the survivors together: the copies fill the gaps of a few spans.
func copyNodes() int {
	before := read().HeapInuse
	for i, old := range nodes {
		last = new(node)
		*last = *old
		nodes[i] = last
	}
	runtime.GC()
	runtime.GC()
	return int(before - read().HeapInuse)
}

var sink []byte

// garbage: objects that died after the last collection.
func garbage() int {
	hold(*size / 4)
	debug.SetGCPercent(2000) // the next one is far away
	runtime.GC()
	before := read().HeapAlloc
	for i := 0; i < *size*16; i++ {
		sink = make([]byte, 64<<10)
		touch(sink)
	}
	sink = nil
	if *control {
		debug.FreeOSMemory()
		debug.FreeOSMemory()
	}
	return int(read().HeapAlloc) - int(before)
}

func collect() int {
	before := read().HeapAlloc
	runtime.GC()
	runtime.GC()
	return int(before - read().HeapAlloc)
}

// limit: the limit is hardly above what the process has.
func limit() int {
	hold(*size)
	runtime.GC()
	runtime.GC()
	if !*control {
		read()
		debug.SetMemoryLimit(int64(stats.Sys-stats.HeapReleased) * 100 / 96)
	}
	read()
	return int(stats.Sys - stats.HeapReleased)
}

var objects []*[8192]byte

// spans: descriptors of as many spans are left behind by a larger heap. Their memory is never
// touched.
func spans() int {
	const descriptor = 160
	n := *size * mib / descriptor
	objects = make([]*[8192]byte, 0, n)
	for i := 0; i < n; i++ {
		objects = append(objects, new([8192]byte))
	}
	if !*control {
		objects = nil
	}
	debug.FreeOSMemory()
	debug.FreeOSMemory()
	read()
	return int(stats.MSpanSys - stats.MSpanInuse)
}

// ballast: allocated, never touched.
func ballast() int {
	held = append(held, make([]byte, *size*mib))
	if *control {
		touch(held[0])
	}
	runtime.GC()
	return *size * mib
}

var (
	pointers [][]*byte
	numbers  [][]uintptr
)

// cleared: large objects, which nobody writes to. Go 1.24 clears those with pointers.
func cleared() int {
	const words = mib / unsafe.Sizeof(uintptr(0))
	for i := 0; i < *size; i++ {
		if *control {
			block := make([]uintptr, words)
			numbers = append(numbers, block)
			places = append(places, uintptr(unsafe.Pointer(&block[0])))
		} else {
			block := make([]*byte, words)
			pointers = append(pointers, block)
			places = append(places, uintptr(unsafe.Pointer(&block[0])))
		}
	}
	return inMemory()
}
