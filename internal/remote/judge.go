// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// answer is a response as its protocol binding reads it. At most one of result and fault is set; with neither of them
// the response holds no protocol answer, and reason says what is wrong with it. note is what an error says that is not
// the protocol's, and not to be trusted.
type answer struct {
	result []byte
	fault  *fault
	reason string
	note   string
	// retryAfter is the delay that an error asks for in its body, if any.
	retryAfter time.Duration
}

// fault is a protocol error.
type fault struct {
	// outcome is what the error proves by itself: Refused, Unauthorized, InProgress, Unresolved, or Ambiguous for nothing.
	outcome outbox.Outcome
	// reason is the error's identity as a CamelCase word.
	reason string
	// label names the error for people; message is the agent's own text and not to be trusted.
	label, message string
}

// judge says what an exchange proved. Accepted means that answer.result is there and still to be looked into.
func judge(ev evidence, a answer, now time.Time) outbox.Exchange {
	if ev.err != nil {
		outcome := outbox.NotSent
		if ev.written {
			outcome = outbox.Ambiguous
		}
		return outbox.Exchange{Outcome: outcome, Reason: ev.reason, Detail: ev.cause(ev.err)}
	}
	ex := judgeResponse(ev, a)
	ex.RetryAfter = max(retryAfter(ev.header, now), a.retryAfter)
	if ex.Outcome != outbox.Accepted {
		ex.Detail = describe(ev, a, ex.Reason)
	}
	return ex
}

// judgeResponse is the table of outcomes. A result under another status than 200 is a contradiction and proves nothing.
// 401, 403 and 429 win over an error in the body: they are given by what stands before the agent and say that it was not
// asked. Where the agent itself gives them, its error says why. After them a protocol error that proves something wins over the status, and one that proves nothing lets no
// status but 409 and 425 prove more.
func judgeResponse(ev evidence, a answer) outbox.Exchange {
	if a.result != nil && ev.status != http.StatusOK {
		return outbox.Exchange{Outcome: outbox.Ambiguous, Reason: ReasonUnexpectedStatus}
	}
	switch ev.status {
	case http.StatusUnauthorized, http.StatusForbidden:
		if a.fault != nil && a.fault.outcome == outbox.Unauthorized {
			return outbox.Exchange{Outcome: outbox.Unauthorized, Reason: a.fault.reason}
		}
		return outbox.Exchange{Outcome: outbox.Unauthorized, Reason: statusReason(ev.status)}
	case http.StatusTooManyRequests:
		return outbox.Exchange{Outcome: outbox.NotSent, Reason: ReasonTooManyRequests}
	}
	if a.fault != nil && a.fault.outcome != outbox.Ambiguous {
		return outbox.Exchange{Outcome: a.fault.outcome, Reason: a.fault.reason}
	}
	switch ev.status {
	case http.StatusConflict, http.StatusTooEarly:
		return outbox.Exchange{Outcome: outbox.InProgress, Reason: ReasonInProgress}
	}
	if a.fault != nil {
		return outbox.Exchange{Outcome: outbox.Ambiguous, Reason: a.fault.reason}
	}
	switch ev.status {
	case http.StatusOK:
		if a.result != nil {
			return outbox.Exchange{Outcome: outbox.Accepted}
		}
		return outbox.Exchange{Outcome: outbox.Ambiguous, Reason: a.reason}
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return outbox.Exchange{Outcome: outbox.NotSent, Reason: ReasonEndpointNotFound}
	}
	if refuses(ev.status) {
		return outbox.Exchange{Outcome: outbox.Refused, Reason: statusReason(ev.status)}
	}
	return outbox.Exchange{Outcome: outbox.Ambiguous, Reason: ambiguousStatus(ev.status)}
}

func ambiguousStatus(status int) string {
	switch {
	case status < http.StatusMultipleChoices:
		return ReasonUnexpectedStatus
	case status < http.StatusBadRequest:
		return ReasonRedirected
	}
	return statusReason(status)
}

// describe says what came, for people.
func describe(ev evidence, a answer, reason string) string {
	text := fmt.Sprintf("HTTP %d", ev.status)
	switch {
	case a.fault != nil:
		text += ", " + a.fault.label
		if said := ev.quote(a.fault.message); said != "" {
			text += ": " + said
		}
	case a.note != "" && ev.quote(a.note) != "":
		text += ": " + ev.quote(a.note)
	case reason == ReasonRedirected:
		to, _, _ := strings.Cut(ev.header.Get("Location"), "?")
		text += ", redirects are not followed: give the agent's final URL, by its word " + ev.quote(to)
	case ev.status == http.StatusOK && reason == ReasonUnexpectedContentType:
		text += ", content type " + ev.quote(ev.header.Get("Content-Type"))
	}
	return oneLine(text)
}
