// regions maps memory itself, a region for each way in which pages can be in memory or not, and
// says of each how many pages are: resident, swapped, of huge pages, lazily freed. What follows
// from how the region was made it knows; for files it asks /proc/self/pagemap.
package main

import (
	"encoding/binary"
	"os"
	"syscall"
	"unsafe"

	"spanscope.test/progs/truth"
)

const (
	pageSize = 4 << 10
	small    = 64 * pageSize
	huge     = 2 << 20
	slot     = 2 * huge // each region begins one, and nothing is mapped behind it

	// Of madvise, which package syscall lacks in some releases.
	madvFree     = 8
	madvHuge     = 14
	madvDontDump = 16
	madvPageOut  = 21
	madvCollapse = 25
	madvGuard    = 102

	memfdCreate = 319

	present  = 1 << 63
	swapped  = 1 << 62
	readOnly = syscall.PROT_READ
	writable = syscall.PROT_READ | syscall.PROT_WRITE
	private  = syscall.MAP_PRIVATE | syscall.MAP_ANON
	shared   = syscall.MAP_SHARED | syscall.MAP_ANON
)

// region is one of them. Its name is that of what was done to it.
type region struct {
	name       string
	size       int
	prot, flag int
	file       func() int // what backs it; nil: nothing
	do         func(memory []byte)
	resident   int // pages by construction; -1: as pagemap has them
	huge       int
	lazyfree   int
}

var regions = []region{
	{name: "untouched"},
	{name: "read", do: func(m []byte) { read(m, 1) }},
	{name: "written", do: func(m []byte) { write(m, 1, 1) }, resident: 64},
	{name: "zeroed", do: func(m []byte) { write(m, 1, 0) }, resident: 64},
	{name: "alternate", do: func(m []byte) { write(m, 2, 1) }, resident: 32},
	{name: "dontneed", do: advised(syscall.MADV_DONTNEED)},
	{name: "lazyfree", do: advised(madvFree), resident: 64, lazyfree: 64},
	{name: "dontdump", do: advised(madvDontDump), resident: 64},
	{name: "swapped", do: advised(madvPageOut), resident: -1},
	{name: "noaccess", do: protect, resident: 64},
	{name: "guard", do: guard, resident: 32},
	{name: "huge", size: huge, do: collapse, resident: 512, huge: 512},
	{name: "hugezero", size: huge, do: func(m []byte) { advise(m, madvHuge); read(m, 512) }},
	{name: "hugepart", size: huge, do: part, resident: 384},
	{name: "shared", flag: shared},
	{name: "sharedhalf", flag: shared, do: func(m []byte) { write(m, 2, 1) }, resident: 32},
	{name: "memfd", flag: syscall.MAP_SHARED, file: memfd,
		do: func(m []byte) { write(m, 2, 1) }, resident: 32},
	{name: "fileread", prot: readOnly, flag: syscall.MAP_PRIVATE, file: file,
		do: func(m []byte) { read(m[:small/2], 1) }, resident: -1},
	{name: "filecopied", flag: syscall.MAP_PRIVATE, file: file,
		do: func(m []byte) { write(m, 64, 1) }, resident: -1},
	{name: "fileshared", prot: readOnly, flag: syscall.MAP_SHARED, file: file,
		do: func(m []byte) { read(m, 1) }, resident: -1},
}

var sink byte

func main() {
	truth.Start()
	base := reserve(slot * (len(regions) + 1))
	base = (base + huge) / huge * huge // some of it before: mappings that touch may become one
	for i := range regions {
		regions[i].make(base + uintptr(i*slot))
	}
	for i := range regions {
		regions[i].note(base + uintptr(i*slot))
	}
	truth.Freeze()
}

// reserve takes address space, and leaves it without access.
func reserve(size int) uintptr {
	return mmap(0, size, 0, private|syscall.MAP_NORESERVE, -1)
}

func mmap(address uintptr, size, prot, flag, fd int) uintptr {
	got, _, errno := syscall.Syscall6(syscall.SYS_MMAP, address, uintptr(size), uintptr(prot),
		uintptr(flag), uintptr(fd), 0)
	check(errno)
	return got
}

