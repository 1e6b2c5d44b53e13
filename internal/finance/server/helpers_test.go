package server

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
)

// patience bounds every wait; nothing here takes a tenth of it.
const patience = 20 * time.Second

// bindings are the transports each test runs on.
var bindings = map[a2a.TransportProtocol]string{
	a2a.TransportProtocolJSONRPC:  JSONRPCPath,
	a2a.TransportProtocolHTTPJSON: RESTPath,
}

// peer is a client of an agent that runs for one test.
type peer struct {
	*a2aclient.Client
	base    string
	binding a2a.TransportProtocol
	http    *http.Client
}

// onEachBinding runs a test against a new agent for each transport.
func onEachBinding(t *testing.T, change func(*Config), test func(ctx context.Context, t *testing.T, p *peer)) {
	for binding := range bindings {
		t.Run(string(binding), func(t *testing.T) {
			cfg := Defaults()
			cfg.Logger = slog.New(slog.DiscardHandler)
			cfg.Approval = false // which most tests would only be held up by
			if change != nil {
				change(&cfg)
			}
			srv := httptest.NewServer(start(t, cfg))
			t.Cleanup(srv.Close)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			t.Cleanup(cancel)
			test(ctx, t, connect(ctx, t, srv.URL, binding, cfg.Token))
		})
	}
}

// start makes an agent that ends with the test.
func start(t *testing.T, cfg Config) *Server {
	t.Helper()
	agent, err := New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := agent.Close(); err != nil {
			t.Errorf("closing the agent: %v", err)
		}
	})
	return agent
}

// bearer adds a token and nothing else; connections are never used twice, so that no fault hits an
// innocent request.
type bearer struct {
	http.RoundTripper
	token string
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	return b.RoundTripper.RoundTrip(r)
}

func connect(ctx context.Context, t *testing.T, base string, binding a2a.TransportProtocol, token string) *peer {
	t.Helper()
	hc := &http.Client{Transport: bearer{&http.Transport{DisableKeepAlives: true}, token}}
	client, err := a2aclient.NewFromEndpoints(ctx,
		[]*a2a.AgentInterface{a2a.NewAgentInterface(base+bindings[binding], binding)},
		a2aclient.WithJSONRPCTransport(hc), a2aclient.WithRESTTransport(hc))
	if err != nil {
		t.Fatal(err)
	}
	return &peer{Client: client, base: base, binding: binding, http: hc}
}

// sampleFile reads a table of the sample data set.
func sampleFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "config", "samples", "data", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// reconciliation is the message of the worked example.
func reconciliation(t *testing.T, id, contextID string) *a2a.SendMessageRequest {
	t.Helper()
	ledger, bank := a2a.NewTextPart(sampleFile(t, "ledger.csv")), a2a.NewRawPart([]byte(sampleFile(t, "bank.csv")))
	ledger.Filename, bank.Filename = "ledger.csv", "bank.csv"
	ledger.MediaType, bank.MediaType = "text/csv", "text/csv"
	msg := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("Reconcile September 2026"), ledger, bank)
	msg.ID, msg.ContextID = id, contextID
	return &a2a.SendMessageRequest{Message: msg, Config: &a2a.SendMessageConfig{ReturnImmediately: true}}
}

// words is a message without tables.
func words(id, text string) *a2a.SendMessageRequest {
	msg := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))
	msg.ID = id
	return &a2a.SendMessageRequest{Message: msg, Config: &a2a.SendMessageConfig{ReturnImmediately: true}}
}

func (p *peer) send(ctx context.Context, t *testing.T, req *a2a.SendMessageRequest) *a2a.Task {
	t.Helper()
	result, err := p.SendMessage(ctx, req)
	if err != nil {
		t.Fatalf("SendMessage: %v", err)
	}
	task, ok := result.(*a2a.Task)
	if !ok || task.ID == "" {
		t.Fatalf("SendMessage: got %#v, want a task", result)
	}
	return task
}

func (p *peer) get(ctx context.Context, t *testing.T, id a2a.TaskID) *a2a.Task {
	t.Helper()
	task, err := p.GetTask(ctx, &a2a.GetTaskRequest{ID: id})
	if err != nil {
		t.Fatalf("GetTask: %v", err)
	}
	return task
}

// until polls a task to a state; the context bounds the wait.
func (p *peer) until(ctx context.Context, t *testing.T, id a2a.TaskID, state a2a.TaskState) *a2a.Task {
	t.Helper()
	for {
		task := p.get(ctx, t, id)
		if task.Status.State == state {
			return task
		}
		if task.Status.State.Terminal() {
			t.Fatalf("task ended in %s, want %s", task.Status.State, state)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// records reads the agent's ledger, by messageId.
func (p *peer) records(t *testing.T) map[string]Record {
	t.Helper()
	resp, err := http.Get(p.base + LedgerPath)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var list []Record
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		t.Fatal(err)
	}
	byID := make(map[string]Record)
	for _, record := range list {
		byID[record.MessageID] = record
	}
	return byID
}

func (p *peer) wantRecord(t *testing.T, id string, received, accepted, bodies int) {
	t.Helper()
	got := p.records(t)[id]
	if got.Received != received || got.Accepted != accepted || got.Bodies != bodies || len(got.TaskIDs) != accepted {
		t.Errorf("ledger has %+v, want received %d, accepted %d, bodies %d", got, received, accepted, bodies)
	}
}

// wantContinued checks the record of a message to a task.
func (p *peer) wantContinued(t *testing.T, id string, received, continued int) {
	t.Helper()
	if got := p.records(t)[id]; got.Received != received || got.Continued != continued || got.Accepted != 0 || got.Bodies != 1 {
		t.Errorf("ledger has %+v, want received %d, continued %d", got, received, continued)
	}
}

// raw posts a send without the SDK, to see the HTTP of the answer.
func (p *peer) raw(ctx context.Context, t *testing.T, req *a2a.SendMessageRequest) (status int, header http.Header) {
	t.Helper()
	path, body := RESTPath+"/message:send", any(req)
	if p.binding == a2a.TransportProtocolJSONRPC {
		path, body = JSONRPCPath, map[string]any{"jsonrpc": "2.0", "id": "1", "method": "SendMessage", "params": req}
	}
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, p.base+path, strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := p.http.Do(post)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode, resp.Header
}

func hasMessage(task *a2a.Task, id string) bool {
	for _, msg := range task.History {
		if msg.ID == id {
			return true
		}
	}
	return false
}

func wantReason(t *testing.T, err error, reason string) {
	t.Helper()
	if got := dedup.Reason(err); got != reason {
		t.Errorf("error %v has the reason %q, want %q", err, got, reason)
	}
}
