// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cardsign_test

import (
	"encoding/base64"
	"testing"

	"github.com/gowebpki/jcs"

	"github.com/delegation-dev/delegation-operator/internal/cardsign"
)

// plain is a card that all canonical forms leave as it is.
const plain = `{"name":"finance","description":"Reconciles","version":"3.1","supportedInterfaces":[` +
	`{"url":"https://finance.example.com/a2a","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],` +
	`"capabilities":{"streaming":true,"extensions":[{"uri":"https://example.com/e","params":{"retention":"48h","n":1.50}}]},` +
	`"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],` +
	`"skills":[{"id":"reconcile","name":"Réconcile","description":"d","tags":["t"]}]}`

func keys(t testing.TB, text string) cardsign.Keys {
	t.Helper()
	k, err := cardsign.ParseKeys([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// forged is an entry with any header, and a signature that the given function makes of the signing input.
func forged(t testing.TB, payload, header string, sign func(input string) []byte) map[string]any {
	t.Helper()
	canonical, err := jcs.Transform([]byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	protected := encode([]byte(header))
	return map[string]any{"protected": protected, "signature": encode(sign(protected + "." + encode(canonical)))}
}
