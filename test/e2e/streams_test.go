// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

const (
	subscribeToTask = "SubscribeToTask"
	// rarely is a poll interval that is longer than any wait of these tests: what is told sooner was told by a stream.
	rarely = 10 * time.Minute
)

// door stands in front of an agent, passes streams on as they come, and can be shut for a while, as a crash of the agent
// shuts it: all connections break.
type door struct {
	t       *testing.T
	proxy   http.Handler
	address string
	mu      sync.Mutex
	server  *http.Server
	// replace answers subscriptions in the agent's place, and calls counts the JSON-RPC methods.
	replace func(w http.ResponseWriter, r *http.Request, id string)
	calls   map[string]int
}

func newDoor(t *testing.T, agent string) *door {
	t.Helper()
	target, err := url.Parse(agent)
	if err != nil {
		t.Fatal(err)
	}
	d := &door{t: t, address: "127.0.0.1:0", calls: map[string]int{}, proxy: &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host // the card names who was asked
		},
		FlushInterval: -1,
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}}
	d.open()
	t.Cleanup(d.shut)
	return d
}

func (d *door) open() {
	d.t.Helper()
	l, err := (&net.ListenConfig{}).Listen(d.t.Context(), "tcp", d.address)
	if err != nil {
		d.t.Fatal(err)
	}
	d.address = l.Addr().String()
	s := &http.Server{Handler: d, ReadHeaderTimeout: harness.Patience}
	d.mu.Lock()
	d.server = s
	d.mu.Unlock()
	// It ends with shut.
	go func() { _ = s.Serve(l) }()
}

func (d *door) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	_ = d.server.Close() // nothing more can be done about it
}

func (d *door) url() string { return "http://" + d.address }

// ServeHTTP implements http.Handler.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var call struct{ ID, Method string }
	_ = json.Unmarshal(body, &call) // what is no call has no method
	d.mu.Lock()
	d.calls[call.Method]++
	replace := d.replace
	d.mu.Unlock()
	if call.Method == subscribeToTask && replace != nil {
		replace(w, r, call.ID)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	d.proxy.ServeHTTP(w, r)
}

func (d *door) called(method string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls[method]
}

func (d *door) await(method string, n int) {
	d.t.Helper()
	harness.Eventually(d.t, harness.Patience, fmt.Sprintf("%d calls of %s", n, method), func(context.Context) (bool, string) {
		got := d.called(method)
		return got >= n, fmt.Sprint(got)
	})
}

// A change is in the status long before the next look would be, and costs no more writes than with looks.
func TestStreamTellsOfChanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		mode v1alpha1.UpdateMode
		hand bool
	}{
		{"by the card's word", v1alpha1.UpdatesAuto, false},
		{"without a card", v1alpha1.UpdatesSubscribe, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := cluster.Space(t)
			d := newDoor(t, harness.StartAgent(t, "--delay=6s").URL)
			proxy := s.StartAPIProxy()
			s.StartManagerBehind(proxy)
			ra := s.RemoteAgent(d.url()).Mode(c.mode).Poll(rarely, rarely)
			if c.hand {
				ra.Endpoint(d.url() + "/a2a")
			}
			s.Create(ra.Build())
			s.AwaitAgentReady(harness.AgentName)
			s.Create(s.Reconciliation("d").MessageID("m-1").Build())
			s.AwaitPhase("d", v1alpha1.PhaseCompleted)
			// Journal; bound, working, finished.
			want := map[harness.Write]int{harness.AmendDelegation: 1, harness.UpdateStatus: 3}
			harness.Eventually(t, 5*time.Second, fmt.Sprintf("the writes %v", want), func(context.Context) (bool, string) {
				return maps.Equal(proxy.DelegationWrites(), want), fmt.Sprint(proxy.Writes())
			})
			if n := d.called(subscribeToTask); n != 1 {
				t.Errorf("%d subscriptions, want 1", n)
			}
		})
	}
}

