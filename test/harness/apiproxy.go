// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// Around stands in front of a proxy's handler and may do otherwise.
type Around func(http.Handler) http.Handler

// Write is a kind of request that changes something at the API server.
type Write struct {
	Verb string
	// Resource is the plural, with /subresource where the write is to one.
	Resource string
}

// The writes that the operator makes to Delegations.
var (
	AmendDelegation = Write{http.MethodPatch, "delegations"}
	UpdateStatus    = Write{http.MethodPut, "delegations/status"}
)

// APIProxy stands between a manager and the API server. It counts writes, and can keep an answer back.
type APIProxy struct {
	t    testing.TB
	url  string
	ca   []byte
	mu   sync.Mutex
	seen map[Write]int
	gate *answerGate
	// uncounted are the writes that the API server has and that are not in seen yet; counted tells that there is none.
	uncounted int
	counted   *sync.Cond
	// Cut ends all connections of managers, watches among them.
	Cut func()
}

// answerGate keeps the answer to one write back: it is in the API server, and who made it does not know.
type answerGate struct {
	write   Write
	reached chan struct{}
}

// StartAPIProxy runs a proxy in front of the cluster until the test ends. The last of around is asked first.
func (s *Space) StartAPIProxy(around ...Around) *APIProxy {
	s.t.Helper()
	p := &APIProxy{t: s.t, seen: map[Write]int{}}
	p.counted = sync.NewCond(&p.mu)
	target, err := url.Parse(s.config.Host)
	if err != nil {
		s.t.Fatal(err)
	}
	// Anonymous: the manager's token passes through.
	transport, err := rest.TransportFor(rest.AnonymousClientConfig(s.config))
	if err != nil {
		s.t.Fatal(err)
	}
	var handler http.Handler = &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:      counter{p, transport},
		FlushInterval:  -1, // watches
		ModifyResponse: p.answered,
		// A manager that is killed leaves its watches behind.
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	for _, wrap := range around {
		handler = wrap(handler)
	}
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.StartTLS()
	s.t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	p.url, p.Cut = server.URL, server.CloseClientConnections
	p.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return p
}

// counter counts a write by its answer: it has taken place, and whoever made it does not know yet.
type counter struct {
	*APIProxy
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (c counter) RoundTrip(r *http.Request) (*http.Response, error) {
	w, ok := WriteOf(r)
	if !ok {
		return c.next.RoundTrip(r)
	}
	c.mu.Lock()
	c.uncounted++
	c.mu.Unlock()
	resp, err := c.next.RoundTrip(r)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.uncounted--
	c.counted.Broadcast()
	if err == nil && resp.StatusCode < http.StatusBadRequest {
		c.seen[w]++
	}
	return resp, err
}

// answered keeps an answer back where that is wanted.
func (p *APIProxy) answered(resp *http.Response) error {
	w, ok := WriteOf(resp.Request)
	if !ok || resp.StatusCode >= http.StatusBadRequest {
		return nil
	}
	p.mu.Lock()
	gate := p.gate
	if gate != nil && gate.write == w {
		p.gate = nil
	} else {
		gate = nil
	}
	p.mu.Unlock()
	if gate != nil {
		close(gate.reached)
		<-resp.Request.Context().Done()
		return fmt.Errorf("kept back: %w", resp.Request.Context().Err())
	}
	return nil
}

// KeepBack lets the next write of a kind take place and keeps its answer back for ever. The channel closes then.
func (p *APIProxy) KeepBack(w Write) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gate = &answerGate{write: w, reached: make(chan struct{})}
	return p.gate.reached
}

// Writes returns how often each kind of write took place. A write that others can see already is among them.
func (p *APIProxy) Writes() map[Write]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.uncounted > 0 {
		p.counted.Wait()
	}
	return maps.Clone(p.seen)
}

// DelegationWrites returns those that went to Delegations.
func (p *APIProxy) DelegationWrites() map[Write]int {
	writes := p.Writes()
	maps.DeleteFunc(writes, func(w Write, _ int) bool {
		resource, _, _ := strings.Cut(w.Resource, "/")
		return resource != "delegations"
	})
	return writes
}

// WriteOf says what a request changes: /api/v1/… or /apis/GROUP/VERSION/…, then namespaces/NAME where there is one, and
// RESOURCE[/NAME[/SUBRESOURCE]]. A review is a question, although it is posted.
func WriteOf(r *http.Request) (Write, bool) {
	switch r.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
	default:
		return Write{}, false
	}
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if path[0] == "apis" && len(path) > 3 {
		path = path[3:]
	} else if path[0] == "api" && len(path) > 2 {
		path = path[2:]
	}
	if path[0] == "namespaces" && len(path) > 2 {
		path = path[2:]
	}
	if strings.HasSuffix(path[0], "reviews") {
		return Write{}, false
	}
	w := Write{Verb: r.Method, Resource: path[0]}
	if len(path) > 2 {
		w.Resource += "/" + path[2]
	}
	return w, true
}
