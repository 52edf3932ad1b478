//go:build go1.18
// +build go1.18

package main

type list[T any] struct{ items []T }

//go:noinline
func (l *list[T]) grow(n int) { l.items = make([]T, n) }

func filled[K comparable, V any](n int, key K) map[K][]V { return map[K][]V{key: make([]V, n)} }

var lists []interface{}

func init() {
	extra = append(extra, func() {
		for i := 0; i < 1000; i++ {
			l := &list[struct{ a, b int }]{}
			l.grow(i % 100)
			lists = append(lists, l, filled[string, float64](i%100, "x"))
		}
	})
}
