// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"
	"google.golang.org/grpc/codes"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// since is when the changes begin that are asked for; it has a fraction of a second on purpose.
var since = time.Date(2026, 9, 30, 12, 0, 0, 700_000_000, time.UTC)

// at is a time so many seconds after the second that since is in.
func at(seconds int) time.Time {
	return since.Truncate(time.Second).Add(time.Duration(seconds) * time.Second)
}

// shelf answers a listing with tasks of its own, a few to a page, and keeps what was asked for.
type shelf struct {
	a2asrv.RequestHandler
	tasks []*a2a.Task
	page  int
	err   error
	// asked are the requests.
	asked []a2a.ListTasksRequest
}

func (s *shelf) ListTasks(_ context.Context, r *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	s.asked = append(s.asked, *r)
	if s.err != nil {
		return nil, s.err
	}
	from := 0
	if r.PageToken != "" {
		if _, err := fmt.Sscanf(r.PageToken, "p%d", &from); err != nil {
			return nil, err
		}
	}
	to := min(from+s.page, len(s.tasks))
	out := &a2a.ListTasksResponse{Tasks: s.tasks[from:to], TotalSize: len(s.tasks), PageSize: s.page}
	if to < len(s.tasks) {
		out.NextPageToken = fmt.Sprintf("p%d", to)
	}
	return out, nil
}

// timed is a task whose state is so many seconds younger than the time asked for.
func timed(id string, state a2a.TaskState, seconds int) *a2a.Task {
	when := at(seconds)
	return &a2a.Task{ID: a2a.TaskID(id), ContextID: "c-1", Status: a2a.TaskStatus{State: state, Timestamp: &when}}
}

func untimed(n int) []*a2a.Task {
	var list []*a2a.Task
	for i := range n {
		list = append(list, &a2a.Task{ID: a2a.TaskID(fmt.Sprintf("u-%03d", i)), ContextID: "c-1", Status: a2a.TaskStatus{State: a2a.TaskStateSubmitted}})
	}
	return list
}

func young(n int) []*a2a.Task {
	var list []*a2a.Task
	for i := range n {
		list = append(list, timed(fmt.Sprintf("y-%04d", i), a2a.TaskStateWorking, i))
	}
	return list
}

func TestChanges(t *testing.T) {
	const working, done = a2a.TaskStateWorking, a2a.TaskStateCompleted
	cases := []struct {
		name    string
		shelf   *shelf
		front   *front
		outcome outbox.Outcome
		reason  string
		// tasks are those returned, as id, state and seconds; calls, how many pages were asked for.
		tasks []string
		calls int
	}{
		{"none", &shelf{page: 5}, nil, outbox.Accepted, "", nil, 1},
		{"all pages", &shelf{tasks: []*a2a.Task{timed("a", working, 3), timed("b", done, 2), timed("c", working, 0)}, page: 1}, nil,
			outbox.Accepted, "", []string{"a TASK_STATE_WORKING 3", "b TASK_STATE_COMPLETED 2", "c TASK_STATE_WORKING 0"}, 3},
		{"one that changes from page to page", &shelf{tasks: []*a2a.Task{timed("a", working, 1), timed("a", done, 2)}, page: 1}, nil,
			outbox.Accepted, "", []string{"a TASK_STATE_COMPLETED 2"}, 2},
		{"without a timestamp", &shelf{tasks: untimed(1), page: 1}, nil, outbox.Accepted, "", []string{"u-000 TASK_STATE_SUBMITTED -"}, 1},
		{"filter ignored: an older one", &shelf{tasks: []*a2a.Task{timed("a", done, 5), timed("b", done, -1), timed("c", done, -9)}, page: 2}, nil,
			outbox.Refused, remote.ReasonFilterIgnored, []string{"a TASK_STATE_COMPLETED 5", "b TASK_STATE_COMPLETED -1"}, 1},
		{"filter ignored: many without a timestamp", &shelf{tasks: untimed(500), page: 60}, nil, outbox.Refused, remote.ReasonFilterIgnored, nil, 2},
		{"endless", &shelf{tasks: young(200), page: 1}, nil, outbox.Ambiguous, remote.ReasonListingEndless, nil, 100},
		{"no such method", &shelf{err: a2a.ErrMethodNotFound}, nil, outbox.Refused, remote.ReasonLookupUnsupported, nil, 1},
		{"unsupported", &shelf{err: a2a.ErrUnsupportedOperation}, nil, outbox.Refused, remote.ReasonLookupUnsupported, nil, 1},
		{"not to this caller", &shelf{err: a2a.ErrUnauthenticated}, nil, outbox.Refused, remote.ReasonLookupUnsupported, nil, 1},
		{"refused", &shelf{err: a2a.ErrInvalidParams}, nil, outbox.Refused, "InvalidParams", nil, 1},
		{"failed", &shelf{err: a2a.ErrInternalError}, nil, outbox.Ambiguous, "InternalError", nil, 1},
		{"forbidden at the door", &shelf{}, &front{http: http.StatusForbidden, grpc: codes.PermissionDenied}, outbox.Unauthorized, "Forbidden", nil, 0},
		{"too many requests", &shelf{}, &front{http: http.StatusTooManyRequests, grpc: codes.ResourceExhausted}, outbox.NotSent, remote.ReasonTooManyRequests, nil, 0},
	}
	for _, b := range listingBindings() {
		for _, c := range cases {
			t.Run(b.name+"/"+c.name, func(t *testing.T) {
				s := *c.shelf
				got, ex := connect(t, b.open(t, &s, c.front)).Changes(t.Context(), since)
				expect(t, ex, c.outcome, c.reason)
				if shown := seconds(got); c.tasks != nil && !slices.Equal(shown, c.tasks) {
					t.Errorf("got %q, want %q", shown, c.tasks)
				}
				if len(s.asked) != c.calls {
					t.Errorf("%d pages were asked for, want %d", len(s.asked), c.calls)
				}
				for i, r := range s.asked {
					requireQuery(t, i, r)
				}
			})
		}
	}
}

