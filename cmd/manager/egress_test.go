// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/delegation-dev/delegation-operator/internal/egress"
)

// parse reads a command line.
func parse(t *testing.T, args string) *options {
	t.Helper()
	o, f := &options{}, flag.NewFlagSet("manager", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	o.bind(f)
	if err := f.Parse(strings.Fields(args)); err != nil {
		t.Fatal(err)
	}
	return o
}

// What entries mean is internal/egress's to test.
func TestEgressFlags(t *testing.T) {
	for _, c := range []struct {
		name, args  string
		allow, deny entries
	}{
		{"none", "", nil, nil},
		{"commas", "--egress-allow=127.0.0.0/8,::1", entries{"127.0.0.0/8,::1"}, nil},
		{"repeated", "--egress-allow=127.0.0.0/8 --egress-allow=::1 --egress-deny=10.0.0.0/8", entries{"127.0.0.0/8", "::1"}, entries{"10.0.0.0/8"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := parse(t, c.args).egress
			if _, err := o.policy(); err != nil || !slices.Equal(o.allow, c.allow) || !slices.Equal(o.deny, c.deny) {
				t.Errorf("%+v, %v", o, err)
			}
		})
	}
}

// The manager does not start with an entry that it can't read, and names the flag.
func TestUnusableEgressFlags(t *testing.T) {
	for _, name := range []string{"--egress-allow", "--egress-deny"} {
		if _, err := parse(t, name+"=10.0.0.0/8,https://example.com").egress.policy(); !errors.Is(err, egress.ErrEntry) || !strings.HasPrefix(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
