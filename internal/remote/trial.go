// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// TrialText is all that a trial says.
const TrialText = "This is a test of the connection, sent by kubectl delegation agent probe. Please do nothing; the task will be canceled."

// Try sends a message that asks for nothing, so that a person can see what an agent makes of its ids. It is no Delegation's
// message and therefore needs no Token: its text is this package's own, and whoever calls this has said which ids it will
// have before. The context has to have a deadline, which bounds the call as an attempt's does.
func (c *Client) Try(ctx context.Context, messageID, contextID string) outbox.Exchange {
	deadline, ok := ctx.Deadline()
	if !ok {
		return outbox.Exchange{Outcome: outbox.NotSent, Reason: ReasonRequestNotEncodable, Detail: "a trial needs a deadline"}
	}
	ctx, cancel := context.WithDeadlineCause(ctx, deadline.Add(-time.Millisecond), errAttemptExpired)
	defer cancel()
	m := &a2a.Message{ID: messageID, ContextID: contextID, Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{a2a.NewTextPart(TrialText)}}
	result, ex := c.exchange(ctx, request{
		call: outbox.CallSend, params: c.prepare(&a2a.SendMessageRequest{Message: m}), header: c.sendHeader(m), notAfter: deadline,
	})
	if ex.Outcome != outbox.Accepted {
		return ex
	}
	return sent(result, "")
}
