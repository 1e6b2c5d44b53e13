// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedupproxy

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
)

// replay answers a send by what an earlier copy made: with the task as the agent shows it to this caller now, or with
// the reply that was stored. It executes nothing. The agent's error is the answer where it shows no task; a task that
// is gone is not made anew.
func (p *Proxy) replay(ctx context.Context, in *http.Request, c *call, outcome dedup.Binding) answer {
	if outcome.TaskID == "" {
		return shaped(c, "message", outcome.Reply)
	}
	got, err := asker{p, in, c}.getTask(ctx, string(outcome.TaskID), c.historyLength)
	switch {
	case err != nil:
		p.Logger.WarnContext(ctx, "task of an earlier copy can't be read", "messageId", c.message.id, "taskId", outcome.TaskID, "error", err)
		return problemTask.answer(c)
	case got.result != nil:
		return shaped(c, "task", got.result)
	case got.failure != nil && c.rpc:
		return failed(c, got.failure, got.whole.status)
	case got.failure != nil || got.whole.status >= 400 && got.whole.status < 500:
		got.whole.header = endToEnd(got.whole.header)
		return got.whole
	}
	p.Logger.WarnContext(ctx, "task of an earlier copy can't be read", "messageId", c.message.id, "taskId", outcome.TaskID, "status", got.whole.status)
	return problemTask.answer(c)
}

// shaped is the response to a send: one member of a SendMessageResponse, in the only event of a stream.
func shaped(c *call, member string, value json.RawMessage) answer {
	body := joined(`{"`, member, `":`, string(value), `}`)
	if c.rpc {
		body = rpcEnvelope(c.id, "result", body)
	}
	return inStream(c, answer{status: http.StatusOK, header: http.Header{"Content-Type": {jsonType}}, body: body})
}

// failed is the agent's own JSON-RPC error, under the id of the send.
func failed(c *call, failure json.RawMessage, status int) answer {
	a := answer{status: status, header: http.Header{"Content-Type": {jsonType}}, body: rpcEnvelope(c.id, "error", failure)}
	if status != http.StatusOK {
		return a
	}
	return inStream(c, a)
}

func inStream(c *call, a answer) answer {
	if c.stream {
		a.header = http.Header{"Content-Type": {sseType}, "Cache-Control": {"no-cache"}}
		a.body = sseEvent(a.body)
	}
	return a
}

// endToEnd keeps what is for the client of a response that is passed on.
func endToEnd(h http.Header) http.Header {
	kept := http.Header{}
	for _, name := range []string{"Content-Type", "Www-Authenticate", "Retry-After", "A2a-Version", "A2a-Extensions"} {
		if values := h[name]; len(values) > 0 {
			kept[name] = values
		}
	}
	return kept
}
