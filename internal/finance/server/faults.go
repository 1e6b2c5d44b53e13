package server

import (
	"net"
	"net/http"
	"reflect"
	"sync/atomic"
	"time"
)

// Faults are what goes wrong, to order. Those with a number hit the first so many calls, in the order in
// which their turn comes; a call that one of them hits uses up none of the others.
//
// Hang, Status and Reject strike before the agent sees the call, in this order. LoseResponses,
// FailAfterAccept and DelayResponse hit SendMessage only, not its streaming form, and strike after the
// agent has taken the message; a send that was refused is answered as it is and uses no fault up.
type Faults struct {
	// Hang leaves all sends without an answer, streaming ones too, until the client gives up or the
	// server stops.
	Hang bool
	// Status are HTTP statuses that methods are answered with.
	Status Statuses
	// Reject turns sends away, streaming ones too.
	Reject Reject
	// LoseResponses is how many responses are lost: the connection is reset instead.
	LoseResponses int
	// FailAfterAccept is how many sends are answered with 503. Lost responses come first.
	FailAfterAccept int
	// DelayResponse is how long the response of each send is held back.
	DelayResponse time.Duration
	// DuplicateTasks breaks the promise of an agent that deduplicates: the card still makes it, and a
	// repeated message makes another task.
	DuplicateTasks bool
	// ListLag is how long a new task is missing in listings.
	ListLag time.Duration
}

// faults stands between the client and the transports. The agent behind it knows nothing of it: whatever
// it does to a response, the work is done.
type faults struct {
	next     http.Handler
	order    Faults
	stopping <-chan struct{}
	statuses []*statusFault
	rejects  budget
	losses   budget
	fails    budget
}

// budget is how often a fault still strikes.
type budget struct{ left atomic.Int64 }

// take uses one up and reports whether there was one, to one caller each. A negative budget has no end.
func (b *budget) take() bool {
	for {
		left := b.left.Load()
		if left <= 0 {
			return left < 0
		}
		if b.left.CompareAndSwap(left, left-1) {
			return true
		}
	}
}

func newFaults(order Faults, stopping <-chan struct{}, next http.Handler) http.Handler {
	if reflect.DeepEqual(order, Faults{}) {
		return next
	}
	f := &faults{next: next, order: order, stopping: stopping, statuses: newStatusFaults(order.Status)}
	f.rejects.left.Store(int64(order.Reject.N))
	f.losses.left.Store(int64(order.LoseResponses))
	f.fails.left.Store(int64(order.FailAfterAccept))
	return f
}

// ServeHTTP implements http.Handler.
func (f *faults) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := callOf(r)
	if f.order.Hang && c.send != nil {
		hang(w, r, f.stopping)
		return
	}
	for _, fault := range f.statuses {
		if fault.Method == c.method && fault.left.take() {
			answerStatus(w, r, fault.Code)
			return
		}
	}
	switch {
	case c.send == nil:
		f.next.ServeHTTP(w, r)
	case f.rejects.take():
		reject(w, f.order.Reject)
	case c.method == sendStreamingMessage:
		f.next.ServeHTTP(w, r)
	default:
		f.afterwards(w, r)
	}
}

// afterwards lets the agent answer into a buffer, where the client sees nothing of it, and then decides
// what becomes of the answer. An answer that refuses the message is passed on.
func (f *faults) afterwards(w http.ResponseWriter, r *http.Request) {
	answer := newBuffer()
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

// hang never answers. It ends with the client's patience, or by a reset when the server stops.
func hang(w http.ResponseWriter, r *http.Request, stopping <-chan struct{}) {
	select {
	case <-r.Context().Done():
	case <-stopping:
	}
	reset(w)
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
