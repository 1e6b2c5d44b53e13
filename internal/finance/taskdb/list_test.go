// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package taskdb

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// listed is five tasks; the later ones were created later. The fifth is another user's.
func listed(t *testing.T, store taskstore.Store) {
	message := func(id string) *a2a.Message {
		msg := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(id))
		msg.ID = id
		return msg
	}
	create(t, store, "alice",
		&a2a.Task{ID: "t-1", ContextID: "c-1", Status: a2a.TaskStatus{State: a2a.TaskStateWorking, Timestamp: at(1)}, History: []*a2a.Message{message("m-1"), message("m-2"), message("m-3")}},
		&a2a.Task{ID: "t-2", ContextID: "c-1", Status: a2a.TaskStatus{State: a2a.TaskStateCompleted, Timestamp: at(2)}, Artifacts: full("").Artifacts},
		&a2a.Task{ID: "t-3", ContextID: "c-2", Status: a2a.TaskStatus{State: a2a.TaskStateWorking, Timestamp: at(3)}},
		&a2a.Task{ID: "t-4", ContextID: "c-2", Status: a2a.TaskStatus{State: a2a.TaskStateUnspecified}})
	create(t, store, "bob", &a2a.Task{ID: "t-5", ContextID: "c-1", Status: a2a.TaskStatus{State: a2a.TaskStateWorking}})
}

// show writes a listing as "id:messages:artifacts".
func show(tasks []*a2a.Task) string {
	var out []string
	for _, task := range tasks {
		out = append(out, fmt.Sprintf("%s:%d:%d", task.ID, len(task.History), len(task.Artifacts)))
	}
	return strings.Join(out, " ")
}

func TestList(t *testing.T) {
	number := func(n int) *int { return &n }
	second := at(2).Add(time.Nanosecond)
	onEachStore(t, time.Second, func(t *testing.T, store taskstore.Store) {
		listed(t, store)
		for name, test := range map[string]struct {
			req  a2a.ListTasksRequest
			want string
		}{
			"all":                  {a2a.ListTasksRequest{}, "t-4:0:0 t-3:0:0 t-2:0:0 t-1:3:0"},
			"by context":           {a2a.ListTasksRequest{ContextID: "c-1"}, "t-2:0:0 t-1:3:0"},
			"unknown context":      {a2a.ListTasksRequest{ContextID: "c-9"}, ""},
			"by state":             {a2a.ListTasksRequest{Status: a2a.TaskStateWorking}, "t-3:0:0 t-1:3:0"},
			"by time":              {a2a.ListTasksRequest{StatusTimestampAfter: at(2)}, "t-4:0:0 t-3:0:0 t-2:0:0"},
			"a nanosecond later":   {a2a.ListTasksRequest{StatusTimestampAfter: &second}, "t-4:0:0 t-3:0:0"},
			"all at once":          {a2a.ListTasksRequest{ContextID: "c-2", Status: a2a.TaskStateWorking, StatusTimestampAfter: at(1)}, "t-3:0:0"},
			"artifacts":            {a2a.ListTasksRequest{ContextID: "c-1", IncludeArtifacts: true}, "t-2:0:1 t-1:3:0"},
			"two messages":         {a2a.ListTasksRequest{ContextID: "c-1", HistoryLength: number(2)}, "t-2:0:0 t-1:2:0"},
			"no messages":          {a2a.ListTasksRequest{ContextID: "c-1", HistoryLength: number(0)}, "t-2:0:0 t-1:0:0"},
			"as many as there are": {a2a.ListTasksRequest{ContextID: "c-1", HistoryLength: number(-1)}, "t-2:0:0 t-1:3:0"},
		} {
			page, err := store.List(as(t, "alice"), &test.req)
			if err != nil || show(page.Tasks) != test.want || page.NextPageToken != "" || page.PageSize != defaultPageSize {
				t.Errorf("%s: %q, %+v, %v, want %q", name, show(page.Tasks), page, err, test.want)
			} else if page.TotalSize != len(page.Tasks) {
				t.Errorf("%s: total %d", name, page.TotalSize)
			}
		}
		page, err := store.List(as(t, "alice"), &a2a.ListTasksRequest{HistoryLength: number(2)})
		if last := page.Tasks[3].History; err != nil || last[0].ID != "m-2" || last[1].ID != "m-3" {
			t.Errorf("not the latest messages: %v, %v", last, err)
		}
	})
}

func TestListRefuses(t *testing.T) {
	onEachStore(t, time.Second, func(t *testing.T, store taskstore.Store) {
		for name, test := range map[string]struct {
			req  a2a.ListTasksRequest
			want error
		}{
			"negative page":   {a2a.ListTasksRequest{PageSize: -1}, a2a.ErrInvalidRequest},
			"large page":      {a2a.ListTasksRequest{PageSize: maxPageSize + 1}, a2a.ErrInvalidRequest},
			"token not in 64": {a2a.ListTasksRequest{PageToken: "!"}, a2a.ErrParseError},
			"foreign token":   {a2a.ListTasksRequest{PageToken: "YWJj"}, a2a.ErrParseError},
			"token, no time":  {a2a.ListTasksRequest{PageToken: "YV9i"}, a2a.ErrParseError},
		} {
			if _, err := store.List(as(t, "alice"), &test.req); !errors.Is(err, test.want) {
				t.Errorf("%s: %v, want %v", name, err, test.want)
			}
		}
	})
}

func TestPages(t *testing.T) {
	for name, step := range map[string]time.Duration{"one after the other": time.Second, "all at one time": 0} {
		t.Run(name, func(t *testing.T) {
			onEachStore(t, step, func(t *testing.T, store taskstore.Store) {
				listed(t, store)
				for size, want := range map[int]string{1: "t-4|t-3|t-2|t-1", 2: "t-4 t-3|t-2 t-1", 3: "t-4 t-3 t-2|t-1", 4: "t-4 t-3 t-2 t-1", 100: "t-4 t-3 t-2 t-1"} {
					var pages []string
					for token, more := "", true; more; more = token != "" {
						page, err := store.List(as(t, "alice"), &a2a.ListTasksRequest{PageSize: size, PageToken: token})
						if err != nil || page.TotalSize != 4 || page.PageSize != size {
							t.Fatalf("page of %d: %+v, %v", size, page, err)
						}
						var ids []string
						for _, task := range page.Tasks {
							ids = append(ids, string(task.ID))
						}
						pages, token = append(pages, strings.Join(ids, " ")), page.NextPageToken
					}
					if got := strings.Join(pages, "|"); got != want {
						t.Errorf("pages of %d: %s, want %s", size, got, want)
					}
				}
			})
		})
	}
}

// A task that changes goes to the front.
func TestUpdateMovesToTheFront(t *testing.T) {
	onEachStore(t, time.Second, func(t *testing.T, store taskstore.Store) {
		listed(t, store)
		changed := &a2a.Task{ID: "t-1", ContextID: "c-3", Status: a2a.TaskStatus{State: a2a.TaskStateFailed, Timestamp: at(9)}}
		if _, err := store.Update(as(t, "alice"), &taskstore.UpdateRequest{Task: changed}); err != nil {
			t.Fatal(err)
		}
		page, err := store.List(as(t, "alice"), &a2a.ListTasksRequest{StatusTimestampAfter: at(3)})
		if err != nil || show(page.Tasks) != "t-1:0:0 t-4:0:0 t-3:0:0" {
			t.Errorf("%s, %v", show(page.Tasks), err)
		}
		if diff := cmp.Diff(changed, page.Tasks[0], cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("stored and given differ:\n%s", diff)
		}
	})
}
