// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/yaml"
)

// span is where a ratio lay, and may lie.
type span struct {
	Min float64 `json:"min"`
	Max float64 `json:"max"`
	// Trials are the medians that the span was made from.
	Trials []float64 `json:"trials"`
}

// ranges have a span for each measure that has a key.
type ranges struct {
	Ranges map[string]span `json:"ranges"`
}

var (
	errRanges  = errors.New("the ranges file is not usable")
	errOutside = errors.New("outside its range")
)

// parseRanges reads a ranges file, which has exactly the measures that have a key. The error wraps errRanges.
func parseRanges(text []byte, keys []string) (map[string]span, error) {
	var r ranges
	if err := yaml.UnmarshalStrict(text, &r); err != nil {
		return nil, fmt.Errorf("%w: %w", errRanges, err)
	}
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(r.Ranges)) {
		s := r.Ranges[key]
		if !slices.Contains(keys, key) {
			errs = append(errs, fmt.Errorf("%w: ranges.%s: nothing of that name is measured, remove it; there are %q", errRanges, key, keys))
		}
		if s.Min > s.Max {
			errs = append(errs, fmt.Errorf("%w: ranges.%s: min %g is above max %g", errRanges, key, s.Min, s.Max))
		}
		if len(s.Trials) == 0 {
			errs = append(errs, fmt.Errorf("%w: ranges.%s.trials: add the medians that the range was made from", errRanges, key))
		}
		for i, x := range s.Trials {
			if !s.has(x) {
				errs = append(errs, fmt.Errorf("%w: ranges.%s.trials[%d]: %g is not from %g to %g", errRanges, key, i, x, s.Min, s.Max))
			}
		}
	}
	for _, key := range keys {
		if _, ok := r.Ranges[key]; !ok {
			errs = append(errs, fmt.Errorf("%w: ranges.%s is missing", errRanges, key))
		}
	}
	return r.Ranges, errors.Join(errs...)
}

func (s span) has(x float64) bool { return s.Min <= x && x <= s.Max }

// checkRanges compares medians with their ranges. The error wraps errOutside and names each that is not in its own.
func checkRanges(spans map[string]span, medians map[string]float64) error {
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(spans)) {
		x, measured := medians[key]
		if s := spans[key]; !measured || !s.has(x) {
			errs = append(errs, fmt.Errorf("%s: %w: %.3f is not from %g to %g; trials: %v", key, errOutside, x, s.Min, s.Max, s.Trials))
		}
	}
	return errors.Join(errs...)
}

// keys of the measures that have one, in the order of the table.
func keys() []string {
	var out []string
	for _, m := range measures {
		if m.key != "" {
			out = append(out, m.key)
		}
	}
	return out
}

// mediansOf the measures that have a key.
func mediansOf(rounds []round) map[string]float64 {
	out := map[string]float64{}
	for _, m := range measures {
		if m.key != "" {
			_, out[m.key] = m.values(rounds)
		}
	}
	return out
}
