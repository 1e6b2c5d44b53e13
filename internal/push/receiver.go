// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"errors"
	"io"
	"net/http"
	"path"

	"k8s.io/apimachinery/pkg/types"

	"github.com/delegation-dev/delegation-operator/internal/seen"
)

// MaxBody is how much of a push is read, in bytes. A task that is larger is looked at all the same.
const MaxBody = 1 << 20

// retryAfter is what a sender that is too fast is told to wait, in seconds.
const retryAfter = "1"

// Result is what became of a push.
type Result string

// The results.
const (
	// Hinted: the task is looked at soon.
	Hinted Result = "Hinted"
	// Relayed: whoever follows the task was told through the API server.
	Relayed Result = "Relayed"
	// Stale: it said nothing that is not known.
	Stale Result = "Stale"
	// Duplicate: it was handled before.
	Duplicate Result = "Duplicate"
	// TooLarge: its body is over MaxBody; the task is looked at soon.
	TooLarge Result = "TooLarge"
	// Incomplete: its body could not be read.
	Incomplete Result = "Incomplete"
	// WrongMethod: it was no POST.
	WrongMethod Result = "WrongMethod"
	// Unauthorized: it had no token, or not the one of the Delegation that the URL names.
	Unauthorized Result = "Unauthorized"
	// Unknown: its Delegation is gone.
	Unknown Result = "Unknown"
	// Limited: there were too many.
	Limited Result = "Limited"
	// Failed: nobody could be told.
	Failed Result = "Failed"
)

// statuses are the answers. One that is no success asks the sender to repeat where that may help.
var statuses = map[Result]int{
	Hinted: http.StatusAccepted, Relayed: http.StatusAccepted, Stale: http.StatusAccepted, Duplicate: http.StatusAccepted,
	TooLarge: http.StatusRequestEntityTooLarge, Incomplete: http.StatusBadRequest, WrongMethod: http.StatusMethodNotAllowed,
	Unauthorized: http.StatusUnauthorized, Unknown: http.StatusNotFound, Limited: http.StatusTooManyRequests,
	Failed: http.StatusServiceUnavailable,
}

// tokenHeaders are the headers that agents send the token in: A2A 1.0's and the one of A2A 0.3.
var tokenHeaders = []string{"A2A-Notification-Token", "X-A2A-Notification-Token"}

var (
	// ErrUnknown says that there is no such Delegation.
	ErrUnknown = errors.New("no such Delegation")
	// ErrLimited says that a Delegation has caused too much already.
	ErrLimited = errors.New("too many pushes for one Delegation")
)

// Trigger has the task of a Delegation looked at. It returns when that is queued or written, with Hinted, Relayed or
// Stale; an error has the sender repeat, unless it is ErrUnknown.
type Trigger func(ctx context.Context, delegation types.UID, e Event) (Result, error)

// Receiver answers pushes.
type Receiver struct {
	tokens *Tokens
	limits *Limits
	handle seen.Handler[*delivery]
	count  func(Result)
}

// delivery is one push on its way through the seen-set.
type delivery struct {
	delegation types.UID
	event      Event
	// result is empty where the seen-set knew the event.
	result Result
}

// id keeps the events of several Delegations apart, which may share a task.
func (d *delivery) id() string {
	if d.event.ID == "" {
		return ""
	}
	return string(d.delegation) + "/" + d.event.ID
}

// NewReceiver returns a receiver in front of a trigger. It remembers in the store what was handled, and tells count of each push.
func NewReceiver(tokens *Tokens, limits *Limits, store seen.Store, trigger Trigger, count func(Result)) *Receiver {
	handle := seen.Wrap(store, (*delivery).id, func(ctx context.Context, d *delivery) error {
		var err error
		d.result, err = trigger(ctx, d.delegation, d.event)
		return err
	})
	return &Receiver{tokens: tokens, limits: limits, handle: handle, count: count}
}

// ServeHTTP implements http.Handler.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	result := r.receive(w, req)
	r.count(result)
	switch result {
	case Limited:
		w.Header().Set("Retry-After", retryAfter)
	case WrongMethod:
		w.Header().Set("Allow", http.MethodPost)
	}
	w.WriteHeader(statuses[result])
}

// receive asks for the token before anything else is done, and reads no byte of a body without one. The last segment of
// the path names the Delegation, whatever an ingress did to those before it.
func (r *Receiver) receive(w http.ResponseWriter, req *http.Request) Result {
	delegation := types.UID(path.Base(req.URL.Path))
	switch {
	case req.Method != http.MethodPost:
		return WrongMethod
	case !r.authorized(delegation, req.Header):
		return Unauthorized
	case !r.limits.Allow(delegation):
		return Limited
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, MaxBody))
	tooLarge := new(http.MaxBytesError)
	switch {
	case errors.As(err, &tooLarge):
		body = nil
	case err != nil:
		return Incomplete
	}
	d := &delivery{delegation: delegation, event: read(body)}
	result := outcome(d, r.handle(req.Context(), d))
	if body == nil && statuses[result] == http.StatusAccepted {
		return TooLarge
	}
	return result
}

func (r *Receiver) authorized(delegation types.UID, header http.Header) bool {
	for _, name := range tokenHeaders {
		if token := header.Get(name); token != "" && r.tokens.Valid(delegation, token) {
			return true
		}
	}
	return false
}

func outcome(d *delivery, err error) Result {
	switch {
	case errors.Is(err, ErrUnknown):
		return Unknown
	case errors.Is(err, ErrLimited):
		return Limited
	case err != nil:
		return Failed
	case d.result == "":
		return Duplicate
	}
	return d.result
}
