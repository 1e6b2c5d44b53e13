// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

const (
	forbid  = v1alpha1.ConcurrencyForbid
	replace = v1alpha1.ConcurrencyReplace
)

// want is what a plan has; names are those of runs by their times.
type want struct {
	create, last, missed, next, until, reason, event string
	cancel                                           []string
	stalled                                          bool
}

func (w want) require(t *testing.T, b *builder, p Plan) {
	t.Helper()
	create := ""
	if p.Create != nil {
		when, _ := timeOf(b.s, p.Create)
		create = when.Format(idTime)
	}
	var cancel []string
	for _, run := range p.Cancel {
		when, _ := timeOf(b.s, run)
		cancel = append(cancel, when.Format(idTime))
	}
	event := ""
	if len(p.Events) > 0 {
		event = p.Events[0].Reason
	}
	ready := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil {
		t.Fatal("no condition Ready")
	}
	for _, c := range []struct{ what, got, want string }{
		{"create", create, w.create}, {"lastScheduleTime", short(p.Status.LastScheduleTime), w.last}, {"lastMissedTime", short(p.Status.LastMissedTime), w.missed},
		{"nextScheduleTime", short(p.Status.NextScheduleTime), w.next}, {"reason", ready.Reason, w.reason}, {"event", event, w.event},
		{"cancel", strings.Join(cancel, " "), strings.Join(w.cancel, " ")},
	} {
		if c.got != c.want {
			t.Errorf("%s is %q; want %q", c.what, c.got, c.want)
		}
	}
	if w.until != "" && !p.Until.Equal(at(t, w.until)) {
		t.Errorf("until %s; want %s", stamp(p.Until), w.until)
	}
	if stalled := meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionStalled); stalled != w.stalled || stalled == (ready.Status == metav1.ConditionTrue) {
		t.Errorf("stalled %t, ready %s: %s", stalled, ready.Status, ready.Message)
	}
}

func short(m *metav1.Time) string {
	if m == nil {
		return ""
	}
	return m.UTC().Format(idTime)
}

