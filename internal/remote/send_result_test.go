// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// working is the result of most sends.
const working = `{"task":{"id":"t-1","status":{"state":"TASK_STATE_WORKING"}}}`

// resultCases are answers without an error.
func resultCases() []sendCase {
	return append(taskCases(), unusableCases()...)
}

func taskCases() []sendCase {
	accepted := func(name, state, result string) sendCase {
		return sendCase{
			name: "Accepted: " + name, agent: answering(200, jsonHeader(), resultBody(result)), received: 1,
			outcome: outbox.Accepted, task: "t-1", state: state,
		}
	}
	replied := func(name, reply, result string) sendCase {
		c := accepted(name, "", result)
		c.task, c.reply = "", &reply
		return c
	}
	named := accepted("the task that the message names", "TASK_STATE_WORKING", working)
	named.request = func(r *a2a.SendMessageRequest) { r.Message.TaskID = "t-1" }
	plain := accepted("there is no content type", "TASK_STATE_WORKING", working)
	plain.agent = answering(200, map[string][]string{"Content-Type": nil}, resultBody(working))
	return []sendCase{
		named, plain,
		accepted("a task that has ended already", "TASK_STATE_COMPLETED", `{"task":{"id":"t-1","status":{"state":"TASK_STATE_COMPLETED"}}}`),
		accepted("a task in another context", "TASK_STATE_WORKING", `{"task":{"id":"t-1","contextId":"mine","status":{"state":"TASK_STATE_WORKING"}}}`),
		accepted("a state in the spelling of 0.3", "completed", `{"task":{"id":"t-1","status":{"state":"completed"}}}`),
		accepted("a state that nobody knows", "TASK_STATE_FOO", `{"task":{"id":"t-1","status":{"state":"TASK_STATE_FOO"}}}`),
		accepted("a timestamp without a zone", "TASK_STATE_WORKING",
			`{"task":{"id":"t-1","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-09-01T12:00:00.123456"}}}`),
		accepted("a timestamp that is a number", "TASK_STATE_WORKING", `{"task":{"id":"t-1","status":{"state":"TASK_STATE_WORKING","timestamp":1788264000}}}`),
		accepted("an artifact with a part of an unknown kind", "TASK_STATE_WORKING",
			`{"task":{"id":"t-1","status":{"state":"TASK_STATE_WORKING"},"artifacts":[{"artifactId":"a","parts":[{"video":1},null,3]},null,"x"]}}`),
		accepted("a history of the wrong shape", "TASK_STATE_WORKING", `{"task":{"id":"t-1","status":{"state":"TASK_STATE_WORKING"},"history":{"a":1}}}`),
		accepted("the error beside the result is null", "TASK_STATE_WORKING",
			`{"task":{"id":"t-1","status":{"state":"TASK_STATE_WORKING"}},"message":null},"error":null`),
		replied("a message", "All is well.\nBye.",
			`{"message":{"messageId":"r-1","role":"ROLE_AGENT","parts":[{"text":"All is well."},{"url":"http://x"},{"text":"Bye."}]}}`),
		replied("a message with no parts", "", `{"message":{"messageId":"r-1","role":"ROLE_AGENT","parts":[]}}`),
		replied("a message of data", `{"ok":true}`, `{"message":{"messageId":"r-1","role":"ROLE_AGENT","parts":[{"data":{"ok": true}}]}}`),
	}
}

func unusableCases() []sendCase {
	ambiguous := func(name, reason, body string) sendCase {
		return sendCase{
			name: "Ambiguous: " + name, agent: answering(200, jsonHeader(), body), received: 1, outcome: outbox.Ambiguous, reason: reason,
		}
	}
	foreign := ambiguous("another task than the one named", remote.ReasonForeignTask, resultBody(working))
	foreign.request = func(r *a2a.SendMessageRequest) { r.Message.TaskID = "t-9" }
	aside := ambiguous("a message about another task than the one named", remote.ReasonForeignTask,
		resultBody(`{"message":{"messageId":"r","taskId":"t-1","parts":[]}}`))
	aside.request = func(r *a2a.SendMessageRequest) { r.Message.TaskID = "t-9" }
	return []sendCase{
		foreign, aside,
		ambiguous("the response id is a number", remote.ReasonForeignResponse, `{"jsonrpc":"2.0","id":1,"result":`+working+`}`),
		ambiguous("the response id is another's", remote.ReasonForeignResponse, `{"jsonrpc":"2.0","id":"x","result":`+working+`}`),
		ambiguous("the response has no id", remote.ReasonForeignResponse, `{"jsonrpc":"2.0","result":`+working+`}`),
		ambiguous("the result is null", remote.ReasonInvalidResponse, resultBody(`null`)),
		ambiguous("neither result nor error", remote.ReasonInvalidResponse, `{"jsonrpc":"2.0","id":"%s"}`),
		ambiguous("the result is empty", remote.ReasonInvalidResponse, resultBody(`{}`)),
		ambiguous("the result is a list", remote.ReasonInvalidResponse, resultBody(`[]`)),
		ambiguous("both a task and a message", remote.ReasonInvalidResponse,
			resultBody(`{"task":{"id":"t-1","status":{"state":"TASK_STATE_WORKING"}},"message":{"messageId":"r"}}`)),
		ambiguous("the task is empty", remote.ReasonEmptyTask, resultBody(`{"task":{}}`)),
		ambiguous("the task is a string", remote.ReasonEmptyTask, resultBody(`{"task":"t-1"}`)),
		ambiguous("the task has no id", remote.ReasonEmptyTask, resultBody(`{"task":{"status":{"state":"TASK_STATE_WORKING"}}}`)),
		ambiguous("the task has an id that can't be kept", remote.ReasonEmptyTask,
			resultBody(`{"task":{"id":"t\n1","status":{"state":"TASK_STATE_WORKING"}}}`)),
		ambiguous("the task has no state", remote.ReasonEmptyTask, resultBody(`{"task":{"id":"t-1","contextId":"c"}}`)),
		ambiguous("the task's state is unspecified", remote.ReasonEmptyTask, resultBody(`{"task":{"id":"t-1","status":{"state":"TASK_STATE_UNSPECIFIED"}}}`)),
		ambiguous("the task's state is null", remote.ReasonEmptyTask, resultBody(`{"task":{"id":"t-1","status":{"state":null}}}`)),
		ambiguous("the message is empty", remote.ReasonEmptyMessage, resultBody(`{"message":{}}`)),
		ambiguous("the body is no JSON", remote.ReasonInvalidResponse, `OK`),
		ambiguous("the body goes on after its end", remote.ReasonInvalidResponse, resultBody(working)+`{}`),
		ambiguous("the body is a batch", remote.ReasonInvalidResponse, `[`+resultBody(`{}`)+`]`),
		ambiguous("the body is a task without an envelope", remote.ReasonInvalidResponse, working),
	}
}

// What a redelivery would need is in the snapshot.
func TestSendKeepsContextAndHistory(t *testing.T) {
	a := answering(200, jsonHeader(), resultBody(`{"task":{"id":"t-1","contextId":"mine","status":{"state":"TASK_STATE_WORKING"},
		"history":[{"messageId":"m-71"},null,{"messageId":"r-1"}]}}`))(t)
	ex := connect(t, a).Send(t.Context(), token(t), message())
	if ex.Task == nil || ex.Task.ContextID != "mine" || len(ex.Task.History) != 2 || ex.Task.History[0] != "m-71" {
		t.Errorf("%+v", ex.Task)
	}
}
