// module is the plugin that the program beside it loads.
package main

var (
	data = [1 << 16]byte{1}
	bss  [1 << 20]byte
	kept [][]byte
)

// Plant uses all of the module's variables and returns the sizes of the two large ones.
func Plant() (dataBytes, bssBytes int) {
	for i := range bss {
		bss[i] = byte(i)
		data[i%len(data)]++
	}
	for i := 0; i < 1000; i++ {
		kept = append(kept, make([]byte, 1000))
	}
	return len(data), len(bss)
}

// Wait says that it is here, and stays.
func Wait(started chan int) {
	started <- 1
	forEver(started)
}

//go:noinline
func forEver(never chan int) { <-never }

func main() {}
