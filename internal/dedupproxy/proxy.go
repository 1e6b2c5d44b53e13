// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedupproxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
)

// maxMessageID bounds a messageId, which is kept for the retention, in bytes.
const maxMessageID = 1024

// bodyTimeout is how long a client may take to write a request.
const bodyTimeout = time.Minute

// Proxy is an http.Handler in front of one agent.
type Proxy struct {
	Config
	through *httputil.ReverseProxy
	sends   *httputil.ReverseProxy
	relay   cardRelay

	// background is what goes on after its client was answered.
	background sync.WaitGroup
	// stopping is closed when a shutdown begins; life is a context that ends then.
	stopping <-chan struct{}
	life     context.Context
	stop     context.CancelFunc

	mu   sync.Mutex
	open map[dedup.Key]time.Time
}

// New returns a proxy. It returns an error for a config that can't work, which names the field.
func New(cfg Config) (*Proxy, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	p := &Proxy{Config: cfg, open: map[dedup.Key]time.Time{}}
	p.life, p.stop = context.WithCancel(context.Background())
	p.stopping = p.life.Done()
	p.relay.proxy = p
	errorLog := slog.NewLogLogger(cfg.Logger.Handler(), slog.LevelDebug)
	p.through = &httputil.ReverseProxy{
		Rewrite: p.rewriteThrough, Transport: cfg.Transport, ModifyResponse: p.relay.modify, ErrorHandler: p.unreachable, ErrorLog: errorLog,
		BufferPool: &buffers{},
	}
	p.sends = &httputil.ReverseProxy{Rewrite: p.rewrite, Transport: sender{}, ErrorHandler: p.unreachable, ErrorLog: errorLog, BufferPool: &buffers{}}
	return p, nil
}

// Hurry begins a shutdown: it ends the waits for a settle time, whose rows are given up, and open streams, which live as
// long as their tasks. Sends that the agent has not answered go on.
func (p *Proxy) Hurry() { p.stop() }

// Wait waits for what goes on in the background until ctx is done. To be called after Hurry, when no more requests are
// served.
func (p *Proxy) Wait(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		p.background.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPost:
		p.post(w, r)
	case isCardPath(r.URL.Path) && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		p.relay.serve(w, r)
	default:
		p.pass(w, r)
	}
}

// pass lets a request through. A stream ends when a shutdown begins.
func (p *Proxy) pass(w http.ResponseWriter, r *http.Request) {
	if strings.Contains(r.Header.Get("Accept"), sseType) {
		ctx, end := context.WithCancel(r.Context())
		defer end()
		defer context.AfterFunc(p.life, end)()
		r = r.WithContext(ctx)
	}
	p.through.ServeHTTP(w, r)
}

// post reads a request whole before anything is done about it: whether it sends a message is in its body, and a body
// that breaks off must reach neither the table nor the agent.
func (p *Proxy) post(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		w.Header().Set("Accept-Encoding", "identity")
		p.refuse(w, shapeOf(r), problemCoded)
		return
	}
	body, err := p.readBody(w, r)
	tooLarge := new(http.MaxBytesError)
	switch {
	case errors.As(err, &tooLarge):
		p.refuse(w, shapeOf(r), problemTooLarge(p.MaxRequest))
		return
	case err != nil:
		p.refuse(w, shapeOf(r), problemRead)
		return
	}
	r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	c, err := readCall(r, body)
	switch {
	case errors.Is(err, errBatch):
		p.refuse(w, &call{rpc: true}, problemBatch)
	case errors.Is(err, errNotJSON):
		p.refuse(w, shapeOf(r), problemParse)
	case err != nil:
		p.refuse(w, shapeOf(r), problemParams(err.Error()))
	case c == nil:
		p.pass(w, asked(r, body))
	default:
		p.send(w, r, c, start)
	}
}

