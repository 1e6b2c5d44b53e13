// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package courier_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/delegation-dev/delegation-operator/internal/courier"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// told is what one notification found.
type told struct {
	name    string
	running outbox.Call
	result  *outbox.Result
}

// office is a courier that notes what it tells, with what an observer sees at that moment.
type office struct {
	*courier.Courier
	pool *courier.Pool
	mu   sync.Mutex
	told []told
	uids map[string]types.UID
}

func newOffice(t *testing.T) *office {
	o := &office{pool: courier.NewPool(), uids: map[string]types.UID{}}
	o.Courier = courier.New(o.pool, clock.RealClock{}, func(name types.NamespacedName) {
		running, result := o.Observe(o.uids[name.Name])
		o.mu.Lock()
		defer o.mu.Unlock()
		o.told = append(o.told, told{name.Name, running, result})
	})
	t.Cleanup(func() { ended(t, o.pool) })
	return o
}

// key of a Delegation, whose UID is its name's.
func (o *office) key(name string) courier.Key {
	uid := types.UID("uid-" + name)
	o.uids[name] = uid
	return courier.Key{NamespacedName: types.NamespacedName{Namespace: "books", Name: name}, UID: uid}
}

// carry makes a call that takes a second, and returns the context and the time of its begin.
func (o *office) carry(key courier.Key, call outbox.Call, result *outbox.Result) <-chan time.Time {
	began := make(chan time.Time, 1)
	o.Carry(courier.Job{Key: key, Agent: finance, Limits: plenty, Call: call, Do: func(context.Context) *outbox.Result {
		began <- time.Now()
		time.Sleep(time.Second)
		return result
	}})
	return began
}

// finish lets all that is out come home.
func (o *office) finish() {
	time.Sleep(time.Minute)
	synctest.Wait()
}

func (o *office) want(t *testing.T, key courier.Key, running outbox.Call, result *outbox.Result) {
	t.Helper()
	gotRunning, gotResult := o.Observe(key.UID)
	if gotRunning != running || gotResult != result {
		t.Errorf("observed call %q and result %+v, want %q and %+v", gotRunning, gotResult, running, result)
	}
}

func result(call outbox.Call, outcome outbox.Outcome) *outbox.Result {
	return &outbox.Result{Call: call, Exchange: outbox.Exchange{Outcome: outcome}}
}

func TestOneCallAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		key := o.key("reconcile")
		sent := result(outbox.CallSend, outbox.Ambiguous)
		first := o.carry(key, outbox.CallSend, sent)
		o.want(t, key, outbox.CallSend, nil)
		second := o.carry(key, outbox.CallFind, result(outbox.CallFind, outbox.Absent))
		o.finish()
		if len(first) != 1 || len(second) != 0 {
			t.Errorf("the first call ran %d times and the second %d, want once and never", len(first), len(second))
		}
		o.want(t, key, outbox.CallNone, sent)

		found := result(outbox.CallFind, outbox.Absent)
		third := o.carry(key, outbox.CallFind, found)
		o.want(t, key, outbox.CallFind, sent)
		o.finish()
		if len(third) != 1 {
			t.Error("the call after that did not run")
		}
		o.want(t, key, outbox.CallNone, found)
	})
}

// A call that waits for room counts as well: it would be sent twice otherwise.
func TestQueuedCallCountsAsRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, l := newOffice(t), newLog()
		key, one := o.key("reconcile"), courier.Limits{InFlight: 1, PerSecond: 100}
		o.pool.Run(finance, one, l.gated("other"))
		for range 3 {
			o.Carry(courier.Job{Key: key, Agent: finance, Limits: one, Call: outbox.CallSend, Do: func(context.Context) *outbox.Result {
				l.enter("send")
				defer l.leave()
				return result(outbox.CallSend, outbox.Accepted)
			}})
		}
		o.want(t, key, outbox.CallSend, nil)
		l.release()
		wantNames(t, l, "other", "send")
	})
}

func TestDelegationsDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		first, other := o.key("reconcile"), o.key("approve")
		// A successor has the name of the first and a UID of its own.
		successor := courier.Key{NamespacedName: first.NamespacedName, UID: "uid-successor"}
		results := map[courier.Key]*outbox.Result{}
		for _, key := range []courier.Key{first, other, successor} {
			results[key] = result(outbox.CallSend, outbox.Accepted)
			o.carry(key, outbox.CallSend, results[key])
		}
		time.Sleep(time.Second)
		synctest.Wait()
		for key, want := range results {
			o.want(t, key, outbox.CallNone, want)
		}
	})
}

func TestRecordedDropsExactlyThatResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		key := o.key("reconcile")
		older, newer := result(outbox.CallGet, outbox.Accepted), result(outbox.CallGet, outbox.Accepted)
		o.Deliver(key, older)
		o.Recorded(key.UID, result(outbox.CallGet, outbox.Accepted))
		o.want(t, key, outbox.CallNone, older)
		o.Recorded("uid-another", older)
		o.want(t, key, outbox.CallNone, older)
		o.Deliver(key, newer)
		o.Recorded(key.UID, older)
		o.want(t, key, outbox.CallNone, newer)
		o.Recorded(key.UID, nil)
		o.want(t, key, outbox.CallNone, newer)
		o.Recorded(key.UID, newer)
		o.want(t, key, outbox.CallNone, nil)
		o.Recorded(key.UID, newer)
	})
}

// What is recorded while a call is out must not make room for a second call.
func TestRecordedDuringACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		key := o.key("reconcile")
		failed, sent := result(outbox.CallSend, outbox.NotSent), result(outbox.CallSend, outbox.Accepted)
		o.carry(key, outbox.CallSend, failed)
		o.finish()
		o.carry(key, outbox.CallSend, sent)
		o.Recorded(key.UID, failed)
		o.want(t, key, outbox.CallSend, nil)
		if again := o.carry(key, outbox.CallSend, failed); len(again) != 0 {
			t.Error("a second call ran")
		}
		o.finish()
		o.want(t, key, outbox.CallNone, sent)
	})
}

func TestDeliver(t *testing.T) {
	get := result(outbox.CallGet, outbox.Accepted)
	cases := []struct {
		name  string
		held  *outbox.Result
		taken bool
	}{
		{"nothing held", nil, true},
		{"an older look", result(outbox.CallGet, outbox.Accepted), true},
		{"a failed look", result(outbox.CallGet, outbox.Ambiguous), true},
		{"a lookup", result(outbox.CallFind, outbox.Accepted), true},
		{"the answer to a cancel", result(outbox.CallCancel, outbox.Accepted), true},
		{"the agent's answer to a send", result(outbox.CallSend, outbox.Accepted), false},
		// The task is known, so that nobody will ever record these; they must not keep its news away for ever.
		{"a send without an answer", result(outbox.CallSend, outbox.Ambiguous), true},
		{"a send that was not sent", result(outbox.CallSend, outbox.NotSent), true},
		{"a refused send", result(outbox.CallSend, outbox.Refused), true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOffice(t)
				key := o.key("reconcile")
				want := get
				if c.held != nil {
					o.carry(key, c.held.Call, c.held)
					o.finish()
				}
				if !c.taken {
					want = c.held
				}
				if got := o.Deliver(key, get); got != c.taken {
					t.Errorf("taken: %t, want %t", got, c.taken)
				}
				o.want(t, key, outbox.CallNone, want)
				o.Recorded(key.UID, c.held)
				if !c.taken && !o.Deliver(key, get) {
					t.Error("not taken after the answer was recorded")
				}
				o.want(t, key, outbox.CallNone, get)
			})
		})
	}
}

func TestDeliverDuringACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		key := o.key("reconcile")
		get, sent := result(outbox.CallGet, outbox.Accepted), result(outbox.CallSend, outbox.Accepted)
		o.carry(key, outbox.CallSend, sent)
		o.Deliver(key, get)
		o.want(t, key, outbox.CallSend, get)
		o.finish()
		o.want(t, key, outbox.CallNone, sent)
	})
}

func TestUnrecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		unrecorded := func(want ...string) {
			t.Helper()
			var got []string
			for _, name := range o.Unrecorded() {
				got = append(got, name.Namespace+"/"+name.Name)
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("unrecorded: %q, want %q", got, want)
			}
		}
		unrecorded()
		answer := result(outbox.CallSend, outbox.Accepted)
		o.carry(o.key("answered"), outbox.CallSend, answer)
		o.carry(o.key("failed"), outbox.CallSend, result(outbox.CallSend, outbox.Ambiguous))
		o.carry(o.key("conflict"), outbox.CallSend, nil)
		o.carry(o.key("found"), outbox.CallFind, result(outbox.CallFind, outbox.Accepted))
		o.Deliver(o.key("seen"), result(outbox.CallGet, outbox.Accepted))
		unrecorded()
		o.finish()
		unrecorded("books/answered", "books/failed")
		o.Recorded(o.key("answered").UID, answer)
		unrecorded("books/failed")
		o.Forget(o.key("failed").UID)
		unrecorded()
	})
}
