// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"strings"
	"testing"
)

// The file that is checked in has a range for each ratio and nothing else.
func TestRangesFile(t *testing.T) {
	if _, err := parseRanges(rangesFile, keys()); err != nil {
		t.Error(err)
	}
}

func TestParseRanges(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"usable", "ranges: {eta: {min: 0.5, max: 1, trials: [0.7]}}", ""},
		{"a field that there is not", "ranges: {eta: {min: 0.5, max: 1, trials: [0.7], mean: 0.7}}", "mean"},
		{"a name twice", "ranges: {eta: {min: 0, max: 1, trials: [1]}, eta: {min: 0, max: 1, trials: [1]}}", "eta"},
		{"the wrong way round", "ranges: {eta: {min: 1, max: 0.5, trials: [0.7]}}", "ranges.eta: min 1 is above max 0.5"},
		{"without trials", "ranges: {eta: {min: 0.5, max: 1}}", "ranges.eta.trials"},
		{"a trial beside it", "ranges: {eta: {min: 0.5, max: 1, trials: [0.7, 1.2]}}", "ranges.eta.trials[1]: 1.2 is not from 0.5 to 1"},
		{"a ratio that is not measured", "ranges: {eta: {min: 0.5, max: 1, trials: [0.7]}, theta: {min: 0, max: 1, trials: [0]}}", "ranges.theta"},
		{"a ratio without range", "ranges: {}", "ranges.eta is missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parseRanges([]byte(c.text), []string{"eta"})
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, errRanges) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; want one that names %q", err, c.want)
			}
		})
	}
}

func TestCheckRanges(t *testing.T) {
	spans := map[string]span{"eta": {0.5, 1, []float64{0.7}}, "writesPerDelegation": {3, 3, []float64{3}}}
	for _, c := range []struct {
		name    string
		medians map[string]float64
		want    []string
	}{
		{"inside", map[string]float64{"eta": 0.6, "writesPerDelegation": 3}, nil},
		{"at the ends", map[string]float64{"eta": 0.5, "writesPerDelegation": 3}, nil},
		{"below", map[string]float64{"eta": 0.4999, "writesPerDelegation": 3}, []string{"eta: ", "0.500 is not from 0.5 to 1"}},
		{"both", map[string]float64{"eta": 1.25, "writesPerDelegation": 4}, []string{"eta: ", "1.250", "writesPerDelegation: ", "4.000 is not from 3 to 3"}},
		{"not measured", map[string]float64{"eta": 0.6}, []string{"writesPerDelegation: "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := checkRanges(spans, c.medians)
			if len(c.want) == 0 {
				if err != nil {
					t.Error(err)
				}
				return
			}
			for _, want := range c.want {
				if !errors.Is(err, errOutside) || !strings.Contains(err.Error(), want) {
					t.Errorf("%v; want one that says %q", err, want)
				}
			}
		})
	}
}
