// bigheap keeps more than 2 GB of small objects in more than 300,000 spans: the core that
// `make bench` measures with.
package main

import "spanscope.test/progs/truth"

type node struct {
	next *node
	data [88]byte
}

var (
	nodes  *node
	blocks [][]byte
)

func main() {
	truth.Start()
	for i := 0; i < 18000000; i++ {
		nodes = &node{next: nodes}
		nodes.data[0] = 1
	}
	for i := 0; i < 4000000; i++ {
		block := make([]byte, 200)
		block[0], block[199] = 1, 1
		if i%3 != 0 {
			blocks = append(blocks, block)
		}
	}
	truth.Freeze()
}
