// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/courier"
	"github.com/delegation-dev/delegation-operator/internal/follow"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// speaker tells of its tasks and notes who listens.
type speaker struct {
	// speak is one subscription; the first has number 0.
	speak func(ctx context.Context, n int, heard func()) outbox.Exchange

	mu        sync.Mutex
	begun     []visit
	out, peak int
}

// Subscribe implements follow.Streamer.
func (s *speaker) Subscribe(ctx context.Context, taskID string, heard func()) outbox.Exchange {
	s.mu.Lock()
	n := len(s.begun)
	s.begun = append(s.begun, visit{taskID, time.Now()})
	s.out++
	s.peak = max(s.peak, s.out)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.out--
	}()
	return s.speak(ctx, n, heard)
}

// steady opens its streams, says nothing and keeps them open.
func steady() *speaker {
	return &speaker{speak: func(ctx context.Context, _ int, heard func()) outbox.Exchange {
		heard()
		<-ctx.Done()
		return over
	}}
}

// ending keeps each stream open for a time. With no exchange given the stream opens and ends cleanly; else it does not open.
func ending(after time.Duration, ex ...outbox.Exchange) *speaker {
	return &speaker{speak: func(ctx context.Context, n int, heard func()) outbox.Exchange {
		if len(ex) > 0 {
			return ex[min(n, len(ex)-1)]
		}
		heard()
		select {
		case <-time.After(after):
		case <-ctx.Done():
		}
		return over
	}}
}

var over = outbox.Exchange{Outcome: outbox.Accepted}

func (s *speaker) now() (open, begun int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out, len(s.begun)
}

func (s *speaker) gaps(since time.Time) []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []time.Duration
	for _, v := range s.begun {
		out = append(out, v.at.Sub(since))
		since = v.at
	}
	return out
}

// listened is a subject whose task is listened to.
func listened(name, taskID string, a follow.Agent, s follow.Streamer) follow.Subject {
	out := subject(name, a)
	out.TaskID, out.State, out.Streams, out.AgentName = taskID, v1alpha1.TaskStateWorking, s, types.NamespacedName{Namespace: "books", Name: "finance"}
	return out
}

func wantStreams(t *testing.T, s *speaker, open, begun int) {
	t.Helper()
	if o, b := s.now(); o != open || b != begun {
		t.Errorf("%d streams open and %d begun, want %d and %d", o, b, open, begun)
	}
}

func inBubble(t *testing.T, f func(*testing.T, *desk), options ...follow.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newDesk(t, options...)) })
}

// An event is a look at once, and while the stream is open nothing else is but one look in the longest interval. When it is
// over the looks begin anew.
func TestStreamsAreHints(t *testing.T) {
	inBubble(t, func(t *testing.T, d *desk) {
		a := scripted(working)
		s := &speaker{speak: func(ctx context.Context, n int, heard func()) outbox.Exchange {
			if n > 0 {
				<-ctx.Done()
				return over // does not open any more
			}
			heard()
			time.Sleep(30 * time.Second)
			heard()
			time.Sleep(100 * time.Second)
			return over
		}}
		d.Track(listened("reconcile", "t-1", a, s))
		d.wait(140 * time.Second)
		got := a.gaps(d.start)
		want := []time.Duration{0, 2 * time.Second, 28 * time.Second}
		if len(got) < 5 || !slices.EqualFunc(got[:3], want, func(g, w time.Duration) bool { return (g - w).Abs() <= time.Second }) {
			t.Fatalf("looks after %v, want about %v", got, want)
		}
		var before, after int
		at := time.Duration(0)
		for _, g := range got {
			switch at += g; {
			case at < 130*time.Second:
				before++
			default:
				after++
			}
		}
		if before > 6 || after < 3 {
			t.Errorf("%d looks while the stream was open, %d in the 10 s after it: %v", before, after, got)
		}
	})
}

