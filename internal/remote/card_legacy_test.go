// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// A card of 0.3 has its interfaces at other places. Where the SDK's parser drops them, they are used all the same.
func TestSelectInterfaceOfALegacyCard(t *testing.T) {
	const good = "https://old.example.com/a2a"
	card := func(members string) string { return `{"name":"old",` + members + `}` }
	for _, c := range []struct {
		name, card string
		want       string
		err        error
	}{
		{"as the specification has it", card(`"url":"` + good + `","protocolVersion":"0.3.0","preferredTransport":"JSONRPC"`), "0.3.0", nil},
		{"without a preferredTransport", card(`"url":"` + good + `","protocolVersion":"0.3.0"`), "0.3.0", nil},
		{"without a version", card(`"url":"` + good + `"`), "0.3", nil},
		{"another transport is preferred", card(`"url":"https://old.example.com/grpc","preferredTransport":"GRPC","protocolVersion":"0.3.0",` +
			`"additionalInterfaces":[{"url":"https://old.example.com/rest","transport":"HTTP+JSON"},{"url":"` + good + `","transport":"JSONRPC"}]`), "0.3.0", nil},
		{"another transport is preferred at the same URL", card(`"url":"` + good + `","preferredTransport":"HTTP+JSON","protocolVersion":"0.3.0",` +
			`"additionalInterfaces":[null,7,{},{"url":"` + good + `","transport":"JSONRPC"}]`), "0.3.0", nil},
		{"other transports only", card(`"url":"` + good + `","preferredTransport":"GRPC","protocolVersion":"0.3.0"`), "", remote.ErrVersionUnsupported},
		{"0.2", card(`"url":"` + good + `","protocolVersion":"0.2.6"`), "", remote.ErrVersionUnsupported},
		{"a relative URL", card(`"url":"/a2a","protocolVersion":"0.3.0"`), "", remote.ErrURLRelative},
		{"no URL", card(`"protocolVersion":"0.3.0"`), "", remote.ErrNoInterface},
		{"with interfaces of 1.0 beside", card(`"url":"https://other.example.com","protocolVersion":"0.3.0",` +
			`"supportedInterfaces":[{"url":"` + good + `","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]`), "1.0", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := publishing(t, "/card.json", 200, jsonHeader(), c.card)
			read, err := remote.FetchCard(t.Context(), remote.Network{}, s.URL+"/card.json")
			if err != nil {
				t.Fatal(err)
			}
			got, err := remote.SelectInterface(read, "https://old.example.com", remote.AnyOrigin)
			if c.err != nil {
				if !isErr(t, err, c.err) {
					t.Errorf("%+v, %v", got, err)
				}
				return
			}
			if err != nil || got.URL != good || got.ProtocolBinding != "JSONRPC" || got.ProtocolVersion != c.want {
				t.Errorf("%+v, %v", got, err)
			}
			if remote.Lists(got) != (c.want == "1.0") {
				t.Errorf("Lists(%+v) = %t", got, remote.Lists(got))
			}
		})
	}
}

// The Go SDK's card for both versions leads to 1.0.
func TestSelectInterfaceOfTheSDKsCard(t *testing.T) {
	card := &a2a.AgentCard{Name: "both", SupportedInterfaces: []*a2a.AgentInterface{
		iface("https://both.example.com/old", "JSONRPC", "0.3"), iface("https://both.example.com/new", "JSONRPC", "1.0"),
	}}
	s := httptest.NewServer(a2asrv.NewAgentCardHandler(a2av0.NewStaticAgentCardProducer(card)))
	defer s.Close()
	read, err := remote.FetchCard(t.Context(), remote.Network{}, s.URL)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := remote.SelectInterface(read, s.URL, remote.AnyOrigin); err != nil || got.URL != "https://both.example.com/new" {
		t.Errorf("%+v, %v", got, err)
	}
}

// The place of old is asked where there is nothing at the new one, and never else.
func TestFetchCardAtItsOldPlace(t *testing.T) {
	const old, recent = "/x/.well-known/agent.json", "/x/.well-known/agent-card.json"
	for _, c := range []struct {
		name   string
		status map[string]int
		err    error
		asked  string
	}{
		{"at the old place", map[string]int{old: 200}, nil, recent + " " + old},
		{"at both", map[string]int{old: 200, recent: 200}, nil, recent},
		{"at none", nil, remote.ErrCardUnavailable, recent + " " + old},
		{"the new one is down", map[string]int{old: 200, recent: 503}, remote.ErrCardUnavailable, recent},
		{"the old one is down", map[string]int{old: 503}, remote.ErrCardUnavailable, recent + " " + old},
	} {
		t.Run(c.name, func(t *testing.T) {
			var asked []string
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = append(asked, r.URL.Path)
				status, served := c.status[r.URL.Path]
				if !served {
					status = http.StatusNotFound
				}
				w.WriteHeader(status)
				_, _ = w.Write([]byte(goodCard))
			}))
			defer s.Close()
			card, err := remote.FetchCard(t.Context(), remote.Network{}, s.URL+"/x")
			if (card == nil) != (c.err != nil) || c.err != nil && !isErr(t, err, c.err) {
				t.Errorf("%+v, %v", card, err)
			}
			if got := strings.Join(asked, " "); got != c.asked {
				t.Errorf("asked %s, want %s", got, c.asked)
			}
			if c.status == nil && !strings.Contains(err.Error(), recent) {
				t.Errorf("%v", err)
			}
		})
	}
}
