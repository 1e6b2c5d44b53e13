// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// What an agent says in an error is shown as far as it is the agent's own.
func TestDetail(t *testing.T) {
	for _, c := range []struct{ name, said, want, not string }{
		{"plain words stay", "the account is closed", "the account is closed", ""},
		{"a payload is cut", `invalid params: {"text":"` + content + `"}`, "invalid params", "text"},
		{"so is one in the words of the message", "can't read '" + content + "'", "can't read", "Reconcile"},
		{"so is the beginning of one", "can't read Reconcile September 2026 f…", "can't read", "Reconcile"},
		{"so is structured content", "unknown period hunter2-hunter2 here", "unknown period", "hunter2"},
		{"so is HTML", "error <html><body>x", "error", "html"},
		{"credentials are taken out", "token " + secret + " has expired", "has expired", secret},
		{"private parts of URLs are taken out", "see https://me:pw@idp.example.com/login?next=" + secret + "#x first",
			"see https://idp.example.com/login first", "next"},
		{"it is one line", "a\nb\r\n\tc\x00\u202Ed", "a b cd", "\n"},
		{"it is short", strings.Repeat("no € ", 1000), "no €", strings.Repeat("no € ", 100)},
	} {
		t.Run(c.name, func(t *testing.T) {
			said, err := json.Marshal(c.said)
			if err != nil {
				t.Fatal(err)
			}
			a := answering(200, jsonHeader(), errorBody(`{"code":-32602,"message":`+string(said)+`}`))(t)
			req := message()
			req.Message.Parts = append(req.Message.Parts, a2a.NewDataPart(map[string]any{"p": []any{"hunter2-hunter2"}}))
			ex := connect(t, a).Send(t.Context(), token(t), req)
			checkDetail(t, ex)
			if !strings.Contains(ex.Detail, c.want) || c.not != "" && strings.Contains(ex.Detail, c.not) {
				t.Errorf("%q", ex.Detail)
			}
			if !strings.Contains(ex.Detail, "-32602 (InvalidParams)") {
				t.Errorf("%q does not name the error", ex.Detail)
			}
		})
	}
}

// Basic credentials are secret in all their forms.
func TestDetailHidesBasicCredentials(t *testing.T) {
	a := answering(200, jsonHeader(), errorBody(`{"code":-32602,"message":"password correct-horse of me, bWU6Y29ycmVjdC1ob3JzZQ=="}`))(t)
	ex := connect(t, a, authorizing(func(r *http.Request) error {
		r.SetBasicAuth("me", "correct-horse")
		return nil
	})).Send(t.Context(), token(t), message())
	if strings.Contains(ex.Detail, "correct-horse") || strings.Contains(ex.Detail, "bWU6") {
		t.Errorf("%q", ex.Detail)
	}
}
