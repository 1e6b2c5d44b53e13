// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedupproxy

import (
	"encoding/json"
	"net/http"
	"testing"
)

// What readers don't agree on proves nothing, and the agent is asked.
func TestProof(t *testing.T) {
	for _, test := range []struct {
		id, body string
		want     proof
		task     string
	}{
		{`1`, `{"id":1,"result":{"task":{"id":"t"}}}`, taken, "t"},
		{`1`, `{"id":1.0,"result":{"statusUpdate":{"taskId":"t"}}}`, taken, "t"},
		{`1`, `{"id":2,"result":{"task":{"id":"t"}}}`, open, ""},
		{`{"a":1}`, `{"id":{ "a":1.0},"result":{"task":{"id":"t"}}}`, taken, "t"},
		{`[1]`, `{"id":[2],"result":{"task":{"id":"t"}}}`, open, ""},
		{`1`, `{"id":1,"result":{"task":{"id":"t"}},"error":null}`, taken, "t"},
		{`1`, `{"id":1,"result":{"task":{"id":"t"}},"result":{"task":{"id":"u"}}}`, open, ""},
		{`1`, `{"id":1,"result":{"task":{"id":"t"},"TASK":{"id":"u"}}}`, open, ""},
		{`1`, `{"id":1,"result":{"task":{"id":"t","id":"u"}}}`, open, ""},
		{`1`, `{"id":1,"result":{"message":{},"message":{"messageId":"r"}}}`, open, ""},
		{`1`, `{"id":1,"result":{"task":7,"message":{}}}`, open, ""},
		{`1`, `{"id":1,"result":{"task":{"id":7},"message":{}}}`, open, ""},
	} {
		got := judge(&call{rpc: true, id: json.RawMessage(test.id)}, http.StatusOK, http.Header{}, []byte(test.body))
		if got.proof != test.want || string(got.outcome.TaskID) != test.task {
			t.Errorf("answer %s to %s: %+v, want %d of %q", test.body, test.id, got, test.want, test.task)
		}
	}
}
