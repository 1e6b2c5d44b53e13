// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"testing"
	"testing/synctest"
	"time"
)

// A hint may know the Delegation only, and come before its task is followed.
func TestHintsForADelegation(t *testing.T) {
	const idle = 1500 * time.Millisecond // less than the shortest interval
	for _, c := range []struct {
		name          string
		before, after func(*desk)
		looks         int
	}{
		{name: "none"},
		{name: "while it is followed", after: func(d *desk) { d.HintDelegation("uid-reconcile") }, looks: 1},
		{name: "before it is followed", before: func(d *desk) { d.HintDelegation("uid-reconcile") }, looks: 1},
		{name: "many before it is followed", before: func(d *desk) {
			for range 10 {
				d.HintDelegation("uid-reconcile")
			}
		}, looks: 1},
		{name: "before and after", before: func(d *desk) { d.HintDelegation("uid-reconcile") }, after: func(d *desk) { d.HintDelegation("uid-reconcile") }, looks: 2},
		{name: "for another", before: func(d *desk) { d.HintDelegation("uid-approve") }, after: func(d *desk) { d.HintDelegation("uid-approve") }},
		{name: "for one that was dropped since", before: func(d *desk) {
			d.HintDelegation("uid-reconcile")
			d.Drop("uid-reconcile")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, a := newDesk(t), scripted(working)
				if c.before != nil {
					c.before(d)
				}
				d.Track(subject("reconcile", a))
				d.wait(0)
				if c.after != nil {
					c.after(d)
				}
				d.wait(idle)
				if got := a.count(); got != c.looks {
					t.Errorf("%d looks, want %d", got, c.looks)
				}
			})
		})
	}
}

// Who follows a task by itself is told with those who follow it too.
func TestAHintForADelegationIsForItsTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, a := newDesk(t), scripted(working)
		d.Track(subject("reconcile", a))
		d.Track(subject("approve", a))
		d.HintDelegation("uid-approve")
		d.wait(time.Second)
		if got := a.count(); got != 2 {
			t.Errorf("%d looks, want one for each", got)
		}
	})
}
