// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"bytes"
	"encoding/binary"
	"net/netip"
)

// Prefixes of IPv6 addresses behind which something translates to IPv4.
var (
	compatible = netip.MustParsePrefix("::/96")           // RFC 4291, section 2.5.5.1
	translated = netip.MustParsePrefix("::ffff:0:0:0/96") // RFC 2765, section 2.1
	nat64      = netip.MustParsePrefix("64:ff9b::/96")    // RFC 6052, section 2.1
	localNAT64 = netip.MustParsePrefix("64:ff9b:1::/48")  // RFC 8215
	sixToFour  = netip.MustParsePrefix("2002::/16")       // RFC 3056
	teredo     = netip.MustParsePrefix("2001::/32")       // RFC 4380, section 4
	isatap     = []byte{0x00, 0x00, 0x5e, 0xfe}           // RFC 5214, section 6.1, with the universal bit unset
)

// embedded returns the IPv4 addresses that a packet to an IPv6 address may end up at. An address is one of the network that
// it names, whatever way to it is written; a translator on the path would make a denied address reachable under a name
// that no range covers.
func embedded(a netip.Addr) []netip.Addr {
	if !a.Is6() || a.IsUnspecified() || a.IsLoopback() {
		return nil
	}
	b := a.As16()
	var out []netip.Addr
	at := func(i int) { out = append(out, netip.AddrFrom4([4]byte(b[i:i+4]))) }
	switch {
	case compatible.Contains(a), translated.Contains(a), nat64.Contains(a):
		at(12)
	case localNAT64.Contains(a):
		out = guesses(b)
	case sixToFour.Contains(a):
		at(2)
	case teredo.Contains(a):
		at(4) // the server
		out = append(out, inverted([4]byte(b[12:])))
	}
	if bytes.Equal([]byte{b[8] &^ 0x02, b[9], b[10], b[11]}, isatap) {
		at(12)
	}
	return out
}

// guesses reads an address of a translator whose prefix has a length that only its network's operator knows (RFC 6052,
// section 2.2), in all ways. A reading that begins with a zero is one of another length's padding.
func guesses(b [16]byte) []netip.Addr {
	var out []netip.Addr
	for _, v4 := range [][4]byte{
		{b[6], b[7], b[9], b[10]}, // 48 bits, and the octet that is skipped
		{b[7], b[9], b[10], b[11]},
		{b[9], b[10], b[11], b[12]},
		{b[12], b[13], b[14], b[15]},
	} {
		if v4[0] != 0 {
			out = append(out, netip.AddrFrom4(v4))
		}
	}
	return out
}

// inverted is the client of a Teredo address, whose bits are stored inverted.
func inverted(b [4]byte) netip.Addr {
	binary.BigEndian.PutUint32(b[:], ^binary.BigEndian.Uint32(b[:]))
	return netip.AddrFrom4(b)
}
