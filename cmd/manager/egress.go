// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"strings"

	"github.com/delegation-dev/delegation-operator/internal/egress"
)

// egressOptions say where the manager may connect to for its users; the zero value has the default denials.
type egressOptions struct {
	allow, deny entries
}

func (o *egressOptions) bind(f *flag.FlagSet) {
	f.Var(&o.allow, "egress-allow", "CIDR, IP address, host name or wildcard such as *.example.com that agents may be at: an exception to what is denied by default, "+
		"which is loopback, link-local, metadata services, multicast and unspecified addresses, or to --egress-deny. The most specific entry decides. "+
		"Separated by commas, or the flag repeated.")
	f.Var(&o.deny, "egress-deny", "The same, for where agents may not be; 0.0.0.0/0,::/0 for everywhere but --egress-allow.")
}

// policy reads the entries. The API server is not subject to it, since no user names it.
func (o *egressOptions) policy() (*egress.Policy, error) {
	for _, f := range []struct {
		name string
		c    egress.Config
	}{{"--egress-allow", egress.Config{Allow: o.allow}}, {"--egress-deny", egress.Config{Deny: o.deny}}} {
		if _, err := egress.New(f.c); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return egress.New(egress.Config{Allow: o.allow, Deny: o.deny})
}

// entries are the values of a flag that may be repeated.
type entries []string

// String implements flag.Value.
func (e *entries) String() string { return strings.Join(*e, ",") }

// Set implements flag.Value.
func (e *entries) Set(value string) error {
	*e = append(*e, value)
	return nil
}
