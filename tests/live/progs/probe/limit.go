//go:build go1.19
// +build go1.19

package main

import "runtime/debug"

func limitMemory() {
	debug.SetMemoryLimit(1 << 30)
}