// One situation a row: when a run begins, and when not.
func TestDecide(t *testing.T) {
	const h6, h7, h8, h9 = "2026-03-02T06:00Z", "2026-03-02T07:00Z", "2026-03-02T08:00Z", "2026-03-02T09:00Z"
	const past7, past8 = "2026-03-02T07:00:01Z", "2026-03-02T08:00:01Z"
	b := hourly
	for _, c := range []struct {
		name string
		b    *builder
		now  string
		runs func(*builder) []*v1alpha1.Delegation
		want want
	}{
		{name: "not due yet", b: b(t), now: "2026-03-02T06:59Z", want: want{next: h7, until: h7, reason: ReasonScheduled}},
		{name: "due at the second", b: b(t), now: h7, want: want{create: h7, next: h8, until: h8, reason: ReasonScheduled}},
		{name: "the run is there: it has begun", b: b(t), now: past7, runs: one(h7, v1alpha1.PhaseWorking), want: want{last: h7, next: h8, until: h8, reason: ReasonScheduled}},
		{name: "on record, and the run is gone: never again", b: b(t).last(h7), now: past7, want: want{last: h7, next: h8, reason: ReasonScheduled}},
		{name: "on record, the run is gone, an old one is left", b: b(t).last(h7), now: past7, runs: one(h6, v1alpha1.PhaseFailed), want: want{last: h7, next: h8, reason: ReasonScheduled}},
		{name: "before the creation: a rebuilt cluster does not catch up", b: b(t).created(past7), now: "2026-03-02T07:00:02Z", want: want{next: h8, reason: ReasonScheduled}},
		{name: "the clock was set back", b: b(t).last(h7), now: "2026-03-02T06:55Z", want: want{last: h7, next: h7, reason: ReasonScheduled}},
		{name: "far back: stopped, and not repeated", b: b(t).last(h9), now: past7, want: want{last: h9, next: "2026-03-02T10:00Z", until: "2026-03-02T08:50Z", reason: ReasonClockSkew, stalled: true}},
		{name: "missed while the clock was ahead: stopped, and told", b: b(t).last(h7).missed("2027-03-02T07:00Z"), now: past8, want: want{last: h7, missed: "2027-03-02T07:00Z", next: "2027-03-02T08:00Z", until: "2027-03-02T06:50Z", reason: ReasonClockSkew, stalled: true}},
		{name: "created far ahead of the clock", b: b(t).created(h9), now: past7, want: want{next: "2026-03-02T10:00Z", until: "2026-03-02T08:50Z", reason: ReasonClockSkew, stalled: true}},
		{name: "several are late: the latest", b: b(t), now: "2026-03-02T09:10Z", want: want{create: h9, missed: h8, next: "2026-03-02T10:00Z", event: ReasonRunMissed, reason: ReasonScheduled}},
		{name: "years are late: the latest", b: b(t).created("1990-01-01T00:00Z"), now: "2026-03-02T09:10Z", want: want{create: h9, missed: h8, next: "2026-03-02T10:00Z", event: ReasonRunMissed, reason: ReasonScheduled}},
		{name: "in its deadline", b: b(t).deadline(time.Minute), now: "2026-03-02T07:01Z", want: want{create: h7, next: h8, reason: ReasonScheduled}},
		{name: "past its deadline", b: b(t).deadline(time.Minute), now: "2026-03-02T07:01:01Z", want: want{missed: h7, next: h8, event: ReasonRunMissed, reason: ReasonScheduled}},
		{name: "missed, and told of once", b: b(t).deadline(time.Minute).missed(h7), now: "2026-03-02T07:02Z", want: want{missed: h7, next: h8, reason: ReasonScheduled}},
		{name: "missed, and the deadline was prolonged since", b: b(t).deadline(time.Hour).missed(h7), now: "2026-03-02T07:02Z", want: want{missed: h7, next: h8, reason: ReasonScheduled}},
		{name: "a status from a backup: only the latest firing, in its deadline", b: b(t).created("2020-01-01T00:00Z").deadline(time.Minute), now: "2026-03-02T07:30Z", want: want{missed: h7, next: h8, event: ReasonRunMissed, reason: ReasonScheduled}},
		{name: "suspended", b: b(t).with(func(s *v1alpha1.DelegationSchedule) { s.Spec.Suspend = true }), now: past7, want: want{reason: ReasonSuspended}},
		{name: "a zone that there is not", b: b(t).cron("0 * * * *", "Europe/Atlantis"), now: past7, want: want{reason: ReasonUnknownTimeZone, stalled: true}},
		{name: "a schedule that can't be read", b: b(t).cron("61 * * * *", ""), now: past7, want: want{reason: ReasonInvalidSchedule, stalled: true}},
		{name: "a day that never comes", b: b(t).cron("0 0 31 2 *", ""), now: past7, want: want{reason: ReasonNeverDue, stalled: true}},

		{name: "Allow", b: b(t).last(h7), now: past8, runs: one(h7, v1alpha1.PhaseWorking), want: want{create: h8, last: h7, next: h9, reason: ReasonScheduled}},
		{name: "Forbid waits", b: b(t).last(h7).policy(forbid), now: past8, runs: one(h7, v1alpha1.PhaseWorking), want: want{last: h7, next: h9, until: h9, reason: ReasonWaitingForRun}},
		{name: "Forbid waits up to the deadline", b: b(t).last(h7).policy(forbid).deadline(time.Minute), now: past8, runs: one(h7, v1alpha1.PhaseInputRequired), want: want{last: h7, next: h9, until: "2026-03-02T08:01:01Z", reason: ReasonWaitingForRun}},
		{name: "Forbid, and the end comes", b: b(t).last(h7).policy(forbid), now: "2026-03-02T08:20Z", runs: one(h7, v1alpha1.PhaseFailed), want: want{create: h8, last: h7, next: h9, reason: ReasonScheduled}},
		{name: "Forbid, and the run of the time is there", b: b(t).policy(forbid), now: past8, runs: one(h8, v1alpha1.PhaseWorking), want: want{last: h8, next: h9, reason: ReasonScheduled}},
		{name: "Forbid, and the outcome is unknown", b: b(t).last(h7).policy(forbid), now: past8, runs: one(h7, v1alpha1.PhaseUnknown), want: want{last: h7, next: h9, reason: ReasonRunUnknown, stalled: true}},
		{name: "Forbid, the outcome is unknown, and the deadline passes", b: b(t).last(h7).policy(forbid).deadline(time.Minute), now: "2026-03-02T08:01:02Z", runs: one(h7, v1alpha1.PhaseUnknown), want: want{last: h7, missed: h8, next: h9, event: ReasonRunMissed, reason: ReasonRunUnknown, stalled: true}},
		{name: "Forbid, the outcome is unknown, and the deadline has passed", b: b(t).last(h7).missed(h8).policy(forbid).deadline(time.Minute), now: "2026-03-02T08:59:02Z", runs: one(h7, v1alpha1.PhaseUnknown), want: want{last: h7, missed: h8, next: h9, reason: ReasonRunUnknown, stalled: true}},
		{name: "Allow, and the outcome is unknown", b: b(t).last(h7), now: past8, runs: one(h7, v1alpha1.PhaseUnknown), want: want{create: h8, last: h7, next: h9, reason: ReasonScheduled}},
		{name: "Forbid, and a person gave it up", b: b(t).last(h7).policy(forbid), now: past8, runs: func(b *builder) []*v1alpha1.Delegation {
			return []*v1alpha1.Delegation{abandoned(b.run(h7, ""))}
		}, want: want{create: h8, last: h7, next: h9, reason: ReasonScheduled}},
		{name: "Replace cancels and waits", b: b(t).last(h7).policy(replace), now: past8, runs: one(h7, v1alpha1.PhaseWorking), want: want{cancel: []string{h7}, last: h7, next: h9, reason: ReasonWaitingForRun}},
		{name: "Replace has canceled and waits", b: b(t).last(h7).policy(replace), now: past8, runs: func(b *builder) []*v1alpha1.Delegation {
			d := b.run(h7, v1alpha1.PhaseWorking)
			d.Spec.Cancel = true
			return []*v1alpha1.Delegation{d}
		}, want: want{last: h7, next: h9, reason: ReasonWaitingForRun}},
		{name: "Replace, and the end comes", b: b(t).last(h7).policy(replace), now: past8, runs: one(h7, v1alpha1.PhaseCanceled), want: want{create: h8, last: h7, next: h9, reason: ReasonScheduled}},
		{name: "Replace does not cancel the run of the time itself", b: b(t).policy(replace), now: past8, runs: one(h8, v1alpha1.PhaseWorking), want: want{last: h8, next: h9, reason: ReasonScheduled}},
		{name: "Replace cancels nothing while nothing is due", b: b(t).last(h7).policy(replace), now: past7, runs: one(h7, v1alpha1.PhaseWorking), want: want{last: h7, next: h8, reason: ReasonScheduled}},
		{name: "Replace, suspended", b: b(t).last(h7).policy(replace).with(func(s *v1alpha1.DelegationSchedule) { s.Spec.Suspend = true }), now: past8, runs: one(h7, v1alpha1.PhaseWorking), want: want{last: h7, reason: ReasonSuspended}},
		{name: "Replace, and the outcome is unknown", b: b(t).last(h7).policy(replace), now: past8, runs: one(h7, v1alpha1.PhaseUnknown), want: want{cancel: []string{h7}, last: h7, next: h9, reason: ReasonRunUnknown, stalled: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var runs []*v1alpha1.Delegation
			if c.runs != nil {
				runs = c.runs(c.b)
			}
			c.want.require(t, c.b, c.b.decide(c.now, runs...))
		})
	}
}

