// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

func speakingLegacy(c *remote.Config) { c.Interface.ProtocolVersion = "0.3.0" }

// legacyWorking is what working is in A2A 0.3.
const legacyWorking = `{"kind":"task","id":"t-1","contextId":"c-1","status":{"state":"working"}}`

// legacyStateCases are the states of A2A 0.3, and spellings of others, which are shown as they came.
func legacyStateCases() []sendCase {
	var cases []sendCase
	for came, shown := range map[string]string{
		"submitted":            "TASK_STATE_SUBMITTED",
		"working":              "TASK_STATE_WORKING",
		"input-required":       "TASK_STATE_INPUT_REQUIRED",
		"auth-required":        "TASK_STATE_AUTH_REQUIRED",
		"completed":            "TASK_STATE_COMPLETED",
		"canceled":             "TASK_STATE_CANCELED",
		"failed":               "TASK_STATE_FAILED",
		"rejected":             "TASK_STATE_REJECTED",
		"unknown":              "unknown",
		"Completed":            "Completed",
		"COMPLETED":            "COMPLETED",
		"cancelled":            "cancelled",
		"input_required":       "input_required",
		"completed ":           "completed",
		"paused":               "paused",
		"TASK_STATE_COMPLETED": "TASK_STATE_COMPLETED",
	} {
		cases = append(cases, legacyAccepted("the state is "+came, shown, strings.Replace(legacyWorking, "working", came, 1)))
	}
	return cases
}

func legacyAccepted(name, state, result string) sendCase {
	return sendCase{
		name: "Accepted: " + name, agent: answering(200, jsonHeader(), resultBody(result)), received: 1,
		outcome: outbox.Accepted, task: "t-1", state: state,
	}
}

func legacyTaskCases() []sendCase {
	working := func(name, members string) sendCase {
		return legacyAccepted(name, "TASK_STATE_WORKING", strings.TrimSuffix(legacyWorking, "}")+members+"}")
	}
	replied := func(name, reply, result string) sendCase {
		c := legacyAccepted(name, "", result)
		c.task, c.reply = "", &reply
		return c
	}
	named := working("the task that the message names", "")
	named.request = func(r *a2a.SendMessageRequest) { r.Message.TaskID = "t-1" }
	return []sendCase{
		named,
		working("a task", ""),
		working("a history of the wrong shape", `,"history":{"a":1}`),
		working("an artifact with a part of an unknown kind", `,"artifacts":[{"artifactId":"a","parts":[{"kind":"video","video":1},null,3]},null,"x"]`),
		working("the error beside the result is null", `},"error":null,"x":{`),
		legacyAccepted("a timestamp without a zone", "TASK_STATE_WORKING",
			`{"kind":"task","id":"t-1","status":{"state":"working","timestamp":"2026-09-01T12:00:00.123456"}}`),
		legacyAccepted("a timestamp that is a number", "TASK_STATE_WORKING", `{"kind":"task","id":"t-1","status":{"state":"working","timestamp":1788264000}}`),
		legacyAccepted("a task that does not say that it is one", "TASK_STATE_WORKING", `{"id":"t-1","status":{"state":"working"}}`),
		replied("a message", "All is well.\nBye.", `{"kind":"message","messageId":"r-1","role":"agent","parts":[{"kind":"text","text":"All is well."},`+
			`{"kind":"file","file":{"uri":"http://x"}},{"kind":"text","text":"Bye."}]}`),
		replied("a message with no parts", "", `{"kind":"message","messageId":"r-1","role":"agent","parts":[]}`),
		replied("a message of data", `{"ok":true}`, `{"kind":"message","messageId":"r-1","role":"agent","parts":[{"kind":"data","data":{"ok": true}}]}`),
		replied("a message of parts without kinds", "All is well.", `{"kind":"message","messageId":"r-1","role":"agent","parts":[{"text":"All is well."}]}`),
	}
}

