// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/courier"
	"github.com/delegation-dev/delegation-operator/internal/follow"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

const (
	shortest = 2 * time.Second
	longest  = time.Minute
)

// plenty is more than any case makes use of.
var plenty = courier.Limits{InFlight: 100, PerSecond: 100_000}

// visit is one look that an agent saw.
type visit struct {
	task string
	at   time.Time
}

// agent answers the looks at its tasks and notes them.
type agent struct {
	// answer is what the nth look at any task brings; the first is 0. It takes its time.
	answer func(ctx context.Context, n int) outbox.Exchange

	mu        sync.Mutex
	visits    []visit
	out, peak int
}

// Get implements follow.Agent.
func (a *agent) Get(ctx context.Context, taskID string) outbox.Exchange {
	a.mu.Lock()
	n := len(a.visits)
	a.visits = append(a.visits, visit{taskID, time.Now()})
	a.out++
	a.peak = max(a.peak, a.out)
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.out--
	}()
	return a.answer(ctx, n)
}

// scripted answers with the exchanges in turn, and with the last one for ever.
func scripted(exchanges ...outbox.Exchange) *agent {
	return &agent{answer: func(_ context.Context, n int) outbox.Exchange { return exchanges[min(n, len(exchanges)-1)] }}
}

func task(state v1alpha1.TaskState, message string, at time.Time) outbox.Exchange {
	return outbox.Exchange{Outcome: outbox.Accepted, Task: &outbox.Task{ID: "t-1", State: state, Message: message, Timestamp: at}}
}

var (
	working   = task(v1alpha1.TaskStateWorking, "", time.Time{})
	completed = task(v1alpha1.TaskStateCompleted, "", time.Time{})
	failed    = outbox.Exchange{Outcome: outbox.Ambiguous, Reason: "Timeout"}
)

// desk is a follower at work, in a bubble whose time stands still until every goroutine waits.
type desk struct {
	*follow.Follower
	pool  *courier.Pool
	start time.Time
	stop  context.CancelFunc
	ended chan error

	mu        sync.Mutex
	delivered []*outbox.Result
	keys      []courier.Key
	// refuse is how many deliveries are not taken.
	refuse int
}

func newDesk(t *testing.T, options ...follow.Option) *desk {
	ctx, cancel := context.WithCancel(context.Background())
	d := &desk{pool: courier.NewPool(), start: time.Now(), stop: cancel, ended: make(chan error, 1)}
	d.Follower = follow.New(d.pool, clock.RealClock{}, func(key courier.Key, r *outbox.Result) bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.delivered, d.keys = append(d.delivered, r), append(d.keys, key)
		d.refuse--
		return d.refuse < 0
	}, options...)
	go func() { d.ended <- d.Start(ctx) }()
	t.Cleanup(func() { d.close(t) })
	return d
}

// close ends the follower and the pool, and fails where one of them has no end.
func (d *desk) close(t *testing.T) {
	t.Helper()
	d.stop()
	select {
	case err := <-d.ended:
		if err != nil {
			t.Errorf("Start returned %v", err)
		}
	case <-time.After(time.Hour):
		t.Fatal("Start did not return")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	if d.pool.Drain(ctx); ctx.Err() != nil {
		t.Error("a look was still out after an hour")
	}
}

func subject(name string, a follow.Agent) follow.Subject {
	return follow.Subject{
		Key:    courier.Key{NamespacedName: types.NamespacedName{Namespace: "books", Name: name}, UID: types.UID("uid-" + name)},
		TaskID: "t-1", Agent: a, AgentID: "finance", Limits: plenty, MinInterval: shortest, MaxInterval: longest,
	}
}

// wait lets time pass until nothing moves any more.
func (d *desk) wait(passing time.Duration) {
	time.Sleep(passing)
	synctest.Wait()
}

// gaps returns the times between the looks, the first one from since on.
func (a *agent) gaps(since time.Time) []time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []time.Duration
	for _, v := range a.visits {
		out = append(out, v.at.Sub(since))
		since = v.at
	}
	return out
}

func (a *agent) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.visits)
}

// wantGaps compares the first gaps with what they are to be, give or take 10 %.
func wantGaps(t *testing.T, got []time.Duration, want ...time.Duration) {
	t.Helper()
	if len(got) < len(want) {
		t.Fatalf("gaps %v, want about %v", got, want)
	}
	for i, w := range want {
		if got[i] < w*9/10 || got[i] > w*11/10 {
			t.Fatalf("gap %d is %s, want %s ± 10 %%; all: %v", i, got[i], w, got)
		}
	}
}

func (d *desk) results() []*outbox.Result {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]*outbox.Result(nil), d.delivered...)
}
