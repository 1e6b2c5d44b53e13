// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"encoding/json"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// historyLength is how much of a task's history is asked for. It is always asked for, since some servers show none to a
// caller that does not (A2A 1.0, section 3.2.4, leaves that to them).
const historyLength = 1000

// Send sends the message of an attempt (A2A 1.0, section 3.1.1) and asks the agent not to wait for the task. The attempt's
// deadline bounds the call, and no byte of the message is handed to the network after it. Without a token nothing is
// sent. The request is not changed.
//
// Accepted comes with a Task, in a state that need not be one of the specification's, or with a Reply.
func (c *Client) Send(ctx context.Context, token outbox.Token, req *a2a.SendMessageRequest) outbox.Exchange {
	attempt := token.Attempt()
	switch {
	case attempt.Number < 1:
		return outbox.Exchange{Outcome: outbox.NotSent, Reason: ReasonNoToken, Detail: "the attempt is not in the journal"}
	case req == nil || req.Message == nil:
		return outbox.Exchange{Outcome: outbox.NotSent, Reason: ReasonNoMessage, Detail: "the request holds no message"}
	}
	ctx, cancel := context.WithDeadlineCause(ctx, attempt.Deadline, errAttemptExpired)
	defer cancel()
	result, ex := c.exchange(ctx, request{
		call: outbox.CallSend, params: c.prepare(req), header: c.sendHeader(req.Message), notAfter: attempt.Deadline,
	})
	if ex.Outcome != outbox.Accepted {
		return ex
	}
	return sent(result, string(req.Message.TaskID))
}

// prepare returns the request as it goes out.
func (c *Client) prepare(req *a2a.SendMessageRequest) *a2a.SendMessageRequest {
	out := *req
	conf := a2a.SendMessageConfig{}
	if req.Config != nil {
		conf = *req.Config
	}
	conf.ReturnImmediately = true
	out.Config = &conf
	if out.Tenant == "" {
		out.Tenant = c.tenant
	}
	return &out
}

// sent looks into the result of a send: a Task, of the id that the message named if it named one, or a Message.
func sent(result json.RawMessage, named string) outbox.Exchange {
	o := object(result)
	switch {
	case o.has("task") == o.has("message"):
		return unproved(ReasonInvalidResponse, "the result holds neither a task nor a message, or both")
	case o.has("task"):
		return bound(o["task"], named)
	}
	m := decodeMessage(o["message"])
	switch {
	case m.ID == "" && len(m.Parts) == 0:
		return unproved(ReasonEmptyMessage, "the result holds a message without messageId and parts")
	case named != "" && m.TaskID != "" && string(m.TaskID) != named:
		return foreign(named, string(m.TaskID))
	}
	text := paragraph(messageText(m), maxReply)
	return outbox.Exchange{Outcome: outbox.Accepted, Reply: &text}
}

// bound looks into a task that an agent answered with. With an id named it has to be that task.
func bound(raw json.RawMessage, named string) outbox.Exchange {
	task := Snapshot(decodeTask(raw))
	switch {
	case fit(task.ID) == "":
		return unproved(ReasonEmptyTask, "the result holds a task without a usable id")
	case named != "" && task.ID != named:
		return foreign(named, task.ID)
	case task.State == "":
		return unproved(ReasonEmptyTask, "the result holds a task without a state")
	}
	return outbox.Exchange{Outcome: outbox.Accepted, Task: &task}
}

func unproved(reason, detail string) outbox.Exchange {
	return outbox.Exchange{Outcome: outbox.Ambiguous, Reason: reason, Detail: oneLine(detail)}
}

func foreign(named, got string) outbox.Exchange {
	return unproved(ReasonForeignTask, "the request named task "+cut(named, maxForeign)+" and the answer is about task "+cut(got, maxForeign))
}

// Get asks for a task with its history and artifacts (A2A 1.0, section 3.1.3). Absent says that the agent does not have it.
func (c *Client) Get(ctx context.Context, taskID string) outbox.Exchange {
	length := historyLength
	return c.about(ctx, taskID, outbox.CallGet, &a2a.GetTaskRequest{Tenant: c.tenant, ID: a2a.TaskID(taskID), HistoryLength: &length})
}

// maxHowToGet bounds what HowToGet says, in bytes.
const maxHowToGet = 8 << 10

// HowToGet is the request that Get makes, for people who want to make it by hand: method, URL and body as JSON, without
// credentials and with the id 1 where the binding has ids. It is empty where there is no such request, or one of over 8 KiB.
func (c *Client) HowToGet(taskID string) string {
	p, err := c.binding.encode(outbox.CallGet, &a2a.GetTaskRequest{Tenant: c.tenant, ID: a2a.TaskID(taskID)})
	if err != nil {
		return ""
	}
	text := p.method + " " + p.url.String()
	if body := p.readable(); len(body) > 0 {
		text += " " + string(body)
	}
	if len(text) > maxHowToGet {
		return ""
	}
	return text
}

// Cancel asks to cancel a task (A2A 1.0, section 3.1.5). Accepted comes with the task as it is now, which need not be
// canceled yet; Refused with reason TaskNotCancelable says that it has ended, and comes with it where the agent shows it;
// Absent, that the agent does not have it. Ambiguous with reason TaskNotCancelable says that the agent does not cancel a
// task which has not ended: ask again.
func (c *Client) Cancel(ctx context.Context, taskID string) outbox.Exchange {
	ex := c.about(ctx, taskID, outbox.CallCancel, &a2a.CancelTaskRequest{Tenant: c.tenant, ID: a2a.TaskID(taskID)})
	if ex.Outcome == outbox.Refused && ex.Reason == ReasonTaskNotCancelable {
		return c.uncancelable(ctx, taskID, ex)
	}
	return ex
}

// uncancelable looks at a task that an agent does not cancel. Agents on the Go SDK say so of a task that waits for input
// too, for as long as they are busy with the step that led there; taken for the end of the task it would be left behind.
func (c *Client) uncancelable(ctx context.Context, taskID string, ex outbox.Exchange) outbox.Exchange {
	is := c.Get(ctx, taskID)
	switch {
	case is.Outcome == outbox.Absent:
		return is
	case is.Outcome == outbox.Refused:
		return ex
	case is.Outcome == outbox.Accepted && is.Task.State.Terminal():
		ex.Task = is.Task
		return ex
	case is.Outcome == outbox.Accepted:
		is.Detail = "it is in state " + string(is.Task.State)
	}
	return unproved(ex.Reason, ex.Detail+"; a look at the task: "+is.Detail)
}

// about makes a call about one task, which answers with that task.
func (c *Client) about(ctx context.Context, taskID string, call outbox.Call, params any) outbox.Exchange {
	result, ex := c.exchange(ctx, request{call: call, params: params})
	switch {
	case ex.Outcome == outbox.Accepted:
		return bound(result, taskID)
	case ex.Outcome == outbox.Refused && ex.Reason == ReasonTaskNotFound:
		ex.Outcome = outbox.Absent
	}
	return ex
}
