// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// sendCase is one way in which a send may go. Its name says the outcome and why.
type sendCase struct {
	name  string
	agent func(*testing.T) *agent
	// adapt changes the client, request the message.
	adapt   func(*remote.Config)
	request func(*a2a.SendMessageRequest)
	token   func(testing.TB) outbox.Token
	// end ends the caller's context with this error: before the call if early, else once the agent says that it is there.
	end   error
	early bool

	outcome    outbox.Outcome
	reason     string
	retryAfter time.Duration
	// task and state are those of an Accepted task, reply is the text of an Accepted message.
	task, state string
	reply       *string
	// received is how many messages the agent got whole.
	received int32
}

func TestSend(t *testing.T) {
	cases := slices.Concat(
		connectionCases(), handshakeCases(), brokenCases(), callerCases(), statusCases(), redirectCases(), retryAfterCases(),
		codeCases(), faultCases(), resultCases(),
	)
	names := map[string]bool{}
	for _, c := range cases {
		if names[c.name] {
			t.Errorf("two cases are named %q", c.name)
		}
		names[c.name] = true
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := c.agent(t)
			ex := c.send(t, a)
			c.check(t, ex)
			if got := a.received.Load(); got != c.received {
				t.Errorf("the agent received %d messages, want %d", got, c.received)
			}
		})
	}
	if len(cases) < 45 {
		t.Errorf("%d cases", len(cases))
	}
	t.Logf("%d cases", len(cases))
}

func (c *sendCase) send(t *testing.T, a *agent) outbox.Exchange {
	t.Helper()
	var adapt []func(*remote.Config)
	if c.adapt != nil {
		adapt = append(adapt, c.adapt)
	}
	client := connect(t, a, adapt...)
	req := message()
	if c.request != nil {
		c.request(req)
	}
	fence := token
	if c.token != nil {
		fence = c.token
	}
	ctx := t.Context()
	if c.end != nil {
		e := newEnding(ctx)
		ctx = e
		if c.early {
			e.end(c.end)
		} else {
			go func() {
				<-a.reached
				e.end(c.end)
			}()
		}
	}
	return client.Send(ctx, fence(t), req)
}

func (c *sendCase) check(t *testing.T, ex outbox.Exchange) {
	t.Helper()
	if ex.Outcome != c.outcome || ex.Reason != c.reason {
		t.Errorf("got %s %s (%s), want %s %s", ex.Outcome, ex.Reason, ex.Detail, c.outcome, c.reason)
	}
	if ex.RetryAfter != c.retryAfter {
		t.Errorf("RetryAfter %s, want %s", ex.RetryAfter, c.retryAfter)
	}
	checkDetail(t, ex)
	switch {
	case c.task == "" && ex.Task != nil, c.task != "" && ex.Task == nil:
		t.Errorf("task %+v, want %q", ex.Task, c.task)
	case ex.Task != nil && (ex.Task.ID != c.task || string(ex.Task.State) != c.state):
		t.Errorf("task %s in %s, want %s in %s", ex.Task.ID, ex.Task.State, c.task, c.state)
	}
	switch {
	case (c.reply == nil) != (ex.Reply == nil):
		t.Errorf("reply %v, want %v", ex.Reply, c.reply)
	case c.reply != nil && *ex.Reply != *c.reply:
		t.Errorf("reply %q, want %q", *ex.Reply, *c.reply)
	}
}

// checkDetail checks what holds for every exchange.
func checkDetail(t *testing.T, ex outbox.Exchange) {
	t.Helper()
	if (ex.Outcome == outbox.Accepted) != (ex.Reason == "") {
		t.Errorf("%s with reason %q", ex.Outcome, ex.Reason)
	}
	if ex.Outcome != outbox.Accepted && ex.Detail == "" {
		t.Error("no detail")
	}
	if strings.ContainsFunc(ex.Reason, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		t.Errorf("reason %q is not one word", ex.Reason)
	}
	if len(ex.Detail) > 1024 || !utf8.ValidString(ex.Detail) || strings.ContainsFunc(ex.Detail, unicode.IsControl) {
		t.Errorf("detail %q", ex.Detail)
	}
	for _, private := range []string{secret, "Reconcile September", "QX-4711"} {
		if strings.Contains(ex.Detail, private) {
			t.Errorf("detail %q shows %q", ex.Detail, private)
		}
	}
}

// A request is not changed by being sent, and what goes out asks the agent to return at once.
func TestSendLeavesTheRequestAlone(t *testing.T) {
	req := message()
	var sent a2a.SendMessageRequest
	a := capture(t, &sent)
	c := connect(t, a, func(c *remote.Config) { c.Interface.Tenant = "acme" })
	if ex := c.Send(t.Context(), token(t), req); ex.Outcome != outbox.Accepted {
		t.Fatal(ex)
	}
	if req.Config != nil || req.Tenant != "" {
		t.Errorf("changed: %+v", req)
	}
	if sent.Config == nil || !sent.Config.ReturnImmediately || sent.Tenant != "acme" || sent.Message.ID != "m-71" {
		t.Errorf("sent: %+v", sent)
	}
}
