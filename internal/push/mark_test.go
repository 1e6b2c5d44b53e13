// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

const (
	working   = v1alpha1.TaskStateWorking
	asking    = v1alpha1.TaskStateInputRequired
	completed = v1alpha1.TaskStateCompleted
)

var noon = time.Date(2026, 9, 30, 12, 0, 0, 0, time.UTC)

// event is one of task t-1, so many seconds after noon; without a time where they are negative.
func event(state v1alpha1.TaskState, after int) Event {
	e := Event{TaskID: "t-1", State: state}
	if after >= 0 {
		e.Timestamp = noon.Add(time.Duration(after) * time.Second)
	}
	return e
}

// known is a Delegation whose status has this.
func known(phase v1alpha1.Phase, task string, state v1alpha1.TaskState, after int, hint string) *v1alpha1.Delegation {
	d := &v1alpha1.Delegation{}
	d.Status.Phase, d.Status.TaskID, d.Status.State = phase, task, state
	if after >= 0 {
		d.Status.StateTimestamp = &metav1.MicroTime{Time: noon.Add(time.Duration(after) * time.Second)}
	}
	if hint != "" {
		d.Annotations = map[string]string{v1alpha1.HintAnnotation: hint}
	}
	return d
}

func TestMark(t *testing.T) {
	const done = "TASK_STATE_COMPLETED 2026-09-30T12:00:09Z"
	unsent := known(v1alpha1.PhaseSending, "", "", -1, "")
	atWork := known(v1alpha1.PhaseWorking, "t-1", working, 5, "")
	timeless := known(v1alpha1.PhaseWorking, "t-1", working, -1, "")
	question := known(v1alpha1.PhaseInputRequired, "t-1", asking, 5, "")
	foreign := event(completed, 9)
	foreign.TaskID = "t-2"
	for _, c := range []struct {
		name string
		d    *v1alpha1.Delegation
		e    Event
		want string
	}{
		{"the end", atWork, event(completed, 9), done},
		{"the end, without a time", atWork, event(completed, -1), "TASK_STATE_COMPLETED"},
		{"the end, whatever its time says", atWork, event(completed, 3), "TASK_STATE_COMPLETED 2026-09-30T12:00:03Z"},
		{"the end, where no time is known", timeless, event(completed, 9), done},
		{"nothing", atWork, Event{}, ""},
		{"a chunk, without a state", atWork, Event{TaskID: "t-1"}, ""},
		{"what is known", atWork, event(working, 5), ""},
		{"what is known, at a later time", atWork, event(working, 7), ""},
		{"something older", question, event(working, 3), ""},
		{"the same question", question, event(asking, 5), ""},
		{"another question", question, event(asking, 7), "TASK_STATE_INPUT_REQUIRED 2026-09-30T12:00:07Z"},
		{"of another task", atWork, foreign, ""},
		{"before the answer to the message: the answer tells", unsent, event(working, 1), ""},
		{"before the answer to the message: the end", unsent, event(completed, 9), done},
		{"after the end", known(v1alpha1.PhaseCompleted, "t-1", completed, 9, ""), event(working, 12), ""},
		{"told already", known(v1alpha1.PhaseWorking, "t-1", working, 5, done), event(completed, 9), ""},
		{"overtaken by what was told", known(v1alpha1.PhaseWorking, "t-1", working, 1, "TASK_STATE_INPUT_REQUIRED 2026-09-30T12:00:05Z"), event(v1alpha1.TaskStateAuthRequired, 3), ""},
		{"later than what was told", known(v1alpha1.PhaseWorking, "t-1", working, 1, "TASK_STATE_INPUT_REQUIRED 2026-09-30T12:00:05Z"), event(completed, 9), done},
		{"the end, of which an older time is told than of what was told", known(v1alpha1.PhaseWorking, "t-1", working, 1, "TASK_STATE_INPUT_REQUIRED 2026-09-30T12:00:12Z"), event(completed, 9), done},
		{"after the end was told", known(v1alpha1.PhaseWorking, "t-1", working, 5, "TASK_STATE_COMPLETED"), event(asking, -1), ""},
		{"after a note by hand", known(v1alpha1.PhaseWorking, "t-1", working, 5, "look"), event(completed, 9), done},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.e.Mark(c.d); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestRead(t *testing.T) {
	const at = `"timestamp":"2026-09-30T12:00:05Z"`
	for _, c := range []struct {
		name, body string
		want       Event
		known      bool
	}{
		{"a task", `{"task":{"id":"t-1","status":{"state":"TASK_STATE_WORKING",` + at + `}}}`, event(working, 5), true},
		{"a status", `{"statusUpdate":{"taskId":"t-1","contextId":"c","status":{"state":"TASK_STATE_COMPLETED",` + at + `}}}`, event(completed, 5), true},
		{"a status without a time can't be told from another", `{"statusUpdate":{"taskId":"t-1","status":{"state":"TASK_STATE_WORKING"}}}`, event(working, -1), false},
		{"a time that is none", `{"statusUpdate":{"taskId":"t-1","status":{"state":"TASK_STATE_WORKING","timestamp":"today"}}}`, event(working, -1), false},
		{"a chunk", `{"artifactUpdate":{"taskId":"t-1","artifact":{"artifactId":"a"},"lastChunk":true}}`, event("", -1), true},
		{"a message", `{"message":{"taskId":"t-1","messageId":"m","role":"ROLE_AGENT","parts":[]}}`, event("", -1), true},
		{"a task of 0.3", `{"kind":"task","id":"t-1","status":{"state":"input-required",` + at + `}}`, event(asking, 5), true},
		{"a status of 0.3", `{"kind":"status-update","taskId":"t-1","final":true,"status":{"state":"completed",` + at + `}}`, event(completed, 5), true},
		{"a state that is no word", `{"task":{"id":"t-1","status":{"state":"done!\n",` + at + `}}}`, event("", 5), true},
		{"members of other types", `{"task":{"id":"t-1","status":{"state":7,` + at + `}}}`, event("", 5), true},
		{"an empty object", `{}`, Event{}, false},
		{"no object", `[1]`, Event{}, false},
		{"no JSON", `state=completed`, Event{}, false},
		{"nothing", ``, Event{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := read([]byte(c.body))
			if (got.ID != "") != c.known {
				t.Errorf("id %q; want one: %t", got.ID, c.known)
			}
			got.ID = ""
			if !got.Timestamp.Equal(c.want.Timestamp) {
				t.Errorf("time %s, want %s", got.Timestamp, c.want.Timestamp)
			}
			got.Timestamp = c.want.Timestamp
			if got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}
