//go:build !go1.16
// +build !go1.16

package truth

// A process has no runtime/metrics before 1.16.
func nameMetrics() {}

func readMetrics() {}
