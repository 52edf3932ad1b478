//go:build go1.18
// +build go1.18

package main

type pair[K comparable, V any] struct {
	key   K
	value V
}

//go:noinline
func (p *pair[K, V]) wait(c chan V) { p.value = <-c }

func waitFor[T any](c chan T) T { return <-c }

func init() {
	extra = append(extra,
		func() { (&pair[string, int]{}).wait(never) },
		func() { waitFor(make(chan struct{ a, b int })) })
}
