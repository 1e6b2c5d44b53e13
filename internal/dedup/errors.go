// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/errordetails"
)

// What a sender is told, to be matched with errors.Is on the agent's side. Across the wire the identity
// is the [Reason].
var (
	// ErrMismatch says that the messageId was used before with another body. It is a client's defect:
	// the message will never be accepted under this id. On the wire it is InvalidParams (JSON-RPC
	// −32602, HTTP 400) with the reason ReasonMismatch.
	ErrMismatch = errors.New("messageId was already used with another body")

	// ErrInProgress says that the first copy of this message is still being processed. The same message
	// is to be sent again a little later. On the wire it is an implementation-defined server error
	// (JSON-RPC −32000, HTTP 409 with Retry-After) with the reason ReasonInProgress. A sender that does
	// not know the reason sees an error with no known outcome, and repeats: that is right as well.
	ErrInProgress = errors.New("an earlier copy of this message is still being processed")

	// ErrOutcomeUnknown says that the first copy of this message came to no known end, and that nobody
	// here can look its task up: repeating the message does not help until somebody finds out. Nothing
	// is executed meanwhile. On the wire it is an implementation-defined server error (JSON-RPC −32000,
	// HTTP 409 without Retry-After) with the reason ReasonOutcomeUnknown.
	ErrOutcomeUnknown = errors.New("what became of an earlier copy of this message is not known")
)

// The reasons a sender reads in an error's details.
const (
	// ReasonDomain is the domain member of the details that carry this package's reasons.
	ReasonDomain = "a2a.delegation.dev"
	// ReasonMismatch stands for ErrMismatch.
	ReasonMismatch = "MESSAGE_ID_MISMATCH"
	// ReasonInProgress stands for ErrInProgress.
	ReasonInProgress = "MESSAGE_IN_PROGRESS"
	// ReasonOutcomeUnknown stands for ErrOutcomeUnknown.
	ReasonOutcomeUnknown = "MESSAGE_OUTCOME_UNKNOWN"
)

// RetryAfter is how long a sender that was told ErrInProgress should wait.
const RetryAfter = time.Second

// reasonType is the type URL of this package's error details. They are google.rpc.ErrorInfo objects, as
// A2A 1.0 section 3.3.2 recommends; the type's name is what follows the last slash. The authority in
// front is ours, because the Go SDK's server (v2.4.0) replaces the reason and the domain of every detail
// with the usual one by its own, and its REST client drops those of a foreign domain.
const (
	reasonType = ReasonDomain + "/google.rpc.ErrorInfo"
	retryType  = "type.googleapis.com/google.rpc.RetryInfo"
)

// Reason returns ReasonMismatch, ReasonInProgress or ReasonOutcomeUnknown when err is, or came over the
// wire from, one of this package's errors, and "" for every other error. It reads what the SDK's JSON-RPC and REST clients
// return as well as the errors of a [Handler].
func Reason(err error) string {
	var a2aErr *a2a.Error
	if !errors.As(err, &a2aErr) {
		return ""
	}
	for _, d := range a2aErr.TypedDetails {
		if d == nil || d.Value["domain"] != ReasonDomain {
			continue
		}
		if reason, ok := d.Value["reason"].(string); ok {
			return reason
		}
	}
	return ""
}

// refusal is how one of this package's errors reads on the wire.
type refusal struct {
	cause  error
	class  error // which the SDK turns into a code
	reason string
	advice string
	retry  bool // a little later, with RetryAfter
}

var refusals = []refusal{
	{cause: ErrMismatch, class: a2a.ErrInvalidParams, reason: ReasonMismatch, advice: "mint a new messageId for a new message"},
	{cause: ErrInProgress, class: a2a.ErrServerError, reason: ReasonInProgress, advice: "send the same message again later", retry: true},
	{cause: ErrOutcomeUnknown, class: a2a.ErrServerError, reason: ReasonOutcomeUnknown, advice: "look for its task before anything is sent under another messageId"},
}

func refusalFor(err error) (refusal, bool) {
	i := slices.IndexFunc(refusals, func(r refusal) bool { return errors.Is(err, r.cause) })
	if i < 0 {
		return refusal{}, false
	}
	return refusals[i], true
}

func (r refusal) message() string { return fmt.Sprintf("%v: %s", r.cause, r.advice) }

func (r refusal) details(key Key) []*errordetails.Typed {
	details := []*errordetails.Typed{errordetails.NewTyped(reasonType, map[string]any{
		"reason":   r.reason,
		"domain":   ReasonDomain,
		"metadata": map[string]any{"messageId": key.MessageID},
	})}
	if r.retry {
		details = append(details, errordetails.NewTyped(retryType, map[string]any{"retryDelay": RetryAfter.String()}))
	}
	return details
}

// WireError is err, which is ErrMismatch, ErrInProgress or ErrOutcomeUnknown, as the sender of the message
// is told it, and nil for every other error. It is the class of protocol error for errors.Is, besides err.
func WireError(key Key, err error) *a2a.Error {
	r, ok := refusalFor(err)
	if !ok {
		return nil
	}
	return a2a.NewError(fmt.Errorf("%w: %w", r.class, err), r.message()).WithTypedDetails(r.details(key)...)
}
