// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// start is when the first attempt of every case begins, off the second on purpose: the API server keeps whole seconds.
var start = time.Date(2026, 9, 30, 12, 0, 0, 123456789, time.UTC)

const (
	self    = "manager-1"
	timeout = 30 * time.Second
	settle  = time.Minute
	digest  = "sha256:body"
)

// world builds the input of one decision.
type world struct {
	Input
}

func newWorld() *world {
	d := &v1alpha1.Delegation{
		ObjectMeta: metav1.ObjectMeta{Namespace: "books", Name: "reconcile", UID: "uid-1", Generation: 1},
		Spec:       v1alpha1.DelegationSpec{MessageID: "m-71", ContextID: "c-recon-09"},
	}
	return &world{Input{
		Now: start, Self: self, Delegation: d, Body: Body{Digest: digest},
		Agent: Agent{
			Endpoint: "endpoint-1", Lookup: v1alpha1.LookupBestEffort, Settle: settle, AttemptTimeout: timeout,
		},
	}}
}

func (w *world) deduplicating() *world {
	w.Agent.Deduplicates, w.Agent.Retention = true, 72*time.Hour
	return w
}

func (w *world) lookup(mode v1alpha1.LookupMode) *world {
	w.Agent.Lookup = mode
	return w
}

func (w *world) at(after time.Duration) *world {
	w.Now = start.Add(after)
	return w
}

// journalled puts attempt n, begun at start, on record as this process's.
func (w *world) journalled(n int32) *world { return w.journalledBy(self, n) }

func (w *world) journalledBy(holder string, n int32) *world {
	a := Attempt{
		Number: n, Holder: holder, First: start, Started: start, Deadline: start.Add(timeout),
		Endpoint: "endpoint-1", Body: digest,
	}
	if err := a.Annotate(w.Delegation); err != nil {
		panic(err)
	}
	w.Delegation.Finalizers = []string{v1alpha1.DeliveryFinalizer}
	return w
}

// recorded writes what attempt n proved into the status, as the decision itself does.
func (w *world) recorded(n int32, outcome Outcome) *world {
	w.journalled(n)
	now := w.Now
	w.result(CallSend, outcome)
	w.Result.Attempt = n
	record, ok := Next(w.Input).(Record)
	if !ok {
		panic("recorded: nothing to record")
	}
	w.Delegation.Status = record.Status
	w.Result, w.Now = nil, now
	return w
}

// bound gives the Delegation a task in a state.
func (w *world) bound(state v1alpha1.TaskState) *world {
	w.journalled(1)
	w.task(CallSend, "t-5a", state, start)
	record, ok := Next(w.Input).(Record)
	if !ok {
		panic("bound: nothing to record")
	}
	w.Delegation.Status = record.Status
	w.Result = nil
	return w
}

func (w *world) result(call Call, outcome Outcome) *world {
	r := &Result{Call: call, Started: w.Now, At: w.Now, Since: w.Now, Exchange: Exchange{Outcome: outcome}}
	if outcome != Accepted {
		r.Reason, r.Detail = string(outcome)+"Reason", "the detail"
	}
	switch call {
	case CallSend:
		r.Attempt, r.Journal = 1, start
	case CallCancel:
		r.TaskID = "t-5a"
	}
	w.Result = r
	return w
}

func (w *world) task(call Call, id string, state v1alpha1.TaskState, at time.Time) *world {
	w.result(call, Accepted)
	w.Result.Task = &Task{ID: id, ContextID: "c-recon-09", State: state, Timestamp: at}
	return w
}

func (w *world) deleted(after time.Duration) *world {
	w.Delegation.DeletionTimestamp = &metav1.Time{Time: start.Add(after)}
	return w
}

// settled lets the decision act until it rests, with every write going through JSON as it does in the API server, and
// returns the action that it rests on and the number of status writes.
func settled(t *testing.T, in Input) (Action, v1alpha1.DelegationStatus, int) {
	t.Helper()
	in.Delegation = in.Delegation.DeepCopy()
	for writes := 0; writes < 4; writes++ {
		record, ok := Next(in).(Record)
		if !ok {
			return Next(in), in.Delegation.Status, writes
		}
		in.Delegation.Status = roundTrip(t, record.Status)
		if record.Settles {
			in.Result = nil
		}
	}
	t.Fatalf("the decision does not come to rest: %+v", in.Delegation.Status)
	return nil, v1alpha1.DelegationStatus{}, 0
}

func roundTrip(t *testing.T, s v1alpha1.DelegationStatus) v1alpha1.DelegationStatus {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var out v1alpha1.DelegationStatus
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