func TestStreamReconnects(t *testing.T) {
	asked := outbox.Exchange{Outcome: outbox.NotSent, Reason: remote.ReasonTooManyRequests, RetryAfter: 90 * time.Second}
	for _, c := range []struct {
		name string
		s    *speaker
		want []time.Duration // of which each has a spread of one half
	}{
		{"that open and end: longer and longer pauses", ending(0), []time.Duration{0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300}},
		{"that never open: the same", ending(0, failed), []time.Duration{0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300}},
		{"that were open for a while: a short pause", ending(40 * time.Second), []time.Duration{0, 41, 41, 41, 41}},
		{"the agent asks for time", ending(0, asked, failed), []time.Duration{0, 90}},
		{"the agent refuses", ending(0, outbox.Exchange{Outcome: outbox.Refused, Reason: "UnsupportedOperation"}), []time.Duration{0}},
		{"the agent does not work on the task", ending(0, outbox.Exchange{Outcome: outbox.Absent, Reason: remote.ReasonTaskNotFound}), []time.Duration{0}},
		{"the agent has no streams", ending(0, outbox.Exchange{Outcome: outbox.Refused, Reason: remote.ReasonMethodNotFound}), []time.Duration{0, 600, 600}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, d *desk) {
				d.Track(listened("reconcile", "t-1", scripted(working), c.s))
				d.wait(35 * time.Minute)
				got := c.s.gaps(d.start)
				if len(got) < len(c.want) || len(c.want) == 1 && len(got) > 1 {
					t.Fatalf("begun after %v, want %v", got, c.want)
				}
				for i, w := range c.want {
					if w *= time.Second; got[i] < w/2 || got[i] > w*3/2 {
						t.Errorf("run %d after %s, want about %s: %v", i, got[i], w, got)
					}
				}
			})
		})
	}
}

// A refusal holds until the task's state changes, by what a look shows.
func TestStreamsFollowTheState(t *testing.T) {
	asking := task(v1alpha1.TaskStateInputRequired, "which month?", time.Time{})
	inBubble(t, func(t *testing.T, d *desk) {
		var mu sync.Mutex
		is := working
		set := func(ex outbox.Exchange) { mu.Lock(); is = ex; mu.Unlock(); d.wait(2 * longest) }
		a := &agent{answer: func(context.Context, int) outbox.Exchange { mu.Lock(); defer mu.Unlock(); return is }}
		s := steady()
		d.Track(listened("reconcile", "t-1", a, s))
		d.wait(longest)
		wantStreams(t, s, 1, 1)
		set(asking)
		wantStreams(t, s, 0, 1)
		set(working)
		wantStreams(t, s, 1, 2)
		set(completed)
		wantStreams(t, s, 0, 2)
	})
	inBubble(t, func(t *testing.T, d *desk) {
		a := scripted(asking, asking, asking, working)
		s := ending(0, outbox.Exchange{Outcome: outbox.Absent, Reason: remote.ReasonTaskNotFound})
		d.Track(listened("reconcile", "t-1", a, s))
		d.wait(time.Hour)
		wantStreams(t, s, 0, 2) // by the state in the status, and when it was working again
	})
	for _, state := range []v1alpha1.TaskState{v1alpha1.TaskStateInputRequired, v1alpha1.TaskStateAuthRequired, v1alpha1.TaskStateCompleted} {
		inBubble(t, func(t *testing.T, d *desk) {
			s := steady()
			waiting := listened("reconcile", "t-1", scripted(task(state, "", time.Time{})), s)
			waiting.State = state
			d.Track(waiting)
			d.wait(time.Hour)
			wantStreams(t, s, 0, 0)
		})
	}
}

// Streams begin by the agent's pace, which calls have too.
func TestStreamsKeepThePace(t *testing.T) {
	inBubble(t, func(t *testing.T, d *desk) {
		s := ending(0)
		for _, name := range []string{"a", "b", "c"} {
			sub := listened(name, "t-"+name, lasting(time.Hour, working), s)
			sub.Limits = courier.Limits{InFlight: 3, PerSecond: 1}
			d.Track(sub)
		}
		d.wait(900 * time.Millisecond)
		if _, begun := s.now(); begun != 1 {
			t.Errorf("%d streams begun in the first second, want 1", begun)
		}
	})
}

func uid(name string) types.UID { return types.UID("uid-" + name) }