func legacyUnusableCases() []sendCase {
	ambiguous := func(name, reason, body string) sendCase {
		return sendCase{
			name: "Ambiguous: " + name, agent: answering(200, jsonHeader(), body), received: 1, outcome: outbox.Ambiguous, reason: reason,
		}
	}
	result := func(name, reason, result string) sendCase { return ambiguous(name, reason, resultBody(result)) }
	foreign := result("another task than the one named", remote.ReasonForeignTask, legacyWorking)
	aside := result("a message about another task than the one named", remote.ReasonForeignTask, `{"kind":"message","messageId":"r","taskId":"t-1","parts":[]}`)
	for _, c := range []*sendCase{&foreign, &aside} {
		c.request = func(r *a2a.SendMessageRequest) { r.Message.TaskID = "t-9" }
	}
	return []sendCase{
		foreign, aside,
		ambiguous("the response id is a number", remote.ReasonForeignResponse, `{"jsonrpc":"2.0","id":1,"result":`+legacyWorking+`}`),
		ambiguous("the response id is another's", remote.ReasonForeignResponse, `{"jsonrpc":"2.0","id":"x","result":`+legacyWorking+`}`),
		ambiguous("the response has no id", remote.ReasonForeignResponse, `{"jsonrpc":"2.0","result":`+legacyWorking+`}`),
		ambiguous("neither result nor error", remote.ReasonInvalidResponse, `{"jsonrpc":"2.0","id":"%s"}`),
		ambiguous("the body is no JSON", remote.ReasonInvalidResponse, `OK`),
		ambiguous("the body goes on after its end", remote.ReasonInvalidResponse, resultBody(legacyWorking)+`{}`),
		ambiguous("the body is a batch", remote.ReasonInvalidResponse, `[`+resultBody(legacyWorking)+`]`),
		ambiguous("the body is a task without an envelope", remote.ReasonInvalidResponse, legacyWorking),
		result("the result is null", remote.ReasonInvalidResponse, `null`),
		result("the result is empty", remote.ReasonInvalidResponse, `{}`),
		result("the result is a list", remote.ReasonInvalidResponse, `[`+legacyWorking+`]`),
		result("the result has the shape of 1.0", remote.ReasonInvalidResponse, working),
		result("the result is an event", remote.ReasonInvalidResponse, `{"kind":"status-update","taskId":"t-1","status":{"state":"working"},"final":false}`),
		result("the result is of no kind", remote.ReasonInvalidResponse, `{"messageId":"r-1","role":"agent","parts":[{"kind":"text","text":"x"}]}`),
		result("the kind is in upper case", remote.ReasonInvalidResponse, strings.Replace(legacyWorking, "task", "Task", 1)),
		result("the kind is a number", remote.ReasonInvalidResponse, strings.Replace(legacyWorking, `"task"`, "1", 1)),
		result("the task is empty", remote.ReasonEmptyTask, `{"kind":"task"}`),
		result("the task has no id", remote.ReasonEmptyTask, `{"kind":"task","status":{"state":"working"}}`),
		result("the task has an id that can't be kept", remote.ReasonEmptyTask, strings.Replace(legacyWorking, "t-1", `t\n1`, 1)),
		result("the task has no state", remote.ReasonEmptyTask, `{"kind":"task","id":"t-1","contextId":"c"}`),
		result("the task's state is empty", remote.ReasonEmptyTask, strings.Replace(legacyWorking, "working", "", 1)),
		result("the task's state is null", remote.ReasonEmptyTask, strings.Replace(legacyWorking, `"working"`, "null", 1)),
		result("the task's state is a number", remote.ReasonEmptyTask, strings.Replace(legacyWorking, `"working"`, "2", 1)),
		result("the message is empty", remote.ReasonEmptyMessage, `{"kind":"message"}`),
	}
}

// legacyCodeCases are those of 1.0, less the codes that A2A 0.3 does not have.
func legacyCodeCases() []sendCase {
	cases := codeCases()
	for i := range cases {
		if strings.HasSuffix(cases[i].name, "-32008") || strings.HasSuffix(cases[i].name, "-32009") {
			cases[i].outcome, cases[i].reason = outbox.Ambiguous, remote.ReasonServerError
		}
	}
	return cases
}

// legacyPlainCases are answers as plain text, which is what the Go SDK's servers of A2A 0.3 send.
func legacyPlainCases() []sendCase {
	of := func(outcome outbox.Outcome, reason, name, kind, body string) sendCase {
		return sendCase{
			name: string(outcome) + ": " + name, agent: answering(200, http.Header{"Content-Type": {kind}}, body), received: 1, outcome: outcome, reason: reason,
		}
	}
	const plain = "text/plain; charset=utf-8"
	task := of(outbox.Accepted, "", "a task as plain text", plain, resultBody(legacyWorking))
	task.task, task.state = "t-1", "TASK_STATE_WORKING"
	return []sendCase{
		task,
		of(outbox.Refused, "InvalidParams", "an error as plain text", plain, errorBody(plainRefusal)),
		of(outbox.Ambiguous, "InternalError", "an internal error as plain text", plain, errorBody(`{"code":-32603,"message":"no"}`)),
		of(outbox.Ambiguous, remote.ReasonUnexpectedContentType, "a task as plain text for another request", plain, `{"jsonrpc":"2.0","id":"x","result":`+legacyWorking+`}`),
		of(outbox.Ambiguous, remote.ReasonUnexpectedContentType, "an error as plain text without an id", plain, `{"jsonrpc":"2.0","id":null,"error":`+plainRefusal+`}`),
		of(outbox.Ambiguous, remote.ReasonUnexpectedContentType, "plain text", plain, "OK"),
		of(outbox.Ambiguous, remote.ReasonUnexpectedContentType, "an error as HTML", "text/html", errorBody(plainRefusal)),
		of(outbox.Ambiguous, remote.ReasonUnexpectedContentType, "a task as HTML", "text/html", resultBody(legacyWorking)),
	}
}

// The answers are A2A 0.3's; errors, and what happens below, prove what they prove in 1.0.
func TestSendLegacy(t *testing.T) {
	below := slices.DeleteFunc(slices.Concat(
		connectionCases(), handshakeCases(), brokenCases(), callerCases(), statusCases(), redirectCases(), retryAfterCases(), faultCases(),
	), func(c sendCase) bool {
		return c.outcome == outbox.Accepted || strings.Contains(c.name, "a task and the wrong content type")
	})
	runCases(t, speakingLegacy, 170, legacyCodeCases(), legacyStateCases(), legacyTaskCases(), legacyUnusableCases(), legacyPlainCases(), below)
}
