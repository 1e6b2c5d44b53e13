// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"slices"
	"time"
)

// quantile of times, by the nearest rank: 0.5 is the median, 1 the longest. Without times it is zero.
func quantile(times []time.Duration, q float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	rank := int(math.Ceil(q*float64(len(sorted)))) - 1
	return sorted[min(max(rank, 0), len(sorted)-1)]
}

// median of values; of an even number the mean of the two in the middle, of none NaN.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// perSecond is how often something happened in a second of a time.
func perSecond(n int, d time.Duration) float64 { return float64(n) / d.Seconds() }

// milliseconds of a time, with fractions.
func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