func seconds(tasks []outbox.Task) []string {
	var out []string
	for _, t := range tasks {
		age := "-"
		if !t.Timestamp.IsZero() {
			age = fmt.Sprint(int(t.Timestamp.Sub(at(0)) / time.Second))
		}
		out = append(out, fmt.Sprintf("%s %s %s", t.ID, t.State, age))
	}
	return out
}

// requireQuery requires that an agent was asked for what changed since, in whole seconds, and for nothing more.
func requireQuery(t *testing.T, page int, r a2a.ListTasksRequest) {
	t.Helper()
	switch {
	case r.StatusTimestampAfter == nil || !r.StatusTimestampAfter.Equal(at(0)):
		t.Errorf("page %d: statusTimestampAfter %v, want %v", page, r.StatusTimestampAfter, at(0))
	case r.HistoryLength == nil || *r.HistoryLength != 0:
		t.Errorf("page %d: historyLength %v, want 0", page, r.HistoryLength)
	case r.IncludeArtifacts, r.PageSize != 100, r.ContextID != "", r.Status != "":
		t.Errorf("page %d: %+v", page, r)
	case (r.PageToken == "") != (page == 0):
		t.Errorf("page %d: token %q", page, r.PageToken)
	}
}

// The query has the specification's names, where the Go SDK's client has others.
func TestChangesQuery(t *testing.T) {
	var got []string
	a := newAgent(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Method+" "+r.URL.RequestURI())
		w.Header().Set("Content-Type", "application/a2a+json")
		_, _ = w.Write([]byte(`{"tasks":[]}`))
	}))
	t.Cleanup(s.Close)
	a.url, a.configure = s.URL+"/v1", func(c *remote.Config) { c.Interface.ProtocolBinding, c.Interface.Tenant = "HTTP+JSON", "eu" }
	_, ex := connect(t, a).Changes(t.Context(), since)
	expect(t, ex, outbox.Accepted, "")
	want := "GET /v1/eu/tasks?historyLength=0&pageSize=100&statusTimestampAfter=2026-09-30T12%3A00%3A00Z"
	if strings.Join(got, "\n") != want {
		t.Errorf("asked %q, want %q", got, want)
	}
}

// What changes at an agent on the Go SDK is listed, and what did not is not.
func TestChangesAgainstTheSDK(t *testing.T) {
	for _, b := range listingBindings() {
		t.Run(b.name, func(t *testing.T) {
			store := taskstore.NewInMemory(&taskstore.InMemoryStoreConfig{Authenticator: a2asrv.NewTaskStoreAuthenticator()})
			c := connect(t, b.open(t, sdkHandler(a2asrv.WithTaskStore(store), a2asrv.WithCallInterceptors(named{})), nil))
			sent := c.Send(t.Context(), token(t), message())
			expectTask(t, sent, outbox.Accepted, "")
			awaitState(t, c, sent.Task.ID, "TASK_STATE_COMPLETED")
			is := c.Get(t.Context(), sent.Task.ID).Task
			got, ex := c.Changes(t.Context(), is.Timestamp.Add(-5*time.Second))
			expect(t, ex, outbox.Accepted, "")
			if len(got) != 1 || got[0].ID != is.ID || got[0].State != is.State || !got[0].Timestamp.Equal(is.Timestamp) {
				t.Errorf("listed %+v, GetTask shows %+v", got, is)
			}
			got, ex = c.Changes(t.Context(), is.Timestamp.Add(5*time.Second))
			expect(t, ex, outbox.Accepted, "")
			if len(got) != 0 {
				t.Errorf("listed %+v, which changed before", got)
			}
		})
	}
}
