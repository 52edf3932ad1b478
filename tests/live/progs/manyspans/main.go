// manyspans keeps a span of 16 KiB for each of its many blocks, and writes to few of their pages:
// the cores of large heaps that `make bench` measures with.
package main

import (
	"flag"

	"spanscope.test/progs/truth"
)

type block [16 << 10]byte

var (
	count = flag.Int("blocks", 1000, "blocks to keep")
	every = flag.Int("write", 0, "write to every n-th page of 4 KiB; 0: to none")
	kept  []*block
)

func main() {
	truth.Start()
	kept = make([]*block, *count)
	page := 0
	for i := range kept {
		kept[i] = new(block)
		for at := 0; *every > 0 && at < len(kept[i]); at += 4 << 10 {
			if page%*every == 0 {
				kept[i][at] = 1
			}
			page++
		}
	}
	truth.Freeze()
}
