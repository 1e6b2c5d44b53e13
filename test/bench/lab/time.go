// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"time"
)

// Pause waits, or until ctx ends.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Stall is how late this process was woken at the worst: what a busy machine adds to all times.
type Stall struct {
	stop, done chan struct{}
	worst      time.Duration
}

// WatchStalls begins to watch.
func WatchStalls() *Stall {
	const step = 10 * time.Millisecond
	s := &Stall{stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		for {
			begun := time.Now()
			select {
			case <-s.stop:
				return
			case <-time.After(step):
				s.worst = max(s.worst, time.Since(begun)-step)
			}
		}
	}()
	return s
}

// End returns the worst since the beginning.
func (s *Stall) End() time.Duration {
	close(s.stop)
	<-s.done
	return s.worst
}
