//go:build !cgo
// +build !cgo

package main

func growC(step int) {
	panic("built without C")
}
