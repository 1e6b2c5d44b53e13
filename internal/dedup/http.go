// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/errordetails"
)

// sendSuffix ends the path of SendMessage in the HTTP+JSON binding (A2A 1.0, section 11).
const sendSuffix = "/message:send"

type conflictKey struct{}

// conflict is which of this package's errors a call ends with, for the [ConflictStatus] around it.
type conflict struct {
	key Key
	refusal
}

func noteConflict(ctx context.Context, key Key, r refusal) {
	if slot, ok := ctx.Value(conflictKey{}).(*atomic.Pointer[conflict]); ok {
		slot.Store(&conflict{key: key, refusal: r})
	}
}

// ConflictStatus wraps the HTTP+JSON transport around a [Handler], so that ErrInProgress is answered with
// 409 and Retry-After, and ErrOutcomeUnknown with 409 alone. The SDK knows no HTTP status for them and
// would answer 500, which a client can't tell from a crash. JSON-RPC needs no such thing: its errors
// travel in a 200.
func ConflictStatus(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, sendSuffix) {
			next.ServeHTTP(w, r)
			return
		}
		slot := new(atomic.Pointer[conflict])
		r = r.WithContext(context.WithValue(r.Context(), conflictKey{}, slot))
		next.ServeHTTP(&conflictWriter{ResponseWriter: w, conflict: slot}, r)
	})
}

// conflictWriter puts a complete answer of its own in the place of the SDK's error.
type conflictWriter struct {
	http.ResponseWriter
	conflict *atomic.Pointer[conflict]
	replaced bool
}

// WriteHeader implements http.ResponseWriter.
func (w *conflictWriter) WriteHeader(status int) {
	told := w.conflict.Load()
	if status < http.StatusBadRequest || told == nil {
		w.ResponseWriter.WriteHeader(status)
		return
	}
	w.replaced = true
	body, err := json.Marshal(told.body())
	if err != nil {
		w.ResponseWriter.WriteHeader(http.StatusConflict)
		return
	}
	if told.retry {
		w.Header().Set("Retry-After", strconv.Itoa(int(RetryAfter/time.Second)))
	}
	w.Header().Set("Content-Type", "application/json")
	w.ResponseWriter.WriteHeader(http.StatusConflict)
	_, _ = w.ResponseWriter.Write(body) // a client that is gone repeats the message; so it would anyway
}

// Write implements http.ResponseWriter.
func (w *conflictWriter) Write(b []byte) (int, error) {
	if w.replaced {
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (w *conflictWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// body has the shape of the binding's errors (google.rpc.Status in JSON), the protocol's own ErrorInfo
// included, by which SDK clients choose their error.
func (c *conflict) body() map[string]any {
	class := errordetails.NewErrorInfo(a2a.ErrorReason(c.class), a2a.ProtocolDomain, nil)
	return map[string]any{"error": map[string]any{
		"code":    http.StatusConflict,
		"status":  "ABORTED",
		"message": c.message(),
		"details": append(c.details(c.key), class),
	}}
}
