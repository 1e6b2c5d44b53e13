// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// FuzzAnswer gives any status and body to the judgement of a send and holds it to what must never happen.
func FuzzAnswer(f *testing.F) {
	for _, body := range []string{
		``, `null`, `[]`, `{"jsonrpc":"2.0","id":"ID","result":{"task":{"id":"t","status":{"state":"TASK_STATE_WORKING"}}}}`,
		`{"jsonrpc":"2.0","id":"ID","result":{"message":{"messageId":"r","parts":[{"text":"x"},{"raw":"AA=="},{"data":[1]}]}}}`,
		`{"jsonrpc":"2.0","id":"ID","error":{"code":-32602,"message":"no","data":[{"reason":"MESSAGE_IN_PROGRESS"}]}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32001.5,"data":{"@type":"x/google.rpc.RetryInfo","retryDelay":"1s"}}}`,
	} {
		for _, status := range []int{200, 401, 404, 409, 429, 503} {
			f.Add(status, body, "application/json", "5")
		}
	}
	for _, after := range []string{"-1", "99999999999999999999", "Thu, 01 Jan 1970 00:00:30 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "1e3", " 7 "} {
		f.Add(503, ``, "text/html", after)
	}
	f.Fuzz(func(t *testing.T, status int, body, contentType, after string) {
		header := http.Header{"Content-Type": {contentType}, "Retry-After": {after}}
		ev := evidence{status: status, header: header, body: []byte(body), private: private{secrets: []string{"s3cr3t"}}}
		a := rpc{}.decode(outbox.CallSend, parcel{id: "ID"}, ev)
		ex := judge(ev, a, time.Unix(0, 0))
		if ex.Outcome == outbox.Accepted {
			if status != http.StatusOK || !strings.Contains(body, "ID") && !strings.Contains(body, `\u`) {
				t.Errorf("accepted HTTP %d %q", status, body)
			}
			ex = sent(a.result, "")
		}
		checkOutcome(t, ex)
		checkTexts(t, ex)
	})
}

func checkOutcome(t *testing.T, ex outbox.Exchange) {
	t.Helper()
	switch ex.Outcome {
	case outbox.Accepted:
		if (ex.Task == nil) == (ex.Reply == nil) || ex.Task != nil && (ex.Task.ID == "" || ex.Task.State == "") {
			t.Errorf("accepted %+v", ex)
		}
	case outbox.NotSent, outbox.Refused, outbox.Unauthorized, outbox.InProgress, outbox.Unresolved, outbox.Ambiguous:
		if ex.Reason == "" {
			t.Errorf("%+v", ex)
		}
	default:
		t.Errorf("outcome %q", ex.Outcome)
	}
}

func checkTexts(t *testing.T, ex outbox.Exchange) {
	t.Helper()
	if ex.RetryAfter < 0 || ex.RetryAfter > maxRetryAfter {
		t.Errorf("RetryAfter %s", ex.RetryAfter)
	}
	if len(ex.Detail) > maxDetail || !utf8.ValidString(ex.Detail) || strings.ContainsFunc(ex.Detail, unicode.IsControl) ||
		strings.Contains(ex.Detail, "s3cr3t") {
		t.Errorf("detail %q", ex.Detail)
	}
}
