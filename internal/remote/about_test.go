// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"bufio"
	"encoding/json"
	"net"
	"net/http"
	"testing"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

func TestGetAndCancel(t *testing.T) {
	working := resultBody(`{"id":"t-1","contextId":"c-1","status":{"state":"TASK_STATE_WORKING"}}`)
	cases := []struct {
		name        string
		agent       func(*testing.T) *agent
		outcome     outbox.Outcome
		reason      string
		get, cancel bool
	}{
		{"Accepted: the task", answering(200, jsonHeader(), working), outbox.Accepted, "", true, true},
		{"Ambiguous: another task", answering(200, jsonHeader(), resultBody(`{"id":"t-2","status":{"state":"TASK_STATE_WORKING"}}`)),
			outbox.Ambiguous, remote.ReasonForeignTask, true, true},
		{"Ambiguous: no state", answering(200, jsonHeader(), resultBody(`{"id":"t-1"}`)), outbox.Ambiguous, remote.ReasonEmptyTask, true, true},
		{"Ambiguous: no task", answering(200, jsonHeader(), resultBody(`{}`)), outbox.Ambiguous, remote.ReasonEmptyTask, true, true},
		{"Ambiguous: null", answering(200, jsonHeader(), resultBody(`null`)), outbox.Ambiguous, remote.ReasonInvalidResponse, true, true},
		{"Absent: the agent does not have it", answering(200, jsonHeader(), errorBody(`{"code":-32001,"message":"no"}`)),
			outbox.Absent, remote.ReasonTaskNotFound, true, true},
		{"Absent: under HTTP 404", answering(404, jsonHeader(), errorBody(`{"code":-32001,"message":"no"}`)),
			outbox.Absent, remote.ReasonTaskNotFound, true, true},
		{"NotSent: the endpoint is gone", answering(404, nil, ""), outbox.NotSent, remote.ReasonEndpointNotFound, true, true},
		{"Refused: no such method", answering(200, jsonHeader(), errorBody(`{"code":-32601,"message":"no"}`)), outbox.Refused, "MethodNotFound", true, true},
		{"Refused: the task has ended", answering(200, jsonHeader(), errorBody(`{"code":-32002,"message":"no"}`)),
			outbox.Refused, remote.ReasonTaskNotCancelable, false, true},
		{"Unauthorized: HTTP 401", answering(401, nil, ""), outbox.Unauthorized, "Unauthorized", true, true},
		{"Ambiguous: HTTP 503", answering(503, nil, ""), outbox.Ambiguous, "ServiceUnavailable", true, true},
		{"NotSent: nobody listens", deaf, outbox.NotSent, remote.ReasonConnectionFailed, true, true},
		{"Ambiguous: the answer is lost", speaking(func(a *agent, _ *net.TCPConn, in *bufio.Reader) { a.read(in) }),
			outbox.Ambiguous, remote.ReasonResponseLost, true, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			client := connect(t, c.agent(t))
			if c.get {
				expectTask(t, client.Get(t.Context(), "t-1"), c.outcome, c.reason)
			}
			if c.cancel {
				expectTask(t, client.Cancel(t.Context(), "t-1"), c.outcome, c.reason)
			}
		})
	}
}

func expectTask(t *testing.T, ex outbox.Exchange, outcome outbox.Outcome, reason string) {
	t.Helper()
	expect(t, ex, outcome, reason)
	if (ex.Task != nil) != (outcome == outbox.Accepted) {
		t.Errorf("task %+v", ex.Task)
	}
}

// Both name the task and the tenant, and a look asks for the history, since some agents show none without.
func TestGetAndCancelSay(t *testing.T) {
	var asked []map[string]any
	a := served(t, false, func(_ *agent, w http.ResponseWriter, _ *http.Request, c call) {
		var params map[string]any
		if err := json.Unmarshal(c.Params, &params); err != nil {
			t.Error(err)
		}
		params["method"] = c.Method
		asked = append(asked, params)
		reply(w, c, `{"id":"a/b?c","status":{"state":"TASK_STATE_WORKING"}}`)
	})
	c := connect(t, a, func(c *remote.Config) { c.Interface.Tenant = "acme" })
	expect(t, c.Get(t.Context(), "a/b?c"), outbox.Accepted, "")
	expect(t, c.Cancel(t.Context(), "a/b?c"), outbox.Accepted, "")
	for i, method := range []string{"GetTask", "CancelTask"} {
		if asked[i]["id"] != "a/b?c" || asked[i]["tenant"] != "acme" || asked[i]["method"] != method {
			t.Errorf("%v", asked[i])
		}
	}
	if length, _ := asked[0]["historyLength"].(float64); length < 100 {
		t.Errorf("%v", asked[0])
	}
}

// An agent that says "not cancelable" is taken at its word only where the task has ended.
func TestCancelLooksAtWhatIsNotCancelable(t *testing.T) {
	of := func(state string) string { return resultBody(`{"id":"t-1","status":{"state":"` + state + `"}}`) }
	for _, c := range []struct {
		name, get string
		outcome   outbox.Outcome
		reason    string
		state     string
	}{
		{"Refused: it has ended", of("TASK_STATE_COMPLETED"), outbox.Refused, remote.ReasonTaskNotCancelable, "TASK_STATE_COMPLETED"},
		{"Refused: it can't be looked at", errorBody(`{"code":-32601,"message":"no"}`), outbox.Refused, remote.ReasonTaskNotCancelable, ""},
		{"Absent: it is gone", errorBody(`{"code":-32001,"message":"no"}`), outbox.Absent, remote.ReasonTaskNotFound, ""},
		{"Ambiguous: it waits for input", of("TASK_STATE_INPUT_REQUIRED"), outbox.Ambiguous, remote.ReasonTaskNotCancelable, ""},
		{"Ambiguous: the look fails", errorBody(`{"code":-32603,"message":"no"}`), outbox.Ambiguous, remote.ReasonTaskNotCancelable, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := &library{override: map[string]string{"CancelTask": errorBody(`{"code":-32002,"message":"no"}`), "GetTask": c.get}}
			ex := connect(t, l.open(t)).Cancel(t.Context(), "t-1")
			expect(t, ex, c.outcome, c.reason)
			if (ex.Task != nil) != (c.state != "") || ex.Task != nil && string(ex.Task.State) != c.state {
				t.Errorf("task %+v", ex.Task)
			}
		})
	}
}
