// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package trial finds out what an agent does with a message that it gets twice. One trial is evidence and no promise: what the
// agent's owner says about it counts for more.
package trial

import (
	"fmt"
	"slices"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// Evidence is what was seen.
type Evidence struct {
	// MessageID and ContextID that were sent; ContextID is empty where the agent would not have one.
	MessageID, ContextID string
	// ContextRefused is the agent's no to a message with a contextId, which was sent under another messageId.
	ContextRefused *outbox.Exchange
	// First and Second are the answers to the two copies.
	First, Second outbox.Exchange
	// Look is what GetTask says of the first task, and Found what the search for the message brought; zero where not asked.
	Look, Found outbox.Exchange
	// Lists says that the protocol has a listing of tasks at all.
	Lists bool
}

// Answer is yes, no, or nothing certain.
type Answer string

// The answers.
const (
	Yes  Answer = "yes"
	No   Answer = "no"
	Open Answer = "open"
)

// Verdict is one answer and why.
type Verdict struct {
	Answer Answer
	Why    string
}

// Report is what a trial tells.
type Report struct {
	// Deduplicates: a message that comes twice is one task.
	Deduplicates Verdict
	// History: the task shows the messageId.
	History Verdict
	// Context: the agent takes the contextId that it is given.
	Context Verdict
	// Lookup: the message is found in the agent's list of tasks.
	Lookup Verdict
}

// Judge says what the evidence means.
func Judge(e Evidence) Report {
	return Report{Deduplicates: deduplicates(e), History: history(e), Context: context(e), Lookup: lookup(e)}
}

func deduplicates(e Evidence) Verdict {
	one, two := e.First.Task, e.Second.Task
	switch {
	case one != nil && two != nil && one.ID != two.ID:
		return Verdict{No, "the second copy made another task"}
	case len(e.Found.Others) > 0:
		return Verdict{No, "the agent lists several tasks that have the message"}
	case times(e.Look, e.MessageID) > 1:
		return Verdict{No, "the one task has the message twice in its history"}
	case one != nil && two != nil && times(e.Look, e.MessageID) == 0:
		return Verdict{Open, "both copies were answered with the same task, and it shows no messageId: the second may have become part of it"}
	case one != nil && two != nil:
		return Verdict{Yes, "both copies were answered with the same task, one after the other; copies at the same time were not tried"}
	case e.First.Reply != nil || e.Second.Reply != nil:
		return Verdict{Open, "the agent answers without a task, and replies do not tell"}
	case one == nil && two != nil:
		return Verdict{Open, "there was no usable answer to the first copy: " + reason(e.First)}
	}
	return Verdict{Open, "the second copy was not answered with a task: " + reason(e.Second)}
}

// times is how often the task shows the message.
func times(look outbox.Exchange, messageID string) int {
	n := 0
	if look.Task != nil {
		for _, id := range look.Task.History {
			if id == messageID {
				n++
			}
		}
	}
	return n
}

func history(e Evidence) Verdict {
	switch {
	case e.Look.Task == nil:
		return Verdict{Open, "there was no task to look at"}
	case times(e.Look, e.MessageID) > 0:
		return Verdict{Yes, "the task's history has the messageId"}
	case len(e.Look.Task.History) == 0:
		return Verdict{No, "the task shows no history"}
	}
	return Verdict{No, "the task's history has other messageIds only"}
}

func context(e Evidence) Verdict {
	task := e.First.Task
	if task == nil {
		task = e.Second.Task
	}
	switch {
	case e.ContextRefused != nil && task != nil:
		return Verdict{No, "a message with a contextId was refused (" + reason(*e.ContextRefused) + "), and one without was taken"}
	case task == nil || task.ContextID == "":
		return Verdict{Open, "no task shows a contextId"}
	case task.ContextID == e.ContextID:
		return Verdict{Yes, "the task has the contextId that was sent"}
	}
	return Verdict{No, "the task has another contextId than the one that was sent"}
}

func lookup(e Evidence) Verdict {
	switch {
	case !e.Lists:
		return Verdict{No, "the protocol of the endpoint has no ListTasks"}
	case e.Found.Outcome == outbox.Accepted:
		return Verdict{Yes, "ListTasks shows the message"}
	case e.Found.Outcome == outbox.Refused:
		return Verdict{No, "the agent lists no tasks to this caller: " + reason(e.Found)}
	case e.Found.Outcome == outbox.Absent:
		return Verdict{Open, "ListTasks did not show the message in time: " + reason(e.Found)}
	case e.Found.Outcome == "":
		return Verdict{Open, "there was no task to look for"}
	}
	return Verdict{Open, "the tasks could not be listed: " + reason(e.Found)}
}

func reason(ex outbox.Exchange) string {
	if ex.Detail == "" {
		return ex.Reason
	}
	return ex.Reason + ", " + remote.Clean(ex.Detail)
}

// Tasks are the ids of all tasks that the trial made, as far as is known.
func (e Evidence) Tasks() []string {
	var ids []string
	add := func(id string) {
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, ex := range []outbox.Exchange{e.First, e.Second, e.Found} {
		if ex.Task != nil {
			add(ex.Task.ID)
		}
		for _, id := range ex.Others {
			add(id)
		}
	}
	return ids
}

// Contract is the part of spec.contract that a report speaks of, and why; what stayed open is not in it.
func (r Report) Contract(current v1alpha1.Contract, retention string) (contract map[string]any, notes []string) {
	contract = map[string]any{}
	switch r.Deduplicates.Answer {
	case Yes:
		contract["deduplication"] = map[string]any{"mode": string(v1alpha1.DeduplicationMessageID), "retention": retention}
		notes = append(notes, "deduplication: seen in one trial. How long the agent remembers a messageId can't be tried out: ask its owner for the retention.")
	case No:
		contract["deduplication"] = map[string]any{"mode": string(v1alpha1.DeduplicationNone)}
	}
	switch {
	case r.Lookup.Answer == No:
		contract["taskLookup"] = map[string]any{"mode": string(v1alpha1.LookupNone)}
	case r.Lookup.Answer == Yes && current.TaskLookup.Mode != v1alpha1.LookupAuthoritative:
		contract["taskLookup"] = map[string]any{"mode": string(v1alpha1.LookupBestEffort)}
		notes = append(notes, "taskLookup: Authoritative is the owner's promise that what is not listed was never accepted; no trial shows that.")
	}
	switch r.Context.Answer {
	case Yes:
		contract["contextId"] = string(v1alpha1.ContextIDClient)
	case No:
		contract["contextId"] = string(v1alpha1.ContextIDServer)
	}
	return contract, notes
}

// Lines are the report for people.
func (r Report) Lines() [][]string {
	var rows [][]string
	for _, v := range []struct {
		question string
		Verdict
	}{
		{"deduplicates by messageId", r.Deduplicates}, {"keeps the history", r.History},
		{"takes the client's contextId", r.Context}, {"lists the message", r.Lookup},
	} {
		rows = append(rows, []string{v.question, fmt.Sprint(v.Answer), v.Why})
	}
	return rows
}
