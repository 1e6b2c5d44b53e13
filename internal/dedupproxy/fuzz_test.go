// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedupproxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// FuzzCall requires that no send passes unread: what the SDK's own names say is a send with a messageId is read as one, with
// the digest that an agent gives it, or refused.
func FuzzCall(f *testing.F) {
	const msg = `{"messageId":"m","role":"ROLE_USER","taskId":"t","parts":[{"text":"x"}]}`
	for _, body := range []string{
		``, `null`, `[]`, `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":` + msg + `}}`,
		`[{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":` + msg + `}}]`, "\xEF\xBB\xBF" + `{"message":` + msg + `}`,
		`{"message":` + msg + `,"configuration":{"history_length":1},"tenant":"a"}`, `{"method":"SendStreamingMessage","params":{"message":{"message_id":"m"}}} {}`,
		`{"method":"SendMessage","METHOD":"x","params":{"message":{"messageId":"m","parts":[{"data":1e999}]}}}`,
		`{"message":` + msg + `,"MESSAGE":{}}`, `{"message":` + msg + `,"message":{}}`, `{"message":{"messageId":"m","MESSAGEID":""}}`, `{"message":{"messageId":"m","task_id":"t","contextId":7}}`,
	} {
		for _, path := range []string{"/", "/a2a/acme/message:send", "/message:stream", "/%6Dessage%3Asend", "/x%2Fmessage:send"} {
			f.Add(path, []byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, path string, body []byte) {
		u, err := url.ParseRequestURI(path)
		if err != nil {
			return
		}
		c, err := readCall(&http.Request{Method: http.MethodPost, URL: u}, body)
		if err == nil && c != nil {
			if c.message.id == "" || !strings.HasPrefix(c.message.digest, "sha256:") || c.rpc && !json.Valid(c.id) {
				t.Errorf("%+v", c)
			}
			return
		}
		if c == nil && err != nil && !errors.Is(err, errBatch) && !errors.Is(err, errNotJSON) && !errors.Is(err, errTwice) {
			t.Errorf("%v", err)
		}
		if id := sends(u, body); err == nil && id != "" {
			t.Errorf("message %q passes unread", id)
		}
	})
}

// sends is the messageId of a send, as one reads it who knows only the specification's own spelling and takes the last of
// members with one name.
func sends(u *url.URL, body []byte) string {
	type object = map[string]json.RawMessage
	var params, msg object
	var id string
	switch {
	case strings.HasSuffix(u.Path, pathSend), strings.HasSuffix(u.Path, pathStream):
		_ = json.Unmarshal(body, &params)
	default:
		var envelope object
		var method string
		_ = json.Unmarshal(body, &envelope)
		if json.Unmarshal(envelope["method"], &method) != nil || method != methodSend && method != methodStream {
			return ""
		}
		_ = json.Unmarshal(envelope["params"], &params)
	}
	_ = json.Unmarshal(params["message"], &msg)
	_ = json.Unmarshal(msg["messageId"], &id)
	return id
}

// FuzzProof requires of an agent's answer what the proxy promises: it is taken for the outcome only where the status is 200
// and something can be replayed, and a refusal never comes with an outcome.
func FuzzProof(f *testing.F) {
	for _, body := range []string{
		``, `null`, `{"jsonrpc":"2.0","id":1,"result":{"task":{"id":"t"}}}`, `{"jsonrpc":"2.0","id":1,"result":{"message":{"messageId":"r"}}}`,
		`{"jsonrpc":"2.0","id":2,"result":{"task":{"id":"t"}}}`, `{"id":1,"error":{"code":-32602,"data":[{"reason":"x","domain":"a2a-protocol.org"}]}}`,
		`{"id":1,"error":{"code":-3.26e4}}`, `{"task":{"id":"t"}}`, `{"error":{"code":400,"details":[{"reason":"INVALID_PARAMS","domain":"a2a-protocol.org"}]}}`, `{"statusUpdate":{"taskId":"t"}}`,
	} {
		for _, status := range []int{200, 202, 400, 409, 503} {
			f.Add(status, "application/json", []byte(body), true)
			f.Add(status, "application/a2a+json", []byte(body), false)
		}
	}
	f.Fuzz(func(t *testing.T, status int, contentType string, body []byte, rpc bool) {
		got := judge(&call{rpc: rpc, id: json.RawMessage("1")}, status, http.Header{"Content-Type": {contentType}}, body)
		replayable := got.outcome.TaskID != "" || len(got.outcome.Reply) > 0
		if replayable != (got.proof == taken) || got.proof == taken && status != http.StatusOK {
			t.Errorf("%+v for HTTP %d", got, status)
		}
		if got.proof == refused && got.fault == "" && (status < 400 || status > 499) {
			t.Errorf("refused without a reason, HTTP %d", status)
		}
		if rpc && got.proof == taken && !bytes.Contains(body, []byte("1")) {
			t.Errorf("taken by an answer to another call: %s", body)
		}
	})
}
