// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"fmt"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// simTask is a task of an agent. It follows a script, and stops at each question until somebody answers.
type simTask struct {
	a           *simAgent
	id, context string
	history     []string
	states      []simState
	script      []v1alpha1.TaskState
	// listed is from when on ListTasks shows it.
	listed time.Duration
	// moving says that the next step of the script is on the calendar.
	moving bool
	gone   bool
	// asked counts the questions, answers are the messages that were taken for each.
	asked   int
	answers []simAnswer
}

type simState struct {
	at      time.Duration
	state   v1alpha1.TaskState
	message string
	// history is how many messages the history held then.
	history int
}

type simAnswer struct {
	question int
	message  string
}

// simVanished in a script loses the task.
const simVanished v1alpha1.TaskState = "vanished"

// drawScript draws what becomes of a task.
func (s *sim) drawScript() []v1alpha1.TaskState {
	script := []v1alpha1.TaskState{v1alpha1.TaskStateWorking}
	for range s.plan.questions {
		if s.chance(25) {
			script = append(script, v1alpha1.TaskStateAuthRequired)
			continue
		}
		script = append(script, v1alpha1.TaskStateInputRequired)
	}
	end := pick(s.simDice, v1alpha1.TaskStateCompleted, v1alpha1.TaskStateCompleted, v1alpha1.TaskStateCompleted, v1alpha1.TaskStateCompleted,
		v1alpha1.TaskStateFailed, v1alpha1.TaskStateRejected, v1alpha1.TaskStateCanceled, simVanished, v1alpha1.TaskState("completed"), "")
	if end == "" || (end == simVanished && s.plan.agent.keeps) {
		return script
	}
	return append(script, end)
}

func (t *simTask) now() *simState { return &t.states[len(t.states)-1] }

// set moves the task into a state. A task that has ended does not move.
func (t *simTask) set(state v1alpha1.TaskState) {
	s := t.a.s
	if len(t.states) > 0 && (t.now().state.Terminal() || t.gone) {
		return
	}
	if state == simVanished {
		t.gone = true
		s.stir()
		return
	}
	next := simState{at: s.elapsed, state: state, history: len(t.history)}
	if state.Interrupted() {
		t.asked++
		next.message = fmt.Sprintf("question %d?", t.asked)
	}
	t.states = append(t.states, next)
	if s.telling {
		s.tell("agent", "", "task %s is %s", t.id, state)
	}
	s.stir()
}

// proceed plans the next step of the script, if nobody has to answer first.
func (t *simTask) proceed() {
	s := t.a.s
	if t.moving || len(t.script) == 0 || t.now().state.Interrupted() {
		return
	}
	t.moving = true
	s.after(s.between(100*time.Millisecond, 2*time.Minute), func() {
		t.moving = false
		if len(t.script) == 0 || t.now().state.Interrupted() {
			return
		}
		next := t.script[0]
		t.script = t.script[1:]
		t.set(next)
		t.proceed()
	})
}

// take takes a message that continues the task.
func (t *simTask) take(m simMessage) {
	t.history = append(t.history, m.id)
	if t.asked > 0 {
		t.answers = append(t.answers, simAnswer{question: t.asked, message: m.id})
	}
	if t.now().state.Interrupted() {
		t.set(v1alpha1.TaskStateWorking)
	} else {
		t.now().history = len(t.history)
	}
	t.proceed()
}

// shown is the task as it was at a time.
func (t *simTask) shown(as time.Duration) *Task {
	i := len(t.states) - 1
	for i > 0 && t.states[i].at > as {
		i--
	}
	st := &t.states[i]
	out := &Task{ID: t.id, ContextID: t.context, State: st.state, Message: st.message}
	if t.a.p.stamps {
		out.Timestamp = start.Add(st.at)
	}
	if t.a.p.history {
		out.History = t.history[:st.history]
	}
	return out
}
