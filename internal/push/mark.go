// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"strings"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// Mark returns what the annotation v1alpha1.HintAnnotation of a Delegation is to hold so that whoever follows its task looks at it;
// empty where the event says nothing that the Delegation does not. It is written once for a state: duplicates and late events
// write nothing.
func (e Event) Mark(d *v1alpha1.Delegation) string {
	s := &d.Status
	switch {
	case e.State == "", s.Phase.Finished():
		return ""
	case s.TaskID == "" && !e.State.Terminal() && !e.State.Interrupted():
		// The agent's answer to the message, which is on its way, tells as much.
		return ""
	case s.TaskID != "" && e.TaskID != "" && e.TaskID != s.TaskID:
		return ""
	case s.StateTimestamp != nil && e.before(s.StateTimestamp.Time):
		return ""
	case s.TaskID != "" && e.State == s.State && !e.asksAgain(s):
		return ""
	}
	mark := string(e.State)
	if !e.Timestamp.IsZero() {
		mark += " " + e.Timestamp.UTC().Format(time.RFC3339Nano)
	}
	if overtaken(d.Annotations[v1alpha1.HintAnnotation], mark, e) {
		return ""
	}
	return mark
}

// before reports whether the event is older than a time, of which the API server keeps the microseconds. The end of a task
// never is, whatever clock gave its time: nothing comes after it.
func (e Event) before(at time.Time) bool {
	return !e.State.Terminal() && !e.Timestamp.IsZero() && e.Timestamp.Truncate(time.Microsecond).Before(at)
}

// asksAgain reports whether the task waits for a message once more, with another question.
func (e Event) asksAgain(s *v1alpha1.DelegationStatus) bool {
	return e.State.Interrupted() && s.StateTimestamp != nil && e.Timestamp.Truncate(time.Microsecond).After(s.StateTimestamp.Time)
}

// overtaken reports whether the annotation tells as much already, or more: the same, something later, or the task's end.
func overtaken(held, mark string, e Event) bool {
	state, at, _ := strings.Cut(held, " ")
	if held == mark || v1alpha1.TaskState(state).Terminal() {
		return true
	}
	last, err := time.Parse(time.RFC3339Nano, at)
	return err == nil && !e.State.Terminal() && !e.Timestamp.IsZero() && e.Timestamp.Before(last)
}
