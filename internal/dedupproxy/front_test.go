// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedupproxy_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// front is what stands before an agent and treats sends in its own way; everything else goes through.
type front struct {
	*httptest.Server
	agent http.Handler
	sends atomic.Int64
}

// inFront serves a front. treat gets each send with its number, from 1 on.
func inFront(t *testing.T, agentURL string, treat func(f *front, n int64, w http.ResponseWriter, r *http.Request)) *front {
	t.Helper()
	base, err := url.Parse(agentURL)
	if err != nil {
		t.Fatal(err)
	}
	f := &front{agent: &httputil.ReverseProxy{Rewrite: func(pr *httputil.ProxyRequest) { pr.SetURL(base) }}}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if strings.Contains(string(body), `"SendMessage"`) || strings.Contains(string(body), `"SendStreamingMessage"`) || strings.Contains(r.URL.Path, "/message:") {
			treat(f, f.sends.Add(1), w, r)
			return
		}
		f.agent.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		f.CloseClientConnections()
		f.Close()
	})
	return f
}

// take lets the agent have a send, and returns its answer instead of passing it on.
func (f *front) take(r *http.Request) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	f.agent.ServeHTTP(answer, r)
	return answer
}

// give passes on what was taken, changed or not.
func give(w http.ResponseWriter, status int, contentType, body string) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}
