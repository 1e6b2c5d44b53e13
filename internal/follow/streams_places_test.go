// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/delegation-dev/delegation-operator/internal/follow"
)

func TestStreamsEnd(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(d *desk, s follow.Subject)
		// open streams of the first agent, and of the one that took its place.
		open, other int
	}{
		{"nothing happens", func(*desk, follow.Subject) {}, 1, 0},
		{"it is tracked again", func(d *desk, s follow.Subject) { d.Track(s) }, 1, 0},
		{"it is dropped", func(d *desk, s follow.Subject) { d.Drop(s.Key.UID) }, 0, 0},
		{"it is dropped, and tracked again", func(d *desk, s follow.Subject) { d.Drop(s.Key.UID); d.Track(s) }, 1, 0},
		{"the agent is polled from now on", func(d *desk, s follow.Subject) { s.Streams = nil; d.Track(s) }, 0, 0},
		{"one of two Delegations is dropped", func(d *desk, s follow.Subject) {
			d.Track(listened("approve", "t-1", s.Agent, s.Streams))
			d.Drop(s.Key.UID)
		}, 1, 0},
		{"both are", func(d *desk, s follow.Subject) {
			d.Track(listened("approve", "t-1", s.Agent, s.Streams))
			d.Drop(s.Key.UID)
			d.Drop(uid("approve"))
		}, 0, 0},
		{"the Delegation has another task", func(d *desk, s follow.Subject) { s.TaskID = "t-2"; d.Track(s) }, 1, 0},
		{"the follower stops", func(d *desk, _ follow.Subject) { d.stop() }, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, d *desk) {
				s := steady()
				sub := listened("reconcile", "t-1", scripted(working), s)
				d.Track(sub)
				d.wait(time.Second)
				wantStreams(t, s, 1, 1)
				c.do(d, sub)
				d.wait(time.Second)
				if open, _ := s.now(); open != c.open {
					t.Errorf("%d streams open, want %d", open, c.open)
				}
			})
		})
	}
}

// A new address or new credentials make another client: the streams of the old one are over, and a refusal counts no more.
func TestStreamsMoveToTheNewClient(t *testing.T) {
	inBubble(t, func(t *testing.T, d *desk) {
		old, renewed := steady(), steady()
		a := scripted(working)
		d.Track(listened("reconcile", "t-1", a, old))
		d.wait(time.Second)
		d.Track(listened("reconcile", "t-1", a, renewed))
		d.wait(time.Second)
		wantStreams(t, old, 0, 1)
		wantStreams(t, renewed, 1, 1)
	})
	inBubble(t, func(t *testing.T, d *desk) {
		refusing, renewed := ending(0, failed), steady()
		a := scripted(working)
		d.Track(listened("reconcile", "t-1", a, refusing))
		d.wait(20 * time.Minute) // the pauses are long by now
		d.Track(listened("reconcile", "t-1", a, renewed))
		d.wait(time.Second)
		wantStreams(t, renewed, 1, 1)
	})
}

// tasks are those that were listened to, in order.
func (s *speaker) tasks() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, v := range s.begun {
		names = append(names, v.task)
	}
	return names
}

// The places are bounded, and a free one goes to the task that was followed last. The others are polled.
func TestStreamPlaces(t *testing.T) {
	inBubble(t, func(t *testing.T, d *desk) {
		s, a := steady(), scripted(working)
		for i := range 10 {
			sub := listened(fmt.Sprint(i), fmt.Sprint("t-", i), a, s)
			sub.Limits.InFlight = 3
			d.Track(sub)
			d.wait(time.Millisecond)
		}
		wantStreams(t, s, 3, 3)
		for _, name := range []string{"1", "9", "0"} {
			d.Drop(uid(name))
			d.wait(time.Second)
		}
		wantStreams(t, s, 3, 6)
		if got, want := s.tasks(), []string{"t-0", "t-1", "t-2", "t-9", "t-8", "t-7"}; !slices.Equal(got, want) {
			t.Errorf("listened to %q, want %q", got, want)
		}
	})
}

// In all there are as many as the follower was given, and a free place goes to the agent that has the fewest.
func TestStreamPlacesInAll(t *testing.T) {
	inBubble(t, func(t *testing.T, d *desk) {
		s, few := steady(), steady()
		a := scripted(working)
		for i := range 6 {
			d.Track(listened(fmt.Sprint(i), fmt.Sprint("t-", i), a, s))
		}
		d.wait(time.Second)
		wantStreams(t, s, 4, 4)
		other := listened("other", "t-other", a, few)
		other.AgentID = types.UID("hr")
		d.Track(other)
		d.wait(time.Second)
		wantStreams(t, few, 0, 0)
		d.Drop(uid("0"))
		d.wait(time.Second)
		wantStreams(t, few, 1, 1)
		if s.peak > 4 {
			t.Errorf("%d were open at once, want at most 4", s.peak)
		}
	}, follow.WithMaxStreams(4))
	inBubble(t, func(t *testing.T, d *desk) {
		s := steady()
		d.Track(listened("reconcile", "t-1", scripted(working), s))
		d.wait(time.Hour)
		wantStreams(t, s, 0, 0)
	}, follow.WithMaxStreams(0))
}
