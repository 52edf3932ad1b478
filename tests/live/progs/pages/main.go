// pages has live blocks whose pages are in memory in different ways, and one that it dropped. It
// reads in /proc/self/pagemap which of them are present.
package main

import (
	"encoding/binary"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"spanscope.test/progs/truth"
)

const (
	setNoHugePages = 41 // PR_SET_THP_DISABLE: or one byte would touch 2 MB
	madvFree       = 8  // MADV_FREE, which package syscall lacks in some releases

	blockSize = 16 << 20
	pageSize  = 4 << 10
	present   = 1 << 63
	never     = 1 + blockSize/pageSize
)

// block is one of the blocks. Its name is that of what was done to it.
type block struct {
	name   string
	step   int  // every so many pages are written to
	value  byte // what is written
	advice int  // then the kernel is told this
	memory []byte
}

var blocks = []block{
	{name: "untouched", step: never},
	{name: "half", step: 2, value: 1},
	{name: "full", step: 1, value: 1},
	{name: "zeroed", step: 1},
	{name: "dontneed", step: 1, value: 1, advice: syscall.MADV_DONTNEED},
	{name: "lazyfree", step: 1, value: 1, advice: madvFree},
	{name: "dropped", step: 1, value: 1},
}

func main() {
	truth.Start()
	syscall.RawSyscall6(syscall.SYS_PRCTL, setNoHugePages, 1, 0, 0, 0, 0)
	for i := range blocks {
		blocks[i].make()
	}
	for i := range blocks {
		b := &blocks[i]
		resident := b.present()
		content := resident
		if b.value == 0 {
			content = 0
		}
		truth.Note(b.name+"_address", int(b.address()))
		truth.Note(b.name+"_resident", resident)
		truth.Note(b.name+"_content", content)
	}
	blocks[len(blocks)-1].memory = nil
	truth.Freeze()
	runtime.KeepAlive(blocks)
}

func (b *block) make() {
	b.memory = make([]byte, blockSize)
	for page := b.step - 1; page < blockSize/pageSize; page += b.step {
		b.memory[page*pageSize] = b.value
	}
	if b.advice != 0 {
		if err := syscall.Madvise(b.memory, b.advice); err != nil {
			panic(err)
		}
	}
}

func (b *block) address() uintptr {
	return uintptr(unsafe.Pointer(&b.memory[0]))
}

// present returns how many bytes of the block are in memory.
func (b *block) present() (size int) {
	file, err := os.Open("/proc/self/pagemap")
	if err != nil {
		panic(err)
	}
	defer file.Close()
	words := make([]byte, blockSize/pageSize*8)
	if _, err := file.ReadAt(words, int64(b.address()/pageSize*8)); err != nil {
		panic(err)
	}
	for ; len(words) > 0; words = words[8:] {
		if binary.LittleEndian.Uint64(words)&present != 0 {
			size += pageSize
		}
	}
	return size
}
