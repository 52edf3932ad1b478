//go:build go1.16
// +build go1.16

package truth

import (
	"fmt"
	"math"
	"runtime/metrics"
	"strings"
)

var samples []metrics.Sample

// nameMetrics chooses the metrics that are numbers, and reads them: the first time allocates.
func nameMetrics() {
	fmt.Fprint(&notes, "metrics=")
	for _, metric := range metrics.All() {
		number := metric.Kind == metrics.KindUint64 || metric.Kind == metrics.KindFloat64
		if number && !strings.HasPrefix(metric.Name, "/godebug/") && len(samples) < maxMetrics {
			samples = append(samples, metrics.Sample{Name: metric.Name})
			fmt.Fprint(&notes, metric.Name, " ")
		}
	}
	fmt.Fprintln(&notes)
	readMetrics()
}

// readMetrics takes the last reading of the metrics.
func readMetrics() {
	metrics.Read(samples)
	for i := range samples {
		last.metrics[i] = word(samples[i].Value)
	}
}

// word returns the 64 bits of a metric that is a number.
func word(value metrics.Value) uint64 {
	if value.Kind() == metrics.KindFloat64 {
		return math.Float64bits(value.Float64())
	}
	return value.Uint64()
}