// readBody gives a client a while to write its request; afterwards reads only tell when it hangs up. The buffer is sized
// by the announced length.
func (p *Proxy) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout)) // only tests have writers without deadlines
	defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	var buf bytes.Buffer
	if r.ContentLength > 0 {
		buf.Grow(int(min(r.ContentLength, p.MaxRequest)) + bytes.MinRead)
	}
	_, err := buf.ReadFrom(http.MaxBytesReader(w, r.Body, p.MaxRequest))
	return buf.Bytes(), err
}

// send decides about one copy of a message. Nothing is written or forwarded before its caller is verified.
func (p *Proxy) send(w http.ResponseWriter, r *http.Request, c *call, start time.Time) {
	principal, err := p.Principals.Of(r)
	if err != nil || principal == "" {
		p.Logger.InfoContext(r.Context(), "send without a verified principal", "messageId", c.message.id, "error", err)
		w.Header().Set("WWW-Authenticate", "Bearer")
		p.Metrics.countSend(ResultUnauthenticated)
		p.refuse(w, c, problemPrincipal)
		return
	}
	if len(c.message.id) > maxMessageID {
		p.refuse(w, c, problemParams("message.messageId is longer than 1024 bytes"))
		return
	}
	tenant, err := p.tenantOf(r.Context(), c)
	if err != nil {
		p.Logger.WarnContext(r.Context(), "tenant of a send unknown; give --rest-path", "error", err)
		p.refuse(w, c, problemTenant)
		return
	}
	r, upstream := stopwatch(r)
	defer func() { p.Metrics.observeAdded(time.Since(start) - upstream.spent()) }()
	p.decide(w, r, c, dedup.Key{Principal: within(tenant, principal), MessageID: c.message.id})
}

func (p *Proxy) decide(w http.ResponseWriter, r *http.Request, c *call, key dedup.Key) {
	verdict, err := p.Table.Claim(r.Context(), key, c.message.digest)
	switch {
	case errors.Is(err, dedup.ErrMismatch):
		p.Metrics.countSend(ResultMismatch)
		p.refuse(w, c, problemMismatch)
	case errors.Is(err, dedup.ErrInProgress):
		p.Metrics.countSend(ResultInProgress)
		p.refuse(w, c, problemInProgress)
	case err != nil:
		p.Logger.ErrorContext(r.Context(), "deduplication table failed", "messageId", key.MessageID, "error", err)
		p.Metrics.countSend(ResultStoreFailed)
		p.refuse(w, c, problemStore)
	case verdict.Known != nil:
		p.Metrics.countSend(ResultReplay)
		p.replay(r.Context(), r, c, *verdict.Known).write(w)
	case verdict.First != nil:
		defer p.held(verdict.First)()
		p.forward(w, r, c, verdict.First)
	default:
		defer p.held(verdict.Abandoned)()
		p.resolve(w, r, c, verdict.Abandoned)
	}
}

// held counts a row that is in progress. The function it returns gives the row up if a panic left it open; one whose
// outcome is still to be written is left to the background.
func (p *Proxy) held(ticket *dedup.Ticket) func() {
	p.Metrics.inProgress.Inc()
	return func() {
		p.Metrics.inProgress.Dec()
		if cause := recover(); cause != nil {
			if cause != http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
				ticket.Leave()
			}
			panic(cause)
		}
	}
}

func (p *Proxy) refuse(w http.ResponseWriter, c *call, say problem) { say.answer(c).write(w) }

// unreachable answers for an agent that gave no response.
func (p *Proxy) unreachable(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return // the client is gone
	}
	p.Logger.WarnContext(r.Context(), "no answer from the agent", "method", r.Method, "path", r.URL.Path, "error", err)
	w.WriteHeader(http.StatusBadGateway)
}

// buffers lends the copies of bodies their buffers.
type buffers struct{ pool sync.Pool }

// Get implements httputil.BufferPool.
func (b *buffers) Get() []byte {
	if buf, ok := b.pool.Get().(*[]byte); ok {
		return *buf
	}
	return make([]byte, 32<<10)
}

// Put implements httputil.BufferPool.
func (b *buffers) Put(buf []byte) { b.pool.Put(&buf) }
