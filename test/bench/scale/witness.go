// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/bench/lab"
)

// witness sees in a watch when the active Delegations are bound, and when they are finished.
type witness struct {
	watch           watch.Interface
	mu              sync.Mutex
	bound, finished map[string]time.Time
}

func (b *bench) witness(ctx context.Context) (*witness, error) {
	stream, err := lab.Watch(ctx, b.client, activeNamespace, func() {})
	if err != nil {
		return nil, err
	}
	w := &witness{watch: stream, bound: map[string]time.Time{}, finished: map[string]time.Time{}}
	go w.run()
	return w, nil
}

func (w *witness) run() {
	for e := range w.watch.ResultChan() {
		d, ok := e.Object.(*v1alpha1.Delegation)
		if !ok || e.Type != watch.Modified {
			continue
		}
		w.mu.Lock()
		note(w.bound, d.Name, d.Status.TaskID != "")
		note(w.finished, d.Name, d.Status.Phase.Finished())
		w.mu.Unlock()
	}
}

func note(times map[string]time.Time, name string, holds bool) {
	if _, known := times[name]; holds && !known {
		times[name] = time.Now()
	}
}

// done waits until so many are bound and finished, and returns when the last was bound.
func (w *witness) done(ctx context.Context, n int, within time.Duration) (time.Time, error) {
	for end := time.Now().Add(within); ; {
		w.mu.Lock()
		bound, finished, last := len(w.bound), len(w.finished), time.Time{}
		for _, at := range w.bound {
			if at.After(last) {
				last = at
			}
		}
		w.mu.Unlock()
		switch {
		case finished >= n:
			return last, nil
		case time.Now().After(end):
			return last, fmt.Errorf("%d of %d are bound and %d finished after %s", bound, n, finished, within)
		}
		if err := pause(ctx); err != nil {
			return last, err
		}
	}
}
