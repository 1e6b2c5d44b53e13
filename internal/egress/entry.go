// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// ErrEntry says that an entry of an allow or deny list is none of CIDR, IP address, host name and wildcard.
var ErrEntry = errors.New("not a usable entry")

// rule is one entry about addresses.
type rule struct {
	prefix netip.Prefix
	deny   bool
	// kind says what is denied here by default; empty for an entry of a flag.
	kind kind
}

// name is one entry about host names.
type name struct {
	// host is in lower case. Of a wildcard it is what follows the star, with the dot.
	host     string
	wildcard bool
	deny     bool
}

// matches reports whether the entry is about a host. A wildcard stands for one label or more.
func (n name) matches(host string) bool {
	if n.wildcard {
		return len(host) > len(n.host) && strings.HasSuffix(host, n.host)
	}
	return host == n.host
}

// add takes one entry into the policy.
func (p *Policy) add(entry string, deny bool) error {
	if strings.Contains(entry, "/") {
		prefix, err := parsePrefix(entry)
		p.rules = append(p.rules, rule{prefix: prefix, deny: deny})
		return err
	}
	if addr, err := netip.ParseAddr(entry); err == nil {
		if addr.Zone() != "" {
			return unusable(entry, "an address in it must not name a zone")
		}
		addr = addr.Unmap()
		p.rules = append(p.rules, rule{prefix: netip.PrefixFrom(addr, addr.BitLen()), deny: deny})
		return nil
	}
	n, err := parseName(entry)
	n.deny = deny
	p.names = append(p.names, n)
	return err
}

func parsePrefix(entry string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(entry)
	if err != nil {
		return prefix, unusable(entry, "give a CIDR such as 10.0.0.0/8, an address, a host name, or a wildcard such as *.example.com, and no URL")
	}
	if prefix != prefix.Masked() {
		return prefix, unusable(entry, "it has bits outside of its range: write "+prefix.Masked().String())
	}
	if prefix.Addr().Is4In6() {
		const v4InV6 = 96
		if prefix.Bits() < v4InV6 {
			return prefix, unusable(entry, "write ranges of IPv4 addresses as IPv4")
		}
		prefix = netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-v4InV6)
	}
	return prefix, nil
}

func parseName(entry string) (name, error) {
	host, wildcard := strings.CutPrefix(canonical(entry), "*")
	n := name{host: host, wildcard: wildcard}
	switch {
	case entry == "*":
		return n, unusable(entry, "for every address write 0.0.0.0/0,::/0")
	case wildcard && !strings.HasPrefix(host, "."):
		return n, unusable(entry, "a wildcard stands for whole labels, such as *.example.com")
	case numeric(host):
		return n, unusable(entry, "write an IPv4 address as four decimal numbers")
	}
	labels := host
	if wildcard {
		labels = host[1:]
	}
	for label := range strings.SplitSeq(labels, ".") {
		if label == "" || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return n, unusable(entry, "a host name has letters, digits, hyphens and dots, international ones in their form with xn--, and no port")
		}
	}
	return n, nil
}

func unusable(entry, hint string) error { return fmt.Errorf("%w: %q: %s", ErrEntry, entry, hint) }

// canonical is a host name as entries are compared with it.
func canonical(host string) string { return strings.TrimSuffix(strings.ToLower(host), ".") }

// numeric reports whether a name ends in a number, which makes it an IPv4 address in the eyes of some resolvers: 2852039166,
// 0251.0376.0251.0376, 0xa9.254.43518 (inet_aton(3); WHATWG URL, "ends in a number checker"). No top-level domain is a
// number (RFC 3696, section 2).
func numeric(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if digits, ok := strings.CutPrefix(last, "0x"); ok {
		_, err := strconv.ParseUint(digits, 16, 64)
		return err == nil || digits == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}
