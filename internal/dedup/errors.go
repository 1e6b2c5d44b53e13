package dedup

import (
	"errors"
	"fmt"
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
)

// The reasons a sender reads in an error's details.
const (
	// ReasonDomain is the domain member of the details that carry this package's reasons.
	ReasonDomain = "a2a.delegation.dev"
	// ReasonMismatch stands for ErrMismatch.
	ReasonMismatch = "MESSAGE_ID_MISMATCH"
	// ReasonInProgress stands for ErrInProgress.
	ReasonInProgress = "MESSAGE_IN_PROGRESS"
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

// Reason returns ReasonMismatch or ReasonInProgress when err is, or came over the wire from, one of this
// package's errors, and "" for every other error. It reads what the SDK's JSON-RPC and REST clients
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

func mismatch(key Key) error {
	return wireError(key, a2a.ErrInvalidParams, ErrMismatch, ReasonMismatch, "mint a new messageId for a new message")
}

func inProgress(key Key) error {
	err := wireError(key, a2a.ErrServerError, ErrInProgress, ReasonInProgress, "send the same message again later")
	return err.WithTypedDetails(errordetails.NewTyped(retryType, map[string]any{"retryDelay": RetryAfter.String()}))
}

// wireError names the error for errors.Is by class, which the SDK turns into a code, and by cause.
func wireError(key Key, class, cause error, reason, advice string) *a2a.Error {
	detail := errordetails.NewTyped(reasonType, map[string]any{
		"reason":   reason,
		"domain":   ReasonDomain,
		"metadata": map[string]any{"messageId": key.MessageID},
	})
	return a2a.NewError(fmt.Errorf("%w: %w", class, cause), fmt.Sprintf("%v: %s", cause, advice)).WithTypedDetails(detail)
}
