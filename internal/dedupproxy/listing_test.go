// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedupproxy_test

import (
	"compress/gzip"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/delegation-dev/delegation-operator/internal/dedupproxy"
)

// A listing that changes under its reader loses entries: it says nothing before two passes saw the same.
func TestChangingListing(t *testing.T) {
	listings := []string{`{"id":"t-1","history":[{"messageId":"x"}]}`, `{"id":"t-2","history":[{"messageId":"y"}]}`, `{"id":"t-3","history":[{"messageId":"m-1"}]}`}
	sends, listed := 0, 0
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var call struct{ Method string }
		if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
			t.Error(err)
		}
		result := listings[2]
		switch call.Method {
		case "SendMessage":
			sends++
			w.WriteHeader(http.StatusBadGateway)
			return
		case "ListTasks":
			tasks := ""
			if listed > 0 { // the proxy's first look is at an empty list, and so is its second
				tasks = listings[min(listed-1, 2)]
			}
			listed++
			result = `{"tasks":[` + tasks + `]}`
		}
		give(w, 200, "application/json", `{"jsonrpc":"2.0","id":"dedup-proxy","result":`+result+`}`)
	}))
	defer agent.Close()
	p := proxy(t, agent.URL, func(c *dedupproxy.Config) { c.Lookup, c.Settle = dedupproxy.LookupAuthoritative, 0 })
	if task := p.repeat(t, rpc, msg("m-1", "x")).read(t).Task.ID; task != "t-3" || sends != 1 {
		t.Errorf("task %q after %d sends and %d listings", task, sends, listed)
	}
}

// An agent that compresses what it may compress is understood.
func TestCompressingAgent(t *testing.T) {
	a := agent(t, nil)
	f := inFront(t, a.URL, func(f *front, _ int64, w http.ResponseWriter, r *http.Request) {
		coded := strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")
		answer := f.take(r)
		if !coded {
			give(w, answer.Code, "application/json", answer.Body.String())
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		zip := gzip.NewWriter(w)
		defer func() { _ = zip.Close() }()
		_, _ = zip.Write(answer.Body.Bytes())
	})
	p := proxy(t, f.URL, lookup(dedupproxy.LookupNone))
	task := p.send(t, rpc, ledgers("m-1"), "Accept-Encoding", "gzip").task(t)
	if again := p.send(t, rpc, ledgers("m-1")).task(t); again != task {
		t.Errorf("task %s, want %s", again, task)
	}
}
