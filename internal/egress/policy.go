// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"net"
	"net/netip"
	"strings"
)

// Config is what the manager's flags say.
type Config struct {
	// Allow and Deny hold entries, or several of them separated by commas: a CIDR, an IP address, a host name, or a
	// wildcard such as *.example.com, which stands for every name below it.
	Allow, Deny []string
	// Resolver looks names up; nil for net.DefaultResolver.
	Resolver *net.Resolver
}

// Policy says what may be connected to. It does not change and may be used at the same time. A nil Policy is one without
// entries: it has the denials that hold by default.
//
// A host name is held against the entries with names: an exact one wins over a wildcard, a longer wildcard over a shorter
// one, and a denial over an allowance of the same name. A name that is denied is not resolved. Then each address is held
// against the entries with addresses and the ranges that are denied by default: the most specific one wins; of two for the
// same range a flag's wins over the default, and --egress-deny over --egress-allow. What no entry covers is allowed. An
// allowed name makes an exception to addresses that --egress-deny covers. It makes none to those that are denied by
// default, since whoever runs a name chooses its addresses.
type Policy struct {
	rules    []rule
	names    []name
	resolver *net.Resolver
}

// none is the policy without entries.
var none = &Policy{rules: builtinRules}

// New reads the entries. The error wraps ErrEntry and names the entry.
func New(c Config) (*Policy, error) {
	p := &Policy{resolver: c.Resolver, rules: append([]rule(nil), builtinRules...)}
	for _, list := range []struct {
		entries []string
		deny    bool
	}{{c.Allow, false}, {c.Deny, true}} {
		for entry := range strings.SplitSeq(strings.Join(list.entries, ","), ",") {
			if entry = strings.TrimSpace(entry); entry == "" {
				continue
			}
			if err := p.add(entry, list.deny); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

func (p *Policy) orNone() *Policy {
	if p == nil {
		return none
	}
	return p
}

// Check returns an error that wraps ErrDenied if a connection to the host would be denied now: its name, or all of the
// addresses that it has. It is for telling users early, and proves nothing about a later connection, which DialContext
// decides. A name that can't be resolved is not denied.
func (p *Policy) Check(ctx context.Context, host string) error {
	p = p.orNone()
	if err := p.checkHost(host); err != nil {
		return err
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return nil
	}
	resolver := p.resolver
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	addrs, err := resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil //nolint:nilerr // that it has no address is told by whoever connects to it
	}
	var denied error
	for _, a := range addrs {
		if denied = p.checkAddr(host, a); denied == nil {
			return nil
		}
	}
	return denied
}

// checkHost decides on a host before it is resolved.
func (p *Policy) checkHost(host string) error {
	if addr, err := netip.ParseAddr(host); err == nil {
		return p.checkAddr(host, addr)
	}
	if numeric(canonical(host)) {
		return &DeniedError{Host: host, Why: "is a number and no host name", Remedy: "write an IPv4 address as four decimal numbers, such as 10.0.0.7"}
	}
	if n := p.named(host); n != nil && n.deny {
		remedy := "the manager's flag --egress-allow=" + host + " makes an exception"
		if !n.wildcard {
			remedy = "take it out of the manager's flag --egress-deny"
		}
		return &DeniedError{Host: host, Why: "is denied by the manager's flag --egress-deny", Remedy: remedy}
	}
	return nil
}

// named returns the entry that decides on a name; nil for none.
func (p *Policy) named(host string) *name {
	host = canonical(host)
	var best *name
	for i := range p.names {
		n := &p.names[i]
		if n.matches(host) && (best == nil || n.wins(best)) {
			best = n
		}
	}
	return best
}

// wins says which of two entries that match the same name decides.
func (n *name) wins(other *name) bool {
	if n.wildcard != other.wildcard {
		return other.wildcard
	}
	if len(n.host) != len(other.host) {
		return len(n.host) > len(other.host)
	}
	return n.deny
}

// checkAddr decides on an address that a host has, and on those that it leads to.
func (p *Policy) checkAddr(host string, addr netip.Addr) error {
	n := p.named(host)
	addr = addr.WithZone("").Unmap()
	for _, a := range append([]netip.Addr{addr}, embedded(addr)...) {
		if r := p.ruled(a, n != nil && !n.deny); r != nil && r.deny {
			return r.denies(host)
		}
	}
	return nil
}

// ruled returns the entry that decides on an address; nil for none. For an allowed name the denials of flags don't count.
func (p *Policy) ruled(addr netip.Addr, allowed bool) *rule {
	var best *rule
	for i := range p.rules {
		r := &p.rules[i]
		if !r.prefix.Contains(addr) || allowed && r.deny && r.kind == "" {
			continue
		}
		if best == nil || r.wins(best) {
			best = r
		}
	}
	return best
}

// wins says which of two entries that cover the same address decides.
func (r *rule) wins(other *rule) bool {
	if r.prefix.Bits() != other.prefix.Bits() {
		return r.prefix.Bits() > other.prefix.Bits()
	}
	if (r.kind == "") != (other.kind == "") {
		return r.kind == ""
	}
	return r.deny
}

// denies says that a host has an address under this entry. The ranges that are denied by default are no secret; those of
// flags are, and so is the address.
func (r *rule) denies(host string) error {
	if r.kind != "" {
		return &DeniedError{
			Host: host, Why: "leads to " + string(r.kind) + ", which is denied by default",
			Remedy: "the manager's flag --egress-allow=" + r.prefix.String() + " allows it",
		}
	}
	remedy := "the manager's flag --egress-allow=" + host + " makes an exception"
	if r.prefix.IsSingleIP() {
		remedy = "take it out of there"
	}
	return &DeniedError{Host: host, Why: "has an address that the manager's flag --egress-deny covers", Remedy: remedy}
}
