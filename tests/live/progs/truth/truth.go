// Package truth lets a fixture program write down what it knows about its own memory and
// then stand still, so that a core of it can be compared with what it knew.
//
// A program plants memory, calls Note for every figure that it knows by construction, and
// ends in Freeze. Two files result: the one named by -truth with lines key=value, and the
// same name with ".memstats", which holds the raw bytes of runtime.MemStats as
// runtime.ReadMemStats filled it, and the values of runtime/metrics. The second one is written by
// the last system call before the process waits for its dump; nothing allocates after ReadMemStats.
//
// A program that has brought its heap into a state of its own calls Prepare before and then Stop
// instead of Freeze; one that measures itself ends in Stand. One that is to be caught at work has
// no MemStats to compare: it ends in Catch.
package truth

import (
	"flag"
	"fmt"
	"io/ioutil" // os.WriteFile came with 1.16
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

const (
	blockSignals = 0          // SIG_BLOCK of rt_sigprocmask
	setBytes     = 8          // of the kernel's sigset_t
	setPtracer   = 0x59616d61 // PR_SET_PTRACER: lets a gcore that is no ancestor attach
	maxMetrics   = 128
)

var (
	dump = flag.String("dump", "wait", "abort: die by SIGABRT; wait: stand still for a debugger")
	file = flag.String("truth", "", "file to write the truth to (and FILE.memstats)")

	notes    strings.Builder
	last     reading
	lastFile uintptr
)

// reading is what the second file holds.
type reading struct {
	stats   runtime.MemStats
	metrics [maxMetrics]uint64 // in the order of the names in the first file
}

// Start parses the command line; a program calls it first.
func Start() {
	flag.Parse()
	if *file == "" || (*dump != "abort" && *dump != "wait") || flag.NArg() != 0 {
		flag.Usage()
		os.Exit(2)
	}
}

// Note adds one figure to the truth file.
func Note(key string, value int) {
	fmt.Fprintf(&notes, "%s=%d\n", key, value)
}

// Publish writes the truth file. From now on a debugger may attach.
func Publish() {
	Note("pid", os.Getpid())
	Note("pagesize", os.Getpagesize())
	Note("gomaxprocs", runtime.GOMAXPROCS(0))
	Note("goroutines", runtime.NumGoroutine())
	fmt.Fprintf(&notes, "release=%s\narch=%s\n", runtime.Version(), runtime.GOARCH)
	syscall.RawSyscall6(syscall.SYS_PRCTL, setPtracer, ^uintptr(0), 0, 0, 0, 0)
	check(ioutil.WriteFile(*file, []byte(notes.String()), 0o644))
}

// Freeze writes the truth, brings the heap to rest and never returns.
func Freeze() {
	Prepare()
	spareThreads(runtime.GOMAXPROCS(0) + 4)
	runtime.GC()
	runtime.GC()
	debug.SetGCPercent(-1) // this also sends the background scavenger to rest
	settle()
	Stop()
}

// Prepare writes the truth, and opens the file for the last reading.
func Prepare() {
	nameMetrics()
	Publish()
	fd, err := syscall.Open(*file+".memstats", syscall.O_WRONLY|syscall.O_CREAT|syscall.O_TRUNC, 0o644)
	check(err)
	lastFile = uintptr(fd)
}

// Stop takes the last reading of a heap that is at rest, and never returns.
func Stop() {
	stop(lastFile, uintptr(os.Getpid()), *dump == "abort")
}

// Catch writes the truth and never returns. The other goroutines go on: until the runtime has
// brought the threads to a halt one after the other, or until a debugger does.
func Catch() {
	Publish()
	if *dump == "abort" {
		check(syscall.Kill(os.Getpid(), syscall.SIGABRT))
	}
	select {}
}

// Stand writes the truth and stops here: nothing is collected or given back any more.
func Stand() {
	Publish()
	if *dump == "abort" {
		die()
	}
	wait()
}

// die ends the process at this instant, by the kernel alone.
func die() {
	var byDefault [4]uintptr // of struct sigaction: the handler is SIG_DFL
	syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(syscall.SIGABRT),
		uintptr(unsafe.Pointer(&byDefault)), 0, setBytes, 0, 0)
	for {
		syscall.RawSyscall(syscall.SYS_KILL, uintptr(os.Getpid()), uintptr(syscall.SIGABRT), 0)
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "truth:", err)
		os.Exit(1)
	}
}

// spareThreads leaves n idle Ms behind. Starting the world after ReadMemStats may wake one,
// and an M that had to be made for it would be a heap object that the truth does not know.
func spareThreads(n int) {
	var locked, done sync.WaitGroup
	release := make(chan struct{})
	locked.Add(n)
	done.Add(n)
	for i := 0; i < n; i++ {
		go func() {
			defer done.Done()
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			locked.Done()
			<-release
		}()
	}
	locked.Wait()
	close(release)
	done.Wait()
}

// settle waits until the scavenger releases nothing more.
func settle() {
	for {
		runtime.ReadMemStats(&last.stats)
		before := last.stats.HeapReleased
		time.Sleep(100 * time.Millisecond)
		runtime.ReadMemStats(&last.stats)
		if last.stats.HeapReleased == before {
			return
		}
	}
}

// stop takes the last reading, writes it and waits for the dump. After ReadMemStats nothing
// allocates, and what is done with it are raw system calls: they keep the P and have no preemption
// point. SIGURG is blocked because sysmon tries to preempt a goroutine that runs for so long. The
// metrics are read before, too: the stack, which a collection may have shrunk, must not grow later.
func stop(fd, pid uintptr, abort bool) {
	urgent := uint64(1) << (uint(syscall.SIGURG) - 1)
	syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, blockSignals,
		uintptr(unsafe.Pointer(&urgent)), 0, setBytes, 0, 0)
	readMetrics()
	runtime.ReadMemStats(&last.stats)
	readMetrics()
	syscall.RawSyscall(syscall.SYS_WRITE, fd, uintptr(unsafe.Pointer(&last)), unsafe.Sizeof(last))
	if abort {
		syscall.RawSyscall(syscall.SYS_KILL, pid, uintptr(syscall.SIGABRT), 0)
	}
	wait()
}

// wait does nothing for ever. ppoll of nothing is the pause(2) that every architecture has. To call
// this is no preemption point.
//
//go:nosplit
func wait() {
	for {
		syscall.RawSyscall6(syscall.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
	}
}
