// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nameserver gives tests a name server of their own, whose answers may change from one question to the next.
package nameserver

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// maxQuery is the largest message that resolvers take by UDP (RFC 9715, section 3.1).
const maxQuery = 1232

// Names are the answers for each name, which ends with a dot: the sets of addresses that it has, one lookup after the other.
// The last one stays. A name without sets does not exist.
type Names map[string][][]string

// Server answers questions for A and AAAA by UDP, on loopback (RFC 1035).
type Server struct {
	address string
	names   Names
	mu      sync.Mutex
	lookups map[string]int
}

// Start runs a server until the test ends.
func Start(t testing.TB, names Names) *Server {
	t.Helper()
	conn, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	s := &Server{address: conn.LocalAddr().String(), names: names, lookups: map[string]int{}}
	go func() {
		query := make([]byte, maxQuery)
		for {
			n, from, err := conn.ReadFrom(query)
			if err != nil {
				return
			}
			if out, err := s.answer(query[:n]); err == nil {
				_, _ = conn.WriteTo(out, from) // the client asks again
			}
		}
	}()
	return s
}

// Resolver asks this server only.
func (s *Server) Resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", s.address)
	}}
}

// Lookups is how often a name was looked up.
func (s *Server) Lookups(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lookups[name]
}

func (s *Server) answer(query []byte) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil {
		return nil, err
	}
	q := m.Questions[0]
	m.Response, m.Additionals = true, nil
	addrs, known := s.take(strings.ToLower(q.Name.String()), q.Type)
	if !known {
		m.RCode = dnsmessage.RCodeNameError
	}
	for _, text := range addrs {
		head := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
		switch a := netip.MustParseAddr(text); {
		case a.Is4() && q.Type == dnsmessage.TypeA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AResource{A: a.As4()}})
		case a.Is6() && q.Type == dnsmessage.TypeAAAA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
		}
	}
	return m.Pack()
}

// take returns the next set of a name. A lookup asks for A once, and for AAAA at the same time, so A moves on.
func (s *Server) take(name string, kind dnsmessage.Type) ([]string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sets := s.names[name]
	if len(sets) == 0 {
		return nil, false
	}
	set := sets[min(s.lookups[name], len(sets)-1)]
	if kind == dnsmessage.TypeA {
		s.lookups[name]++
	}
	return set, true
}
