// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

const (
	legacyTaskEvent     = `data: {"jsonrpc":"2.0","id":"%s","result":{"kind":"task","id":"t-1","contextId":"c-1","status":{"state":"working"}}}` + "\n\n"
	legacyStatusEvent   = `data: {"jsonrpc":"2.0","id":"%s","result":{"kind":"status-update","taskId":"t-1","contextId":"c-1","final":true,"status":{"state":"completed"}}}` + "\n\n"
	legacyArtifactEvent = `data: {"jsonrpc":"2.0","id":"%s","result":{"kind":"artifact-update","taskId":"t-1","contextId":"c-1","append":true,` +
		`"artifact":{"artifactId":"a","parts":[{"kind":"text","text":"word "}]}}}` + "\n\n"
)

// Events of A2A 0.3 name their kind (section 7.1), and errors on a stream have the codes of 0.3.
func TestSubscribeToLegacy(t *testing.T) {
	resubscribed := func(pieces ...string) func(*testing.T) *agent {
		return func(t *testing.T) *agent {
			return served(t, false, func(_ *agent, w http.ResponseWriter, _ *http.Request, c call) {
				if c.Method != "tasks/resubscribe" || !strings.Contains(string(c.Params), `"t-1"`) {
					t.Errorf("called %s with %s", c.Method, c.Params)
				}
				write(w, c.ID, pieces...)
			})
		}
	}
	failed := func(code string) func(*testing.T) *agent {
		return resubscribed("data: " + errorBody(`{"code":`+code+`,"message":"no"}`) + "\n\n")
	}
	for _, c := range []streamCase{
		{"a task and its end", resubscribed(legacyTaskEvent, legacyStatusEvent), 0, 3, outbox.Accepted, ""},
		{"pieces of artifacts are not heard", resubscribed(strings.Repeat(legacyArtifactEvent, 100), legacyStatusEvent), 0, 2, outbox.Accepted, ""},
		{"the task is not there", failed("-32001"), 0, 1, outbox.Absent, remote.ReasonTaskNotFound},
		{"no such method", failed("-32601"), 0, 1, outbox.Refused, remote.ReasonMethodNotFound},
		{"a code that only 1.0 has proves nothing", failed("-32009"), 0, 1, outbox.Ambiguous, "ServerError"},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, speakingLegacy) })
	}
}