// Without streams nothing of that is seen: the tests above would find a stream that is none.
func TestPollHasNoStreams(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	d := newDoor(t, harness.StartAgent(t, "--delay=1s").URL)
	s.StartManager()
	s.Create(s.RemoteAgent(d.url()).Poll(rarely, rarely).Build(), s.Reconciliation("d").MessageID("m-1").Build())
	s.Await("d", "to be bound", func(d *v1alpha1.Delegation) bool { return d.Status.TaskID != "" })
	s.Remains("d", 5*time.Second, "not to be finished", func(d *v1alpha1.Delegation) bool { return !d.Status.Phase.Finished() })
	if n := d.called(subscribeToTask); n != 0 {
		t.Errorf("%d subscriptions, want none", n)
	}
}

// What a stream says is not believed: events that are forged, doubled, late or out of order cost looks and no write.
func TestStreamEventsAreNotBelieved(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	d := newDoor(t, harness.StartAgent(t, "--delay=10m").URL)
	said := make(chan struct{})
	var once sync.Once
	d.replace = func(w http.ResponseWriter, r *http.Request, id string) {
		w.Header().Set("Content-Type", "text/event-stream")
		states := []string{"COMPLETED", "WORKING", "SUBMITTED", "COMPLETED", "INPUT_REQUIRED", "SUBMITTED", "FAILED", "WORKING"}
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for i := range 200 {
			_, _ = fmt.Fprintf(w, `data: {"jsonrpc":"2.0","id":%q,"result":{"statusUpdate":{"taskId":"x","contextId":"x","status":{"state":"TASK_STATE_%s","timestamp":"2020-01-01T00:00:00Z"}}}}`+"\n\n",
				id, states[i%len(states)])
			w.(http.Flusher).Flush()
			<-tick.C
		}
		once.Do(func() { close(said) })
		<-r.Context().Done()
	}
	proxy := s.StartAPIProxy()
	s.StartManagerBehind(proxy)
	s.Create(s.RemoteAgent(d.url()).Mode(v1alpha1.UpdatesAuto).Poll(rarely, rarely).Build(), s.Reconciliation("d").MessageID("m-1").Build())
	s.Await("d", "to be bound", func(d *v1alpha1.Delegation) bool { return d.Status.TaskID != "" })
	d.await("GetTask", 2) // the first may bring news, such as that the task is being worked on
	before := proxy.DelegationWrites()
	harness.AwaitClosed(t, said, "200 events")
	// 200 events in 4 s, and at most four looks a second.
	if looks := d.called("GetTask"); looks < 4 || looks > 40 {
		t.Errorf("%d looks for 200 events", looks)
	}
	if after := proxy.DelegationWrites(); !maps.Equal(before, after) {
		t.Errorf("writes to Delegations: %v; before the events %v", after, before)
	}
	if got := s.Get("d"); got.Status.Phase.Finished() {
		t.Errorf("a stream was believed: %s", harness.Describe(got))
	}
}

// The agent is away in mid-stream and comes back: the task is listened to again, and the change between is told too.
func TestStreamGoesOnAfterACrash(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	d := newDoor(t, harness.StartAgent(t, "--delay=8s").URL)
	s.StartManager()
	s.Create(s.RemoteAgent(d.url()).Mode(v1alpha1.UpdatesAuto).Poll(rarely, rarely).Build(), s.Reconciliation("d").MessageID("m-1").Build())
	d.await(subscribeToTask, 1)
	d.shut()
	d.open()
	d.await(subscribeToTask, 2)
	s.AwaitPhase("d", v1alpha1.PhaseCompleted)
	if got := s.Get("d"); got.Status.Attempts != 1 {
		t.Errorf("%d attempts, want 1", got.Status.Attempts)
	}
}

// The agent is killed in mid-stream and starts anew: its next tasks are listened to.
func TestStreamsOfARestartedAgent(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	first := harness.StartAgent(t, "--delay=10m")
	d := newDoor(t, first.URL)
	s.StartManager()
	s.Create(s.RemoteAgent(d.url()).Mode(v1alpha1.UpdatesAuto).Poll(rarely, rarely).Build(), s.Reconciliation("lost").Build())
	d.await(subscribeToTask, 1)
	first.Kill()
	harness.StartAgent(t, "--delay=2s", "--listen="+first.URL[len("http://"):])
	s.Create(s.Reconciliation("next").Build())
	s.AwaitPhase("next", v1alpha1.PhaseCompleted)
}
