// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// forgery is what somebody writes who may write Delegations in namespace tenant, and wants to reach the task of another
// namespace: all of the spec, and the annotations and finalizers too.
type forgery struct {
	messageID, contextID string
	journal              *Attempt
	finalizer            bool
	target               string
	adopt, resend        bool
}

// The tasks at the agent: the tenant's own, and another's.
const (
	ownTask, otherTask = "t-own", "t-other"
	ownContext         = "c-named-by-agent"
)

func forgeries() []forgery {
	var all []forgery
	journals := []*Attempt{nil, {}, {Task: otherTask}, {References: []string{otherTask}}, {References: []string{ownTask, otherTask}}, {Task: ownTask}}
	for _, messageID := range []string{"", "tenant/m-1", "m-1", "other/m-1"} {
		for _, contextID := range []string{"", "tenant/c-1", "other/c-1", ownContext} {
			for _, journal := range journals {
				for _, target := range []string{"", "continues", "continues nothing", "refines", "refines nothing"} {
					for flags := range 4 {
						// A finalizer without a journal stands for one that was dropped.
						all = append(all, forgery{messageID, contextID, journal, journal == nil && flags%2 > 0, target, flags%2 > 0, flags/2 > 0})
					}
				}
			}
		}
	}
	return all
}

func (f forgery) world(t *testing.T, results int, deduplicates bool) *world {
	w := tenant(f.messageID, f.contextID).at(timeout + settle)
	d := w.Delegation
	if f.journal != nil {
		a := *f.journal
		a.Number, a.Holder, a.First, a.Started, a.Deadline = 1, self, start, start, start.Add(timeout)
		a.Endpoint, a.Body = w.Agent.Endpoint, digest
		if err := a.Annotate(d); err != nil {
			t.Fatal(err)
		}
	}
	if f.finalizer {
		d.Finalizers = []string{v1alpha1.DeliveryFinalizer}
	}
	own := &v1alpha1.Delegation{}
	own.Namespace, own.Name, own.UID, own.Spec.AgentRef = d.Namespace, "own", "uid-own", d.Spec.AgentRef
	own.Status = v1alpha1.DelegationStatus{TaskID: ownTask, ContextID: ownContext, State: v1alpha1.TaskStateInputRequired, Phase: v1alpha1.PhaseInputRequired, Interruptions: 1}
	switch f.target {
	case "continues", "continues nothing":
		d.Spec.Continues = &v1alpha1.DelegationReference{Name: "own"}
		if f.target == "continues" {
			own.Status.AnsweredBy = &v1alpha1.Claim{Name: d.Name, UID: d.UID, Interruption: 1}
			w.Related.Root, w.Related.Holder = own, d
		}
	case "refines":
		own.Status.State, own.Status.Phase = v1alpha1.TaskStateCompleted, v1alpha1.PhaseCompleted
		d.Spec.Refines, w.Related.Refined = []v1alpha1.DelegationReference{{Name: "own"}}, []*v1alpha1.Delegation{own}
	case "refines nothing":
		d.Spec.Refines, w.Related.Refined = []v1alpha1.DelegationReference{{Name: "own"}}, []*v1alpha1.Delegation{nil}
	}
	if f.adopt {
		d.Spec.Resolution = &v1alpha1.Resolution{Action: v1alpha1.ResolutionAdopt, TaskID: otherTask}
	}
	if f.resend {
		d.Spec.OnUnknown = v1alpha1.UnknownResend
	}
	if deduplicates {
		w.deduplicating()
	}
	w.Result = nil
	switch results {
	case 1:
		w.result(CallFind, Absent)
	case 2:
		w.task(CallGet, otherTask, v1alpha1.TaskStateInputRequired, start)
		w.Result.TaskID, w.Result.Task.History = otherTask, []string{"other/m-1", "m-1"}
	}
	return w
}

// Whatever somebody writes into the objects of one namespace, nothing goes to the task or the conversation of another, no
// id of another is searched for, and no task of another is bound or canceled.
func TestNothingThatATenantWritesReachesAnother(t *testing.T) {
	cases := 0
	for _, f := range forgeries() {
		for results := range 3 {
			for _, deduplicates := range []bool{false, true} {
				w := f.world(t, results, deduplicates)
				cases++
				for step := 0; step < 6; step++ {
					action := Next(w.Input)
					if why := reaches(f, action); why != "" {
						t.Fatalf("%+v, journal %+v, results %d: step %d is %T, which %s: %+v", f, f.journal, results, step, action, why, action)
					}
					record, ok := action.(Record)
					if !ok {
						break
					}
					w.Delegation.Status = record.Status
				}
			}
		}
	}
	t.Logf("%d cases", cases)
}

// reaches says how an action reaches beyond the namespace; nothing where it does not.
func reaches(f forgery, action Action) string {
	own := func(id string) bool { return strings.HasPrefix(id, "tenant/") }
	conversation := func(id string) bool {
		return id == "" || own(id) || (id == ownContext && (f.target == "continues" || f.target == "refines"))
	}
	switch a := action.(type) {
	case Send:
		foreign := func(task string) bool { return task != ownTask }
		switch {
		case !own(a.Envelope.MessageID), !conversation(a.Envelope.ContextID):
			return "sends another's id"
		case a.Envelope.TaskID != "" && foreign(a.Envelope.TaskID), slices.ContainsFunc(a.Envelope.References, foreign):
			return "sends to another's task, or refers to it"
		}
	case Ask:
		switch {
		case a.Call == CallFind && (!own(a.Query.MessageID) || !conversation(a.Query.ContextID)):
			return "searches for another's id"
		case a.Call == CallGet && a.TaskID != ownTask && !f.adopt, a.Call == CallCancel && a.TaskID != ownTask:
			return "asks for another's task"
		}
	case Record:
		if text := fmt.Sprintf("%+v", a.Status); a.Status.TaskID == otherTask || strings.Contains(text, "the secret") {
			return "binds another's task, or tells of it"
		}
	}
	return ""
}
