// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import "net/netip"

// kind is a sort of addresses that nobody can mean by an agent, in words that follow "it leads to".
type kind string

const (
	unspecified kind = "an unspecified address"
	loopback    kind = "the manager's own machine"
	linkLocal   kind = "a link-local address"
	metadata    kind = "a cloud's metadata or node service"
	multicast   kind = "a multicast address"
	broadcast   kind = "the broadcast address"
)

// builtin are the denials that hold without a flag. Ranges for private use (RFC 1918, RFC 4193, RFC 6598) are not among
// them, since a cluster's Services and pods are there. Metadata services are listed one by one, so that allowing the range
// that one of them is in does not open it.
var builtin = []struct {
	kind   kind
	ranges []string
}{
	{unspecified, []string{
		"0.0.0.0/8", // RFC 1122, section 3.2.1.3: this host on this network
		"::/128",    // RFC 4291, section 2.5.2
	}},
	{loopback, []string{
		"127.0.0.0/8", // RFC 1122, section 3.2.1.3
		"::1/128",     // RFC 4291, section 2.5.3
	}},
	{linkLocal, []string{
		"169.254.0.0/16", // RFC 3927
		"fe80::/10",      // RFC 4291, section 2.5.6
	}},
	{metadata, []string{
		"169.254.169.254/32",     // AWS, Azure, Google, Oracle, DigitalOcean, OpenStack, Hetzner
		"169.254.170.2/32",       // AWS ECS: task credentials
		"169.254.170.23/32",      // AWS EKS: pod identity
		"fd00:ec2::254/128",      // AWS over IPv6
		"fd00:ec2::23/128",       // AWS EKS: pod identity over IPv6
		"fd20:ce::254/128",       // Google over IPv6
		"fd00:c1::a9fe:a9fe/128", // Oracle over IPv6
		"169.254.42.42/32",       // Scaleway
		"fd00:42::42/128",        // Scaleway over IPv6
		"100.100.100.200/32",     // Alibaba Cloud
		"168.63.129.16/32",       // Azure: the node's agent and its keys
		"192.0.0.192/32",         // Oracle Cloud classic
	}},
	{multicast, []string{
		"224.0.0.0/4", // RFC 5771
		"ff00::/8",    // RFC 4291, section 2.7
	}},
	{broadcast, []string{"255.255.255.255/32"}}, // RFC 919
}

// builtinRules are the ranges above as rules.
var builtinRules = func() []rule {
	var out []rule
	for _, b := range builtin {
		for _, r := range b.ranges {
			out = append(out, rule{prefix: netip.MustParsePrefix(r), deny: true, kind: b.kind})
		}
	}
	return out
}()
