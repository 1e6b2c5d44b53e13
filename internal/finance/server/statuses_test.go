package server

import (
	"context"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// calls are one call of each method, by the SDK's client.
func (p *peer) calls(ctx context.Context, t *testing.T, id a2a.TaskID) map[string]func() error {
	streamed := func(events func(yield func(a2a.Event, error) bool)) (err error) {
		for _, err = range events {
			break
		}
		return err
	}
	return map[string]func() error{
		sendMessage: func() error { _, err := p.SendMessage(ctx, reconciliation(t, "m-1", "c-1")); return err },
		sendStreamingMessage: func() error {
			return streamed(p.SendStreamingMessage(ctx, reconciliation(t, "m-2", "c-2")))
		},
		getTask:    func() error { _, err := p.GetTask(ctx, &a2a.GetTaskRequest{ID: id}); return err },
		listTasks:  func() error { _, err := p.ListTasks(ctx, &a2a.ListTasksRequest{}); return err },
		cancelTask: func() error { _, err := p.CancelTask(ctx, &a2a.CancelTaskRequest{ID: id}); return err },
		subscribeToTask: func() error {
			return streamed(p.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: id}))
		},
	}
}

// Each method is hit by its own fault, as often as ordered, and by no other.
func TestStatusFor(t *testing.T) {
	for _, method := range methods {
		t.Run(method, func(t *testing.T) {
			order := func(c *Config) {
				c.Faults.Status = Statuses{{Method: method, Code: http.StatusInternalServerError, N: 2}}
			}
			onEachBinding(t, order, func(ctx context.Context, t *testing.T, p *peer) {
				for name, call := range p.calls(ctx, t, "t-0") {
					if name != method {
						if err := call(); err != nil && strings.Contains(err.Error(), "500") {
							t.Errorf("%s was hit: %v", name, err)
						}
						continue
					}
					for i := range 2 {
						if err := call(); err == nil {
							t.Errorf("call %d of %s was not hit", i, name)
						}
					}
				}
			})
		})
	}
}

func TestStatusForIsSpent(t *testing.T) {
	order := func(c *Config) {
		c.Faults.Status = Statuses{{listTasks, 500, 1}, {listTasks, 503, 1}, {getTask, 501, -1}, {sendMessage, 502, 1}}
	}
	onEachBinding(t, order, func(ctx context.Context, t *testing.T, p *peer) {
		if status, _ := p.raw(ctx, t, reconciliation(t, "m-71", "c-recon-09")); status != http.StatusBadGateway {
			t.Errorf("SendMessage: status %d, want 502", status)
		}
		p.wantRecord(t, "m-71", 1, 0, 1)
		task := p.send(ctx, t, reconciliation(t, "m-71", "c-recon-09"))
		for i, fails := range []bool{true, true, false, false} {
			if _, err := p.ListTasks(ctx, &a2a.ListTasksRequest{}); (err != nil) != fails {
				t.Errorf("call %d of ListTasks: %v", i, err)
			}
		}
		for range 5 {
			if _, err := p.GetTask(ctx, &a2a.GetTaskRequest{ID: task.ID}); err == nil {
				t.Error("GetTask was not hit")
			}
		}
	})
}

// What is answered is what something that knows nothing of A2A would answer.
func TestAnswerStatus(t *testing.T) {
	order := func(c *Config) {
		c.Faults.Status = Statuses{{sendMessage, 302, 1}, {sendMessage, 204, 1}, {sendMessage, 200, 1}}
	}
	onEachBinding(t, order, func(ctx context.Context, t *testing.T, p *peer) {
		p.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		want := []struct {
			code     int
			location bool
		}{{302, true}, {204, false}, {200, false}}
		for _, want := range want {
			status, header := p.raw(ctx, t, reconciliation(t, "m-71", "c-recon-09"))
			if status != want.code || (header.Get("Location") != "") != want.location {
				t.Errorf("status %d to %q, want %+v", status, header.Get("Location"), want)
			}
		}
		p.wantRecord(t, "m-71", 3, 0, 1)
	})
}

func TestStatusesFlag(t *testing.T) {
	var got Statuses
	for _, text := range []string{"ListTasks:500:3", "GetTask:501:-1,SendMessage:302:0"} {
		if err := got.Set(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	want := Statuses{{listTasks, 500, 3}, {getTask, 501, -1}, {sendMessage, 302, 0}}
	if !reflect.DeepEqual(got, want) || got.String() != "ListTasks:500:3,GetTask:501:-1,SendMessage:302:0" {
		t.Errorf("got %s", got.String())
	}
	for _, text := range []string{"", "ListTasks", "ListTasks:500", "ListTasks:500:x", "ListTasks:199:1", "ListTasks:600:1", "listTasks:500:1", "Send:500:1"} {
		if err := new(Statuses).Set(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

func TestRESTMethods(t *testing.T) {
	for line, want := range map[string]string{
		"POST /message:send":               sendMessage,
		"GET /message:send":                "",
		"POST /message:stream":             sendStreamingMessage,
		"GET /tasks":                       listTasks,
		"POST /tasks":                      "",
		"GET /tasks/t-1":                   getTask,
		"POST /tasks/t-1":                  "",
		"POST /tasks/t-1:cancel":           cancelTask,
		"GET /tasks/t-1:subscribe":         subscribeToTask,
		"POST /tasks/t-1:subscribe":        subscribeToTask,
		"GET /tasks/t-1/pushNotifications": "",
		"GET /extendedAgentCard":           "",
	} {
		verb, path, _ := strings.Cut(line, " ")
		if got := restMethod(verb, path); got != want {
			t.Errorf("%s is %q, want %q", line, got, want)
		}
	}
}