func one(when string, phase v1alpha1.Phase) func(*builder) []*v1alpha1.Delegation {
	return func(b *builder) []*v1alpha1.Delegation { return []*v1alpha1.Delegation{b.run(when, phase)} }
}

// A schedule that is being deleted begins nothing and removes nothing.
func TestDecideOnADeletedSchedule(t *testing.T) {
	b := hourly(t).history(0, 0).last("2026-03-02T07:00Z")
	b.s.DeletionTimestamp = &metav1.Time{Time: at(t, "2026-03-02T07:30Z")}
	p := b.decide("2026-03-02T08:00:01Z", b.run("2026-03-02T05:00Z", v1alpha1.PhaseCompleted))
	if p.Create != nil || len(p.Delete) > 0 || !p.Until.IsZero() {
		t.Errorf("%+v", p)
	}
}

// Another Delegation has the name of the run.
func TestDecideOnATakenName(t *testing.T) {
	b := hourly(t)
	in := Input{Now: at(t, "2026-03-02T07:00:01Z"), Schedule: b.s, Taken: b.run("2026-03-02T07:00Z", v1alpha1.PhaseWorking)}
	want{last: "2026-03-02T07:00Z", next: "2026-03-02T08:00Z", reason: ReasonScheduled}.require(t, b, Decide(in))
	other := "Something else"
	in.Taken.Spec.Message.Parts = []v1alpha1.Part{{Text: &other}}
	want{last: "2026-03-02T07:00Z", next: "2026-03-02T08:00Z", event: ReasonOtherBody, reason: ReasonScheduled}.require(t, b, Decide(in))
	in.Taken.Spec.MessageID = "m-71"
	want{missed: "2026-03-02T07:00Z", next: "2026-03-02T08:00Z", event: ReasonRunMissed, reason: ReasonScheduled}.require(t, b, Decide(in))
}

// What stops the schedule is named, by the time that is ahead.
func TestDecideNamesWhatIsAhead(t *testing.T) {
	p := hourly(t).last("2026-03-02T07:00Z").missed("2027-03-02T07:00Z").decide("2026-03-02T08:00:01Z")
	ready := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady)
	if want := "the last run that was missed is that of 2027-03-02T07:00:00Z, "; !strings.HasPrefix(ready.Message, want) {
		t.Errorf("%s", ready.Message)
	}
}

// The API server refuses the run.
func TestDecideOnARefusedRun(t *testing.T) {
	b := hourly(t)
	in := Input{Now: at(t, "2026-03-02T07:00:01Z"), Schedule: b.s, Refused: &Refusal{Message: "label", Final: true}}
	want{next: "2026-03-02T08:00Z", reason: ReasonRunRefused, stalled: true}.require(t, b, Decide(in))
	in.Refused.Final = false
	p := Decide(in)
	if p.Create != nil || !meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionReconciling) {
		t.Errorf("%+v", p.Status.Conditions)
	}
}
