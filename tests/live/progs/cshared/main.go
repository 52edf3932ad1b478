// cshared is a library with a Go runtime, for the C program in host.
package main

import "C"

import "spanscope.test/progs/truth"

var (
	data = [1 << 16]byte{1}
	bss  [1 << 20]byte
	kept [][]byte
)

//export stay
func stay() {
	truth.Start()
	for i := range bss {
		bss[i] = byte(i)
		data[i%len(data)]++
	}
	for i := 0; i < 1000; i++ {
		kept = append(kept, make([]byte, 1000))
	}
	truth.Note("module_data_bytes", len(data))
	truth.Note("module_bss_bytes", len(bss))
	truth.Freeze()
}

func main() {}
