//go:build cgo
// +build cgo

package main

// C's start, threads and loader, but no memory of C's.

import "C"
