// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// FuzzCard requires that whatever a card says, credentials go to its own origin only, to an address that can be called, and
// that what is shown of it is short and harmless.
func FuzzCard(f *testing.F) {
	for _, body := range []string{
		``, `null`, `{}`, `{"name":"x"}`, `{"name":7,"supportedInterfaces":7,"capabilities":[],"skills":{}}`,
		`{"name":"a\u0007\u202e","supportedInterfaces":[null,{"url":"https://agent.example.com/a2a","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`,
		`{"supportedInterfaces":[{"url":"https://AGENT.example.com:443","protocolBinding":"GRPC","protocolVersion":"1.0","tenant":"t"}]}`,
		`{"supportedInterfaces":[{"url":"https://u:s3cr3t@agent.example.com/?s3cr3t","protocolBinding":"HTTP+JSON","protocolVersion":"1"},{"url":"/a\nb"}]}`,
		`{"name":"old","url":"https://agent.example.com","protocolVersion":"0.3.0","additionalInterfaces":[{"url":"http://other","transport":"GRPC"}]}`,
		`{"name":"d","capabilities":{"extensions":[{"uri":"` + v1alpha1.DeduplicationExtensionURI + `","params":{"retention":"9e9h"}},{"params":7}]}}`,
	} {
		f.Add([]byte(body))
	}
	const at = "https://agent.example.com/card.json"
	f.Fuzz(func(t *testing.T, body []byte) {
		card, err := decodeCard(body)
		if err != nil {
			harmless(t, err.Error())
			return
		}
		harmless(t, card.Name)
		harmless(t, card.Version)
		for _, s := range card.Skills {
			harmless(t, s.ID+s.Name)
		}
		if keeps, ok := Retention(card); ok != (keeps > 0) {
			t.Errorf("retention %s, %t", keeps, ok)
		}
		i, err := SelectInterface(card, at, OwnOrigin)
		var unusable *InterfaceError
		switch {
		case err == nil:
			if !sameOrigin(i.URL, at) || reachable(i.URL, at) != nil || len(i.URL) > 2048 || len(i.Tenant) > maxName {
				t.Errorf("%+v is used of a card at %s", i, at)
			}
			if _, err := understood(i.ProtocolBinding, i.ProtocolVersion); err != nil {
				t.Errorf("%+v: %v", i, err)
			}
		case !errors.As(err, &unusable):
			t.Errorf("%v is no InterfaceError", err)
		default:
			harmless(t, err.Error())
		}
	})
}

// harmless requires that a text from outside can stand in a condition.
func harmless(t *testing.T, s string) {
	t.Helper()
	if len(s) > maxDetail || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
		t.Errorf("%d bytes are shown: %q", len(s), s)
	}
}
