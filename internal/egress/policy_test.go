// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package egress_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/delegation-dev/delegation-operator/internal/egress"
	"github.com/delegation-dev/delegation-operator/internal/testenv/nameserver"
)

func policy(t *testing.T, c egress.Config) *egress.Policy {
	t.Helper()
	p, err := egress.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func lists(s string) []string { return strings.Fields(s) }

// holds requires of a policy which hosts it allows and denies.
func holds(t *testing.T, p *egress.Policy, allowed, denied string) {
	t.Helper()
	for _, host := range strings.Fields(allowed) {
		if err := p.Check(t.Context(), host); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	for _, host := range strings.Fields(denied) {
		if err := p.Check(t.Context(), host); !errors.Is(err, egress.ErrDenied) {
			t.Errorf("%s is not denied: %v", host, err)
		}
	}
}

// What holds without a flag. A host is an address here, in one of its spellings, and needs no DNS.
func TestDefaults(t *testing.T) {
	for _, c := range []struct {
		name, allowed, denied string
	}{
		{"public and private addresses", "8.8.8.8 1.1.1.1 10.96.0.1 172.16.0.1 192.168.1.1 100.64.0.1 169.253.0.1 2606:4700::1 fd00::1 fd00:ec2::253", ""},
		{"unspecified", "1.0.0.0", "0.0.0.0 0.1.2.3 :: ::ffff:0.0.0.0"},
		{"loopback", "128.0.0.1 ::2:0:0", "127.0.0.1 127.255.255.255 ::1 ::ffff:127.0.0.1"},
		{"link-local", "", "169.254.0.1 169.254.255.255 fe80::1 febf::1 fe80::1%eth0"},
		{"metadata", "", "169.254.169.254 169.254.170.2 169.254.170.23 fd00:ec2::254 fd00:ec2::23 fd20:ce::254 fd00:c1::a9fe:a9fe 169.254.42.42 " +
			"fd00:42::42 100.100.100.200 168.63.129.16 192.0.0.192"},
		{"multicast and broadcast", "223.255.255.255", "224.0.0.1 239.1.2.3 ff02::1 255.255.255.255"},
		{"mapped to IPv6", "::ffff:8.8.8.8 ::ffff:10.0.0.1", "::ffff:169.254.169.254 ::ffff:a9fe:a9fe 0:0:0:0:0:ffff:a9fe:a9fe"},
		{"compatible with IPv6", "::8.8.8.8", "::169.254.169.254 ::a9fe:a9fe ::127.0.0.1"},
		{"behind NAT64", "64:ff9b::8.8.8.8 64:ff9b:1::8.8.8.8", "64:ff9b::169.254.169.254 64:ff9b::7f00:1"},
		{"behind a NAT64 of the network's own", "64:ff9b:1:808:8:800::",
			"64:ff9b:1::169.254.169.254 64:ff9b:1:a9fe:a9:fe00:: 64:ff9b:1:a9:fe:a9fe:: 64:ff9b:1:0:a9:fea9:fe00:0"},
		{"behind 6to4, Teredo, ISATAP and SIIT", "2002:808:808:: 2001:0:808:808::f7f7:f7f7 fd00::5efe:8.8.8.8 ::ffff:0:8.8.8.8",
			"2002:a9fe:a9fe::1 2001:0:808:808::5601:5601 2001:0:a9fe:a9fe::f7f7:f7f7 fd00::5efe:169.254.169.254 fd00::200:5efe:7f00:1 ::ffff:0:169.254.169.254"},
		{"numbers that are no dotted quads", "", "2852039166 0xa9fea9fe 0251.0376.0251.0376 0xa9.0xfe.0xa9.0xfe 169.254.43518 169.16689662 0xA9FEA9FE 127.1 0 0x7f.1 " +
			"0251.254.169.254 169.254.169.254. 0x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			holds(t, nil, c.allowed, c.denied)
		})
	}
}

// The examples of docs/security.md, and what decides between entries.
func TestEntries(t *testing.T) {
	agents := nameserver.Start(t, nameserver.Names{
		"agents.example.com.": {{"192.0.2.7"}}, "a.agents.example.com.": {{"192.0.2.7"}}, "inside.example.com.": {{"10.1.2.3"}},
		"local.example.com.": {{"127.0.0.1"}}, "cloud.example.com.": {{"169.254.169.254"}}, "both.example.com.": {{"169.254.169.254", "192.0.2.7"}},
	}).Resolver()
	for _, c := range []struct{ name, allow, deny, allowed, denied string }{
		{"no flag", "", "", "8.8.8.8 10.1.2.3 inside.example.com agents.example.com both.example.com unknown.example.com",
			"127.0.0.1 169.254.169.254 local.example.com cloud.example.com"},
		{"a range that is denied by default", "127.0.0.0/8", "", "127.0.0.1 local.example.com ::ffff:127.0.0.1", "::1 169.254.169.254"},
		{"one address of it", "127.0.0.1", "", "127.0.0.1", "127.0.0.2"},
		{"link-local, which leaves metadata denied", "169.254.0.0/16", "", "169.254.20.10", "169.254.169.254 cloud.example.com"},
		{"a metadata service by its address", "169.254.169.254", "", "169.254.169.254 cloud.example.com 64:ff9b::169.254.169.254", "169.254.0.1"},
		{"everything opens nothing that is denied by default", "0.0.0.0/0,::/0", "", "8.8.8.8", "127.0.0.1 ::1 169.254.169.254 fe80::1"},
		{"a name opens nothing that is denied by default", "*.example.com", "", "agents.example.com", "local.example.com cloud.example.com"},
		{"private ranges denied", "", "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7", "8.8.8.8 agents.example.com", "10.1.2.3 fd00::1 inside.example.com"},
		{"and one of their ranges allowed", "10.1.0.0/16", "10.0.0.0/8", "10.1.2.3 inside.example.com", "10.2.0.1"},
		{"the same range twice", "10.0.0.0/8", "10.0.0.0/8", "", "10.1.2.3"},
		{"only what is allowed, by address", "10.1.0.0/16", "0.0.0.0/0,::/0", "10.1.2.3 inside.example.com", "8.8.8.8 2606:4700::1 agents.example.com"},
		{"only what is allowed, by name", "*.example.com", "0.0.0.0/0, ::/0", "agents.example.com inside.example.com", "8.8.8.8 cloud.example.com 10.1.2.3"},
		{"a name denied", "", "agents.example.com", "a.agents.example.com 192.0.2.7", "agents.example.com AGENTS.example.com agents.example.com."},
		{"names denied by a wildcard, but for one", "agents.example.com", "*.example.com", "agents.example.com example.com", "a.agents.example.com inside.example.com"},
		{"the longer wildcard", "*.agents.example.com", "*.example.com", "a.agents.example.com", "agents.example.com"},
		{"the same name twice", "agents.example.com", "agents.example.com.", "", "agents.example.com"},
		{"an entry in another spelling", "", "::ffff:10.0.0.0/104 ::ffff:8.8.8.8", "11.0.0.1", "10.1.2.3 8.8.8.8"},
		{"a denied name is denied also where its address is allowed", "10.1.0.0/16", "inside.example.com", "10.1.2.3", "inside.example.com"},
	} {
		t.Run(c.name, func(t *testing.T) {
			holds(t, policy(t, egress.Config{Allow: lists(c.allow), Deny: lists(c.deny), Resolver: agents}), c.allowed, c.denied)
		})
	}
}

func TestUnusableEntries(t *testing.T) {
	for _, entry := range []string{
		"*", "10.0.0.1/8", "10.0.0.0/33", "/", "https://example.com", "example.com/a", "example.com:443", "*example.com", "a.*.com", "*.", ".example.com", "a..b",
		"2852039166", "0x7f000001", "10.0.0", "010.0.0.1", "fe80::1%eth0", "[::1]", "b\u00fccher.example", "a b", "::ffff:0:0/95",
	} {
		for name, c := range map[string]egress.Config{"allow": {Allow: []string{"10.0.0.0/8," + entry}}, "deny": {Deny: []string{entry}}} {
			if p, err := egress.New(c); !errors.Is(err, egress.ErrEntry) || p != nil {
				t.Errorf("%s %q: %v", name, entry, err)
			}
		}
	}
	if _, err := egress.New(egress.Config{Allow: []string{"", " , "}}); err != nil {
		t.Errorf("no entry at all: %v", err)
	}
}

// What users are told names what they wrote and the flag, and neither the address behind a name nor what else is denied.
func TestDenialsTellTheWayOut(t *testing.T) {
	names := nameserver.Start(t, nameserver.Names{"inside.example.com.": {{"10.1.2.3"}}, "local.example.com.": {{"127.9.8.7"}}}).Resolver()
	for _, c := range []struct {
		name, host, deny string
		want             egress.DeniedError
	}{
		{"by default", "local.example.com", "", egress.DeniedError{Host: "local.example.com",
			Why:    "leads to the manager's own machine, which is denied by default",
			Remedy: "the manager's flag --egress-allow=127.0.0.0/8 allows it"}},
		{"by a range", "inside.example.com", "10.1.2.0/24", egress.DeniedError{Host: "inside.example.com",
			Why: "has an address that the manager's flag --egress-deny covers", Remedy: "the manager's flag --egress-allow=inside.example.com makes an exception"}},
		{"by its address", "10.1.2.3", "10.1.2.3", egress.DeniedError{Host: "10.1.2.3",
			Why: "has an address that the manager's flag --egress-deny covers", Remedy: "take it out of there"}},
		{"by its name", "inside.example.com", "inside.example.com", egress.DeniedError{Host: "inside.example.com",
			Why: "is denied by the manager's flag --egress-deny", Remedy: "take it out of the manager's flag --egress-deny"}},
		{"by a wildcard", "inside.example.com", "*.com", egress.DeniedError{Host: "inside.example.com",
			Why: "is denied by the manager's flag --egress-deny", Remedy: "the manager's flag --egress-allow=inside.example.com makes an exception"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := policy(t, egress.Config{Deny: lists(c.deny), Resolver: names}).Check(t.Context(), c.host)
			var denied *egress.DeniedError
			if !errors.As(err, &denied) || *denied != c.want {
				t.Errorf("%+v", err)
			}
		})
	}
}

// Check tells early, and a name that it can't resolve is told of by whoever connects.
func TestCheckEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := policy(t, egress.Config{}).Check(ctx, "agents.example.com"); err != nil {
		t.Error(err)
	}
}