func (r *region) make(address uintptr) {
	fd := -1
	if r.size == 0 {
		r.size = small
	}
	if r.prot == 0 {
		r.prot = writable
	}
	if r.flag == 0 {
		r.flag = private
	}
	if r.file != nil {
		fd = r.file()
	}
	mmap(address, r.size, r.prot, r.flag|syscall.MAP_FIXED, fd)
	if r.do != nil { // to make a slice of it already reads a byte
		r.do(memory(address, r.size))
	}
}

// memory is what lies at an address of no object: vet would not have it converted.
func memory(address uintptr, size int) []byte {
	return (*[1 << 30]byte)(*(*unsafe.Pointer)(unsafe.Pointer(&address)))[:size:size]
}

func (r *region) note(address uintptr) {
	here, gone := r.count(address)
	if r.resident >= 0 {
		here = r.resident
	}
	truth.Note(r.name+"_address", int(address))
	truth.Note(r.name+"_bytes", r.size)
	truth.Note(r.name+"_resident", here*pageSize)
	truth.Note(r.name+"_swapped", gone*pageSize)
	truth.Note(r.name+"_huge", r.huge*pageSize)
	truth.Note(r.name+"_lazyfree", r.lazyfree*pageSize)
}

// count returns how many pages pagemap calls present, and swapped. Markers of guard pages are
// neither.
func (r *region) count(address uintptr) (here, gone int) {
	file, err := os.Open("/proc/self/pagemap")
	if err != nil {
		panic(err)
	}
	defer file.Close()
	words := make([]byte, r.size/pageSize*8)
	if _, err := file.ReadAt(words, int64(address/pageSize*8)); err != nil {
		panic(err)
	}
	for ; len(words) > 0; words = words[8:] {
		word := binary.LittleEndian.Uint64(words)
		if word&present != 0 {
			here++
		}
		if word&swapped != 0 && r.name != "guard" {
			gone++
		}
	}
	return here, gone
}

func write(m []byte, step int, value byte) {
	for page := 0; page < len(m)/pageSize; page += step {
		m[page*pageSize] = value
	}
}

func read(m []byte, step int) {
	for page := 0; page < len(m)/pageSize; page += step {
		sink += m[page*pageSize]
	}
}

func advise(m []byte, advice int) {
	_, _, errno := syscall.Syscall(syscall.SYS_MADVISE, uintptr(unsafe.Pointer(&m[0])),
		uintptr(len(m)), uintptr(advice))
	check(errno)
}

// advised writes to all pages, then tells the kernel.
func advised(advice int) func([]byte) {
	return func(m []byte) {
		write(m, 1, 1)
		advise(m, advice)
	}
}

func protect(m []byte) {
	write(m, 1, 1)
	_, _, errno := syscall.Syscall(syscall.SYS_MPROTECT, uintptr(unsafe.Pointer(&m[0])),
		uintptr(len(m)), 0)
	check(errno)
}

// guard makes every other page one that nobody may touch.
func guard(m []byte) {
	for page := 1; page < len(m)/pageSize; page += 2 {
		advise(m[page*pageSize:(page+1)*pageSize], madvGuard)
	}
	write(m, 2, 1)
}

func collapse(m []byte) {
	advise(m, madvHuge)
	write(m, 1, 1)
	advise(m, madvCollapse)
}

// part gives a quarter of a huge page back, which is none then.
func part(m []byte) {
	collapse(m)
	advise(m[:len(m)/4], syscall.MADV_DONTNEED)
}

func memfd() int {
	name := []byte("regions\x00")
	fd, _, errno := syscall.Syscall(memfdCreate, uintptr(unsafe.Pointer(&name[0])), 0, 0)
	check(errno)
	fill(int(fd))
	return int(fd)
}

func file() int {
	fd, err := syscall.Open("regions.data", syscall.O_RDWR|syscall.O_CREAT, 0o600)
	if err != nil {
		panic(err)
	}
	fill(fd)
	return fd
}

func fill(fd int) {
	if err := syscall.Ftruncate(fd, small); err != nil {
		panic(err)
	}
}

func check(errno syscall.Errno) {
	if errno != 0 {
		panic(errno)
	}
}
