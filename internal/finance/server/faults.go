package server

import (
	"bytes"
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// faults stands between the client and the transports. The agent behind it knows nothing of it: whatever
// it does to a response, the work is done.
type faults struct {
	next    http.Handler
	order   Faults
	rejects budget
	losses  budget
	fails   budget
}

// budget is how often a fault still strikes.
type budget struct{ left atomic.Int64 }

// take uses one up and reports whether there was one, to one caller each.
func (b *budget) take() bool {
	for {
		left := b.left.Load()
		if left <= 0 {
			return false
		}
		if b.left.CompareAndSwap(left, left-1) {
			return true
		}
	}
}

func newFaults(order Faults, next http.Handler) http.Handler {
	if order == (Faults{}) {
		return next
	}
	f := &faults{next: next, order: order}
	f.rejects.left.Store(int64(order.Reject.N))
	f.losses.left.Store(int64(order.LoseResponses))
	f.fails.left.Store(int64(order.FailAfterAccept))
	return f
}

// ServeHTTP implements http.Handler.
func (f *faults) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := sendOf(r)
	switch {
	case s == nil:
		f.next.ServeHTTP(w, r)
	case f.rejects.take():
		reject(w, f.order.Reject)
	case s.streaming:
		f.next.ServeHTTP(w, r)
	default:
		f.afterwards(w, r)
	}
}

// afterwards lets the agent answer into a buffer, where the client sees nothing of it, and then decides
// what becomes of the answer. An answer that refuses the message is passed on.
func (f *faults) afterwards(w http.ResponseWriter, r *http.Request) {
	answer := &buffer{header: make(http.Header), status: http.StatusOK}
	f.next.ServeHTTP(answer, r)
	if f.order.DelayResponse > 0 {
		timer := time.NewTimer(f.order.DelayResponse)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done(): // nobody waits for the answer any more
			return
		}
	}
	taken := answer.accepts()
	switch {
	case taken && f.losses.take():
		reset(w)
	case taken && f.fails.take():
		http.Error(w, "failed after the message was accepted", http.StatusServiceUnavailable)
	default:
		answer.copyTo(w)
	}
}

func reject(w http.ResponseWriter, order Reject) {
	if order.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(order.RetryAfter/time.Second)))
	}
	http.Error(w, "rejected on order", order.Code)
}

// reset ends the connection without a byte of HTTP, as a proxy does that is killed. With no time to linger
// the kernel sends RST, so that the client can't take it for an orderly end.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // net/http closes the connection then
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// buffer is a response that nobody has seen yet.
type buffer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (b *buffer) Header() http.Header { return b.header }

// WriteHeader implements http.ResponseWriter.
func (b *buffer) WriteHeader(status int) { b.status = status }

// Write implements http.ResponseWriter.
func (b *buffer) Write(p []byte) (int, error) { return b.body.Write(p) }

// accepts reports whether the answer carries what the agent made of the message. JSON-RPC puts its errors
// into a 200.
func (b *buffer) accepts() bool {
	var answer struct {
		Error json.RawMessage `json:"error"`
	}
	return b.status == http.StatusOK && json.Unmarshal(b.body.Bytes(), &answer) == nil && answer.Error == nil
}

func (b *buffer) copyTo(w http.ResponseWriter) {
	maps.Copy(w.Header(), b.header)
	w.WriteHeader(b.status)
	_, _ = w.Write(b.body.Bytes()) // the client went away
}
