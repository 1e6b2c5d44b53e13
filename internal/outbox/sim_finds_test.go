// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// simBreaks are ways to break the product, each with the promise that it breaks. They are in the hooks around Next; the
// product has none of them.
var simBreaks = []struct {
	name    string
	promise string
	hooks   simHooks
}{
	{"the journal is written without a resourceVersion", promiseOneOpen, simHooks{blindJournal: true}},
	{"nothing is journalled", promiseOneOpen, simHooks{sendFirst: true}},
	{"nothing is journalled, and the first byte tells", promiseFence, simHooks{sendFirst: true}},
	{"the journal is written over a newer version", promiseSwap, simHooks{blindJournal: true}},
	{"each attempt has its own messageId", promiseOneTask, simHooks{wire: func(j *simJob) { j.message.id += fmt.Sprintf("-%d", j.number) }}},
	{"the agent's memory is believed to last for ever", promiseOneTask, simHooks{next: forEver}},
	{"a lost answer counts as not sent", promiseOneOpen, simHooks{next: lostIsNotSent}},
	{"a search is believed before it has settled", promiseOneOpen, simHooks{next: believesAtOnce}},
	{"an attempt of another process counts as one's own", promiseTruth, simHooks{next: takesOthersForOwn}},
	{"not sent now counts as never sent", promiseTruth, simHooks{next: forgetsEarlierAttempts}},
	{"the body of the moment is sent", promiseOneBody, simHooks{next: sendsAnyBody}},
	{"any snapshot is written", promiseForward, simHooks{next: writesAnySnapshot}},
	{"each look is written", promiseQuiet, simHooks{next: writesEachLook}},
	{"the question is claimed without a resourceVersion", promiseOneAnswer, simHooks{blindClaim: true}},
	{"the question is not claimed", promiseOneAnswer, simHooks{next: claimsNothing}},
	{"a deletion waits for nothing", promiseFinalizer, simHooks{next: releasesAtOnce}},
	{"a deletion cancels nothing", promiseCanceled, simHooks{next: releasesAtOnce}},
	{"time in a queue does not count", promiseInTime, simHooks{next: sendsAtAnyTime}},
	{"an agent that failed is not asked again", promiseEnds, simHooks{next: givesUp}},
	{"a decision goes round in circles", promiseEnds, simHooks{next: goesRound}},
	{"a stop names no command", promiseWayOut, simHooks{next: namesNoCommand}},
}

// TestSimulationFinds breaks the product and wants the promise to be seen broken: an oracle that nothing trips proves
// nothing.
func TestSimulationFinds(t *testing.T) {
	for _, b := range simBreaks {
		t.Run(b.name, func(t *testing.T) {
			b.hooks.heard = []string{b.promise}
			seed, broken := simulate(1, simBreak, b.hooks)
			if broken == nil {
				t.Fatalf("%d schedules did not find that this breaks %s", simBreak, b.promise)
			}
			t.Logf("seed %d: %s: %s", seed, broken.promise, broken.what)
		})
	}
}

func forEver(in Input) Action {
	in.Agent.Retention = 1000 * time.Hour
	return Next(in)
}

func lostIsNotSent(in Input) Action {
	if r := in.Result; r != nil && r.Call == CallSend && r.Outcome == Ambiguous {
		other := *r
		other.Outcome = NotSent
		in.Result = &other
	}
	return Next(in)
}

func believesAtOnce(in Input) Action {
	if r := in.Result; r != nil && r.Call == CallFind {
		other := *r
		other.Started = in.Now.Add(time.Hour)
		in.Result = &other
	}
	return Next(in)
}

func takesOthersForOwn(in Input) Action {
	if a, err := Journalled(in.Delegation); err == nil && a != nil {
		in.Self = a.Holder
		if r := in.Result; r != nil {
			other := *r
			other.Journal = a.Started
			in.Result = &other
		}
	}
	return Next(in)
}

func forgetsEarlierAttempts(in Input) Action {
	action := Next(in)
	record, ok := action.(Record)
	if r := in.Result; ok && r != nil && r.Call == CallSend && r.Outcome == NotSent {
		meta.SetStatusCondition(&record.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionDelivered, Status: metav1.ConditionFalse, Reason: ReasonNotSent})
	}
	return action
}

func sendsAnyBody(in Input) Action {
	if a, err := Journalled(in.Delegation); err == nil && a != nil && in.Body.Problem == nil {
		in.Body.Digest = a.Body
	}
	return Next(in)
}

func writesAnySnapshot(in Input) Action {
	d, r := in.Delegation, in.Result
	if r == nil || r.Call != CallGet || r.Task == nil || d.Status.TaskID != r.Task.ID || d.Status.State == r.Task.State {
		return Next(in)
	}
	status := *d.Status.DeepCopy()
	status.State, status.Phase = r.Task.State, phaseOf(r.Task.State)
	status.StateTimestamp = &metav1.MicroTime{Time: r.Task.Timestamp}
	return Record{Status: status, Settles: true}
}

func writesEachLook(in Input) Action {
	action := Next(in)
	r := in.Result
	if _, follows := action.(Follow); !follows || r == nil || r.Call != CallGet {
		return action
	}
	status := *in.Delegation.Status.DeepCopy()
	status.LastError = "seen at " + r.At.String()
	return Record{Status: status, Settles: true}
}

func claimsNothing(in Input) Action {
	action := Next(in)
	claim, ok := action.(Claim)
	if !ok {
		return action
	}
	root := claim.Root.DeepCopy()
	root.Status.AnsweredBy = &claim.Claim
	in.Related.Root = root
	return Next(in)
}

func releasesAtOnce(in Input) Action {
	d := in.Delegation
	if d.DeletionTimestamp != nil && slices.Contains(d.Finalizers, v1alpha1.DeliveryFinalizer) {
		return Release{}
	}
	return Next(in)
}

func sendsAtAnyTime(in Input) Action {
	action := Next(in)
	if send, ok := action.(Send); ok {
		send.Until = time.Time{}
		return send
	}
	return action
}

func givesUp(in Input) Action {
	action := Next(in)
	if r := in.Result; r != nil && r.Outcome == Ambiguous {
		if _, asks := action.(Ask); asks {
			return Wait{}
		}
	}
	return action
}

func goesRound(in Input) Action {
	if in.Delegation.Status.Phase != v1alpha1.PhaseUnknown {
		return Next(in)
	}
	status := *in.Delegation.Status.DeepCopy()
	status.LastError += "."
	return Record{Status: status}
}

func namesNoCommand(in Input) Action {
	action := Next(in)
	if record, ok := action.(Record); ok {
		for i := range record.Status.Conditions {
			record.Status.Conditions[i].Message = "it is stalled"
		}
	}
	return action
}
