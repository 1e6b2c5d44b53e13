// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

func TestLimitations(t *testing.T) {
	of := func(binding, version string) v1alpha1.AgentInterface {
		return v1alpha1.AgentInterface{URL: "https://finance.example.com", ProtocolBinding: binding, ProtocolVersion: version}
	}
	card := func(streaming, push bool) *a2a.AgentCard {
		return &a2a.AgentCard{Capabilities: a2a.AgentCapabilities{Streaming: streaming, PushNotifications: push}}
	}
	const (
		listing = v1alpha1.LimitationNoTaskListing
		stream  = v1alpha1.LimitationNoStreaming
		push    = v1alpha1.LimitationNoPushNotifications
		rounded = v1alpha1.LimitationRoundedNumbers
		auto    = v1alpha1.UpdatesAuto
	)
	for _, c := range []struct {
		name     string
		endpoint v1alpha1.AgentInterface
		card     *a2a.AgentCard
		mode     v1alpha1.UpdateMode
		want     []v1alpha1.LimitationReason
	}{
		{"everything", of("JSONRPC", "1.0"), card(true, true), auto, nil},
		{"everything over HTTP+JSON", of("HTTP+JSON", "1.1"), card(true, true), auto, nil},
		{"gRPC", of("GRPC", "1.0"), card(true, true), auto, []v1alpha1.LimitationReason{rounded}},
		{"no streaming", of("JSONRPC", "1.0"), card(false, true), auto, []v1alpha1.LimitationReason{stream}},
		{"no push", of("JSONRPC", "1.0"), card(true, false), auto, []v1alpha1.LimitationReason{push}},
		{"no card", of("JSONRPC", "1.0"), nil, auto, []v1alpha1.LimitationReason{stream, push}},
		{"streams by the owner's word", of("JSONRPC", "1.0"), nil, v1alpha1.UpdatesSubscribe, []v1alpha1.LimitationReason{push}},
		{"streams against the card", of("JSONRPC", "1.0"), card(false, true), v1alpha1.UpdatesSubscribe, nil},
		{"pushes by the owner's word", of("JSONRPC", "1.0"), nil, v1alpha1.UpdatesPush, []v1alpha1.LimitationReason{stream}},
		{"pushes against the card", of("JSONRPC", "1.0"), card(true, false), v1alpha1.UpdatesPush, []v1alpha1.LimitationReason{push}},
		{"the API's defaults", of("", ""), card(true, true), auto, nil},
		{"0.3", of("JSONRPC", "0.3.0"), card(true, true), auto, []v1alpha1.LimitationReason{listing}},
		{"0.3 without a card", of("JSONRPC", "0.3"), nil, auto, []v1alpha1.LimitationReason{listing, stream, push}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []v1alpha1.LimitationReason
			for _, l := range limitations(c.endpoint, c.card, c.mode) {
				got = append(got, l.Reason)
				if len(l.Message) < 20 || strings.ToLower(l.Message[:1]) != l.Message[:1] && !strings.HasPrefix(l.Message, "A2A") {
					t.Errorf("%s: message %q", l.Reason, l.Message)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// A promise about ListTasks is worth nothing where there is no ListTasks.
func TestLookupNeedsAListing(t *testing.T) {
	for _, c := range []struct {
		version string
		mode    v1alpha1.LookupMode
		want    v1alpha1.LookupMode
	}{
		{"1.0", v1alpha1.LookupAuthoritative, v1alpha1.LookupAuthoritative},
		{"1.0", v1alpha1.LookupNone, v1alpha1.LookupNone},
		{"0.3", v1alpha1.LookupAuthoritative, v1alpha1.LookupNone},
		{"0.3.0", v1alpha1.LookupBestEffort, v1alpha1.LookupNone},
	} {
		ra := &v1alpha1.RemoteAgent{}
		ra.Spec.Contract.TaskLookup.Mode = c.mode
		ra.Status.Endpoint = &v1alpha1.AgentInterface{URL: "https://a.example.com", ProtocolBinding: "JSONRPC", ProtocolVersion: c.version}
		if got := (&Agents{}).contractOf(ra).Lookup; got != c.want {
			t.Errorf("%s over %s: %s, want %s", c.mode, c.version, got, c.want)
		}
	}
}
