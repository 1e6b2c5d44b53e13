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

type inProgressKey struct{}

// noteInProgress tells the [ConflictStatus] around this call, if any, which error the call ends with.
func noteInProgress(ctx context.Context) {
	if flag, ok := ctx.Value(inProgressKey{}).(*atomic.Bool); ok {
		flag.Store(true)
	}
}

// ConflictStatus wraps the HTTP+JSON transport around a [Handler], so that ErrInProgress is answered with
// 409 and Retry-After. The SDK knows no HTTP status for it and would answer 500, which a client can't
// tell from a crash. JSON-RPC needs no such thing: its errors travel in a 200.
func ConflictStatus(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, sendSuffix) {
			next.ServeHTTP(w, r)
			return
		}
		flag := new(atomic.Bool)
		r = r.WithContext(context.WithValue(r.Context(), inProgressKey{}, flag))
		next.ServeHTTP(&conflictWriter{ResponseWriter: w, inProgress: flag}, r)
	})
}

// conflictWriter puts a complete answer of its own in the place of the SDK's error.
type conflictWriter struct {
	http.ResponseWriter
	inProgress *atomic.Bool
	replaced   bool
}

// WriteHeader implements http.ResponseWriter.
func (w *conflictWriter) WriteHeader(status int) {
	if status < http.StatusBadRequest || !w.inProgress.Load() {
		w.ResponseWriter.WriteHeader(status)
		return
	}
	w.replaced = true
	body, err := json.Marshal(conflictBody())
	if err != nil {
		w.ResponseWriter.WriteHeader(http.StatusConflict)
		return
	}
	w.Header().Set("Retry-After", strconv.Itoa(int(RetryAfter/time.Second)))
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

// conflictBody has the shape of the binding's errors (google.rpc.Status in JSON), the protocol's own
// ErrorInfo included, by which SDK clients choose their error.
func conflictBody() map[string]any {
	class := errordetails.NewErrorInfo(a2a.ErrorReason(a2a.ErrServerError), a2a.ProtocolDomain, nil)
	own := errordetails.NewTyped(reasonType, map[string]any{"reason": ReasonInProgress, "domain": ReasonDomain})
	retry := errordetails.NewTyped(retryType, map[string]any{"retryDelay": RetryAfter.String()})
	return map[string]any{"error": map[string]any{
		"code":    http.StatusConflict,
		"status":  "ABORTED",
		"message": ErrInProgress.Error() + ": send the same message again later",
		"details": []*errordetails.Typed{own, retry, class},
	}}
}
