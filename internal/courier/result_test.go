// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package courier_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/courier"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// Since tells for how long a call has been ending in the same way.
func TestSince(t *testing.T) {
	type step struct {
		call    outbox.Call
		outcome outbox.Outcome
		// record drops the result that is held, before this step.
		record bool
		// since is the step that Since points at.
		since int
	}
	absent, failed, accepted := outbox.Absent, outbox.Ambiguous, outbox.Accepted
	find, get, send := outbox.CallFind, outbox.CallGet, outbox.CallSend
	cases := map[string][]step{
		"the same again":             {{find, absent, false, 0}, {find, absent, false, 0}, {find, absent, false, 0}},
		"another outcome between":    {{find, absent, false, 0}, {find, failed, false, 1}, {find, absent, false, 2}, {find, absent, false, 2}},
		"another call between":       {{get, absent, false, 0}, {find, absent, false, 1}, {get, absent, false, 2}},
		"the same outcome of a send": {{send, failed, false, 0}, {send, failed, false, 0}},
		"recorded between":           {{get, accepted, false, 0}, {get, accepted, true, 1}, {get, accepted, false, 1}},
	}
	for name, steps := range cases {
		for _, way := range []string{"carried", "delivered"} {
			t.Run(name+", "+way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					o := newOffice(t)
					key := o.key("reconcile")
					var at []time.Time
					for i, s := range steps {
						if _, held := o.Observe(key.UID); s.record {
							o.Recorded(key.UID, held)
						}
						r := result(s.call, s.outcome)
						if way == "carried" {
							began := o.carry(key, s.call, r)
							o.finish()
							wantTimes(t, r, <-began)
						} else {
							o.Deliver(key, r)
						}
						at = append(at, r.At)
						if !r.Since.Equal(at[s.since]) {
							t.Errorf("step %d: since %s, want that of step %d, %s", i, r.Since, s.since, at[s.since])
						}
						time.Sleep(time.Minute)
					}
				})
			})
		}
	}
}

// wantTimes checks a result of a call that took a second.
func wantTimes(t *testing.T, r *outbox.Result, began time.Time) {
	t.Helper()
	if !r.Started.Equal(began) || !r.At.Equal(began.Add(time.Second)) {
		t.Errorf("started %s and ended %s, want %s and a second later", r.Started, r.At, began)
	}
}

// Started is when the call began and not when it was queued: what a lookup proves depends on it.
func TestStartedIsAfterTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, l := newOffice(t), newLog()
		one := courier.Limits{InFlight: 1, PerSecond: 100}
		o.pool.Run(finance, one, l.lasting("other", time.Hour))
		r := result(outbox.CallFind, outbox.Absent)
		began := o.carry(o.key("reconcile"), outbox.CallFind, r)
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		wantTimes(t, r, <-began)
	})
}

func TestNotifyAfterTheResultIsVisible(t *testing.T) {
	sent, seen := result(outbox.CallSend, outbox.Accepted), result(outbox.CallGet, outbox.Accepted)
	cases := []struct {
		name string
		do   func(*office, courier.Key)
		want []told
	}{
		{"carried", func(o *office, k courier.Key) { o.carry(k, outbox.CallSend, sent) }, []told{{"reconcile", outbox.CallNone, sent}}},
		{"delivered", func(o *office, k courier.Key) { o.Deliver(k, seen) }, []told{{"reconcile", outbox.CallNone, seen}}},
		{"delivered during a call", func(o *office, k courier.Key) {
			o.carry(k, outbox.CallFind, sent)
			o.Deliver(k, seen)
		}, []told{{"reconcile", outbox.CallFind, seen}, {"reconcile", outbox.CallNone, sent}}},
		{"without a result", func(o *office, k courier.Key) { o.carry(k, outbox.CallSend, nil) }, []told{{"reconcile", outbox.CallNone, nil}}},
		{"without a result, after one that is held", func(o *office, k courier.Key) {
			o.Deliver(k, seen)
			o.carry(k, outbox.CallSend, nil)
		}, []told{{"reconcile", outbox.CallNone, seen}, {"reconcile", outbox.CallNone, seen}}},
		{"refused for another call", func(o *office, k courier.Key) {
			o.carry(k, outbox.CallSend, sent)
			o.carry(k, outbox.CallFind, seen)
		}, []told{{"reconcile", outbox.CallNone, sent}}},
		// The process is going: there is nobody to decide anew.
		{"drained", func(o *office, k courier.Key) {
			drained(o.pool, time.Second)
			o.carry(k, outbox.CallSend, sent)
		}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOffice(t)
				c.do(o, o.key("reconcile"))
				o.finish()
				if !slices.Equal(o.told, c.want) {
					t.Errorf("told %+v, want %+v", o.told, c.want)
				}
				if running, _ := o.Observe(o.uids["reconcile"]); running != outbox.CallNone {
					t.Errorf("%s is left running", running)
				}
			})
		})
	}
}

// A Delegation that is deleted during a call takes the result with it; one that is asked for again keeps it.
func TestForgetDuringACall(t *testing.T) {
	for name, again := range map[string]bool{"gone": false, "still there": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOffice(t)
				key := o.key("reconcile")
				sent := result(outbox.CallSend, outbox.Accepted)
				o.carry(key, outbox.CallSend, result(outbox.CallSend, outbox.NotSent))
				o.finish()
				o.carry(key, outbox.CallSend, sent)
				o.Forget(key.UID)
				if got := o.Unrecorded(); len(got) != 0 {
					t.Errorf("%v is unrecorded", got)
				}
				// Until the call ends a second one must not begin.
				o.want(t, key, outbox.CallSend, nil)
				var want *outbox.Result
				if again {
					want = sent
					if began := o.carry(key, outbox.CallSend, sent); len(began) != 0 {
						t.Error("a second call ran")
					}
				}
				o.finish()
				o.want(t, key, outbox.CallNone, want)
				if got := len(o.Unrecorded()) == 1; got != again {
					t.Errorf("unrecorded: %t, want %t", got, again)
				}
			})
		})
	}
}
