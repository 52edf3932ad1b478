// busy is caught at its work: goroutines serve the requests of others. They allocate all the
// time, objects of all sizes die young and old, stacks grow, and one collection follows another.
package main

import (
	"bytes"
	"fmt"
	"math/rand"
	"runtime"
	"runtime/debug"
	"time"

	"spanscope.test/progs/truth"
)

const (
	servers = 4
	clients = 12
	keys    = 5000
	kept    = 1000 // entries in the cache of each server
)

type request struct {
	key   int
	reply chan *page
}

type page struct {
	title string
	body  []byte
	links []*page
}

func main() {
	truth.Start()
	debug.SetGCPercent(50)
	runtime.GOMAXPROCS(4)
	requests := make(chan request)
	for i := 0; i < servers; i++ {
		go serve(requests, rand.New(rand.NewSource(int64(i))))
	}
	for i := 0; i < clients; i++ {
		go ask(requests, rand.New(rand.NewSource(int64(i))))
	}
	truth.Note("servers", servers)
	truth.Note("clients", clients)
	time.Sleep(300 * time.Millisecond)
	truth.Catch()
}

func ask(requests chan<- request, random *rand.Rand) {
	for {
		r := request{random.Intn(keys), make(chan *page, 1)}
		requests <- r
		<-r.reply
	}
}

func serve(requests <-chan request, random *rand.Rand) {
	cache := map[int]*page{}
	for r := range requests {
		p := cache[r.key]
		if p == nil {
			p = compose(r.key, cache, random)
			if len(cache) == kept {
				evict(cache)
			}
			cache[r.key] = p
		}
		if random.Intn(10) == 0 {
			go render(p, r.reply)
		} else {
			render(p, r.reply)
		}
	}
}

func evict(cache map[int]*page) {
	for key := range cache {
		delete(cache, key)
		return
	}
}

func compose(key int, cache map[int]*page, random *rand.Rand) *page {
	p := &page{title: fmt.Sprint("page ", key)}
	size := 16 << random.Intn(10)
	if random.Intn(100) == 0 {
		size = 100 << 10
	}
	p.body = bytes.Repeat([]byte{byte(key) | 1}, size)
	for _, other := range cache {
		if len(p.links) == 8 {
			break
		}
		p.links = append(p.links, other)
	}
	// Whoever is linked to may be evicted, but chains of such would never end.
	for _, other := range p.links {
		other.links = nil
	}
	if random.Intn(20) == 0 {
		runtime.SetFinalizer(p, func(*page) {})
	}
	return p
}

// render answers from deep down, so that new stacks have to grow.
func render(p *page, reply chan<- *page) {
	descend(20, func() {
		text := p.title + string(p.body[:len(p.body)/2])
		for _, other := range p.links {
			text += other.title
		}
		reply <- &page{title: text, body: p.body}
	})
}

//go:noinline
func descend(depth int, bottom func()) byte {
	var frame [100]byte
	frame[depth%len(frame)] = byte(depth)
	if depth == 0 {
		bottom()
	} else {
		frame[0] += descend(depth-1, bottom)
	}
	return frame[0] + frame[depth%len(frame)]
}
