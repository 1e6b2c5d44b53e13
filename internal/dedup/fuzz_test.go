// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"testing"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
)

var digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// FuzzDigest requires that a message that was written anew, in another order and with other white space, has the digest that
// it had, and that members which don't count leave it alone.
func FuzzDigest(f *testing.F) {
	for _, text := range []string{
		base, ``, `null`, `{}`, `[]`, `{"parts":null,"taskId":7}`, `{"parts":[{"text":"a","filename":"","metadata":{ }}],"referenceTaskIds":[ ]}`,
		`{"contextId":"c","contextId":"d"}`, `{"parts":[{"data":{"b":1e0,"a":-0.0,"\u20ac":[1E400]}}]}`, `{"parts":[{"text":"\ud800"}]}`, `{"parts":[{"raw":"AA=="},null]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		want, err := dedup.DigestJSON(text)
		if err != nil {
			return
		}
		if !digestForm.MatchString(want) {
			t.Fatalf("digest %q", want)
		}
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		var anew map[string]any
		if err := decoder.Decode(&anew); err != nil {
			t.Fatalf("there is a digest of what is no object: %v", err)
		}
		anew["messageId"], anew["metadata"] = "another", map[string]any{"trace": 1}
		// It sorts the members of all objects.
		again, err := json.MarshalIndent(anew, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := dedup.DigestJSON(again); got != want {
			t.Errorf("%s and, written anew, %s, %v", want, got, err)
		}
	})
}
