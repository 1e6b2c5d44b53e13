// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// overhearer notes the headers and the bodies of messages on their way to an agent.
type overhearer struct {
	mu      sync.Mutex
	parents []string
	bodies  []string
}

func (w *overhearer) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the manager was killed
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		var call struct {
			Method string
			Params json.RawMessage
		}
		if json.Unmarshal(body, &call) == nil && call.Method == harness.SendMessage {
			w.mu.Lock()
			w.parents, w.bodies = append(w.parents, r.Header.Get("traceparent")), append(w.bodies, string(call.Params))
			w.mu.Unlock()
		}
		next.ServeHTTP(rw, r)
	})
}

// seen are the traceparents of the messages, which all had one body.
func (w *overhearer) seen(t *testing.T) []string {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.bodies {
		if b != w.bodies[0] || strings.Contains(b, "traceparent") {
			t.Errorf("bodies differ, or hold the trace: %s, %s", w.bodies[0], b)
		}
	}
	return append([]string(nil), w.parents...)
}

// The manager is killed while its message is out, and the next one sends it again: both are in one trace, which the agent was
// told both times.
func TestOneTrace(t *testing.T) {
	t.Parallel()
	const given, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for _, c := range []struct{ name, annotation string }{
		{"by the object's UID", ""},
		{"of its creator", "00-" + given + "-" + parent + "-01"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, w, collector := cluster.Space(t), &overhearer{}, harness.StartCollector(t)
			agent := harness.StartAgent(t, "--delay-response=4s")
			relay := harness.StartRelay(t, agent.URL, nil, w.around)
			d := s.Reconciliation("d").MessageID("m-1").Build()
			if c.annotation != "" {
				d.Annotations = map[string]string{v1alpha1.TraceparentAnnotation: c.annotation}
			}
			first := s.StartManager("--tracing-endpoint", collector.URL)
			s.Create(s.RemoteAgent(relay.URL).Build(), d)
			agent.AwaitReceived("m-1", 1)
			lookup := collector.AwaitSpan("ListTasks")
			first.Kill()
			s.StartManager("--tracing-endpoint", collector.URL)
			s.AwaitPhase("d", v1alpha1.PhaseCompleted)
			root := collector.AwaitSpan("delegation")
			sum := sha256.Sum256([]byte(s.Get("d").UID))
			trace, above := hex.EncodeToString(sum[:16]), ""
			if c.annotation != "" {
				trace, above = given, parent
			}
			if got := hex.EncodeToString(root.ParentSpanId); got != above {
				t.Errorf("the parent of the first span is %q, want %q", got, above)
			}
			requireOneTrace(t, collector, trace, root)
			if again := collector.AwaitSpan("SendMessage"); again.Instance == lookup.Instance || lookup.Instance == "" {
				t.Errorf("the spans of two processes are of %q and %q", lookup.Instance, again.Instance)
			}
			parents := w.seen(t)
			if len(parents) != 2 || parents[0] == parents[1] {
				t.Errorf("traceparents %q, want one of each of two attempts", parents)
			}
			for _, p := range parents {
				if !strings.HasPrefix(p, "00-"+trace+"-") || !strings.HasSuffix(p, "-01") {
					t.Errorf("traceparent %q is not of trace %s", p, trace)
				}
			}
		})
	}
}

// requireOneTrace requires the spans of a Delegation to be there, in one trace and below its first span.
func requireOneTrace(t *testing.T, collector *harness.Collector, trace string, root harness.Span) {
	t.Helper()
	names := map[string]int{}
	for _, span := range collector.Spans() {
		names[span.Name]++
		if got := hex.EncodeToString(span.TraceId); got != trace {
			t.Errorf("span %s is in trace %s, want %s", span.Name, got, trace)
		}
		if span.Name != root.Name && !bytes.Equal(span.ParentSpanId, root.SpanId) {
			t.Errorf("span %s is not below the first", span.Name)
		}
		if got := span.Attribute("delegation.name"); got != "d" {
			t.Errorf("span %s is of Delegation %q", span.Name, got)
		}
	}
	for name, want := range map[string]int{"delegation": 1, "follow": 1, "SendMessage": 1} {
		if names[name] != want {
			t.Errorf("%d spans %s, want %d; spans %v", names[name], name, want, names)
		}
	}
}

// Without a collector the agent is told of no trace, whatever the creator's annotation says.
func TestNoTrace(t *testing.T) {
	t.Parallel()
	s, w := cluster.Space(t), &overhearer{}
	relay := harness.StartRelay(t, harness.StartAgent(t).URL, nil, w.around)
	s.StartManager()
	d := s.Reconciliation("d").Build()
	d.Annotations = map[string]string{v1alpha1.TraceparentAnnotation: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
	s.Create(s.RemoteAgent(relay.URL).Build(), d)
	s.AwaitPhase("d", v1alpha1.PhaseCompleted)
	if parents := w.seen(t); len(parents) != 1 || parents[0] != "" {
		t.Errorf("traceparents %q, want none", parents)
	}
}
