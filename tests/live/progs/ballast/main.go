// ballast has large blocks that are live but never or only partly touched, so that most of the
// heap in use is not in memory.
package main

import (
	"syscall"

	"spanscope.test/progs/truth"
)

const (
	setNoHugePages = 41 // PR_SET_THP_DISABLE: or one byte would touch 2 MB

	untouchedSize = 256 << 20
	partlySize    = 64 << 20
	pageSize      = 4 << 10
)

var untouched, partly []byte

func main() {
	truth.Start()
	syscall.RawSyscall6(syscall.SYS_PRCTL, setNoHugePages, 1, 0, 0, 0, 0)
	untouched = make([]byte, untouchedSize)
	partly = make([]byte, partlySize)
	touched := 0
	for at := 0; at < len(partly); at += 2 * pageSize { // half of each page of the runtime
		partly[at] = 1
		touched += pageSize
	}
	truth.Note("planted_bytes", untouchedSize+partlySize)
	truth.Note("touched_bytes", touched)
	truth.Freeze()
}
