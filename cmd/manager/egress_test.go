// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"io"
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

func TestEgressFlags(t *testing.T) {
	for _, c := range []struct{ name, args, allowed, denied string }{
		{"none", "", "10.0.0.1", "127.0.0.1 169.254.169.254"},
		{"commas", "--egress-allow=127.0.0.0/8,::1", "127.0.0.1 ::1", "169.254.169.254"},
		{"repeated", "--egress-allow=127.0.0.0/8 --egress-allow=::1 --egress-deny=10.0.0.0/8 --egress-deny=8.8.8.8", "127.0.0.1 ::1", "10.0.0.1 8.8.8.8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := parse(t, c.args).egress.policy()
			if err != nil {
				t.Fatal(err)
			}
			for _, host := range strings.Fields(c.allowed) {
				if err := p.Check(t.Context(), host); err != nil {
					t.Errorf("%s: %v", host, err)
				}
			}
			for _, host := range strings.Fields(c.denied) {
				if err := p.Check(t.Context(), host); !errors.Is(err, egress.ErrDenied) {
					t.Errorf("%s is not denied: %v", host, err)
				}
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
